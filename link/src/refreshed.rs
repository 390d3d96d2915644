//! What is fetched again and again by one task, for all who need it: keys, tokens.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until, timeout};

/// Between two fetches, however many ask for one: what a flood of questions costs the other side.
pub(crate) const PAUSE: Duration = Duration::from_secs(10);
/// The longest rest after failures. The first is a second, and each is twice the one before.
const LONGEST: Duration = Duration::from_secs(60);
/// How long somebody waits for a fetch: longer than one takes.
const WAIT: Duration = Duration::from_secs(12);

/// What a fetch gives, and how long it is good for.
pub(crate) struct Fetched<T> {
    pub(crate) value: Arc<T>,
    /// Until the next fetch.
    pub(crate) rest: Duration,
}

/// A value that one task keeps fresh. It ends with the last clone of this.
#[derive(Debug)]
pub(crate) struct Refreshed<T> {
    values: watch::Receiver<Option<Arc<T>>>,
    progress: watch::Receiver<Progress>,
    wanted: Arc<Notify>,
    task: JoinHandle<()>,
}

/// How the fetching goes.
#[derive(Clone, Debug)]
struct Progress {
    /// Fetches that have ended.
    ended: u64,
    /// When the last began; `None`: none has.
    began: Option<Instant>,
    is_at_it: bool,
    failure: Option<Arc<str>>,
}

impl<T: Send + Sync + 'static> Refreshed<T> {
    /// Begins to fetch, at once. After a failure the last value stays, and the next fetch waits a second, then longer.
    pub(crate) fn start<F>(mut fetch: impl FnMut() -> F + Send + 'static) -> Self
    where
        F: Future<Output = Result<Fetched<T>, String>> + Send,
    {
        let (value, values) = watch::channel(None);
        let begun = Progress { ended: 0, began: None, is_at_it: true, failure: None };
        let (now, progress) = watch::channel(begun);
        let wanted = Arc::new(Notify::new());
        let asked = Arc::clone(&wanted);
        let task = tokio::spawn(async move {
            let mut failures = 0;
            loop {
                let began = Instant::now();
                now.send_modify(|progress| (progress.began, progress.is_at_it) = (Some(began), true));
                let outcome = fetch().await;
                let (rest, failure) = match outcome {
                    Ok(Fetched { value: fetched, rest }) => {
                        failures = 0;
                        value.send_if_modified(|value| {
                            let is_other = value.as_ref().is_none_or(|value| !Arc::ptr_eq(value, &fetched));
                            *value = Some(fetched);
                            is_other
                        });
                        (rest, None)
                    }
                    Err(why) => {
                        failures += 1;
                        (after(failures), Some(Arc::from(why)))
                    }
                };
                now.send_modify(|progress| {
                    (progress.is_at_it, progress.failure) = (false, failure);
                    progress.ended += 1;
                });
                tokio::select! {
                    () = sleep_until(Instant::now() + rest) => {}
                    () = asked.notified() => sleep_until(began + PAUSE).await,
                }
            }
        });
        Self { values, progress, wanted, task }
    }

    /// The value as it is now.
    pub(crate) fn value(&self) -> Option<Arc<T>> {
        self.values.borrow().clone()
    }

    /// The value, and whatever replaces it.
    #[cfg(test)]
    pub(crate) fn watch(&self) -> watch::Receiver<Option<Arc<T>>> {
        self.values.clone()
    }

    /// Why the last fetch failed; `None`: it did not.
    pub(crate) fn failure(&self) -> Option<Arc<str>> {
        self.progress.borrow().failure.clone()
    }

    /// Asks for a fetch and waits for its end, or for that of one that is on its way. If the last began a moment ago, there is
    /// none, and no wait.
    pub(crate) async fn refresh(&self) {
        let mut progress = self.progress.clone();
        let ended = {
            let now = progress.borrow_and_update();
            let is_recent = now.began.is_some_and(|began| began.elapsed() < PAUSE);
            match (now.is_at_it, is_recent) {
                (true, _) => {}
                (false, true) => return,
                (false, false) => self.wanted.notify_one(),
            }
            now.ended
        };
        // Whoever has waited so long goes on with what there is.
        let _ = timeout(WAIT, progress.wait_for(|progress| progress.ended > ended)).await;
    }
}

impl<T> Drop for Refreshed<T> {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// The rest after so many failures in a row.
fn after(failures: u32) -> Duration {
    Duration::from_secs(2u64.saturating_pow(failures.saturating_sub(1))).min(LONGEST)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    /// One that counts its fetches, of which those succeed that `is_good` says, each for a minute.
    fn counting(is_good: fn(u64) -> bool) -> (Refreshed<u64>, Arc<AtomicU64>) {
        let fetches = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&fetches);
        let refreshed = Refreshed::start(move || {
            let number = counted.fetch_add(1, Ordering::SeqCst) + 1;
            async move {
                tokio::time::sleep(Duration::from_secs(1)).await;
                let fetched = Fetched { value: Arc::new(number), rest: Duration::from_secs(60) };
                if is_good(number) { Ok(fetched) } else { Err(format!("the {number}th fails")) }
            }
        });
        (refreshed, fetches)
    }

    #[tokio::test(start_paused = true)]
    async fn a_flood_of_questions_is_one_fetch_in_ten_seconds() {
        let (refreshed, fetches) = counting(|_| true);
        let refreshed = Arc::new(refreshed);
        for _ in 0..30 {
            let asked = (0..100).map(|_| {
                let refreshed = Arc::clone(&refreshed);
                tokio::spawn(async move { refreshed.refresh().await })
            });
            for one in asked.collect::<Vec<_>>() {
                one.await.unwrap();
            }
            tokio::time::advance(Duration::from_secs(1)).await;
        }
        let fetches = fetches.load(Ordering::SeqCst);
        assert!((3..=5).contains(&fetches), "{fetches}");
        assert_eq!(refreshed.value().as_deref(), Some(&fetches));
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_fetched_last_stays_while_fetches_fail_and_they_grow_rare() {
        let (refreshed, fetches) = counting(|number| number == 1);
        refreshed.refresh().await;
        assert_eq!((refreshed.value().as_deref(), refreshed.failure()), (Some(&1), None));
        tokio::time::sleep(Duration::from_secs(600)).await;
        assert_eq!(refreshed.value().as_deref(), Some(&1));
        assert!(refreshed.failure().unwrap().ends_with("fails"));
        let fetches = fetches.load(Ordering::SeqCst);
        assert!((10..=18).contains(&fetches), "{fetches}");
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_comes_first_waits_for_the_first_fetch() {
        let (refreshed, _) = counting(|_| true);
        assert_eq!(refreshed.value(), None);
        refreshed.refresh().await;
        assert_eq!(refreshed.value().as_deref(), Some(&1));
    }

    #[tokio::test(start_paused = true)]
    async fn it_ends_with_whoever_has_it() {
        let (refreshed, fetches) = counting(|_| true);
        refreshed.refresh().await;
        drop(refreshed);
        tokio::time::sleep(Duration::from_secs(600)).await;
        assert_eq!(fetches.load(Ordering::SeqCst), 1);
    }
}
