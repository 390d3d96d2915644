//! The keys that tokens are signed with, as somebody publishes them: fetched, kept, and fetched again for a key that is not known.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hyper::Method;
use skein_login::{Keys, MOST_KEYS_BYTES};
#[cfg(test)]
use tokio::sync::watch;

use crate::endpoint::{Endpoint, Question};
use crate::files;
use crate::refreshed::{Fetched, Refreshed};

/// Between two fetches that nobody has asked for.
pub const USUAL_REFRESH: Duration = Duration::from_secs(300);
/// Between two looks at a file.
const LOOK: Duration = Duration::from_secs(2);

/// Where keys come from: a JSON Web Key Set.
#[derive(Clone, Debug)]
pub enum KeyOrigin {
    /// Over HTTPS, again after so long.
    Endpoint(Endpoint, Duration),
    /// From a file, which is looked at every other second.
    File(PathBuf),
}

/// Keys that are kept fresh. What was good stays while nothing better is to be had.
#[derive(Debug)]
pub struct KeySource(Refreshed<Keys>);

/// What was read last: only what is new is published.
struct Seen {
    set: Vec<u8>,
    keys: Arc<Keys>,
}

impl KeySource {
    /// Begins to fetch, at once; in a runtime of tokio.
    pub fn start(origin: KeyOrigin) -> Self {
        let origin = Arc::new(origin);
        let seen: Arc<Mutex<Option<Seen>>> = Arc::default();
        Self(Refreshed::start(move || {
            let (origin, seen) = (Arc::clone(&origin), Arc::clone(&seen));
            async move {
                let (set, rest) = fetch(&origin).await?;
                let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some(Seen { keys: value, .. }) = seen.as_ref().filter(|seen| seen.set == set) {
                    return Ok(Fetched { value: Arc::clone(value), rest });
                }
                let value = Arc::new(Keys::parse(&set)?);
                *seen = Some(Seen { set, keys: Arc::clone(&value) });
                Ok(Fetched { value, rest })
            }
        }))
    }

    /// The keys as they are now: none before the first fetch.
    pub fn keys(&self) -> Arc<Keys> {
        self.0.value().unwrap_or_default()
    }

    /// The keys, and whatever replaces them; `None` before the first fetch.
    #[cfg(test)]
    fn watch(&self) -> watch::Receiver<Option<Arc<Keys>>> {
        self.0.watch()
    }

    /// The keys after one more look, for a token whose key is not known. However many ask, there is one fetch in ten seconds;
    /// in between they get what there is, at once.
    pub async fn newer(&self) -> Arc<Keys> {
        self.0.refresh().await;
        self.keys()
    }

    /// Why the last fetch failed; `None`: it did not.
    pub fn failure(&self) -> Option<Arc<str>> {
        self.0.failure()
    }
}

async fn fetch(origin: &KeyOrigin) -> Result<(Vec<u8>, Duration), String> {
    match origin {
        KeyOrigin::File(path) => {
            let set = files::read(path.clone(), MOST_KEYS_BYTES + 1).await?;
            Ok((set, LOOK))
        }
        KeyOrigin::Endpoint(endpoint, rest) => {
            let question = Question { method: Method::GET, form: String::new(), authorization: None };
            let (status, body) = endpoint.ask(question, MOST_KEYS_BYTES).await?;
            if status.as_u16() == 200 {
                Ok((body.to_vec(), *rest))
            } else {
                Err(format!("it answers {status} for its keys"))
            }
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
