//! Metadata (key 3): the questions that Skein asks for itself.
//!
//! Brokers and cluster id only: an empty list of topics, which every version from 1 on reads as "none". And the names of
//! topic ids, for filters that go by names.
//! Source: MetadataRequest.json, MetadataResponse.json.

use std::sync::Arc;

use bytes::Bytes;
use skein_filters::Address;
use skein_protocol::ids::{ApiKey, Direction, RealNodeId};
use skein_protocol::messages::{self, MetadataRequest, MetadataResponse};
use skein_protocol::table::Versions;
use skein_protocol::varint;

use crate::topology::Topology;

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
    })
}
