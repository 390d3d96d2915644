//! What was made of files, and is made anew when they change.
//!
//! Files are looked at, not watched: that sees every way in which files change, such as the symlinks that Kubernetes swaps.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use skein_settings::Fault;

use super::files::read;

/// The bytes of some files, in their order.
type All = Vec<Vec<u8>>;
type Make<T> = Box<dyn Fn(&[Vec<u8>]) -> Result<T, Vec<Fault>> + Send + Sync>;

/// What came of new files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Renewed {
    /// They are used from now on.
    Taken,
    /// They are not good, for this reason; what was used before still is.
    Faulty(String),
}

/// Something that is made of files.
pub trait Look: Send + Sync {
    /// Looks at the files; what came of it if they have changed, once for each change. It blocks.
    fn look(&self) -> Option<Renewed>;

    /// The files, as a log names them.
    fn files(&self) -> String;
}

/// What was made of files.
pub(super) struct Kept<T> {
    paths: Vec<PathBuf>,
    make: Make<T>,
    current: RwLock<Arc<T>>,
    seen: Mutex<Seen>,
}

struct Seen {
    /// What was made of them last, or could not be.
    used: All,
    /// What they said at the last look, if that is something else.
    before: Option<All>,
}

impl<T> Kept<T> {
    /// Makes it of what the files hold.
    pub(super) fn new(
        paths: Vec<PathBuf>, bytes: All, make: impl Fn(&[Vec<u8>]) -> Result<T, Vec<Fault>> + Send + Sync + 'static,
    ) -> Result<Self, Vec<Fault>> {
        let made = make(&bytes)?;
        Ok(Self {
            paths,
            make: Box::new(make),
            current: RwLock::new(Arc::new(made)),
            seen: Mutex::new(Seen { used: bytes, before: None }),
        })
    }

    /// As it is now.
    pub(super) fn current(&self) -> Arc<T> {
        Arc::clone(&self.current.read().unwrap_or_else(PoisonError::into_inner))
    }
}

impl<T: Send + Sync> Look for Kept<T> {
    fn look(&self) -> Option<Renewed> {
        // Between two versions a file may be missing.
        let now: Option<All> = self.paths.iter().map(|path| read(path).ok()).collect();
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let now = now.filter(|now| *now != seen.used);
        // Two looks that agree: somebody may be writing just now, or has replaced one file of two.
        if now.is_none() || now != seen.before {
            seen.before = now;
            return None;
        }
        seen.before = None;
        seen.used = now?;
        match (self.make)(&seen.used) {
            Ok(made) => {
                *self.current.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(made);
                Some(Renewed::Taken)
            }
            Err(faults) => {
                Some(Renewed::Faulty(faults.iter().map(|fault| fault.what.as_str()).collect::<Vec<_>>().join("; ")))
            }
        }
    }

    fn files(&self) -> String {
        self.paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ")
    }
}
