//! Metadata (key 3): the questions that Skein asks for itself.
//!
//! Brokers and cluster id only: an empty list of topics, which every version from 1 on reads as "none". And the names of
//! topic ids, for filters that go by names.
//! Source: MetadataRequest.json, MetadataResponse.json.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use skein_filters::Address;
use skein_protocol::frame::Head;
use skein_protocol::ids::{ApiKey, Direction, RealNodeId, RealTopicId, VirtualNodeId};
use skein_protocol::merge::merge;
use skein_protocol::messages::{
    self, DescribeClusterResponse, MetadataRequest, MetadataResponse, StrBytes, describe_cluster_response,
    metadata_response,
};
use skein_protocol::outline::Outline;
use skein_protocol::passage::{Edit, Editor, Value};
use skein_protocol::rewrite::{Rewritten, rewrite};
use skein_protocol::table::{Fact, Table, Versions};
use skein_protocol::varint;
use skein_protocol::{Meaning, Meanings};

use crate::topology::{Topics, Topology};

/// The versions of Metadata that Skein can ask in: from 2 on the answer has the cluster id.
const ASKED: Versions = Versions { from: 2, to: 12 };

/// The version in which topics are asked for by their ids.
pub const BY_ID: i16 = 12;

/// The frame, without its length, that asks what the topics with these ids are called.
pub fn names(ids: &[[u8; 16]]) -> Vec<u8> {
    let mut out = Vec::with_capacity(32 + ids.len() * 18);
    out.extend_from_slice(&ApiKey::METADATA.0.to_be_bytes());
    out.extend_from_slice(&BY_ID.to_be_bytes());
    // The correlation id comes later; then the client id, and no tags.
    out.extend_from_slice(&[0, 0, 0, 0, 0, 5]);
    out.extend_from_slice(b"skein\0");
    varint::put(&mut out, varint::narrow(ids.len()) + 1);
    for id in ids {
        // No name, no tags.
        out.extend_from_slice(id);
        out.extend_from_slice(&[0, 0]);
    }
    // Nothing is created, no rights are asked for, no tags.
    out.extend_from_slice(&[0, 0, 0]);
    out
}

/// What an answer to that, a frame without its length, tells.
///
/// # Errors
/// [`messages::Unread`].
pub fn named(frame: &Bytes) -> Result<Vec<([u8; 16], String)>, messages::Unread> {
    let answer: MetadataResponse = messages::decode(ApiKey::METADATA, BY_ID, Direction::ToClient, frame)?;
    let named = |topic: &messages::metadata_response::MetadataResponseTopic| {
        Some((topic.topic_id.into_bytes(), topic.name.as_ref()?.to_string()))
    };
    Ok(answer.topics.iter().filter_map(named).collect())
}

/// The version to ask in, if a broker offers `offered`.
pub fn version(offered: Versions) -> Option<i16> {
    offered.meet(ASKED).map(|both| both.to)
}

/// The frame, without its length, that asks for brokers and cluster id.
pub fn question(version: i16, correlation: i32) -> Bytes {
    let request = MetadataRequest::default().with_topics(Some(Vec::new())).with_allow_auto_topic_creation(false);
    // A request of defaults has nothing that a version could lack; an empty frame would be refused by the broker.
    messages::request(ApiKey::METADATA, version, correlation, "skein", &request).unwrap_or_default().freeze()
}

/// What an answer, a frame without its length, tells of a cluster.
///
/// # Errors
/// [`messages::Unread`].
pub fn learn(version: i16, frame: &Bytes) -> Result<Topology, messages::Unread> {
    let answer: MetadataResponse = messages::decode(ApiKey::METADATA, version, Direction::ToClient, frame)?;
    let node = |broker: &messages::metadata_response::MetadataResponseBroker| {
        let port = u16::try_from(broker.port).ok()?;
        Some((RealNodeId(broker.node_id.0), Address { host: Arc::from(broker.host.as_str()), port }))
    };
    Ok(Topology {
        cluster_id: answer.cluster_id.as_deref().map(Arc::from),
        offer: None,
        nodes: answer.brokers.iter().filter_map(node).collect(),
        topics: None,
    })
}

/// The versions in which topics have ids.
const WITH_IDS: Versions = Versions { from: 10, to: 12 };

/// The frame, without its length, that asks for all topics, and its version; `None`: the cluster gives no ids.
pub fn listing(offered: Versions, correlation: i32) -> Option<(i16, Bytes)> {
    let version = offered.meet(WITH_IDS)?.to;
    let request = MetadataRequest::default().with_topics(None).with_allow_auto_topic_creation(false);
    let frame = messages::request(ApiKey::METADATA, version, correlation, "skein", &request).unwrap_or_default();
    Some((version, frame.freeze()))
}

