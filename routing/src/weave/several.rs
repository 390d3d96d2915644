//! What is about several routes: a request falls into a part for each, and their answers become one.

use bytes::Bytes;
use skein_protocol::answer;
use skein_protocol::code::Code;
use skein_protocol::divide::{Allot, Divided, Lot, Parts, is_item};
use skein_protocol::frame::Head;
use skein_protocol::ids::{ApiKey, Direction, VirtualNodeId};
use skein_protocol::merge::together;
use skein_protocol::passage::Value;
use skein_protocol::table::{Fact, Table};
use skein_protocol::{Malformed, Meaning, Meanings};

use super::rules::Rules;
use crate::apis::woven;
use crate::nodes::NodeMap;
use crate::router::{Cx, Leg, Lost, Reply, Request, RouteId, Step};

/// What decides where an item goes.
const DECIDE: Meanings = Meanings::of(&[
    Meaning::TopicName,
    Meaning::TopicId,
    Meaning::ResourceType,
    Meaning::ResourceName,
    Meaning::CoordinatorKey,
    Meaning::KeyType,
]);
/// The kinds of resource that have an owner each, as `ConfigResource.Type` has them.
const TOPIC: i64 = 2;
const BROKERS: [i64; 2] = [4, 8];
const GROUP: i64 = 32;
/// The types of coordinator keys.
const OF_GROUP: i64 = 0;
const OF_TRANSACTION: i64 = 1;

/// Finds the owners of what a request names.
struct Owners<'a> {
    rules: &'a Rules,
    map: NodeMap,
    key: ApiKey,
    cx: &'a Cx<'a>,
    resource: i64,
    key_type: i64,
    /// The coordinator key that stands outside of arrays.
    single: Option<Vec<u8>>,
    /// A broker that the request is about.
    broker: Option<(RouteId, VirtualNodeId)>,
}

impl Owners<'_> {
    fn topic(&self, name: &[u8]) -> Lot {
        let creates = self.key == ApiKey::CREATE_TOPICS;
        match self.rules.topic(name) {
            Some((route, _)) if creates && !self.rules.may_create(route, name) => Lot::Refused(Code::POLICY_VIOLATION),
            Some((route, _)) => Lot::Goes(route.0),
            None if creates => Lot::Refused(Code::POLICY_VIOLATION),
            None => Lot::Refused(Code::UNKNOWN_TOPIC_OR_PARTITION),
        }
    }

    fn resource(&mut self, name: &[u8]) -> Lot {
        match self.resource {
            TOPIC => self.topic(name),
            GROUP => Lot::Goes(self.rules.groups.of(name).unwrap_or(self.rules.home).0),
            kind if BROKERS.contains(&kind) && !name.is_empty() => {
                if self.key != woven::DESCRIBE_CONFIGS {
                    return Lot::Refused(Code::CLUSTER_AUTHORIZATION_FAILED);
                }
                let node = std::str::from_utf8(name).ok().and_then(|name| name.parse().ok()).map(VirtualNodeId);
                self.broker = node
                    .and_then(|node| self.map.inner(node))
                    .filter(|(route, _)| self.rules.names.contains_key(route));
                self.broker.map_or(Lot::Refused(Code::INVALID_REQUEST), |(route, _)| Lot::Goes(route.0))
            }
            _ => Lot::Goes(self.rules.home.0),
        }
    }

    fn coordinator(&self, key: &[u8]) -> Lot {
        let homes = match self.key_type {
            OF_GROUP => &self.rules.groups,
            OF_TRANSACTION => &self.rules.transactional_ids,
            _ => return Lot::Refused(Code::INVALID_REQUEST),
        };
        Lot::Goes(homes.of(key).unwrap_or(self.rules.home).0)
    }
}

impl Allot for Owners<'_> {
    fn lot(&mut self, fact: &'static Fact, value: Value<'_>) -> Option<Lot> {
        match (fact.meaning, value) {
            (Meaning::TopicName, Value::Text(name)) => Some(self.topic(name)),
            (Meaning::TopicId, Value::Id(id)) if id != [0; 16] => {
                let name = (self.cx.names)(id);
                Some(name.map_or(Lot::Refused(Code::UNKNOWN_TOPIC_ID), |name| self.topic(&name)))
            }
            (Meaning::ResourceType, Value::Int(kind)) => {
                self.resource = kind;
                None
            }
            (Meaning::ResourceName, Value::Text(name)) => Some(self.resource(name)),
            (Meaning::KeyType, Value::Int(kind)) => {
                self.key_type = kind;
                None
            }
            (Meaning::CoordinatorKey, Value::Text(key)) if is_item(fact) => Some(self.coordinator(key)),
            (Meaning::CoordinatorKey, Value::Text(key)) => {
                self.single = Some(key.to_vec());
                None
            }
            _ => None,
        }
    }
}

/// A route and the node behind it that a request came to.
fn addressed(map: NodeMap, request: &Request) -> Option<(RouteId, VirtualNodeId)> {
    request.at.and_then(|at| map.inner(at))
}

