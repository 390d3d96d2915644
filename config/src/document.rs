//! A configuration as it stands in the file: each value read, with the place of whatever a fault may be about.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use skein_filters::Address;
use skein_routing::declared::{DeclaredFilter, DeclaredRouter, DeclaredTarget, target};
use skein_routing::kind::Registry;
use skein_settings::{Spanned, Table, Value, fields, list, named};

use crate::addressing::{Addressing, ProxyProtocol, addressing, proxy_protocol};
use crate::limits::{self, DeclaredLimits, DeclaredMemory};
use crate::login::{self, ClusterLogin, ListenerLogin};
use crate::process::{self, Connections, DeclaredAdmin, Process};
use crate::tls::{self, ClusterTls, ListenerTls};
use crate::values::{self, NodeList};

/// What has a name in the file; `None`: it has a fault, which has been told.
pub type Named<T> = BTreeMap<Spanned<String>, Option<T>>;

/// The whole file.
pub struct Document {
    /// What all connections share.
    pub memory: DeclaredMemory,
    /// Real clusters, by name.
    pub clusters: Named<Cluster>,
    /// Routers, by name.
    pub routers: Named<DeclaredRouter>,
    /// What clients see, by name.
    pub virtual_clusters: Named<VirtualCluster>,
    /// How the process stops.
    pub process: Process,
    /// Where the process is watched.
    pub admin: DeclaredAdmin,
    /// Bounds of connections.
    pub connections: Connections,
}

/// A real cluster.
#[derive(Clone, Debug)]
pub struct Cluster {
    /// Addresses at which some broker of it is reached.
    pub bootstrap: Vec<Address>,
    /// The node ids that may ever exist.
    pub nodes: NodeList,
    /// Where brokers are reached, for those whose address Skein cannot ask for.
    pub addresses: Named<Address>,
    /// How Skein logs in.
    pub login: Option<Spanned<ClusterLogin>>,
    /// TLS towards its brokers.
    pub tls: Option<ClusterTls>,
}

/// What clients see. `None`: it has a fault, which has been told, and which is none of the other keys.
pub struct VirtualCluster {
    /// Its id, for ever.
    pub id: Option<Spanned<String>>,
    /// Where it leads.
    pub target: Option<DeclaredTarget>,
    /// Its listeners.
    pub listeners: Named<Listener>,
    /// What judges messages, in the order in which requests pass.
    pub filters: Vec<Spanned<DeclaredFilter>>,
    /// Bounds of each of its connections.
    pub limits: DeclaredLimits,
}

/// Where clients come in.
#[derive(Clone, Debug)]
pub struct Listener {
    /// The bootstrap address that is bound.
    pub bind: Spanned<SocketAddr>,
    /// How clients say which node they mean.
    pub addressing: Addressing,
    /// How clients log in.
    pub login: Spanned<ListenerLogin>,
    /// Whether connections begin with a header of the PROXY protocol.
    pub proxy: ProxyProtocol,
    /// TLS towards its clients.
    pub tls: Option<Spanned<ListenerTls>>,
}

/// A whole file.
pub(crate) fn file<'r>(kinds: &'r Registry) -> impl Value<Out = Document> + 'r {
    fields("a configuration", "a table", move |table: &mut Table<'_>| {
        let memory = fields("`limits`", "a table `[limits]`", limits::memory);
        let memory = table.optional("limits", memory, "Bounds of the whole process.");
        let cluster = fields("a cluster", "a table `[clusters.NAME]`", cluster);
        let clusters = table.optional("clusters", named(0, cluster), "Real clusters, by name: what is behind.");
        let routers = table.optional("routers", named(0, kinds.router()), "Routers, by name: what is between.");
        let seen = |table: &mut Table<'_>| virtual_cluster(table, kinds);
        let seen = fields("a virtual cluster", "a table `[virtual-clusters.NAME]`", seen);
        let seen = table.required("virtual-clusters", named(1, seen), "Virtual clusters, by name: what clients see.");
        let stop = fields("`process`", "a table `[process]`", process::process);
        let stop = table.optional("process", stop, "How the process stops.");
        let watched = fields("`admin`", "a table `[admin]`", process::admin);
        let watched = table.optional("admin", watched, "Where the process is watched.");
        let bounds = fields("`connections`", "a table `[connections]`", process::connections);
        let bounds = table.optional("connections", bounds, "Bounds of the connections of clients.");
        Some(Document {
            process: stop?.map(Spanned::into_inner).unwrap_or_default(),
            admin: watched?.map(Spanned::into_inner).unwrap_or_default(),
            connections: bounds?.map(Spanned::into_inner).unwrap_or_default(),
            memory: memory.flatten().map(Spanned::into_inner).unwrap_or_default(),
            clusters: clusters?.map(Spanned::into_inner).unwrap_or_default(),
            routers: routers?.map(Spanned::into_inner).unwrap_or_default(),
            virtual_clusters: seen?.into_inner(),
        })
    })
}

