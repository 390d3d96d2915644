//! The file that is served, and what becomes of it when it changes.
//!
//! It is looked at, not watched: a look at a small file costs some microseconds, and sees every way in which files change: a
//! write, a rename, the symlinks that Kubernetes swaps, file systems that notify nobody.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

use skein_config::{Configuration, Faults};
use skein_routing::kind::Registry;

use super::wrong::Wrong;
use crate::app::App;
use crate::events::{Reloaded, Unloaded};

/// Time between two looks.
const LOOK: Duration = Duration::from_secs(2);
/// The configuration file.
pub(super) struct File {
    path: PathBuf,
    /// What it said when it was last read, good or bad.
    bytes: Vec<u8>,
}

impl File {
    /// Reads it for the first time.
    pub(super) fn read(path: PathBuf, kinds: &Registry) -> Result<(Self, Configuration), Wrong> {
        let bytes = read(&path).map_err(Wrong::new)?;
        let configuration = load(&path, &bytes, kinds)?;
        Ok((Self { path, bytes }, configuration))
    }

    /// Waits until it says something else than when it was last read. A file that cannot be read says nothing: between two
    /// versions it may be missing.
    pub(super) async fn changed(&self) {
        let mut before: Option<Vec<u8>> = None;
        loop {
            tokio::time::sleep(LOOK).await;
            let path = self.path.clone();
            let looked = tokio::task::spawn_blocking(move || read(&path).ok()).await;
            let now = looked.ok().flatten().filter(|bytes| *bytes != self.bytes);
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
            self.bytes = read(&self.path)?;
            let configuration = load(&self.path, &self.bytes, kinds).map_err(|faults| faults.in_a_line())?;
            app.change(configuration).await.map_err(|not_bound| not_bound.to_string())
        };
        match outcome.await {
            Ok(changes) => Reloaded { file: &name, changes }.emit(app.meters()),
            Err(why) => Unloaded { file: &name, why: &why }.emit(app.meters()),
        }
    }
}

fn load(path: &Path, bytes: &[u8], kinds: &Registry) -> Result<Configuration, Faults> {
    skein_config::load(&path.display().to_string(), bytes, kinds, &|name: &str| std::env::var(name))
}

/// The bytes of a file, or one more than it may have: enough to say that there are too many.
fn read(path: &Path) -> Result<Vec<u8>, String> {
    let most = u64::try_from(skein_config::MOST_BYTES).unwrap_or(u64::MAX).saturating_add(1);
    let mut bytes = Vec::new();
    let opened = fs::File::open(path).and_then(|file| file.take(most).read_to_end(&mut bytes));
    opened.map_err(|error| format!("{} cannot be read: {error}", path.display()))?;
    Ok(bytes)
}
