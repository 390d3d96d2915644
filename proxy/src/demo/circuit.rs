//! What the clients of one virtual cluster share: whether they go on, and what they have seen.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::setting::Setting;
use super::verifier::Ledger;

/// Round trips that percentiles are taken from.
const SAMPLES: usize = 2000;

/// One virtual cluster, its clients and its books.
#[derive(Debug)]
pub(super) struct Circuit {
    /// Where it is.
    pub(super) setting: Setting,
    /// Names the run in each record: what an earlier one has left is not taken for ours.
    pub(super) run: String,
    /// Records per second, of all producers together.
    pub(super) rate: u32,
    /// The books.
    pub(super) ledger: Ledger,
    /// From the hand of a producer to its acknowledgement.
    pub(super) latencies: Latencies,
    /// Bytes on the clients' connections.
    pub(super) traffic: Traffic,
    /// Partitions that the group's member holds.
    pub(super) held: AtomicUsize,
    sending: AtomicBool,
    reading: AtomicBool,
}

impl Circuit {
    /// With everything at zero.
    pub(super) fn new(setting: Setting, run: &str, rate: u32) -> Self {
        Self {
            setting,
            run: run.to_owned(),
            rate,
            ledger: Ledger::default(),
            latencies: Latencies::default(),
            traffic: Traffic::default(),
            held: AtomicUsize::new(0),
            sending: AtomicBool::new(true),
            reading: AtomicBool::new(true),
        }
    }

    /// Whether producers go on.
    pub(super) fn is_sending(&self) -> bool {
        self.sending.load(Ordering::Relaxed)
    }

    /// Whether consumers go on.
    pub(super) fn is_reading(&self) -> bool {
        self.reading.load(Ordering::Relaxed)
    }

    /// Producers send what they have and end.
    pub(super) fn stop_sending(&self) {
        self.sending.store(false, Ordering::Relaxed);
    }

    /// Everything ends.
    pub(super) fn stop(&self) {
        self.stop_sending();
        self.reading.store(false, Ordering::Relaxed);
    }
}

/// The last round trips.
#[derive(Debug, Default)]
pub(super) struct Latencies {
    last: Mutex<VecDeque<Duration>>,
}

impl Latencies {
    /// One more.
    pub(super) fn add(&self, time: Duration) {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if last.len() == SAMPLES {
            last.pop_front();
        }
        last.push_back(time);
    }

    /// The median and the 99th percentile; `None` before the first.
    pub(super) fn percentiles(&self) -> Option<(Duration, Duration)> {
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let mut sorted: Vec<_> = last.iter().copied().collect();
        drop(last);
        sorted.sort_unstable();
        let at = |percent: usize| sorted.get(sorted.len() * percent / 100).copied();
        Some((at(50)?, at(99)?))
    }
}

/// Bytes on connections, ever since their clients began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Bytes {
    /// From clients to the node.
    pub(super) up: u64,
    /// From the node to clients.
    pub(super) down: u64,
}

/// Bytes by client and node.
#[derive(Debug, Default)]
pub(super) struct Traffic {
    seen: Mutex<BTreeMap<String, BTreeMap<i32, Bytes>>>,
}

impl Traffic {
    /// What a client has counted.
    pub(super) fn report(&self, client: &str, bytes: BTreeMap<i32, Bytes>) {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).insert(client.to_owned(), bytes);
    }

    /// What all clients together have counted, by node.
    pub(super) fn by_node(&self) -> BTreeMap<i32, Bytes> {
        let mut sums = BTreeMap::<i32, Bytes>::new();
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        for (node, bytes) in seen.values().flatten() {
            let sum = sums.entry(*node).or_default();
            sum.up += bytes.up;
            sum.down += bytes.down;
        }
        sums
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_of_the_last_round_trips() {
        let latencies = Latencies::default();
        assert_eq!(latencies.percentiles(), None);
        latencies.add(Duration::from_secs(9));
        (0..SAMPLES).for_each(|_| latencies.add(Duration::from_millis(1)));
        assert_eq!(latencies.percentiles(), Some((Duration::from_millis(1), Duration::from_millis(1))));
    }

    #[test]
    fn bytes_of_all_clients_are_summed_by_node() {
        let traffic = Traffic::default();
        traffic.report("a", BTreeMap::from([(1, Bytes { up: 9, down: 9 })]));
        traffic.report("a", BTreeMap::from([(1, Bytes { up: 10, down: 20 }), (2, Bytes { up: 1, down: 1 })]));
        traffic.report("b", BTreeMap::from([(1, Bytes { up: 5, down: 5 })]));
        let sums = BTreeMap::from([(1, Bytes { up: 15, down: 25 }), (2, Bytes { up: 1, down: 1 })]);
        assert_eq!(traffic.by_node(), sums);
    }
}
