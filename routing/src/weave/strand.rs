//! The edge of one route: what clients see on its outer side, and what the route has on its inner one.

use std::sync::Arc;

use skein_filters::{Cx, Edge, Memo};
use skein_protocol::ids::{ApiKey, Direction, VirtualNodeId};
use skein_protocol::passage::{Edit, Value};
use skein_protocol::table::Fact;
use skein_protocol::varint::Inline;
use skein_protocol::{Meaning, Meanings};

use super::rules::Rules;
use super::subscription;
use crate::nodes::NodeMap;
use crate::router::RouteId;

/// The kinds of resource whose names are those of topics, and of brokers.
const TOPIC: i64 = 2;
const BROKERS: [i64; 2] = [4, 8];
/// A broker that no cluster has: what a client names without its being any node of the route.
const NOBODY: i32 = i32::MAX;

pub(super) struct Strand {
    pub(super) rules: Arc<Rules>,
    pub(super) map: NodeMap,
    pub(super) route: RouteId,
}

const NODES: Meanings = Meanings::of(&[Meaning::BrokerId, Meaning::ResourceName]);
const NAMES: Meanings = Meanings::of(&[Meaning::TopicName, Meaning::TopicOpaque]);

impl Strand {
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

    /// A topic's name. On the way in, one that is not of this route stays as it is: it has been refused. On the way out, what
    /// is not exposed is left out, where it is one of several.
    fn topic(&self, way: Direction, fact: &Fact, name: &[u8]) -> Edit {
        let other = match way {
            Direction::ToBroker => match self.rules.topic(name) {
                Some((route, inner)) if route == self.route => inner,
                _ => return Edit::Keep,
            },
            Direction::ToClient => match self.rules.shown(self.route, name) {
                Some(outer) => outer,
                None if fact.path.contains("[]") => return Edit::Drop,
                None => return Edit::Keep,
            },
        };
        if *other == *name { Edit::Keep } else { Edit::Text(Inline::from_slice(&other)) }
    }

    fn resource(&self, kind: Option<i64>, (way, fact): (Direction, &Fact), name: &[u8]) -> Edit {
        match kind {
            Some(TOPIC) => self.topic(way, fact, name),
            Some(kind) if BROKERS.contains(&kind) => {
                match std::str::from_utf8(name).ok().and_then(|name| name.parse().ok()) {
                    Some(id) => Edit::Text(Inline::from_slice(self.node(way, id).to_string().as_bytes())),
                    None => Edit::Keep,
                }
            }
            _ => Edit::Keep,
        }
    }
}

impl Edge for Strand {
    fn wants(&self, _key: ApiKey, _way: Direction) -> Meanings {
        NODES.and(NAMES)
    }

    fn growth(&self, way: Direction) -> Option<u32> {
        let [inward, outward] = self.rules.growth(self.route)?;
        Some(if way == Direction::ToBroker { inward } else { outward })
    }

    fn edit(&self, memo: &mut Memo, cx: &Cx, fact: &'static Fact, value: Value<'_>) -> Edit {
        match (fact.meaning, value) {
            (Meaning::BrokerId, Value::Int(id)) => match self.node(cx.way, id) {
                same if same == id => Edit::Keep,
                other => Edit::Int(other),
            },
            (Meaning::TopicName, Value::Text(name)) => self.topic(cx.way, fact, name),
            (Meaning::ResourceName, Value::Text(name)) => self.resource(memo.resource_type, (cx.way, fact), name),
            (Meaning::TopicOpaque, Value::Text(metadata)) if fact.path.ends_with("Metadata") => {
                let other = match cx.way {
                    Direction::ToBroker => subscription::wrapped(metadata, |name| {
                        self.rules.topic(name).filter(|(route, _)| *route == self.route).map(|(_, inner)| inner)
                    }),
                    Direction::ToClient => subscription::unwrapped(metadata),
                };
                other.map_or(Edit::Keep, |other| Edit::Text(Inline::from_vec(other)))
            }
            _ => Edit::Keep,
        }
    }
}
