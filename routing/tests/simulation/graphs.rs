//! The graphs that are run, and a router that sends some requests to two clusters at once.

use std::sync::Arc;
use std::time::Duration;

use skein_filters::{Address, Client, Cx, Edge, Face, Memo};
use skein_protocol::Meaning;
use skein_protocol::Meanings;
use skein_protocol::code::Code;
use skein_protocol::frame::Head;
use skein_protocol::ids::{ApiKey, Direction, VirtualNodeId};
use skein_protocol::passage::{Edit, Value};
use skein_protocol::sample::Dice;
use skein_protocol::table::Fact;
use skein_routing::apis::manner::{self, Place};
use skein_routing::budget::Budget;
use skein_routing::disguise::{Disguise, Settings};
use skein_routing::graph::{Door, Level, Limits, LoginMode, Manner, Target};
use skein_routing::nodes::NodeMap;
use skein_routing::router::{self, Course, Leg, Request, RouteId, Router, Step};
use skein_routing::topology::ClusterIndex;

/// How many nodes of a door have addresses.
const NODES: i32 = 64;
/// A budget that is enough for what one connection completes.
const BUDGET: u64 = 8 << 20;

/// A router with two routes. Metadata and Heartbeat go to both, and the first good answer is theirs.
struct Fan {
    map: NodeMap,
}

impl Fan {
    fn new() -> Option<Self> {
        Some(Self { map: NodeMap::new(2)? })
    }
}

/// One leg for each route.
fn legs(request: &Request, routes: &[u16]) -> Vec<Leg> {
    let leg = |route: &u16| Leg { route: RouteId(*route), at: None, frame: request.frame.clone() };
    routes.iter().map(leg).collect()
}

impl Router for Fan {
    fn fallback(&self) -> Option<RouteId> {
        None
    }

    fn course(&self, head: &Head, at: Option<VirtualNodeId>, _client: &Client) -> Course {
        if matches!(head.key, ApiKey::METADATA | ApiKey::HEARTBEAT) {
            return Course::Whole(1 << 20);
        }
        let otherwise = RouteId(u16::from(head.key.0 % 2 != 0));
        let route = at.and_then(|at| self.map.inner(at)).map_or(otherwise, |(route, _)| route);
        match manner::place(head.key) {
            Place::Broker(Manner::Stream) => Course::Stream(route),
            Place::Broker(Manner::Gather(cap)) => Course::Gather(route, cap),
            Place::Ours | Place::Login | Place::NotOffered => Course::Refuse(Code::UNSUPPORTED_VERSION),
        }
    }

    fn node(&self, at: VirtualNodeId) -> Option<(RouteId, VirtualNodeId)> {
        self.map.inner(at)
    }

    fn outer(&self, route: RouteId, inner: VirtualNodeId) -> Option<VirtualNodeId> {
        self.map.outer(route, inner)
    }

    fn edge(&self, route: RouteId) -> Arc<dyn Edge> {
        Arc::new(Nodes { map: self.map, route })
    }

    fn route(&self, request: Request, _cx: &router::Cx<'_>) -> Step {
        let again = legs(&request, &[1]);
        let first = legs(&request, &[0, 1]);
        Step::Send {
            legs: first,
            then: Box::new(move |replies| match replies.into_iter().find_map(Result::ok) {
                Some(frame) => Step::Answer(frame),
                // Asked once more, of one of them.
                None => Step::Send {
                    legs: again,
                    then: Box::new(|replies| match replies.into_iter().find_map(Result::ok) {
                        Some(frame) => Step::Answer(frame),
                        None => Step::Refuse(Code::REQUEST_TIMED_OUT),
                    }),
                },
            }),
        }
    }
}

/// The edge of a route of it: node ids only.
struct Nodes {
    map: NodeMap,
    route: RouteId,
}

impl Edge for Nodes {
    fn wants(&self, _key: ApiKey, _way: Direction) -> Meanings {
        Meanings::of(&[Meaning::BrokerId])
    }

    fn growth(&self, _way: Direction) -> Option<u32> {
        None
    }

    fn edit(&self, _memo: &mut Memo, cx: &Cx, fact: &'static Fact, value: Value<'_>) -> Edit {
        let (Meaning::BrokerId, Value::Int(id)) = (fact.meaning, value) else { return Edit::Keep };
        let Some(node) = i32::try_from(id).ok().filter(|id| *id >= 0).map(VirtualNodeId) else { return Edit::Keep };
        let other = match cx.way {
            Direction::ToClient => self.map.outer(self.route, node),
            Direction::ToBroker => self.map.inner(node).map(|(_, inner)| inner),
        };
        other.map_or(Edit::Int(i64::from(i32::MAX)), |other| Edit::Int(i64::from(other.0)))
    }
}

fn cluster(index: u16) -> Target {
    Target::Cluster(ClusterIndex(index))
}

fn fan(first: Target, second: Target) -> Option<Target> {
    let routes = [(RouteId(0), "first", first), (RouteId(1), "second", second)];
    Some(Target::Router(Arc::new(Level::new(("fan", "fan"), Box::new(Fan::new()?), routes))))
}

fn disguise(prefix: &str, generation: i32, inner: Target) -> Option<Target> {
    let settings = Settings { stride: 3, prefix: prefix.to_owned(), generation };
    let router = Disguise::new(settings, &[RouteId(0)])?;
    let routes = [(RouteId(0), "only", inner)];
    Some(Target::Router(Arc::new(Level::new(("mask", "disguise"), Box::new(router), routes))))
}

/// One of the graphs.
fn target(dice: &mut Dice) -> Option<Target> {
    match dice.below(6) {
        0 => Some(cluster(0)),
        1 => disguise("a.", 0, disguise("bb-", 2, cluster(0))?),
        2 => fan(cluster(0), cluster(1)),
        3 => disguise("outer.", 1, fan(cluster(0), cluster(1))?),
        4 => fan(fan(cluster(0), cluster(1))?, disguise("in.", 0, cluster(2))?),
        _ => disguise("a.", 0, fan(disguise("b.", 1, fan(cluster(0), cluster(1))?)?, cluster(2))?),
    }
}

/// A door to one of the graphs.
pub(crate) fn door(dice: &mut Dice) -> Door {
    let target = target(dice).expect("a graph");
    let address = |port: u16| Address { host: Arc::from(format!("node-{port}.example")), port };
    let nodes = (0..NODES).map(|node| (VirtualNodeId(node), address(u16::try_from(node).unwrap_or(0))));
    let open_requests = dice.one_of(&[1, 2, 5, 4096], 4096);
    Door {
        filters: Arc::from([]),
        face: Arc::new(Face::new("simulated", nodes.collect())),
        clusters: target.clusters(),
        book: None,
        target,
        login: LoginMode::None,
        limits: Limits { open_requests, patience: Duration::from_secs(2), ..Limits::default() },
        requests: Budget::new(BUDGET),
        answers: Budget::new(BUDGET),
    }
}
