//! A configuration, compiled: what the proxy runs.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::ops::Range;
use std::sync::Arc;

use skein_filters::{Address, Face, Filters};
use skein_protocol::ids::{RealNodeId, VirtualNodeId};
use skein_routing::graph::{Limits, LoginMode, Target};
use skein_settings::Spanned;

use crate::addressing::ProxyProtocol;
use crate::login::{ClusterLogin, ListenerLogin};
use crate::tls::{ClusterTls, ListenerTls};

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
    /// How Skein logs in; `None`: it does not.
    pub login: Option<ClusterLogin>,
    /// TLS towards its brokers.
    pub tls: Option<ClusterTls>,
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
    pub login: ListenerLogin,
    /// What is bound, and the node that a connection there is for; `None`: the bootstrap address.
    pub binds: Vec<(SocketAddr, Option<VirtualNodeId>)>,
    /// The names that lead here by the one address that is bound, if it is not ports that do.
    pub names: Option<Names>,
    /// TLS towards its clients. Always set if names lead here.
    pub tls: Option<Spanned<ListenerTls>>,
    /// Hosts that clients are told, and where they stand in the file: the certificate has to cover them.
    pub hosts: Vec<(Arc<str>, Range<usize>)>,
    /// Whether connections begin with a header of the PROXY protocol.
    pub proxy: ProxyProtocol,
}

/// Names in TLS hellos, and the nodes that they stand for.
#[derive(Clone, Debug)]
pub struct Names {
    /// Each name; `None`: the bootstrap address.
    pub all: Vec<(Arc<str>, Option<VirtualNodeId>)>,
    /// As the file has them, for those who ask what would be right: that of the bootstrap address, and that of nodes.
    pub shown: [Arc<str>; 2],
}

impl Listener {
    /// Who judges logins.
    pub fn mode(&self) -> LoginMode {
        match self.login {
            ListenerLogin::None => LoginMode::None,
            ListenerLogin::Relay => LoginMode::Relay,
            ListenerLogin::Here(_) => LoginMode::Here,
        }
    }
}
