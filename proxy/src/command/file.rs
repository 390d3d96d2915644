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
use tokio::time::Instant;

use super::wrong::Wrong;
use crate::app::{App, Changes};
use crate::events::{Reloaded, Unloaded};

/// Time between two looks.
const LOOK: Duration = Duration::from_secs(2);
/// How long reading it may take.
const READ: Duration = Duration::from_secs(5);
/// The first pause before what could not be served, though the file has no fault, is tried again; it doubles with each try.
const AGAIN: Duration = Duration::from_secs(2);
/// The longest such pause.
const LONGEST_AGAIN: Duration = Duration::from_secs(60);

/// The configuration file.
pub(super) struct File {
    path: PathBuf,
    /// What it said when it was last read, good or bad.
    bytes: Vec<u8>,
    /// Set while that cannot be served for a reason that may pass.
    hindered: Option<Hindered>,
}

/// What is not served for a reason that may pass: an address that is taken, a file that is missing.
struct Hindered {
    why: String,
    pause: Duration,
    /// When it is tried again.
    due: Instant,
}

/// Why a file is not served.
enum Unserved {
    /// For as long as it says what it says.
    Faulty(String),
    /// For now.
    Hindered(String),
}

impl File {
    /// Reads it for the first time.
    pub(super) fn read(path: PathBuf, kinds: &Registry) -> Result<(Self, Configuration), Wrong> {
        let bytes = read(&path).map_err(Wrong::new)?;
        let configuration = load(&path, &bytes, kinds)?;
        Ok((Self { path, bytes, hindered: None }, configuration))
    }

    /// Waits until it is to be read again: it says something else, or what hindered it may have passed.
    pub(super) async fn is_due(&self) {
        let again = async {
            match &self.hindered {
                Some(hindered) => tokio::time::sleep_until(hindered.due).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = self.changed() => {}
            () = again => {}
        }
    }

    /// Waits until it says something else than when it was last read. A file that cannot be read says nothing: between two
    /// versions it may be missing.
    async fn changed(&self) {
        let mut before: Option<Vec<u8>> = None;
        loop {
            tokio::time::sleep(LOOK).await;
            let path = self.path.clone();
            let looked = tokio::task::spawn_blocking(move || read_again(&path).ok()).await;
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
        let before = self.hindered.take();
        match self.take_over(app, kinds).await {
            Ok(changes) => Reloaded { file: &name, changes }.emit(app.meters()),
            Err(Unserved::Faulty(why)) => Unloaded { file: &name, why: &why }.emit(app.meters()),
            Err(Unserved::Hindered(why)) => {
                let now = Instant::now();
                let hindered = Hindered::again(before, why, now);
                // Somebody who has it read before its time wants to know.
                if hindered.pause == AGAIN {
                    Unloaded { file: &name, why: &hindered.why }.emit(app.meters());
                }
                self.hindered = Some(hindered);
            }
        }
    }

    async fn take_over(&mut self, app: &mut App, kinds: &Registry) -> Result<Changes, Unserved> {
        let path = self.path.clone();
        let reading = tokio::task::spawn_blocking(move || read_again(&path));
        let read = tokio::time::timeout(READ, reading).await;
        let late = || format!("{} could not be read within {} s", self.path.display(), READ.as_secs());
        self.bytes = read.ok().and_then(Result::ok).unwrap_or_else(|| Err(late())).map_err(Unserved::Hindered)?;
        let loaded = load(&self.path, &self.bytes, kinds);
        let configuration = loaded.map_err(|faults| Unserved::Faulty(faults.in_a_line()))?;
        // What is in the files that it names may change by itself, too.
        app.change(configuration).await.map_err(|not_served| Unserved::Hindered(not_served.to_string()))
    }
}

impl Hindered {
    /// What hinders it now. The pause grows while that is what hindered it when it was tried last; whatever is new, or is
    /// looked at before its time, begins with the first one.
    fn again(before: Option<Self>, why: String, now: Instant) -> Self {
        let goes_on = before.filter(|before| before.due <= now && before.why == why);
        let pause = goes_on.map_or(AGAIN, |before| LONGEST_AGAIN.min(before.pause * 2));
        Self { why, pause, due: now + pause }
    }
}

fn load(path: &Path, bytes: &[u8], kinds: &Registry) -> Result<Configuration, Faults> {
    skein_config::load(&path.display().to_string(), bytes, kinds, &|name: &str| std::env::var(name))
}

/// The bytes of a file that was read before. What is no plain file by now could keep its reader for ever.
fn read_again(path: &Path) -> Result<Vec<u8>, String> {
    match fs::metadata(path) {
        Ok(found) if !found.is_file() => Err(format!("{} is no plain file", path.display())),
        Ok(_) | Err(_) => read(path),
    }
}

/// The bytes of a file, or one more than it may have: enough to say that there are too many.
fn read(path: &Path) -> Result<Vec<u8>, String> {
    let most = u64::try_from(skein_config::MOST_BYTES).unwrap_or(u64::MAX).saturating_add(1);
    let mut bytes = Vec::new();
    let opened = fs::File::open(path).and_then(|file| file.take(most).read_to_end(&mut bytes));
    opened.map_err(|error| format!("{} cannot be read: {error}", path.display()))?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_while_the_same_hinders_and_begin_anew_with_what_is_new() {
        let now = Instant::now();
        let mut hindered = Hindered::again(None, "taken".to_owned(), now);
        let mut pauses = Vec::new();
        for _ in 0..7 {
            pauses.push(hindered.pause.as_secs());
            let due = hindered.due;
            hindered = Hindered::again(Some(hindered), "taken".to_owned(), due);
        }
        assert_eq!(pauses, [2, 4, 8, 16, 32, 60, 60]);
        let due = hindered.due;
        hindered = Hindered::again(Some(hindered), "another is taken".to_owned(), due);
        assert_eq!(hindered.pause, AGAIN);
        assert_eq!(Hindered::again(Some(hindered), "another is taken".to_owned(), due).pause, AGAIN, "before its time");
    }
}
