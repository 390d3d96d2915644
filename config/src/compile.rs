//! From a document to a blueprint. Every fault is collected; what depends on something faulty is skipped, not guessed.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};
use std::ops::Range;
use std::sync::Arc;

use skein_filters::{Address, Face};
use skein_protocol::ids::{RealNodeId, VirtualNodeId};
use skein_routing::graph::{Level, LoginMode, Target};
use skein_routing::kind::{DeclaredRoute, Registry};
use skein_routing::router::{RouteId, Router};
use skein_routing::topology::ClusterIndex;
use toml::Spanned;

use crate::blueprint::{Blueprint, Cluster, Listener, VirtualCluster};
use crate::document::{self, Document, Login};
use crate::fault::Fault;
use crate::nodes;

/// Compiles a document.
pub(crate) fn blueprint(document: &Document, kinds: &Registry) -> Result<Blueprint, Vec<Fault>> {
    let mut compile =
        Compile { document, kinds, faults: Vec::new(), clusters: BTreeMap::new(), binds: BTreeMap::new() };
    let clusters = compile.clusters();
    let virtual_clusters = document
        .virtual_clusters
        .iter()
        .filter_map(|(name, cluster)| compile.virtual_cluster(name, cluster, &clusters));
    let virtual_clusters: Vec<_> = virtual_clusters.collect();
    compile.unreachable_routers();
    if virtual_clusters.is_empty() && compile.faults.is_empty() {
        compile.fault("no virtual cluster is declared", 0..0, "declare one as `[virtual-clusters.NAME]`");
    }
    if compile.faults.is_empty() { Ok(Blueprint { clusters, virtual_clusters }) } else { Err(compile.faults) }
}

struct Compile<'a> {
    document: &'a Document,
    kinds: &'a Registry,
    faults: Vec<Fault>,
    clusters: BTreeMap<&'a str, ClusterIndex>,
    /// Every address that is bound, and for whom.
    binds: BTreeMap<SocketAddr, String>,
}

impl<'a> Compile<'a> {
    fn fault(&mut self, what: impl Into<String>, at: Range<usize>, right: impl Into<String>) {
        self.faults.push(Fault::new(what, at, right));
    }

    fn clusters(&mut self) -> Vec<Cluster> {
        let mut clusters = Vec::new();
        for (name, declared) in &self.document.clusters {
            let Ok(index) = u16::try_from(clusters.len()) else { break };
            self.clusters.insert(name.get_ref(), ClusterIndex(index));
            clusters.push(self.cluster(name.get_ref(), declared));
        }
        clusters
    }

    fn cluster(&mut self, name: &str, declared: &document::Cluster) -> Cluster {
        if declared.bootstrap.get_ref().is_empty() {
            self.fault("no bootstrap address", declared.bootstrap.span(), "name at least one broker as \"HOST:PORT\"");
        }
        let bootstrap = declared.bootstrap.get_ref().iter().filter_map(|text| self.address(text)).collect();
        let nodes = nodes::nodes(declared.nodes.get_ref()).unwrap_or_else(|what| {
            self.fault(what, declared.nodes.span(), "list the node ids in order, such as \"1-3, 7\"");
            Vec::new()
        });
        let mut addresses = BTreeMap::new();
        for (node, text) in &declared.addresses {
            let id = node.get_ref().parse().ok().map(RealNodeId).filter(|id| nodes.contains(id));
            match (id, self.address(text)) {
                (Some(id), Some(address)) => {
                    addresses.insert(id, address);
                }
                (None, _) => self.fault(
                    format!("`{}` is not one of the nodes of cluster `{name}`", node.get_ref()),
                    node.span(),
                    format!("its nodes are {}", declared.nodes.get_ref()),
                ),
                (Some(_), None) => {}
            }
        }
        Cluster { name: Arc::from(name), bootstrap, nodes, addresses }
    }

    fn address(&mut self, text: &Spanned<String>) -> Option<Address> {
        let parsed = text.get_ref().rsplit_once(':').and_then(|(host, port)| {
            let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
            let port: u16 = port.parse().ok().filter(|port| *port > 0)?;
            is_host(host).then(|| Address { host: Arc::from(host), port })
        });
        if parsed.is_none() {
            self.fault(format!("`{}` is not an address", text.get_ref()), text.span(), "write it as \"HOST:PORT\"");
        }
        parsed
    }

