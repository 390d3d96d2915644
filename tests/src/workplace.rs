//! Where the kit keeps what it makes: `build/` beside the workspace, which git ignores.
//!
//! `build/kafka` and the client programs (`build/java-client`, …) outlive a run; `build/run/<process>/…` holds the logs
//! and data of one. Data goes when the process ends, however it ends; logs stay until the next run sweeps them.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{ChildStdin, Command, Stdio},
    sync::{
        OnceLock,
        atomic::{AtomicU32, Ordering},
    },
};

use anyhow::{Context, Result};

/// The folder of this crate's sources.
pub fn sources() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// `<workspace>/build`.
pub fn build() -> PathBuf {
    sources().parent().unwrap_or(sources()).join("build")
}

/// A new folder under `build/run/<process>`, for the logs and the data of one thing.
pub fn run_dir(name: &str) -> Result<PathBuf> {
    static NEXT: AtomicU32 = AtomicU32::new(1);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let dir = this_run()?.dir.join(format!("{number:03}-{name}"));
    fs::create_dir_all(&dir).with_context(|| format!("making {}", dir.display()))?;
    Ok(dir)
}

struct Run {
    dir: PathBuf,
    /// Held open for as long as this process lives: the broom waits for its end.
    _broom: Option<ChildStdin>,
}

fn this_run() -> Result<&'static Run> {
    static RUN: OnceLock<Result<Run, String>> = OnceLock::new();
    let run = RUN.get_or_init(|| start_run().map_err(|error| format!("{error:#}")));
    run.as_ref().map_err(|error| anyhow::anyhow!(error.clone()))
}

fn start_run() -> Result<Run> {
    let runs = build().join("run");
    sweep(&runs);
    let dir = runs.join(std::process::id().to_string());
    fs::create_dir_all(&dir).with_context(|| format!("making {}", dir.display()))?;
    let broom = broom(&dir);
    Ok(Run { dir, _broom: broom })
}

/// Removes what runs whose process is gone have left.
fn sweep(runs: &Path) {
    if !Path::new("/proc/self").exists() {
        return;
    }
    for entry in fs::read_dir(runs).into_iter().flatten().flatten() {
        if !Path::new("/proc").join(entry.file_name()).exists() {
            // Another test process may be sweeping the same folder.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// A shell that outlives this process by a moment, to remove the data folders of clusters kept in a `static`.
fn broom(dir: &Path) -> Option<ChildStdin> {
    // The second pass is for files that a dying broker made during the first.
    let script = r#"trap '' INT TERM HUP; cat >/dev/null
        for pass in 1 2; do rm -rf -- "$1"/*/data; sleep 1; done"#;
    let child = Command::new("sh")
        .args(["-c", script, "broom"])
        .arg(dir)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    child.ok().and_then(|mut child| child.stdin.take())
}
