//! What a virtual cluster shows of itself: its cluster id, the addresses of its brokers, its producer ids.

use std::collections::BTreeMap;
use std::sync::Arc;

use sha2::{Digest, Sha256};
use skein_protocol::code::Code;
use skein_protocol::ids::{ApiKey, Direction, VirtualNodeId};
use skein_protocol::passage::{Edit, Value};
use skein_protocol::table::{Fact, Role};
use skein_protocol::varint::Inline;
use skein_protocol::{Meaning, Meanings};

use crate::edge::{Cx, Edge, Memo};

/// Where clients reach something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// A host name or an IP address.
    pub host: Arc<str>,
    /// A port.
    pub port: u16,
}

/// The outermost edge of a virtual cluster, for one of its listeners.
#[derive(Debug)]
pub struct Face {
    cluster_id: String,
    nodes: BTreeMap<VirtualNodeId, Address>,
}

impl Face {
    /// The face of the virtual cluster with the declared `id`, whose brokers are reached at `nodes`.
    pub fn new(id: &str, nodes: BTreeMap<VirtualNodeId, Address>) -> Self {
        Self { cluster_id: cluster_id(id), nodes }
    }

    /// The cluster id that clients see.
    pub fn cluster_id(&self) -> &str {
        &self.cluster_id
    }

    /// The brokers that clients can reach.
    pub fn nodes(&self) -> &BTreeMap<VirtualNodeId, Address> {
        &self.nodes
    }

    fn broker(&self, memo: &mut Memo, fact: &Fact, id: i64) -> Edit {
        let node = i32::try_from(id).ok().map(VirtualNodeId);
        memo.node = node.filter(|node| self.nodes.contains_key(node));
        memo.is_hidden = id >= 0 && memo.node.is_none();
        if !memo.is_hidden {
            return Edit::Keep;
        }
        memo.unlisted += 1;
        memo.last_unlisted = node;
        match fact.role {
            Role::Element | Role::Listed => Edit::Drop,
            Role::Alone => Edit::Int(-1),
        }
    }

    fn producer(memo: &Memo, cx: &Cx, id: i64) -> Edit {
        let Some(tag) = cx.tag else { return Edit::Keep };
        let other = match cx.way {
            // A broker ignores the id that comes without a transactional id, and allocates a new one.
            Direction::ToBroker if memo.untransactional => -1,
            Direction::ToBroker => tag.real(id),
            Direction::ToClient => tag.tagged(id),
        };
        if other == id { Edit::Keep } else { Edit::Int(other) }
    }
}

/// What the declared id of a virtual cluster looks like as a Kafka cluster id: 22 characters, as a broker's has.
fn cluster_id(declared: &str) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let hash = Sha256::digest(declared.as_bytes());
    hash.iter().take(22).map(|byte| char::from(DIGITS.get(usize::from(byte & 63)).copied().unwrap_or(b'A'))).collect()
}

const TO_BROKER: Meanings =
    Meanings::of(&[Meaning::ClusterId, Meaning::ProducerId, Meaning::ProducerEpoch, Meaning::TransactionalId]);
const TO_CLIENT: Meanings =
    Meanings::of(&[Meaning::BrokerId, Meaning::Host, Meaning::Port, Meaning::ClusterId, Meaning::ProducerId]);
/// A coordinator that clients cannot reach is none: where its error stands behind it, that says so.
const COORDINATORS: Meanings = TO_CLIENT.and(Meanings::of(&[Meaning::Error]));
/// Producer ids in a fetched partition are compared only with each other: they pass.
const FETCHED: Meanings = Meanings::of(&[Meaning::BrokerId, Meaning::Host, Meaning::Port]);

impl Edge for Face {
    fn wants(&self, key: ApiKey, way: Direction) -> Meanings {
        match way {
            Direction::ToBroker => TO_BROKER,
            Direction::ToClient if key.is_fetch() => FETCHED,
            Direction::ToClient if key == ApiKey::FIND_COORDINATOR => COORDINATORS,
            Direction::ToClient => TO_CLIENT,
        }
    }

    fn growth(&self, _way: Direction) -> Option<u32> {
        None
    }

    fn edit(&self, memo: &mut Memo, cx: &Cx, fact: &'static Fact, value: Value<'_>) -> Edit {
        let text = |text: &str| Edit::Text(Inline::from_slice(text.as_bytes()));
        let address = |memo: &Memo| memo.node.and_then(|node| self.nodes.get(&node));
        match (fact.meaning, cx.way, value) {
            (Meaning::BrokerId, Direction::ToClient, Value::Int(id)) => self.broker(memo, fact, id),
            (Meaning::Host, Direction::ToClient, Value::Text(host)) => match address(memo) {
                Some(address) => text(&address.host),
                // The entry of an error has no host; the host of a broker that clients cannot reach is not theirs to know.
                None if host.is_empty() => Edit::Keep,
                None => text(""),
            },
            (Meaning::Port, Direction::ToClient, Value::Int(_)) => {
                Edit::Int(address(memo).map_or(-1, |address| i64::from(address.port)))
            }
            (Meaning::Error, Direction::ToClient, Value::Int(0)) if std::mem::take(&mut memo.is_hidden) => {
                memo.explained += 1;
                Edit::Int(i64::from(Code::COORDINATOR_NOT_AVAILABLE.0))
            }
            (Meaning::ClusterId, Direction::ToClient, Value::Text(_)) => text(&self.cluster_id),
            (Meaning::ClusterId, Direction::ToBroker, Value::Text(_)) => Edit::Null,
            (Meaning::TransactionalId, Direction::ToBroker, value) => {
                memo.untransactional = value == Value::Null;
                Edit::Keep
            }
            (Meaning::ProducerId, _, Value::Int(id)) => Self::producer(memo, cx, id),
            (Meaning::ProducerEpoch, Direction::ToBroker, Value::Int(_)) if memo.untransactional => Edit::Int(-1),
            _ => Edit::Keep,
        }
    }

    fn producer_id(&self, cx: &Cx, id: i64) -> Option<i64> {
        let tag = cx.tag?;
        let other = match cx.way {
            Direction::ToBroker => tag.real(id),
            Direction::ToClient => tag.tagged(id),
        };
        (other != id).then_some(other)
    }
}