    /// What a target names. `above`: the routers on the way, for cycles.
    fn target(&mut self, target: &'a Spanned<document::Target>, above: &mut Vec<&'a str>) -> Option<Target> {
        match (&target.get_ref().cluster, &target.get_ref().router) {
            (Some(cluster), None) => {
                let found = self.clusters.get(cluster.get_ref().as_str()).copied();
                if found.is_none() {
                    let known = self.clusters.keys().copied().collect::<Vec<_>>().join(", ");
                    self.fault(
                        format!("cluster `{}` is not defined", cluster.get_ref()),
                        cluster.span(),
                        format!("defined clusters: {known}"),
                    );
                }
                found.map(Target::Cluster)
            }
            (None, Some(router)) => {
                if above.contains(&router.get_ref().as_str()) {
                    let way = above.join(" → ");
                    self.fault(
                        format!("router `{}` leads back to itself: {way} → {0}", router.get_ref()),
                        router.span(),
                        "routers form no cycle",
                    );
                    return None;
                }
                let Some((name, declared)) = self.document.routers.get_key_value(router.get_ref().as_str()) else {
                    let known =
                        self.document.routers.keys().map(|name| name.get_ref().as_str()).collect::<Vec<_>>().join(", ");
                    self.fault(
                        format!("router `{}` is not defined", router.get_ref()),
                        router.span(),
                        format!("defined routers: {known}"),
                    );
                    return None;
                };
                above.push(name.get_ref());
                let level = self.router(name, declared, above);
                above.pop();
                level
            }
            _ => {
                self.fault(
                    "a target names one cluster or one router",
                    target.span(),
                    "write `target.cluster = \"NAME\"` or `target.router = \"NAME\"`",
                );
                None
            }
        }
    }

    fn router(
        &mut self, name: &'a Spanned<String>, declared: &'a document::Router, above: &mut Vec<&'a str>,
    ) -> Option<Target> {
        let mut ids = BTreeSet::new();
        let mut routes = Vec::new();
        let mut declared_routes = Vec::new();
        if declared.routes.is_empty() {
            self.fault(
                format!("router `{}` has no route", name.get_ref()),
                name.span(),
                "give it at least one `[routers.NAME.routes.NAME]`",
            );
        }
        for (route_name, route) in &declared.routes {
            let id = RouteId(*route.id.get_ref());
            if !ids.insert(id) {
                self.fault(
                    format!("route id {} stands twice in router `{}`", id.0, name.get_ref()),
                    route.id.span(),
                    "each route has an id of its own, for ever",
                );
            }
            if let Some(target) = self.target(&route.target, above) {
                routes.push((id, route_name.get_ref().as_str(), target));
            }
            declared_routes.push(DeclaredRoute {
                name: route_name.get_ref().clone(),
                id,
                settings: route.settings.clone(),
            });
        }
        let router = self.prepare(declared, &declared_routes)?;
        Some(Target::Router(Arc::new(Level::new((name.get_ref(), declared.kind.get_ref()), router, routes))))
    }

    fn prepare(&mut self, declared: &document::Router, routes: &[DeclaredRoute]) -> Option<Box<dyn Router>> {
        let kind = declared.kind.get_ref();
        match self.kinds.prepare(kind, declared.settings.clone(), routes) {
            Some(Ok(router)) => Some(router),
            Some(Err(invalid)) => {
                for invalid in invalid {
                    let key = if invalid.key.is_empty() { String::new() } else { format!("`{}`: ", invalid.key) };
                    self.fault(format!("{key}{invalid}"), declared.kind.span(), "");
                }
                None
            }
            None => {
                let known = self.kinds.names().collect::<Vec<_>>().join(", ");
                let right = if known.is_empty() {
                    "this build has no kind of router".to_owned()
                } else {
                    format!("kinds: {known}")
                };
                self.fault(format!("`{kind}` is not a kind of router"), declared.kind.span(), right);
                None
            }
        }
    }

    fn virtual_cluster(
        &mut self, name: &Spanned<String>, declared: &'a document::VirtualCluster, clusters: &[Cluster],
    ) -> Option<VirtualCluster> {
        if declared.id.get_ref().is_empty() {
            self.fault("an empty id", declared.id.span(), "give the virtual cluster an id that it keeps for ever");
        }
        for (other_name, other) in &self.document.virtual_clusters {
            if other.id.get_ref() == declared.id.get_ref() && other_name.get_ref() < name.get_ref() {
                self.fault(
                    format!("virtual clusters `{}` and `{}` have one id", other_name.get_ref(), name.get_ref()),
                    declared.id.span(),
                    "clients would take them for one cluster: give each an id of its own",
                );
            }
        }
        if declared.listeners.is_empty() {
            self.fault(
                format!("virtual cluster `{}` has no listener", name.get_ref()),
                name.span(),
                "give it one as `[virtual-clusters.NAME.listeners.NAME]`",
            );
        }
        let target = self.target(&declared.target, &mut Vec::new())?;
        let nodes = self.virtual_nodes(&target, clusters, declared.target.span());
        let listeners = declared.listeners.iter().filter_map(|(listener, settings)| {
            self.listener((name.get_ref(), declared.id.get_ref()), listener.get_ref(), settings, &nodes, &target)
        });
        let listeners = listeners.collect();
        Some(VirtualCluster {
            name: Arc::from(name.get_ref().as_str()),
            id: declared.id.get_ref().clone(),
            target,
            listeners,
        })
    }