/// Routes a request.
pub(super) fn route(rules: &Rules, map: NodeMap, request: Request, cx: &Cx<'_>) -> Step {
    // What the walk had vouched for is not malformed; if it were, nobody has acted on it.
    routed(rules, map, &request, cx).unwrap_or(Step::Refuse(Code::INVALID_REQUEST))
}

fn routed(rules: &Rules, map: NodeMap, request: &Request, cx: &Cx<'_>) -> Result<Step, Malformed> {
    let head = request.head;
    let unknown = Malformed::UnknownMessage { key: head.key.0, version: head.version };
    let layout = Table::get().layout(head.key, head.version, Direction::ToBroker).ok_or(unknown)?;
    let divided = Divided { head, layout, wants: DECIDE };
    let (key, resource, key_type) = (head.key, 0, 0);
    let mut owners = Owners { rules, map, key, cx, resource, key_type, single: None, broker: None };
    let mut frame = request.frame.to_vec();
    let Parts { mut goes, refused, dropped: _, whole: _ } = divided.look(&mut frame, &mut owners)?;
    if let Some(key) = owners.single.take() {
        match owners.coordinator(&key) {
            Lot::Goes(route) => goes.push(route),
            Lot::Refused(code) => return Ok(Step::Refuse(code)),
            Lot::Dropped | Lot::Around => {}
        }
    }
    let broker = owners.broker.take();
    let mut beside: Option<Bytes> = None;
    for code in &refused {
        if let Some(more) = divided.refusal(&frame, *code, &mut owners)? {
            beside = Some(joined(head, beside, Bytes::from(more))?);
        }
    }
    // What names nothing is about everything.
    let about = if goes.is_empty() && refused.is_empty() { About::Everything } else { About::Items };
    if about == About::Everything {
        goes = rules.names.keys().map(|route| route.0).collect();
    }
    let addressed = addressed(map, request);
    let mut legs = Vec::new();
    for route in &goes {
        let whole = about == About::Everything || goes.len() == 1 && refused.is_empty();
        let part = if whole { frame.clone() } else { divided.take(&frame, Lot::Goes(*route), &mut owners)? };
        let route = RouteId(*route);
        let node = broker.or(addressed).filter(|(of, _)| *of == route).map(|(_, node)| node);
        legs.push(Leg { route, at: node, frame: Bytes::from(part) });
    }
    if legs.is_empty() {
        let nothing = || answer::empty(head.key, head.version, head.correlation).map(Bytes::from);
        return Ok(beside.or_else(nothing).map_or(Step::Refuse(Code::INVALID_REQUEST), Step::Answer));
    }
    let asked: Vec<Bytes> = legs.iter().map(|leg| leg.frame.clone()).collect();
    let then = move |replies: Vec<Reply>| merged(&divided, &asked, beside, replies, about);
    Ok(Step::Send { legs, then: Box::new(then) })
}

/// What a request is about.
#[derive(Clone, Copy, PartialEq, Eq)]
enum About {
    /// What it names.
    Items,
    /// All that there is.
    Everything,
}

/// One answer of all that came, and of what stands for those that never come.
fn merged(divided: &Divided, asked: &[Bytes], beside: Option<Bytes>, replies: Vec<Reply>, about: About) -> Step {
    let head = divided.head;
    let (mut all, mut lost) = (beside, None);
    for (asked, reply) in asked.iter().zip(replies) {
        let frame = match reply {
            Ok(frame) => frame,
            // Of one that is asked for all that it has nobody knows what that would have been.
            Err(why) if about == About::Everything || is_single(head) => {
                lost = lost.or(Some(why));
                continue;
            }
            Err(why) => {
                let refusal = divided.refusal_of(&mut asked.to_vec(), woven::lost(head.key), &mut Nothing);
                match refusal {
                    Ok(Some(frame)) => Bytes::from(frame),
                    Ok(None) | Err(_) => {
                        lost = lost.or(Some(why));
                        continue;
                    }
                }
            }
        };
        all = match joined(head, all, frame) {
            Ok(joined) => Some(joined),
            Err(_) => return Step::Refuse(woven::lost(head.key)),
        };
    }
    match (all, lost) {
        (Some(all), _) => Step::Answer(all),
        (None, Some(Lost::Unsent | Lost::Unknown)) | (None, None) => Step::Refuse(woven::lost(head.key)),
    }
}

/// Whether a request names one thing, outside of arrays.
fn is_single(head: Head) -> bool {
    head.key == ApiKey::FIND_COORDINATOR && head.version < 4
}

/// Nobody decides about anything: all of a part has one lot.
struct Nothing;

impl Allot for Nothing {
    fn lot(&mut self, _fact: &'static Fact, _value: Value<'_>) -> Option<Lot> {
        None
    }
}

fn joined(head: Head, first: Option<Bytes>, rest: Bytes) -> Result<Bytes, Malformed> {
    let Some(first) = first else { return Ok(rest) };
    together(&head, &first, &rest).map(Bytes::from)
}
