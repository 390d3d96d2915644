//! How long what has failed is left alone: longer with every failure, and never alike for two who wait.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use skein_protocol::ids::RealNodeId;
use tokio::time::Instant;

/// The longest rest after a first failure.
const FIRST: Duration = Duration::from_millis(100);
/// The longest rest at all.
pub(crate) const LONGEST: Duration = Duration::from_secs(2);

/// A time between nothing and what so many failures in a row are worth: exponential back-off with full jitter.
pub(crate) fn rest(failures: u32) -> Duration {
    let most = FIRST.saturating_mul(2u32.saturating_pow(failures.saturating_sub(1))).min(LONGEST);
    most.mul_f64(fastrand::f64())
}

/// The brokers of a cluster that could not be reached; `None` stands for any of them.
#[derive(Debug, Default)]
pub(crate) struct Resting {
    failed: Mutex<BTreeMap<Option<RealNodeId>, Failed>>,
}

#[derive(Clone, Copy, Debug)]
struct Failed {
    in_a_row: u32,
    until: Instant,
}

impl Resting {
    /// For how long a broker is left alone; `None`: it may be dialled.
    pub(crate) fn left(&self, node: Option<RealNodeId>) -> Option<Duration> {
        let failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        let left = failed.get(&node)?.until.saturating_duration_since(Instant::now());
        (!left.is_zero()).then_some(left)
    }

    /// It was dialled, and so it went.
    pub(crate) fn dialled<T, E>(&self, node: Option<RealNodeId>, outcome: &Result<T, E>) {
        let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        if outcome.is_ok() {
            failed.remove(&node);
            return;
        }
        let now = Instant::now();
        let entry = failed.entry(node).or_insert(Failed { in_a_row: 0, until: now });
        // Who had dialled before the last failure was known says nothing new.
        if entry.until <= now {
            entry.in_a_row = entry.in_a_row.saturating_add(1);
            entry.until = now + rest(entry.in_a_row);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rest_grows_to_its_bound_and_is_never_the_same() {
        for (failures, most) in [(1, 100), (2, 200), (5, 1600), (6, 2000), (u32::MAX, 2000)] {
            let rests: Vec<_> = (0..200).map(|_| rest(failures)).collect();
            let most = Duration::from_millis(most);
            assert!(rests.iter().all(|rest| *rest <= most), "{failures}");
            assert!(
                rests.iter().any(|rest| *rest > most / 2) && rests.iter().any(|rest| *rest < most / 2),
                "{failures}"
            );
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_broker_that_fails_is_left_alone_by_itself_until_it_is_reached() {
        let (resting, one) = (Resting::default(), Some(RealNodeId(1)));
        let mut rested = Duration::ZERO;
        for _ in 0..8 {
            resting.dialled(one, &Err::<(), _>(()));
            let left = resting.left(one).unwrap_or_default();
            rested += left;
            tokio::time::advance(left + Duration::from_millis(1)).await;
            assert_eq!((resting.left(one), resting.left(None)), (None, None));
        }
        assert!(rested > Duration::from_millis(300), "{rested:?}");
        resting.dialled(one, &Ok::<_, ()>(()));
        assert!(resting.failed.lock().unwrap().is_empty());
    }
}