    /// The virtual node of every declared broker, in the order of their ports.
    fn virtual_nodes(&mut self, target: &Target, clusters: &[Cluster], at: Range<usize>) -> Vec<VirtualNodeId> {
        let mut nodes = Vec::new();
        for index in target.clusters() {
            let Some(cluster) = clusters.get(usize::from(index.0)) else { continue };
            for real in &cluster.nodes {
                match target.virtual_node(index, *real) {
                    Some(node) => nodes.push(node),
                    None => self.fault(
                        format!("node {real} of cluster `{}` has no virtual id below 2^30 here", cluster.name),
                        at.clone(),
                        "use smaller strides on the way, or smaller node ids",
                    ),
                }
            }
        }
        nodes
    }

    fn listener(
        &mut self, (cluster, id): (&str, &str), name: &str, declared: &document::Listener, nodes: &[VirtualNodeId],
        target: &Target,
    ) -> Option<Listener> {
        let bind: Option<SocketAddr> = declared.bind.get_ref().parse().ok();
        // A port that the system chooses is no function of the file.
        let bind = bind.filter(|bind| bind.port() > 0);
        if bind.is_none() {
            self.fault(
                format!("`{}` cannot be bound", declared.bind.get_ref()),
                declared.bind.span(),
                "write an IP address and a port, such as \"0.0.0.0:9092\"",
            );
        }
        let host = declared.advertise.get_ref();
        let ip: Option<IpAddr> = host.parse().ok();
        if !is_host(host) || ip.is_some_and(|ip| ip.is_unspecified()) {
            self.fault(
                format!("`{host}` is no address that a client could connect to"),
                declared.advertise.span(),
                "advertise a host name or address that leads here",
            );
        }
        let (from, to) = nodes::ports(declared.ports.get_ref())
            .map_err(|what| self.fault(what, declared.ports.span(), "write a range such as \"9100-9199\""))
            .ok()?;
        let room = usize::from(to - from) + 1;
        if nodes.len() > room {
            self.fault(
                format!("{} nodes are declared, and there are {room} ports", nodes.len()),
                declared.ports.span(),
                "one port per declared node: make the range longer",
            );
            return None;
        }
        let login = match declared.login {
            Login::None => LoginMode::None,
            Login::Relay => LoginMode::Relay,
        };
        if login == LoginMode::Relay && target.clusters().len() != 1 {
            self.fault(
                "a relayed login has one cluster to judge it",
                declared.bind.span(),
                "use `login = \"none\"`, or a target with one cluster",
            );
        }
        let bind = bind?;
        let mut binds = vec![(bind, None)];
        let mut addresses = BTreeMap::new();
        for (port, node) in (from..=to).zip(nodes) {
            binds.push((SocketAddr::new(bind.ip(), port), Some(*node)));
            addresses.insert(*node, Address { host: Arc::from(host.as_str()), port });
        }
        for (address, _) in &binds {
            let whose = format!("listener `{name}` of virtual cluster `{cluster}`");
            if let Some(other) = self.binds.insert(*address, whose.clone()) {
                self.fault(
                    format!("{address} is bound by {other} and by {whose}"),
                    declared.ports.span(),
                    "give each listener ports of its own",
                );
            }
        }
        Some(Listener { name: Arc::from(name), face: Arc::new(Face::new(id, addresses)), login, binds })
    }

    /// Routers that no virtual cluster reaches are a slip: they would never do anything.
    fn unreachable_routers(&mut self) {
        let mut reached = BTreeSet::new();
        let targets = self.document.virtual_clusters.values().map(|cluster| cluster.target.get_ref());
        let mut open: Vec<&document::Target> = targets.collect();
        while let Some(target) = open.pop() {
            let Some(name) = target.router.as_ref().map(Spanned::get_ref) else { continue };
            if let Some(router) = self.document.routers.get(name.as_str())
                && reached.insert(name.clone())
            {
                open.extend(router.routes.values().map(|route| route.target.get_ref()));
            }
        }
        for name in self.document.routers.keys() {
            if !reached.contains(name.get_ref()) {
                self.fault(
                    format!("router `{}` is reached from no virtual cluster", name.get_ref()),
                    name.span(),
                    "route to it, or leave it out",
                );
            }
        }
    }
}

/// Whether a text is a host name or an IP address.
fn is_host(text: &str) -> bool {
    let named = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_'));
    (!text.is_empty() && named) || text.parse::<IpAddr>().is_ok()
}
