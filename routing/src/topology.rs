//! What is known of a real cluster: a hint for finding brokers, never a decision about who may see what.

use std::collections::BTreeMap;
use std::sync::Arc;

use skein_filters::{Address, Tag};
use skein_protocol::ids::{ApiKey, RealNodeId};
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

/// A snapshot of what is known of a cluster. Pieces come at different times; none is taken back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Topology {
    /// Its own cluster id.
    pub cluster_id: Option<Arc<str>>,
    /// What its brokers offer.
    pub offer: Option<Arc<Offer>>,
    /// Where each broker is reached.
    pub nodes: BTreeMap<RealNodeId, Address>,
}

impl Topology {
    /// The tag of its producer ids.
    pub fn tag(&self) -> Option<Tag> {
        self.cluster_id.as_deref().map(Tag::of_cluster)
    }
}
