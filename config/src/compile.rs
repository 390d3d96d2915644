//! From a document to a blueprint. Every fault is collected; what depends on something faulty is skipped, not guessed.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use skein_filters::{Address, Filters};
use skein_protocol::ids::{RealNodeId, VirtualNodeId};
use skein_routing::declared::DeclaredTarget;
use skein_routing::graph::Target;
use skein_routing::topology::ClusterIndex;
use skein_settings::{Fault, Spanned, quoted, show_size};

use crate::addressing::Addressing;
use crate::blueprint::{Blueprint, Cluster, VirtualCluster};
use crate::document::{self, Document};
use crate::graph::{Graph, Place};
use crate::listeners::{Claims, Owner};
use crate::login::ListenerLogin;

/// Ports that a file may have bound: more are a slip of the pen, and more than descriptors.
const MOST_PORTS: usize = 100_000;
/// Names in TLS hellos that a file may declare: more are a slip of the pen.
const MOST_NAMES: usize = 1_000_000;

/// Compiles a document.
pub(crate) fn blueprint(document: &Document) -> Result<Blueprint, Vec<Fault>> {
    let mut compile = Compile {
        document,
        faults: Vec::new(),
        places: BTreeMap::new(),
        claims: Claims::default(),
        ports: 0,
        names: 0,
    };
    let clusters = compile.clusters();
    let mut ids = BTreeMap::new();
    let mut virtual_clusters = Vec::new();
    for (name, declared) in &document.virtual_clusters {
        let Some(declared) = declared else { continue };
        if let Some(id) = &declared.id
            && let Some(other) = ids.insert(id.get_ref(), name.get_ref())
        {
            compile.fault(
                format!("virtual clusters {} and {} have one id", quoted(other), quoted(name.get_ref())),
                id.span(),
                "clients would take them for one cluster: give each an id of its own",
            );
        }
        virtual_clusters.extend(compile.virtual_cluster(name, declared, &clusters));
    }
    if let Some(bind) = &document.admin.bind {
        compile.claims.admin(bind);
    }
    compile.unreachable_routers();
    let Compile { mut faults, claims, .. } = compile;
    faults.extend(claims.faults);
    let memory = document.memory.memory.clone();
    if faults.is_empty() { Ok(Blueprint { memory, clusters, virtual_clusters }) } else { Err(faults) }
}

struct Compile<'d> {
    document: &'d Document,
    faults: Vec<Fault>,
    /// Where each cluster is in the blueprint.
    places: BTreeMap<&'d str, Place>,
    claims: Claims,
    /// Ports that would be bound so far.
    ports: usize,
    /// Names that would be known so far.
    names: usize,
}

impl<'d> Compile<'d> {
    fn fault(&mut self, what: impl AsRef<str>, at: Range<usize>, right: impl AsRef<str>) {
        self.faults.push(Fault::new(what, at, right));
    }

    fn clusters(&mut self) -> Vec<Cluster> {
        let mut clusters = Vec::new();
        for (name, declared) in &self.document.clusters {
            let Some(declared) = declared else {
                self.places.insert(name.get_ref(), Place::Faulty);
                continue;
            };
            let Ok(index) = u16::try_from(clusters.len()) else {
                self.fault("more than 65,536 clusters", name.span(), "split the file between several processes");
                break;
            };
            self.places.insert(name.get_ref(), Place::At(ClusterIndex(index)));
            clusters.push(self.cluster(name.get_ref(), declared));
        }
        clusters
    }

