//! The graph as it is compiled: targets all the way down, and the door by which clients come in.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use skein_filters::{Client, Edge, Face, Filters};
use skein_protocol::frame::Head;
use skein_protocol::ids::{ApiKey, Direction, RealNodeId, VirtualNodeId};
use skein_protocol::varint::Inline;

use crate::book::Book;
use crate::budget::Budget;
use crate::path::{Path, renamed};
use crate::router::{Course, Owned, Owner, RouteId, Router};
use crate::topology::{ClusterIndex, Destination};

/// What a virtual cluster or a route leads to.
#[derive(Clone)]
pub enum Target {
    /// A real cluster. Node ids are its own from here on.
    Cluster(ClusterIndex),
    /// A router.
    Router(Arc<Level>),
}

/// A router with its routes.
pub struct Level {
    /// Its name in the file.
    pub name: Arc<str>,
    /// The word for its kind.
    pub kind: Arc<str>,
    /// The router.
    pub router: Box<dyn Router>,
    /// Its routes.
    pub routes: BTreeMap<RouteId, Route>,
}

impl Level {
    /// A router called `name`, of a `kind`, with its routes: number, name and target of each.
    pub fn new<'a>(
        (name, kind): (&str, &str), router: Box<dyn Router>,
        routes: impl IntoIterator<Item = (RouteId, &'a str, Target)>,
    ) -> Self {
        let routes = routes.into_iter().map(|(id, name, target)| (id, Route { name: Arc::from(name), target }));
        Self { name: Arc::from(name), kind: Arc::from(kind), router, routes: routes.collect() }
    }
}

/// A route.
#[derive(Clone)]
pub struct Route {
    /// Its name in the file.
    pub name: Arc<str>,
    /// Where it leads.
    pub target: Target,
}

/// A level that a descent has passed.
pub struct Passed<'a> {
    /// The level.
    pub level: &'a Level,
    /// The route that it took.
    pub route: RouteId,
    /// The node behind it; `None` for any.
    pub at: Option<VirtualNodeId>,
}

/// How a listener's clients log in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoginMode {
    /// They do not.
    None,
    /// SASL bytes are passed on to the one cluster, which judges them.
    Relay,
    /// Skein judges them itself.
    Here,
}

/// Bounds and times of every connection of a door.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Requests of one connection that have no answer yet.
    pub open_requests: usize,
    /// Bytes of a request: above what brokers take (100 MiB unless configured), below what is no Kafka at all.
    pub frame: u32,
    /// Bytes of a frame before login.
    pub frame_before_login: u32,
    /// Bytes of an answer that must be completed before it goes on.
    pub completed_answer: u32,
    /// What a broker is given beyond the time that the request grants it.
    pub answer_margin: Duration,
    /// How long a frame may take to arrive, beside a second per 64 KiB.
    pub frame_arrival: Duration,
    /// How long a request waits for what must be learnt of a cluster, or for a lane, and a login for being judged.
    pub patience: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            open_requests: 4096,
            frame: 256 << 20,
            frame_before_login: 64 << 10,
            completed_answer: 64 << 20,
            answer_margin: Duration::from_secs(30),
            frame_arrival: Duration::from_secs(60),
            patience: Duration::from_secs(10),
        }
    }
}

/// A listener of a virtual cluster, compiled: immutable, shared by its connections.
pub struct Door {
    /// What judges messages before the face, in the order in which requests pass.
    pub filters: Filters,
    /// The outermost edge.
    pub face: Arc<Face>,
    /// Where requests go.
    pub target: Target,
    /// Every cluster that can be reached.
    pub clusters: Vec<ClusterIndex>,
    /// The topic ids that clients hold; `None`: they are the cluster's own.
    pub book: Option<Arc<Book>>,
    /// How clients log in.
    pub login: LoginMode,
    /// Bounds.
    pub limits: Limits,
    /// The process's memory for completed requests.
    pub requests: Arc<Budget>,
    /// The process's memory for completed answers.
    pub answers: Arc<Budget>,
}

/// Where the graph leads a request.
#[derive(Clone)]
pub enum Descent {
    /// To one broker.
    One {
        /// How.
        manner: Manner,
        /// The edges on the way, the face first.
        path: Path,
    },
    /// It is to be routed as a whole by the router at the end of a path.
    Whole {
        /// At most so many bytes.
        cap: u32,
        /// The edges down to that router.
        edges: Vec<Arc<dyn Edge>>,
        /// The router.
        level: Arc<Level>,
        /// The node that it came to, as that router sees it.
        at: Option<VirtualNodeId>,
    },
    /// It is refused.
    Refuse(skein_protocol::code::Code),
    /// The node belongs to no route.
    NoSuchNode,
}

/// How a request to one broker goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manner {
    /// While it arrives.
    Stream,
    /// Complete, with at most so many bytes.
    Gather(u32),
}

/// What a descent begins with: the edges passed already, what the API asks for where no router has a say, and the topic ids
/// that clients hold, if those are not the clusters' own.
pub type Onward<'a> = (Vec<Arc<dyn Edge>>, Manner, Option<&'a Arc<Book>>);

/// Where something that has a name is, seen from the address that a request came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whereabouts {
    /// There.
    Here,
    /// At another cluster.
    Elsewhere,
    /// Nowhere: no rule exposes it.
    Nowhere,
}

