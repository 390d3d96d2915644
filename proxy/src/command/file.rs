//! The file that is served, and what becomes of it when it changes.
//!
//! It is looked at, not watched: a look at a small file costs some microseconds, and sees every way in which files change: a
//! write, a rename, the symlinks that Kubernetes swaps, file systems that notify nobody.

use std::path::PathBuf;
use std::time::Duration;

use miette::{Diagnostic, IntoDiagnostic, WrapErr};
use skein_config::Configuration;
use skein_routing::kind::Registry;

use crate::app::App;
use crate::events::{Reloaded, Unloaded};

/// Time between two looks.
const LOOK: Duration = Duration::from_secs(2);
/// Bytes of a file: what is longer is none of ours.
const MOST: u64 = 16 << 20;

/// The configuration file.
pub(super) struct File {
    path: PathBuf,
    /// What it said when it was last read, good or bad.
    text: String,
}

impl File {
    /// Reads it for the first time.
    pub(super) fn read(path: PathBuf, kinds: &Registry) -> miette::Result<(Self, Configuration)> {
        let text = read(&path)?;
        let configuration = skein_config::load(&path.display().to_string(), &text, kinds)?;
        Ok((Self { path, text }, configuration))
    }

    /// Waits until it says something else than when it was last read. A file that cannot be read says nothing: between two
    /// versions it may be missing.
    pub(super) async fn changed(&self) {
        let mut before: Option<String> = None;
        loop {
            tokio::time::sleep(LOOK).await;
            let path = self.path.clone();
            let looked = tokio::task::spawn_blocking(move || read(&path).ok()).await;
            let now = looked.ok().flatten().filter(|text| *text != self.text);
            // Two looks that agree: somebody may be writing just now.
            if now.is_some() && now == before {
                return;
            }
            before = now;
        }
    }

    /// Reads it again and has it served; with any fault everything stays as it is.
    pub(super) async fn reload(&mut self, app: &mut App, kinds: &Registry) {
        let name = self.path.display().to_string();
        let outcome = async {
            self.text = read(&self.path)?;
            let configuration = skein_config::load(&name, &self.text, kinds)?;
            Ok::<_, miette::Report>(app.change(configuration).await?)
        };
        match outcome.await {
            Ok(changes) => Reloaded { file: &name, changes }.emit(app.meters()),
            Err(report) => Unloaded { file: &name, why: &in_a_line(&report) }.emit(app.meters()),
        }
    }
}

/// All that is wrong in one line, as a log wants it.
fn in_a_line(report: &miette::Report) -> String {
    let place = |fault: &dyn Diagnostic| {
        let label = fault.labels()?.next()?;
        let line = report.source_code()?.read_span(label.inner(), 0, 0).ok()?.line() + 1;
        Some(format!(" (line {line})"))
    };
    let related = report.related().into_iter().flatten();
    let faults: Vec<_> = related.map(|fault| format!("{fault}{}", place(fault).unwrap_or_default())).collect();
    if faults.is_empty() { format!("{report:#}") } else { faults.join("; ") }
}

fn read(path: &PathBuf) -> miette::Result<String> {
    let named = || format!("{} cannot be read", path.display());
    let length = std::fs::metadata(path).into_diagnostic().wrap_err_with(named)?.len();
    if length > MOST {
        miette::bail!("{} has {length} bytes; at most {MOST} are right", path.display());
    }
    std::fs::read_to_string(path).into_diagnostic().wrap_err_with(named)
}
