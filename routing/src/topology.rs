//! What is known of a real cluster: a hint for finding brokers, never a decision about who may see what.

use std::collections::BTreeMap;
use std::sync::Arc;

use skein_filters::{Address, Tag};
use skein_protocol::ids::{ApiKey, RealNodeId, RealTopicId};
use skein_protocol::table::Versions;

/// A cluster, by its place in the configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ClusterIndex(pub u16);

/// Where a lane leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Destination {
    /// The cluster.
    pub cluster: ClusterIndex,
    /// The broker; `None` for any that lives.
    pub node: Option<RealNodeId>,
}

/// What a cluster offers, from the ApiVersions answers of its brokers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Offer {
    /// The versions of each API that every broker seen so far has.
    pub apis: BTreeMap<ApiKey, Versions>,
    /// Supported features: name, lowest and highest level.
    pub supported: Vec<(Arc<str>, i16, i16)>,
    /// Finalized features: name, lowest and highest level.
    pub finalized: Vec<(Arc<str>, i16, i16)>,
    /// The epoch of the finalized features; −1 if unknown.
    pub epoch: i64,
}

impl Offer {
    /// What two brokers offer alike; features are those of the one that has heard of more.
    #[must_use]
    pub fn meet(self, other: &Self) -> Self {
        let both = |(key, versions): (ApiKey, Versions)| Some((key, versions.meet(*other.apis.get(&key)?)?));
        let apis = self.apis.iter().map(|(key, versions)| (*key, *versions)).filter_map(both).collect();
        let newer = if other.epoch > self.epoch { other.clone() } else { self };
        Self { apis, ..newer }
    }

    /// What two clusters offer alike: of features, the lowest level that one of them has.
    #[must_use]
    pub fn across(self, other: &Self) -> Self {
        type Features = Vec<(Arc<str>, i16, i16)>;
        let both = |one: &Features, other: &Features| -> Features {
            let least = |(name, from, to): &(Arc<str>, i16, i16)| {
                let (_, from_there, to_there) = other.iter().find(|(there, ..)| there == name)?;
                let (from, to) = (*from.max(from_there), *to.min(to_there));
                (from <= to).then(|| (Arc::clone(name), from, to))
            };
            one.iter().filter_map(least).collect()
        };
        let (supported, finalized) = (both(&self.supported, &other.supported), both(&self.finalized, &other.finalized));
        // It grows whenever that of one of them does.
        let epoch = if self.epoch < 0 || other.epoch < 0 { -1 } else { self.epoch.saturating_add(other.epoch) };
        Self { supported, finalized, epoch, ..self.meet(other) }
    }
}

/// Topics, by name, with their ids.
pub type Topics = Arc<[(Box<str>, RealTopicId)]>;

/// A snapshot of what is known of a cluster. Pieces come at different times; none is taken back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Topology {
    /// Its own cluster id.
    pub cluster_id: Option<Arc<str>>,
    /// What its brokers offer.
    pub offer: Option<Arc<Offer>>,
    /// Where each broker is reached.
    pub nodes: BTreeMap<RealNodeId, Address>,
    /// Its topics with their ids, as it listed them last to whoever asked; `None` until somebody had to know.
    pub topics: Option<Topics>,
}

impl Topology {
    /// The tag of its producer ids.
    pub fn tag(&self) -> Option<Tag> {
        self.cluster_id.as_deref().map(Tag::of_cluster)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offer(epoch: i64, apis: &[(i16, i16, i16)]) -> Offer {
        let apis = apis.iter().map(|(key, from, to)| (ApiKey(*key), Versions { from: *from, to: *to })).collect();
        Offer { apis, epoch, ..Offer::default() }
    }

    #[test]
    fn what_brokers_offer_alike_is_what_each_of_them_has() {
        let old = offer(3, &[(0, 0, 11), (1, 0, 17), (4, 0, 7)]);
        let new = offer(5, &[(0, 3, 13), (1, 18, 19), (68, 0, 1)]);
        let common = offer(5, &[(0, 3, 11)]);
        assert_eq!(old.clone().meet(&new), common);
        assert_eq!(new.meet(&old), common);
    }
}
