//! Files that the configuration names, and that change by themselves: users, keys, certificates.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use skein_link::files::read_at_most;
use tokio::sync::watch;

use crate::events::FileRead;
use crate::meters::Meters;

/// How often a file is looked at.
const LOOK: Duration = Duration::from_secs(2);

/// What reads a file: from its bytes, or what is wrong with them.
pub(crate) type Parse<T> = fn(&[u8]) -> Result<T, String>;

/// A file that is followed, as long as somebody holds what comes of it.
pub(crate) struct Followed {
    pub(crate) path: PathBuf,
    /// Bytes that it may have.
    pub(crate) most: usize,
}

impl Followed {
    /// Reads it once.
    ///
    /// # Errors
    /// It cannot be read, or it is not what it should be.
    pub(crate) fn read<T>(&self, parse: Parse<T>) -> Result<(T, Vec<u8>), String> {
        let name = self.path.display();
        let bytes =
            read_at_most(&self.path, self.most + 1).map_err(|error| format!("{name} cannot be read: {error}"))?;
        if bytes.len() > self.most {
            return Err(format!("{name} has more than {} bytes", self.most));
        }
        let parsed = parse(&bytes).map_err(|what| format!("{name}: {what}"))?;
        Ok((parsed, bytes))
    }

    /// Follows it: `current` is what came of `bytes`. What is wrong with a newer form is told once, and the last good one
    /// stays.
    pub(crate) fn follow<T: Send + Sync + 'static>(
        self, (current, bytes): (T, Vec<u8>), parse: Parse<T>, meters: Arc<Meters>,
    ) -> watch::Receiver<Arc<T>> {
        let (sender, receiver) = watch::channel(Arc::new(current));
        tokio::spawn(async move {
            let (this, mut known) = (Arc::new(self), bytes);
            let (mut told, mut before) = (None, None);
            loop {
                tokio::select! {
                    () = tokio::time::sleep(LOOK) => {}
                    () = sender.closed() => return,
                }
                let looked = Arc::clone(&this);
                let Ok(read) = tokio::task::spawn_blocking(move || looked.read(parse)).await else { continue };
                // Two looks that agree: somebody may be writing just now.
                let seen = read.as_ref().map(|(_, bytes)| bytes.clone()).map_err(Clone::clone);
                let is_settled = before.replace(seen.clone()) == Some(seen);
                if !is_settled {
                    continue;
                }
                let failure = match read {
                    Ok((parsed, bytes)) if bytes != known => {
                        known = bytes;
                        sender.send_replace(Arc::new(parsed));
                        None
                    }
                    // Back to what is in use, or never away from it.
                    Ok(_) if told.is_none() => continue,
                    Ok(_) => None,
                    Err(why) if told.as_ref() == Some(&why) => continue,
                    Err(why) => Some(why),
                };
                FileRead { file: &this.path.display().to_string(), failure: failure.as_deref() }.emit(&meters);
                told = failure;
            }
        });
        receiver
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn parse(bytes: &[u8]) -> Result<String, String> {
        let text = String::from_utf8_lossy(bytes).into_owned();
        if text.contains("bad") { Err("it is bad".to_owned()) } else { Ok(text) }
    }

    #[tokio::test(start_paused = true)]
    async fn a_file_is_followed_and_a_bad_one_changes_nothing() {
        let folder = std::env::temp_dir().join(format!("skein-follow-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("users");
        fs::write(&path, "one").unwrap();
        let followed = Followed { path: path.clone(), most: 10 };
        let first = followed.read(parse).unwrap();
        let mut now = followed.follow(first, parse, Arc::default());
        assert_eq!(**now.borrow(), "one");
        fs::write(&path, "bad").unwrap();
        tokio::time::sleep(LOOK * 4).await;
        fs::write(&path, "longer than it may be").unwrap();
        tokio::time::sleep(LOOK * 4).await;
        fs::remove_file(&path).unwrap();
        tokio::time::sleep(LOOK * 4).await;
        assert!(!now.has_changed().unwrap());
        fs::write(&path, "two").unwrap();
        now.changed().await.unwrap();
        assert_eq!(**now.borrow(), "two");
        fs::remove_dir_all(&folder).unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn a_file_that_is_half_written_is_not_taken() {
        let path = std::env::temp_dir().join(format!("skein-follow-half-{}", std::process::id()));
        fs::write(&path, "one").unwrap();
        let followed = Followed { path: path.clone(), most: 10 };
        let first = followed.read(parse).unwrap();
        let mut now = followed.follow(first, parse, Arc::default());
        fs::write(&path, "tw").unwrap();
        // One look falls between the two halves.
        tokio::time::sleep(LOOK + LOOK / 2).await;
        assert!(!now.has_changed().unwrap());
        fs::write(&path, "two").unwrap();
        now.changed().await.unwrap();
        assert_eq!(**now.borrow_and_update(), "two");
        fs::remove_file(&path).unwrap();
    }
}
