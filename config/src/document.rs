//! A configuration as it stands in the file, with the place of whatever a fault may be about.

use std::collections::BTreeMap;

use serde::Deserialize;
use toml::Spanned;

use crate::process;

/// The whole file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Document {
    /// Real clusters, by name.
    #[serde(default)]
    pub clusters: BTreeMap<Spanned<String>, Cluster>,
    /// Routers, by name.
    #[serde(default)]
    pub routers: BTreeMap<Spanned<String>, Router>,
    /// What clients see, by name.
    #[serde(default)]
    pub virtual_clusters: BTreeMap<Spanned<String>, VirtualCluster>,
    /// How the process stops.
    #[serde(default)]
    pub process: process::Process,
    /// Where the process is watched.
    #[serde(default)]
    pub admin: process::Admin,
    /// Bounds of connections.
    #[serde(default)]
    pub connections: process::Connections,
}

/// A real cluster.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Cluster {
    /// Addresses at which some broker of it is reached.
    pub bootstrap: Spanned<Vec<Spanned<String>>>,
    /// The node ids that may ever exist, in order: `"1-3, 7"`. It grows at its end.
    pub nodes: Spanned<String>,
    /// Where brokers are reached, for those whose address Skein cannot ask for.
    #[serde(default)]
    pub addresses: BTreeMap<Spanned<String>, Spanned<String>>,
}

/// A router: its kind, its routes, and what its kind reads.
#[derive(Clone, Debug, Deserialize)]
pub struct Router {
    /// The name of its kind.
    pub kind: Spanned<String>,
    /// Its routes, by name.
    #[serde(default)]
    pub routes: BTreeMap<Spanned<String>, Route>,
    /// What the kind reads.
    #[serde(flatten)]
    pub settings: toml::Table,
}

/// A route.
#[derive(Clone, Debug, Deserialize)]
pub struct Route {
    /// Its number, which never changes.
    pub id: Spanned<u16>,
    /// Where it leads.
    pub target: Spanned<Target>,
    /// What the kind reads.
    #[serde(flatten)]
    pub settings: toml::Table,
}

/// Where a route or a virtual cluster leads: one of the two.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Target {
    /// The name of a cluster.
    pub cluster: Option<Spanned<String>>,
    /// The name of a router.
    pub router: Option<Spanned<String>>,
}

/// What clients see.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct VirtualCluster {
    /// Its id, for ever: cluster and topic ids derive from it.
    pub id: Spanned<String>,
    /// Where it leads.
    pub target: Spanned<Target>,
    /// Its listeners, by name.
    #[serde(default)]
    pub listeners: BTreeMap<Spanned<String>, Listener>,
}

/// Where clients come in.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Listener {
    /// The bootstrap address that is bound.
    pub bind: Spanned<String>,
    /// The host that clients are told.
    pub advertise: Spanned<String>,
    /// One port per node: the first is that of the first declared node.
    pub ports: Spanned<String>,
    /// How clients log in.
    #[serde(default)]
    pub login: Login,
}

/// How clients of a listener log in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Login {
    /// They do not.
    #[default]
    None,
    /// SASL bytes are passed on to the one cluster.
    Relay,
}
