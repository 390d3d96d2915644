//! A configuration, compiled: what the proxy runs.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;

use skein_filters::{Address, Face, Filters};
use skein_protocol::ids::{RealNodeId, VirtualNodeId};
use skein_routing::graph::{Limits, LoginMode, Target};

/// Everything that a file declares.
pub struct Blueprint {
    /// What all connections share.
    pub memory: Memory,
    /// The real clusters; a `ClusterIndex` is a place in it.
    pub clusters: Vec<Cluster>,
    /// What clients see.
    pub virtual_clusters: Vec<VirtualCluster>,
}

/// Memory that all connections share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Memory {
    /// Bytes for requests that are completed before they go on.
    pub requests: u64,
    /// Bytes for answers that are completed before they go on.
    pub answers: u64,
    /// Idle read buffers that are kept.
    pub idle_buffers: usize,
}

impl Default for Memory {
    fn default() -> Self {
        Self { requests: 256 << 20, answers: 256 << 20, idle_buffers: 16 }
    }
}

/// A real cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cluster {
    /// Its name in the file.
    pub name: Arc<str>,
    /// Where some broker of it is reached, at least one.
    pub bootstrap: Vec<Address>,
    /// The node ids that may exist, in order.
    pub nodes: Vec<RealNodeId>,
    /// Declared addresses.
    pub addresses: BTreeMap<RealNodeId, Address>,
}

/// A virtual cluster.
pub struct VirtualCluster {
    /// Its name in the file.
    pub name: Arc<str>,
    /// Its declared id.
    pub id: String,
    /// Where it leads.
    pub target: Target,
    /// What judges messages, in the order in which requests pass.
    pub filters: Filters,
    /// Where clients come in.
    pub listeners: Vec<Listener>,
    /// Bounds of each of its connections.
    pub limits: Limits,
}

/// A listener.
pub struct Listener {
    /// Its name in the file.
    pub name: Arc<str>,
    /// What it shows of the virtual cluster.
    pub face: Arc<Face>,
    /// How clients log in.
    pub login: LoginMode,
    /// What is bound, and the node that a connection there is for; `None`: the bootstrap address.
    pub binds: Vec<(SocketAddr, Option<VirtualNodeId>)>,
}