fn cluster(table: &mut Table<'_>) -> Option<Cluster> {
    let bootstrap = table.required(
        "bootstrap",
        list(1, values::address()),
        "Addresses `\"HOST:PORT\"` at which some broker is reached, at least one. They are tried in turn, each round \
         beginning with the next. `\"[::1]:9092\"` for IPv6.",
    );
    let nodes = table.required(
        "nodes",
        values::nodes(),
        "The node ids that may ever exist, in order: `\"1-3, 7, 1001\"`. The order gives each its port, so add new ids at \
         the end and leave old ones in. At most 10,000.",
    );
    let addresses = table.optional(
        "addresses",
        named(0, values::address()),
        "A table from node id to `\"HOST:PORT\"`, for brokers whose own idea of their address does not work from here, or \
         is not known because logins are relayed. A declared address wins over what the cluster says.",
    );
    let login = fields("a login", "a table `[clusters.NAME.login]`", login::cluster);
    let login = table.optional("login", login, "How Skein logs in; it does not unless this is there.");
    let tls = tls::cluster(table);
    Some(Cluster {
        login: login?,
        tls: tls?,
        bootstrap: bootstrap?.into_inner().into_iter().map(Spanned::into_inner).collect(),
        nodes: nodes?.into_inner(),
        addresses: addresses?.map(Spanned::into_inner).unwrap_or_default(),
    })
}

fn virtual_cluster(table: &mut Table<'_>, kinds: &Registry) -> Option<VirtualCluster> {
    let id = table.required(
        "id",
        values::id(),
        "Its identity, for ever. The cluster id that clients see is derived from it alone, so renaming the virtual cluster \
         changes nothing for them, and changing the `id` makes it another cluster to them.",
    );
    let target = table.required(
        "target",
        target(),
        "Where it leads: `target.cluster = \"NAME\"` or `target.router = \"NAME\"`, one of the two.",
    );
    let listener = fields("a listener", "a table `[virtual-clusters.NAME.listeners.NAME]`", listener);
    let listeners = table.required("listeners", named(1, listener), "Where clients come in, by name; at least one.");
    let filters = table.optional(
        "filters",
        list(0, kinds.filter()),
        "What judges messages between clients and the target, in the order in which requests pass; each kind once.",
    );
    let limits = fields("`limits`", "a table `[virtual-clusters.NAME.limits]`", limits::limits);
    let limits = table.optional("limits", limits, "Bounds and times of each of its connections.");
    Some(VirtualCluster {
        id,
        target: target.map(Spanned::into_inner),
        listeners: listeners.map(Spanned::into_inner).unwrap_or_default(),
        filters: filters.flatten().map(Spanned::into_inner).unwrap_or_default(),
        limits: limits.flatten().map(Spanned::into_inner).unwrap_or_default(),
    })
}

fn listener(table: &mut Table<'_>) -> Option<Listener> {
    let bind = table.required(
        "bind",
        values::bind(),
        "The IP address and port of the bootstrap address: `\"0.0.0.0:9092\"`. The ports of the nodes are bound on the same \
         IP address.",
    );
    let addressing = addressing(table);
    let login = table.or(
        "login",
        login::listener(),
        ListenerLogin::None,
        "`\"none\"`: clients do not log in, and SASL is refused. `\"relay\"`: they log in by SASL, whose bytes are passed \
         to the one cluster, which judges them; each client then has one link, and Skein asks the cluster nothing for itself. A \
         table with `mechanisms`: Skein judges logins itself. Before a login only ApiVersions and SASL pass.",
    );
    let proxy = proxy_protocol(table);
    let tls = tls::listener(table);
    Some(Listener { bind: bind?, addressing: addressing?, login: login?, proxy: proxy?, tls: tls? })
}
