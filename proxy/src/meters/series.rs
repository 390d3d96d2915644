//! The series of one metric, by their labels.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use prometheus_client::metrics::counter::{Atomic, Counter};
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};

/// Names and values.
pub(crate) type Labels = Vec<(&'static str, String)>;

/// Labels of these names and values.
pub(crate) fn labels<const N: usize>(pairs: [(&'static str, &str); N]) -> Labels {
    pairs.map(|(name, value)| (name, value.to_owned())).to_vec()
}

/// A metric of which a new series is made.
pub(crate) trait Made: Clone {
    /// A new one.
    fn made() -> Self;
}

impl<N, A: Default> Made for Counter<N, A> {
    fn made() -> Self {
        Self::default()
    }
}

impl<N, A: Default> Made for Gauge<N, A> {
    fn made() -> Self {
        Self::default()
    }
}

/// From a quarter of a millisecond to a minute and more.
const BUCKETS: (f64, f64, u16) = (0.000_25, 2.0, 19);

impl Made for Histogram {
    fn made() -> Self {
        let (first, factor, count) = BUCKETS;
        Self::new(exponential_buckets(first, factor, count))
    }
}

/// All series of one metric.
pub(crate) struct Series<M> {
    family: Family<Labels, M, fn() -> M>,
    /// Those that there are: the family does not tell.
    made: Mutex<BTreeSet<Labels>>,
}

impl<M: Made> Default for Series<M> {
    fn default() -> Self {
        Self { family: Family::new_with_constructor(M::made), made: Mutex::default() }
    }
}

impl<M: Made> Series<M> {
    /// What is registered.
    pub(super) fn family(&self) -> Family<Labels, M, fn() -> M> {
        self.family.clone()
    }

    /// The series of these labels.
    pub(crate) fn get(&self, labels: &Labels) -> M {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if !made.contains(labels) {
            made.insert(labels.clone());
        }
        self.family.get_or_create_owned(labels)
    }

    /// Forgets those that are not there any more.
    pub(crate) fn retain(&self, is_there: impl Fn(&Labels) -> bool) {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        made.retain(|labels| {
            let stays = is_there(labels);
            if !stays {
                self.family.remove(labels);
            }
            stays
        });
    }
}

impl<N: Clone, A: Atomic<N> + Default> Series<Counter<N, A>> {
    /// Counts one in the series of these labels.
    pub(crate) fn count<const L: usize>(&self, pairs: [(&'static str, &str); L]) {
        self.get(&labels(pairs)).inc();
    }
}
