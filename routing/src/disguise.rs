//! A router for tests that renames everything and decides nothing: each node id, topic name and topic id is another one on
//! its other side, so that whatever passes without being translated is found out.
//!
//! Names get a prefix, or lose it if they have it: a bijection of all names, which makes them longer both ways. Ids are
//! changed by xor. A pattern over names gets the prefix in front. Of what clients say to each other through a group the
//! subscription is renamed, since coordinators read it; an assignment holds names as clients know them, and passes.

mod subscription;

use std::sync::Arc;

use skein_filters::{Client, Cx, Edge, Memo};
use skein_protocol::code::Code;
use skein_protocol::frame::Head;
use skein_protocol::ids::{ApiKey, Direction, VirtualNodeId};
use skein_protocol::passage::{Edit, Value};
use skein_protocol::table::Fact;
use skein_protocol::varint::{Inline, narrow};
use skein_protocol::{Meaning, Meanings};
use skein_settings::{Fault, Table, Text, integer, text};

use crate::apis::manner::{self, Place};
use crate::graph::Manner;
use crate::kind::{Kind, Route};
use crate::nodes::{self, NodeMap};
use crate::router::{Course, Cx as Asks, Request, RouteId, Router, Step};

/// What stands in the table of such a router.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The stride of its node ids.
    pub stride: i32,
    /// What its topics' names begin with on the inner side.
    pub prefix: String,
    /// By how many times 2²⁰ leader epochs are higher on the outer side.
    pub generation: i32,
}

/// The router.
#[derive(Debug)]
pub struct Disguise {
    map: NodeMap,
    routes: Vec<RouteId>,
    prefix: String,
    generation: i32,
}

/// The longest name that a topic can have.
const LONGEST_NAME: usize = 249;
/// The kinds of resource whose names are those of topics, and of brokers.
const TOPIC: i64 = 2;
const BROKER: i64 = 4;
const BROKER_LOGGER: i64 = 8;
/// A broker that no cluster has: what a client names without its being any node of ours.
const NOBODY: i32 = i32::MAX;

impl Kind for Disguise {
    const NAME: &'static str = "disguise";
    const EXAMPLE: &'static str = include_str!("disguise/example.toml");
    type Settings = Settings;
    type RouteSettings = ();

    fn settings(table: &mut Table<'_>) -> Option<Settings> {
        let stride = nodes::stride(table);
        let prefix = table.required("prefix", prefix(), "What its topics' names begin with on the inner side.");
        let generation = integer(0, MOST_GENERATIONS);
        let generation =
            table.or("generation", generation, 0, "By how many times 2²⁰ leader epochs are higher outside.");
        Some(Settings { stride: stride?, prefix: prefix?.into_inner(), generation: generation?.into_inner() })
    }

    fn route_settings(_table: &mut Table<'_>) -> Option<()> {
        Some(())
    }

    fn prepare(settings: &Settings, routes: &[Route<()>]) -> Result<Self, Vec<Fault>> {
        let faults = nodes::beyond(settings.stride, routes);
        let ids: Vec<_> = routes.iter().map(|route| *route.id.get_ref()).collect();
        Self::new(settings.clone(), &ids).filter(|_| faults.is_empty()).ok_or(faults)
    }
}

/// Leader epochs stay below 2³¹.
const MOST_GENERATIONS: i64 = 1000;

fn prefix() -> Text<String> {
    text("a prefix, such as \"x.\"", ".", |text| match text {
        "" => Err("an empty prefix would rename nothing".to_owned()),
        _ => Ok(text.to_owned()),
    })
}

impl Disguise {
    /// A router for tests that have no file.
    pub fn new(settings: Settings, routes: &[RouteId]) -> Option<Self> {
        let map = NodeMap::new(settings.stride)?;
        Some(Self { map, routes: routes.to_vec(), prefix: settings.prefix, generation: settings.generation })
    }
}

impl Router for Disguise {
    fn fallback(&self) -> Option<RouteId> {
        self.routes.first().copied()
    }

    fn course(&self, head: &Head, at: Option<VirtualNodeId>, _client: &Client) -> Course {
        let route =
            at.and_then(|at| self.map.inner(at)).map(|(route, _)| route).or_else(|| self.routes.first().copied());
        match (manner::place(head.key), route) {
            // Names stand in front of the types that say what they are names of.
            _ if head.key == LIST_CONFIG_RESOURCES => Course::Refuse(Code::UNSUPPORTED_VERSION),
            (Place::Broker(Manner::Stream), Some(route)) => Course::Stream(route),
            (Place::Broker(Manner::Gather(cap)), Some(route)) => Course::Gather(route, cap),
            (Place::Login, Some(route)) => Course::Gather(route, u32::MAX),
            _ => Course::Refuse(Code::UNSUPPORTED_VERSION),
        }
    }

    fn node(&self, at: VirtualNodeId) -> Option<(RouteId, VirtualNodeId)> {
        self.map.inner(at).filter(|(route, _)| self.routes.contains(route))
    }

    fn outer(&self, route: RouteId, inner: VirtualNodeId) -> Option<VirtualNodeId> {
        self.map.outer(route, inner)
    }

    fn edge(&self, route: RouteId) -> Arc<dyn Edge> {
        let mut mask = [0x5a; 16];
        for (slot, byte) in mask.iter_mut().zip(self.prefix.bytes().cycle()) {
            *slot ^= byte;
        }
        Arc::new(Mask {
            map: self.map,
            route,
            prefix: self.prefix.clone().into_bytes(),
            mask,
            generation: self.generation,
        })
    }

