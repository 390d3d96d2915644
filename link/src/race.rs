//! Several ways to one answer: the next is begun while those before are silent, and the first that leads there wins.

use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use tokio::time::timeout;

/// How long the attempts so far may be silent before the next begins beside them: longer than a broker takes that is well,
/// and short against what clients wait.
const NEXT: Duration = Duration::from_millis(300);
/// Attempts at the same time.
const AT_ONCE: usize = 8;
/// How long all of them may take.
pub(crate) const ALL: Duration = Duration::from_secs(10);

/// What the first attempt found that succeeded. Those which have not ended then are dropped.
///
/// # Errors
/// The last failure; `None` if there was nothing to attempt, or nothing ended in time.
pub(crate) async fn first<T, E>(
    attempts: impl IntoIterator<Item: Future<Output = Result<T, E>>>,
) -> Result<T, Option<E>> {
    let mut attempts = attempts.into_iter();
    let mut last = None;
    let all = async {
        let mut running = FuturesUnordered::new();
        loop {
            if running.len() < AT_ONCE {
                running.extend(attempts.next());
            }
            match timeout(NEXT, running.next()).await {
                Ok(Some(Ok(found))) => return Some(found),
                Ok(Some(Err(why))) => last = Some(why),
                Ok(None) => return None,
                Err(_) => {}
            }
        }
    };
    let found = timeout(ALL, all).await.ok().flatten();
    found.ok_or(last)
}

#[cfg(test)]
mod tests {
    use std::future::pending;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use tokio::time::{Instant, sleep};

    use super::*;

    /// What an attempt does.
    #[derive(Clone, Copy)]
    enum Does {
        Fail,
        Nothing,
        /// After so many milliseconds.
        Succeed(u64),
    }

    async fn attempt(number: usize, does: Does) -> Result<usize, usize> {
        match does {
            Does::Fail => Err(number),
            Does::Nothing => pending().await,
            Does::Succeed(after) => {
                sleep(Duration::from_millis(after)).await;
                Ok(number)
            }
        }
    }

    /// The outcome, and after how many milliseconds it was known.
    async fn race(all: &[Does]) -> (Result<usize, Option<usize>>, u128) {
        let begun = Instant::now();
        let outcome = first(all.iter().enumerate().map(|(number, does)| attempt(number, *does))).await;
        (outcome, begun.elapsed().as_millis())
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_silent_holds_nobody_up_and_what_fails_not_at_all() {
        use Does::{Fail, Nothing, Succeed};
        assert_eq!(race(&[Succeed(5), Succeed(1)]).await, (Ok(0), 5));
        assert_eq!(race(&[Fail, Fail, Succeed(5)]).await, (Ok(2), 5));
        let three = NEXT.as_millis() * 3;
        assert_eq!(race(&[Nothing, Nothing, Nothing, Succeed(5)]).await, (Ok(3), three + 5));
        // One that is slow may still win.
        assert_eq!(race(&[Succeed(310), Nothing, Succeed(20)]).await, (Ok(0), 310));
    }

    #[tokio::test(start_paused = true)]
    async fn it_ends_with_the_last_failure_or_when_its_time_is_over() {
        assert_eq!(race(&[]).await, (Err(None), 0));
        assert_eq!(race(&[Does::Fail, Does::Fail]).await, (Err(Some(1)), 0));
        assert_eq!(race(&[Does::Nothing]).await, (Err(None), ALL.as_millis()));
        assert_eq!(race(&[Does::Fail, Does::Nothing]).await, (Err(Some(0)), ALL.as_millis()));
    }

    #[tokio::test(start_paused = true)]
    async fn only_so_many_run_at_once() {
        let begun = AtomicUsize::new(0);
        let attempts = (0..100).map(|number| {
            begun.fetch_add(1, Ordering::Relaxed);
            attempt(number, Does::Nothing)
        });
        assert_eq!(first(attempts).await, Err(None));
        assert_eq!(begun.into_inner(), AT_ONCE);
    }
}
