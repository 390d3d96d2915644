//! Rules about this project that a machine can check. Each test says what to do when it fails.

mod apis;
mod crates;
mod examples;
mod files;
mod metrics;
mod words;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// The root of the workspace.
fn root() -> &'static Path {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
    tests.parent().unwrap_or(tests)
}

/// The text of a file, by its path below the root.
fn read(path: impl AsRef<Path>) -> Result<String> {
    let path = root().join(path);
    fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))
}

/// Every file of the project, by its path below the root: what is built and what is hidden is left out, but not `.ci`.
fn project_files() -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    collect(Path::new(""), &mut found)?;
    found.sort();
    Ok(found)
}

fn collect(folder: &Path, found: &mut Vec<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(root().join(folder)).with_context(|| format!("listing {}", folder.display()))? {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let is_hidden = name.starts_with('.') && ![".ci", ".cargo"].contains(&&*name);
        if is_hidden || ["target", "build", "__pycache__", "node_modules"].contains(&&*name) {
            continue;
        }
        let path = folder.join(&*name);
        if entry.file_type()?.is_dir() { collect(&path, found)? } else { found.push(path) }
    }
    Ok(())
}

/// The files whose name ends so.
fn files_of_kind(ending: &str) -> Result<Vec<PathBuf>> {
    let files = project_files()?;
    Ok(files.into_iter().filter(|path| path.extension().is_some_and(|found| found == ending)).collect())
}
