//! Chores of this workspace that are too long for a shell line: `cargo run -p skein-xtask -- <task>`.

mod wire_table;

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use wire_table::Mode;

const USAGE: &str = "usage: cargo run -p skein-xtask -- wire-table [--check]";

fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["wire-table"] => wire_table::run(&workspace()?, Mode::Write),
        ["wire-table", "--check"] => wire_table::run(&workspace()?, Mode::Check),
        _ => bail!("{USAGE}"),
    }
}

/// The root of the workspace, from the environment that cargo gives to what it runs.
fn workspace() -> Result<PathBuf> {
    let package = std::env::var_os("CARGO_MANIFEST_DIR").with_context(|| format!("not run by cargo; {USAGE}"))?;
    PathBuf::from(package).parent().map(PathBuf::from).context("the package of this tool has no parent folder")
}
