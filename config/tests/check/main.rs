//! What `skein check` says: of broken files, of good ones, and of bytes that are neither.

#![expect(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test that fails panics")]

mod broken;
mod examples;
mod hostile;
mod made;
mod schema;

use std::env::VarError;
use std::fs;
use std::path::{Path, PathBuf};

use skein_config::{Blueprint, Colours, Faults};
use skein_routing::disguise::Disguise;
use skein_routing::kind::Registry;

/// With a kind of router, so that there is something to say of routers.
fn kinds() -> Registry {
    Registry::standard().with::<Disguise>()
}

fn environment(name: &str) -> Result<String, VarError> {
    match name {
        "KAFKA" => Ok("kafka.example.com".to_owned()),
        "ESCAPE" => Ok("\u{1b}[31m".to_owned()),
        "BYTES" => Err(VarError::NotUnicode("bytes".into())),
        _ => Err(VarError::NotPresent),
    }
}

fn load(name: &str, file: &[u8]) -> Result<Blueprint, Faults> {
    skein_config::load(name, file, &kinds(), &environment).map(|configuration| configuration.blueprint)
}

/// What the operator sees on a terminal without colours.
fn report(name: &str, file: &[u8]) -> String {
    match load(name, file) {
        Ok(_) => format!("{name} has no fault\n"),
        Err(faults) => faults.report(Colours::No),
    }
}

/// The TOML files of a folder, in order.
fn files(folder: impl AsRef<Path>) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let found = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut found: Vec<_> = found.filter(|path| path.extension().is_some_and(|ending| ending == "toml")).collect();
    found.sort();
    found
}

fn name(path: &Path) -> String {
    path.file_name().unwrap().to_string_lossy().into_owned()
}
