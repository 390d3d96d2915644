//! `demo`: a Kafka of one broker from Maven's artifacts, Skein in front of it, and a client that writes and reads through it.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, ensure};

use crate::stage;

/// When it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// When its client has written and read.
    AtOnce,
    /// When somebody presses Ctrl-C.
    AtCtrlC,
}

/// Builds and runs it.
///
/// # Errors
/// A command that could not be started, or a build that failed.
pub fn run(root: &Path, end: End) -> Result<ExitCode> {
    println!("building Skein and the demo (some minutes the first time)");
    let what = ["build", "--package", "skein-proxy", "--package", "skein-xtask", "--bin", "skein", "--example", "demo"];
    let built = Command::new(stage::cargo()).args(what).current_dir(root).status().context("starting cargo")?;
    ensure!(built.success(), "the build failed");
    let folder = program_folder()?;
    let mut demo = Command::new(folder.join("examples/demo"));
    demo.env("SKEIN_BIN", folder.join("skein")).current_dir(root);
    if end == End::AtOnce {
        demo.arg("--once");
    }
    let ended = demo.status().context("starting the demo")?;
    Ok(if ended.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Where cargo puts programs: this one is there.
pub(crate) fn program_folder() -> Result<PathBuf> {
    let program = std::env::current_exe()?;
    program.parent().map(PathBuf::from).context("this program is in no folder")
}
