//! `demo`: `skein demo`, built and run.

use std::path::Path;
use std::process::{Command, ExitCode};

use anyhow::{Context, Result};

use crate::stage;

/// Runs it with these arguments of its own.
///
/// # Errors
/// Cargo could not be started.
pub fn run(root: &Path, arguments: &[&str]) -> Result<ExitCode> {
    let mut cargo = Command::new(stage::cargo());
    cargo.args(["run", "--package", "skein-proxy", "--features", "demo", "--", "demo"]).args(arguments);
    let ended = cargo.current_dir(root).status().context("starting cargo")?;
    Ok(if ended.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
