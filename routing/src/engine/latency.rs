//! How long a broker takes: now and then one request of a lane is timed, from its leaving to the head of its answer.

use std::time::{Duration, Instant};

/// The shortest time between two that are timed on one lane: whoever observes them takes a lock.
const BETWEEN: Duration = Duration::from_millis(10);

/// The clock of a lane.
#[derive(Debug, Default)]
pub(super) struct Latency {
    /// The correlation id of the request that is timed, and when it left. Set unless none is.
    timed: Option<(i32, Instant)>,
    /// Before this none is timed. Unset at first.
    next: Option<Instant>,
    /// What was found, and has not been told yet.
    found: Option<Duration>,
}

impl Latency {
    /// A request that wants an answer has left whole.
    pub(super) fn leaves(&mut self, now: Instant, correlation: i32) {
        if self.timed.is_none() && self.next.is_none_or(|next| next <= now) {
            self.timed = Some((correlation, now));
            self.next = now.checked_add(BETWEEN);
        }
    }

    /// The head of the answer to a request is here.
    pub(super) fn comes(&mut self, now: Instant, correlation: i32) {
        if let Some((_, left)) = self.timed.take_if(|(timed, _)| *timed == correlation) {
            self.found = Some(now.saturating_duration_since(left));
        }
    }

    /// The lane is lost: nothing on it is answered any more.
    pub(super) fn forget(&mut self) {
        self.timed = None;
    }

    /// What was found since this was last called.
    pub(super) fn take(&mut self) -> Option<Duration> {
        self.found.take()
    }
}