    fn cluster(&mut self, name: &str, declared: &document::Cluster) -> Cluster {
        let document::Cluster { bootstrap, nodes, addresses, login, tls } = declared;
        let known: BTreeSet<_> = nodes.ids.iter().copied().collect();
        let mut placed: BTreeMap<RealNodeId, Address> = BTreeMap::new();
        for (node, address) in addresses {
            let id = node.get_ref().parse().ok().map(RealNodeId).filter(|id| known.contains(id));
            let Some(id) = id else {
                let what = format!("{} is not one of the nodes of cluster {}", quoted(node.get_ref()), quoted(name));
                self.fault(what, node.span(), format!("its `nodes` are {}", quoted(&nodes.written)));
                continue;
            };
            placed.extend(address.clone().map(|address| (id, address)));
        }
        Cluster {
            name: Arc::from(name),
            bootstrap: bootstrap.clone(),
            nodes: nodes.ids.clone(),
            addresses: placed,
            login: login.as_ref().map(Spanned::get_ref).cloned(),
            tls: tls.clone(),
        }
    }

    fn virtual_cluster(
        &mut self, name: &Spanned<String>, declared: &'d document::VirtualCluster, clusters: &[Cluster],
    ) -> Option<VirtualCluster> {
        self.memory(declared);
        let mut graph = Graph::new(self.document, &self.places, &mut self.faults);
        let leads_to = declared.target.as_ref()?;
        let target = graph.resolve(leads_to)?;
        let at = leads_to.name().span();
        let real: Vec<_> =
            target.clusters().into_iter().filter_map(|index| Some((index, cluster(clusters, index)?))).collect();
        let count: usize = real.iter().map(|(_, cluster)| cluster.nodes.len()).sum();
        self.claim_ports(count, declared);
        if self.names > MOST_NAMES {
            let what = format!("{} names are to be known up to here", self.names);
            self.fault(what, at, format!("declare at most {MOST_NAMES} in one process: one per node of each listener"));
            return None;
        }
        if self.ports > MOST_PORTS {
            self.fault(
                format!("{} ports are to be bound up to here", self.ports),
                at,
                format!("bind at most {MOST_PORTS} in one process: one per listener, and one per node of each"),
            );
            return None;
        }
        let nodes = self.virtual_nodes(&target, &real, &at);
        let id = declared.id.as_ref().map(Spanned::get_ref).cloned().unwrap_or_default();
        let owner = Owner { name: name.get_ref(), id: &id, nodes: &nodes, clusters: &real };
        let listeners = declared
            .listeners
            .iter()
            .filter_map(|(listener, declared)| self.claims.listener(&owner, listener.get_ref(), declared.as_ref()?));
        let listeners = listeners.collect();
        self.woven(&target, declared, &at);
        let filters = self.filters(declared);
        let limits = declared.limits.limits.clone();
        Some(VirtualCluster { name: Arc::from(name.get_ref().as_str()), id, target, filters, listeners, limits })
    }

    /// What topics of several routes ask of the rest.
    fn woven(&mut self, target: &Target, declared: &document::VirtualCluster, at: &Range<usize>) {
        if !target.weaves() {
            return;
        }
        let mut ways = target.ways();
        ways.sort_unstable();
        if let Some(index) =
            ways.windows(2).find_map(|pair| if let [one, other] = pair { (one == other).then_some(*one) } else { None })
        {
            let name = self.places.iter().find(|(_, place)| matches!(place, Place::At(of) if *of == index));
            let what = format!("two ways lead to cluster {}", quoted(name.map_or("", |(name, _)| name)));
            let right =
                "let one route lead to it: its brokers would be listed twice, and each topic belongs to one route";
            self.fault(what, at.clone(), right);
        }
        let relayed = declared
            .listeners
            .values()
            .flatten()
            .find(|listener| matches!(listener.login.get_ref(), ListenerLogin::Relay));
        if let Some(listener) = relayed {
            let right =
                "let Skein judge logins: it asks clusters itself where topics are, and has nothing to log in with here";
            self.fault("a relayed login, and topics that belong to routes", listener.login.span(), right);
        }
    }