    fn route(&self, _request: Request, _cx: &Asks<'_>) -> Step {
        Step::Refuse(Code::UNSUPPORTED_VERSION)
    }
}

const LIST_CONFIG_RESOURCES: ApiKey = ApiKey(74);

/// The edge of one route.
#[derive(Debug)]
struct Mask {
    map: NodeMap,
    route: RouteId,
    prefix: Vec<u8>,
    mask: [u8; 16],
    generation: i32,
}

impl Mask {
    fn name(&self, name: &[u8]) -> Edit {
        match name.strip_prefix(&*self.prefix) {
            Some(rest) if !rest.is_empty() => Edit::Text(Inline::from_slice(rest)),
            _ if name.is_empty() || name.len() + self.prefix.len() > LONGEST_NAME => Edit::Keep,
            _ => {
                let mut longer = Inline::from_slice(&self.prefix);
                longer.extend_from_slice(name);
                Edit::Text(longer)
            }
        }
    }

    fn node(&self, way: Direction, id: i64) -> i64 {
        let Ok(node) = i32::try_from(id).map(VirtualNodeId) else { return id };
        if node.0 < 0 {
            return id;
        }
        let other = match way {
            Direction::ToClient => self.map.outer(self.route, node),
            Direction::ToBroker => {
                self.map.inner(node).filter(|(route, _)| *route == self.route).map(|(_, inner)| inner)
            }
        };
        i64::from(other.map_or(NOBODY, |other| other.0))
    }

    fn resource(&self, kind: Option<i64>, way: Direction, name: &[u8]) -> Edit {
        match kind {
            Some(TOPIC) => self.name(name),
            Some(BROKER | BROKER_LOGGER) => match std::str::from_utf8(name).ok().and_then(|name| name.parse().ok()) {
                Some(id) => Edit::Text(Inline::from_slice(self.node(way, id).to_string().as_bytes())),
                None => Edit::Keep,
            },
            _ => Edit::Keep,
        }
    }

    fn epoch(&self, way: Direction, epoch: i64) -> Edit {
        let shift = i64::from(self.generation) << 20;
        match way {
            _ if epoch < 0 || shift == 0 => Edit::Keep,
            Direction::ToClient => Edit::Int(epoch + shift),
            // An epoch of a generation before this one is none here.
            Direction::ToBroker => Edit::Int((epoch - shift).max(-1)),
        }
    }

    /// What a client's pattern was before it got the prefix in front; any other stays.
    fn bare_pattern(&self, pattern: &[u8]) -> Edit {
        let rest = pattern.strip_prefix(b"\\Q").and_then(|rest| rest.strip_prefix(&*self.prefix));
        match rest.and_then(|rest| rest.strip_prefix(b"\\E(?:")?.strip_suffix(b")")) {
            Some(bare) => Edit::Text(Inline::from_slice(bare)),
            None => Edit::Keep,
        }
    }

    fn pattern(&self, pattern: &[u8]) -> Edit {
        if pattern.is_empty() {
            return Edit::Keep;
        }
        let mut longer = Inline::from_slice(b"\\Q");
        longer.extend_from_slice(&self.prefix);
        longer.extend_from_slice(b"\\E(?:");
        // A pattern matches whole names, with or without anchors in front of its alternatives.
        let before = std::iter::once(b'|').chain(pattern.iter().copied());
        let anchored = |(before, byte): &(u8, u8)| !(*byte == b'^' && matches!(before, b'|' | b'('));
        longer.extend(before.zip(pattern.iter().copied()).filter(anchored).map(|(_, byte)| byte));
        longer.push(b')');
        Edit::Text(longer)
    }
}

const WANTED: Meanings = Meanings::of(&[
    Meaning::BrokerId,
    Meaning::TopicName,
    Meaning::TopicId,
    Meaning::ResourceName,
    Meaning::LeaderEpoch,
    Meaning::TopicRegex,
    Meaning::TopicOpaque,
]);

impl Edge for Mask {
    fn wants(&self, _key: ApiKey, _way: Direction) -> Meanings {
        WANTED
    }

    fn growth(&self, _way: Direction) -> Option<u32> {
        Some(narrow(self.prefix.len()))
    }

    fn edit(&self, memo: &mut Memo, cx: &Cx, fact: &'static Fact, value: Value<'_>) -> Edit {
        match (fact.meaning, value) {
            (Meaning::BrokerId, Value::Int(id)) => match self.node(cx.way, id) {
                same if same == id => Edit::Keep,
                other => Edit::Int(other),
            },
            (Meaning::TopicName, Value::Text(name)) => self.name(name),
            (Meaning::TopicId, Value::Id(id)) if id != [0; 16] => {
                let mut other = id;
                other.iter_mut().zip(self.mask).for_each(|(byte, mask)| *byte ^= mask);
                Edit::Id(other)
            }
            (Meaning::ResourceName, Value::Text(name)) => self.resource(memo.resource_type, cx.way, name),
            (Meaning::LeaderEpoch, Value::Int(epoch)) => self.epoch(cx.way, epoch),
            (Meaning::TopicOpaque, Value::Text(metadata)) if fact.path.ends_with("Metadata") => {
                subscription::renamed(metadata, |name| self.name(name)).map_or(Edit::Keep, Edit::Text)
            }
            (Meaning::TopicRegex, Value::Text(pattern)) => match cx.way {
                Direction::ToBroker => self.pattern(pattern),
                Direction::ToClient => self.bare_pattern(pattern),
            },
            _ => Edit::Keep,
        }
    }
}