/// What an answer to that tells: topics with their ids.
///
/// # Errors
/// [`messages::Unread`].
pub fn listed(version: i16, frame: &Bytes) -> Result<Topics, messages::Unread> {
    let answer: MetadataResponse = messages::decode(ApiKey::METADATA, version, Direction::ToClient, frame)?;
    let topic = |topic: &messages::metadata_response::MetadataResponseTopic| {
        let name = topic.name.as_ref()?;
        Some((Box::from(name.as_str()), RealTopicId(topic.topic_id.into_bytes())))
    };
    Ok(answer.topics.iter().filter_map(topic).collect())
}

/// Whether an answer of this API tells of all brokers.
pub fn tells_of_brokers(key: ApiKey) -> bool {
    matches!(key, ApiKey::METADATA | ApiKey::DESCRIBE_CLUSTER)
}

/// An answer that tells of these brokers, and of nothing else; a frame without its length. `None`: it cannot be written.
fn crown(head: &Head, brokers: &[(VirtualNodeId, Address)]) -> Option<Bytes> {
    let text = |text: &str| StrBytes::from_string(text.to_owned());
    let controller = brokers.first().map_or(-1, |(node, _)| node.0).into();
    let written = if head.key == ApiKey::METADATA {
        let broker = |(node, place): &(VirtualNodeId, Address)| {
            let broker = metadata_response::MetadataResponseBroker::default();
            broker.with_node_id(node.0.into()).with_host(text(&place.host)).with_port(place.port.into())
        };
        let mut answer = MetadataResponse::default().with_brokers(brokers.iter().map(broker).collect());
        if head.version >= 1 {
            answer = answer.with_controller_id(controller);
        }
        if head.version >= 2 {
            answer = answer.with_cluster_id(Some(text("?")));
        }
        messages::response(head.key, head.version, head.correlation, &answer)
    } else {
        let broker = |(node, place): &(VirtualNodeId, Address)| {
            let broker = describe_cluster_response::DescribeClusterBroker::default();
            broker.with_broker_id(node.0.into()).with_host(text(&place.host)).with_port(place.port.into())
        };
        let answer = DescribeClusterResponse::default().with_cluster_id(text("?")).with_controller_id(controller);
        messages::response(
            head.key,
            head.version,
            head.correlation,
            &answer.with_brokers(brokers.iter().map(broker).collect()),
        )
    };
    written.ok().map(BytesMut::freeze)
}

/// An answer whose brokers are these and no others, both as the outermost level has them.
pub fn crowned(head: &Head, frame: &[u8], brokers: &[(VirtualNodeId, Address)]) -> Option<Vec<u8>> {
    let layout = Table::get().layout(head.key, head.version, Direction::ToClient)?;
    let mut bare = Bare { rights: None };
    let mut rest = frame.to_vec();
    let wants = Meanings::of(&[Meaning::BrokerId, Meaning::AuthorizedOperations]);
    if let Rewritten::Anew(other) = rewrite(layout, wants, &mut rest, &mut bare, &mut Outline::off()).ok()? {
        rest = other;
    }
    let mut crown = crown(head, brokers)?.to_vec();
    rewrite(layout, wants, &mut crown, &mut Rights(bare.rights), &mut Outline::off()).ok()?;
    merge(layout, &crown, &rest).ok()
}

/// What a client may do to the cluster, in an answer of an API that says so.
fn is_of_cluster(fact: &Fact) -> bool {
    fact.meaning == Meaning::AuthorizedOperations && !fact.path.contains("[]")
}

/// Leaves brokers out, and remembers what the client may do to the cluster.
struct Bare {
    rights: Option<i64>,
}

impl Editor for Bare {
    fn edit(&mut self, fact: &'static Fact, value: Value<'_>) -> Edit {
        if let (true, Value::Int(bits)) = (is_of_cluster(fact), value) {
            self.rights = Some(self.rights.map_or(bits, |rights| rights & bits));
        }
        if fact.path.starts_with("Brokers[]") { Edit::Drop } else { Edit::Keep }
    }

    fn producer_id(&mut self, _id: i64) -> Option<i64> {
        None
    }
}

/// Puts what the client may do.
struct Rights(Option<i64>);

impl Editor for Rights {
    fn edit(&mut self, fact: &'static Fact, _value: Value<'_>) -> Edit {
        match self.0 {
            Some(bits) if is_of_cluster(fact) => Edit::Int(bits),
            _ => Edit::Keep,
        }
    }

    fn producer_id(&mut self, _id: i64) -> Option<i64> {
        None
    }
}