impl Target {
    /// Whether some level below has topics that belong to one of several routes.
    pub fn weaves(&self) -> bool {
        match self {
            Self::Cluster(_) => false,
            Self::Router(level) => level.router.weaves() || level.routes.values().any(|route| route.target.weaves()),
        }
    }

    /// Whether every level below has a way for an API.
    pub fn offers(&self, key: ApiKey) -> bool {
        match self {
            Self::Cluster(_) => true,
            Self::Router(level) => {
                level.router.offers(key) && level.routes.values().all(|route| route.target.offers(key))
            }
        }
    }

    /// Where something is that is called `name` here, for a request that came to node `at`; `None`: to a bootstrap address.
    pub fn whereabouts(&self, of: Owned, name: &[u8], at: Option<VirtualNodeId>) -> Whereabouts {
        let (mut target, mut at, mut name) = (self, at, Inline::from_slice(name));
        let mut found = Whereabouts::Here;
        loop {
            let Self::Router(level) = target else { return found };
            let addressed = match at {
                Some(node) => level.router.node(node),
                None => level.router.fallback().map(|route| (route, VirtualNodeId(-1))),
            };
            let Some((here, inner)) = addressed else { return Whereabouts::Nowhere };
            let route = match level.router.owner(of, &name) {
                Owner::Any => here,
                Owner::Nobody => return Whereabouts::Nowhere,
                Owner::Route(route) => route,
            };
            if route != here {
                // What is elsewhere may still be exposed by none of the levels there.
                found = Whereabouts::Elsewhere;
            }
            if of == Owned::Topic {
                let Some(renamed) = renamed(&*level.router.edge(route), Direction::ToBroker, &name) else {
                    return Whereabouts::Nowhere;
                };
                name = renamed;
            }
            let Some(next) = level.routes.get(&route) else { return Whereabouts::Nowhere };
            at = (found == Whereabouts::Here).then_some(inner).filter(|inner| inner.0 >= 0);
            target = &next.target;
        }
    }

    /// What a topic of a cluster is called here. `None`: it is not to be seen.
    pub fn shown(&self, cluster: ClusterIndex, name: &[u8]) -> Option<Inline> {
        match self {
            Self::Cluster(this) => (*this == cluster).then(|| Inline::from_slice(name)),
            Self::Router(level) => level.routes.iter().find_map(|(id, route)| {
                let inner = route.target.shown(cluster, name)?;
                renamed(&*level.router.edge(*id), Direction::ToClient, &inner)
            }),
        }
    }

    /// Follows the decisions of all levels from here.
    pub fn descend(&self, head: &Head, at: Option<VirtualNodeId>, client: &Client, on: Onward<'_>) -> Descent {
        self.descend_telling(head, at, client, on, &mut |_| {})
    }

    /// The same; each level that is passed is told.
    pub fn descend_telling(
        &self, head: &Head, at: Option<VirtualNodeId>, client: &Client, (mut edges, manner, book): Onward<'_>,
        tell: &mut dyn FnMut(Passed<'_>),
    ) -> Descent {
        let (mut target, mut at, mut manner) = (self.clone(), at, manner);
        loop {
            let level = match target {
                Self::Cluster(cluster) => {
                    let node = at.map(|node| RealNodeId(node.0));
                    edges.extend(book.map(|book| book.edge(cluster)));
                    return Descent::One { manner, path: Path::new(edges, Destination { cluster, node }) };
                }
                Self::Router(level) => level,
            };
            let route = match level.router.course(head, at, client) {
                Course::Stream(route) => route,
                Course::Gather(route, cap) => {
                    manner = match manner {
                        Manner::Stream => Manner::Gather(cap),
                        Manner::Gather(other) => Manner::Gather(other.min(cap)),
                    };
                    route
                }
                Course::Whole(cap) => return Descent::Whole { cap, edges, level, at },
                Course::Refuse(code) => return Descent::Refuse(code),
            };
            at = match at {
                None => None,
                Some(node) => match level.router.node(node) {
                    Some((of, inner)) if of == route => Some(inner),
                    _ => return Descent::NoSuchNode,
                },
            };
            edges.push(level.router.edge(route));
            let Some(next) = level.routes.get(&route) else { return Descent::NoSuchNode };
            tell(Passed { level: &level, route, at });
            target = next.target.clone();
        }
    }

    /// The node of this target that stands for a broker of a cluster.
    pub fn virtual_node(&self, cluster: ClusterIndex, real: RealNodeId) -> Option<VirtualNodeId> {
        match self {
            Self::Cluster(this) => (*this == cluster).then_some(VirtualNodeId(real.0)),
            Self::Router(level) => level.routes.iter().find_map(|(id, route)| {
                route.target.virtual_node(cluster, real).and_then(|inner| level.router.outer(*id, inner))
            }),
        }
    }

    /// The cluster at the end of every way down.
    pub fn ways(&self) -> Vec<ClusterIndex> {
        match self {
            Self::Cluster(cluster) => vec![*cluster],
            Self::Router(level) => level.routes.values().flat_map(|route| route.target.ways()).collect(),
        }
    }

    /// Every cluster below, each once.
    pub fn clusters(&self) -> Vec<ClusterIndex> {
        let mut found = self.ways();
        found.sort_unstable();
        found.dedup();
        found
    }
}
