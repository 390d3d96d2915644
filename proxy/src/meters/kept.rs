//! How long series are kept: as long as what they are about is there, and be it for a last connection that is drained.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::{Labels, Meters};

/// How often each set of labels is kept.
pub(super) type Keepers = Mutex<BTreeMap<Labels, usize>>;

/// Series that have these labels among theirs are kept until the last one of this is dropped; then they are forgotten.
pub(crate) struct Kept {
    meters: Arc<Meters>,
    labels: Labels,
}

impl Meters {
    /// Keeps the series with these labels. Handles are got afterwards: those from before may be of a series that is forgotten.
    pub(crate) fn keep(self: &Arc<Self>, labels: Labels) -> Kept {
        let mut keepers = self.keepers.lock().unwrap_or_else(PoisonError::into_inner);
        *keepers.entry(labels.clone()).or_default() += 1;
        Kept { meters: Arc::clone(self), labels }
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        let mut keepers = self.meters.keepers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(many @ 2..) = keepers.get_mut(&self.labels) {
            *many -= 1;
            return;
        }
        keepers.remove(&self.labels);
        // Still under the lock: whoever keeps them anew must not get a handle of what is about to be forgotten.
        self.meters.retain(|labels| !self.labels.iter().all(|label| labels.contains(label)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meters::labels;

    #[test]
    fn series_are_forgotten_with_the_last_of_what_they_are_about() {
        let meters = Arc::new(Meters::default());
        let series = |name| labels([("virtual_cluster", name), ("listener", "plain")]);
        let [old, new, other] = ["main", "main", "other"].map(|name| meters.keep(labels([("virtual_cluster", name)])));
        for name in ["main", "other"] {
            meters.connections_open.get(&series(name)).inc();
        }
        let has = |name: &str| meters.text().contains(&format!("\"{name}\""));
        drop(old);
        assert!(has("main"), "its new form is there");
        drop(new);
        assert!(!has("main") && has("other"));
        drop(other);
        assert!(!has("other"));
    }
}
