//! How long brokers take, told from the heads of frames: now and then one request is timed on each link.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::frames::Frames;
use crate::meters::BrokerMeters;

/// The shortest time between two that are timed on one link: what is observed takes a lock.
const BETWEEN: Duration = Duration::from_millis(10);

/// The clock of a link.
pub(super) struct Timing {
    meters: Arc<BrokerMeters>,
    requests: Frames,
    answers: Frames,
    /// The correlation id of the request that is timed, and when it left. Set unless none is.
    timed: Option<(i32, Instant)>,
    /// Before this none is timed. Unset at first.
    next: Option<Instant>,
}

impl Timing {
    pub(super) fn new(meters: Arc<BrokerMeters>) -> Self {
        meters.open.inc();
        Self { meters, requests: Frames::default(), answers: Frames::default(), timed: None, next: None }
    }

    /// Bytes leave for the broker.
    pub(super) fn leaves(&mut self, now: Instant, bytes: &[u8]) {
        let (timed, next) = (&mut self.timed, &mut self.next);
        self.requests.pass(bytes, |head| {
            if timed.is_none() && next.is_none_or(|next| next <= now) {
                *timed = number(head, 8).map(|correlation| (correlation, now));
                *next = now.checked_add(BETWEEN);
            }
        });
    }

    /// Bytes have come from the broker.
    pub(super) fn comes(&mut self, now: Instant, bytes: &[u8]) {
        let (timed, meters) = (&mut self.timed, &self.meters);
        self.answers.pass(bytes, |head| {
            let (Some(answered), Some((correlation, since))) = (number(head, 4), *timed) else { return };
            if answered == correlation {
                meters.answered(now.saturating_duration_since(since));
            }
            // Ids of a link count up: one that lies behind was that of a request without an answer.
            if answered.wrapping_sub(correlation) >= 0 {
                *timed = None;
            }
        });
    }
}

impl Drop for Timing {
    fn drop(&mut self) {
        self.meters.open.dec();
    }
}

fn number(head: &[u8], at: usize) -> Option<i32> {
    let bytes = head.get(at..at + 4)?.try_into().ok()?;
    Some(i32::from_be_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::meters::Meters;

    fn request(correlation: i32) -> Vec<u8> {
        [&8i32.to_be_bytes()[..], &[0, 0, 0, 9], &correlation.to_be_bytes()].concat()
    }

    fn answer(correlation: i32) -> Vec<u8> {
        [&4i32.to_be_bytes()[..], &correlation.to_be_bytes()].concat()
    }

    #[test]
    fn an_answer_is_timed_by_its_correlation_id_and_a_request_without_one_is_passed_over() {
        let meters = Meters::default();
        let mut timing = Timing::new(Arc::new(BrokerMeters::new(&meters, "one")));
        let begun = Instant::now();
        let at = |seconds| begun + Duration::from_secs(seconds);
        timing.leaves(at(0), &[request(0), request(1), request(2)].concat());
        timing.comes(at(2), &answer(0));
        // 1 is timed by nobody, 3 wants no answer, and 4 is timed after it.
        timing.comes(at(3), &answer(1));
        timing.leaves(at(4), &request(3));
        timing.leaves(at(5), &request(4));
        timing.comes(at(6), &answer(2));
        timing.comes(at(7), &answer(4));
        timing.leaves(at(8), &request(5));
        timing.comes(at(9), &answer(5));
        let text = meters.text();
        let has = |line: &str| assert!(text.contains(line), "{line} is not in {text}");
        has("skein_broker_latency_seconds_sum{cluster=\"one\"} 3.0");
        has("skein_broker_latency_seconds_count{cluster=\"one\"} 2");
        has("skein_links_open{cluster=\"one\"} 1");
        drop(timing);
        assert!(meters.text().contains("skein_links_open{cluster=\"one\"} 0"));
    }
}