    /// The filters of a virtual cluster. Those that are right, if one is not: then nothing is served.
    fn filters(&mut self, declared: &document::VirtualCluster) -> Filters {
        let (mut filters, mut seen) = (Vec::new(), BTreeSet::new());
        for filter in &declared.filters {
            let kind = filter.get_ref().kind;
            if !seen.insert(kind) {
                let what = format!("a second filter of the kind `{kind}`");
                self.fault(what, filter.span(), "write all that it is to do into one");
            }
            match filter.get_ref().prepare() {
                Ok(filter) => filters.push(filter),
                Err(faults) => self.faults.extend(faults),
            }
        }
        let relayed = declared
            .listeners
            .values()
            .flatten()
            .find(|listener| matches!(listener.login.get_ref(), ListenerLogin::Relay));
        if let (Some(listener), false) = (relayed, filters.is_empty()) {
            let right =
                "leave `filters` out, or let Skein know its clients: with a relayed login the cluster judges them";
            self.fault("filters on clients that only the cluster knows", listener.login.span(), right);
        }
        filters.into()
    }

    /// Counts what the listeners of a virtual cluster with so many nodes take.
    fn claim_ports(&mut self, nodes: usize, declared: &document::VirtualCluster) {
        for listener in declared.listeners.values().flatten() {
            match listener.addressing {
                Addressing::Ports { .. } => self.ports = self.ports.saturating_add(nodes + 1),
                Addressing::Names { .. } => {
                    self.ports = self.ports.saturating_add(1);
                    self.names = self.names.saturating_add(nodes + 1);
                }
            }
        }
    }

    /// An answer takes twice its length of the memory for answers: one that never fits would wait until its deadline.
    fn memory(&mut self, declared: &document::VirtualCluster) {
        let most = self.document.memory.memory.answers;
        let answer = u64::from(declared.limits.limits.completed_answer);
        if answer > most / 2 {
            let (answer, most) = (show_size(answer), show_size(most));
            self.fault(
                format!("an answer of {answer} takes twice as much of `answers-memory`, which is {most}"),
                declared.limits.completed_answer.clone().unwrap_or_else(|| self.document.memory.answers.clone()),
                "lower `completed-answer`, or raise `answers-memory` in `[limits]`",
            );
        }
    }

    /// The virtual node of every declared broker, in the order of their ports.
    fn virtual_nodes(
        &mut self, target: &Target, clusters: &[(ClusterIndex, &Cluster)], at: &Range<usize>,
    ) -> Vec<VirtualNodeId> {
        let mut nodes = Vec::new();
        for (index, cluster) in clusters {
            for real in &cluster.nodes {
                match target.virtual_node(*index, *real) {
                    Some(node) => nodes.push(node),
                    None => {
                        self.fault(
                            format!(
                                "node {real} of cluster {} has no virtual id below 2^30 here",
                                quoted(&cluster.name)
                            ),
                            at.clone(),
                            "use smaller strides on the way, or smaller node ids",
                        );
                        break;
                    }
                }
            }
        }
        nodes
    }

    /// Routers that no virtual cluster reaches are a slip: they would never do anything.
    fn unreachable_routers(&mut self) {
        let Document { routers, virtual_clusters, .. } = self.document;
        // What has a fault leads nobody knows where.
        let targets: Option<Vec<_>> =
            virtual_clusters.values().map(|cluster| cluster.as_ref()?.target.as_ref()).collect();
        let (Some(mut open), true) = (targets, routers.values().all(Option::is_some)) else { return };
        let mut reached = BTreeSet::new();
        while let Some(target) = open.pop() {
            let DeclaredTarget::Router(name) = target else { continue };
            if let Some(Some(router)) = routers.get(name.get_ref().as_str())
                && reached.insert(name.get_ref().as_str())
            {
                open.extend(router.routes.iter().map(|route| &route.target));
            }
        }
        for name in routers.keys().filter(|name| !reached.contains(name.get_ref().as_str())) {
            self.faults.push(Fault::new(
                format!("router {} is reached from no virtual cluster", quoted(name.get_ref())),
                name.span(),
                "route to it, or leave it out",
            ));
        }
    }
}

fn cluster(clusters: &[Cluster], index: ClusterIndex) -> Option<&Cluster> {
    clusters.get(usize::from(index.0))
}
