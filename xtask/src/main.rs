//! `cargo xtask <task>`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use skein_xtask::{demo, soak, test, wire_table};

const USAGE: &str = "\
usage: cargo xtask <task>

  test [--from STAGE]    everything that must hold, set-up included; or only what follows when a stage has been mended
  demo [OPTION …]        `skein demo`: two embedded clusters, Skein in front, checked traffic on one screen
  soak                   the proofs that take long
  wire-table [--check]   write protocol/wire.table from Kafka's message definitions, or compare it";

fn main() -> Result<ExitCode> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let root = workspace()?;
    match words.as_slice() {
        ["test"] => test::run(&root, None),
        ["test", "--from", stage] => test::run(&root, Some(stage)),
        ["soak"] => soak::run(&root),
        ["demo", arguments @ ..] => demo::run(&root, arguments),
        ["wire-table"] => wire_table::run(&root, wire_table::Mode::Write).map(|()| ExitCode::SUCCESS),
        ["wire-table", "--check"] => wire_table::run(&root, wire_table::Mode::Check).map(|()| ExitCode::SUCCESS),
        _ => bail!("{USAGE}"),
    }
}

/// The root of the workspace, from the environment that cargo gives to what it runs.
fn workspace() -> Result<PathBuf> {
    let package = std::env::var_os("CARGO_MANIFEST_DIR").with_context(|| format!("not run by cargo\n{USAGE}"))?;
    Path::new(&package).parent().map(PathBuf::from).context("the package of this tool has no parent folder")
}
