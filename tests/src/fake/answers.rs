//! What the broker says by itself: ApiVersions, Metadata, FindCoordinator, InitProducerId, DescribeCluster; Produce and
//! Fetch are in `data`. Anything else, and any version outside the ranges shown, ends the connection.

use anyhow::{Result, ensure};
use bytes::{Buf, BufMut, Bytes, BytesMut};
use kafka_protocol::messages::api_versions_response::{ApiVersion, FinalizedFeatureKey, SupportedFeatureKey};
use kafka_protocol::messages::describe_cluster_response::DescribeClusterBroker;
use kafka_protocol::messages::find_coordinator_response::Coordinator;
use kafka_protocol::messages::metadata_response::{
    MetadataResponseBroker, MetadataResponsePartition, MetadataResponseTopic,
};
use kafka_protocol::messages::{
    ApiVersionsResponse, DescribeClusterRequest, DescribeClusterResponse, FindCoordinatorRequest,
    FindCoordinatorResponse, InitProducerIdRequest, InitProducerIdResponse, MetadataRequest, MetadataResponse,
    TopicName,
};
use kafka_protocol::protocol::{Encodable, StrBytes};
use uuid::Uuid;

use super::connection::Reply;
use super::data;
use super::ledger::Received;
use super::model::{Model, Partition, Topic};
use super::segments::Segments;
use crate::apis;

/// The broker's own answer.
pub(super) fn answer(model: &mut Model, request: &Received) -> Reply {
    let shown = model
        .versions
        .iter()
        .any(|range| range.key == request.key && (range.min..=range.max).contains(&request.version));
    let made = match request.key {
        apis::API_VERSIONS => api_versions(model, request),
        _ if !shown => return Reply::Close,
        apis::METADATA => metadata(model, request),
        apis::FIND_COORDINATOR => find_coordinator(model, request),
        apis::INIT_PRODUCER_ID => init_producer_id(model, request),
        apis::DESCRIBE_CLUSTER => describe_cluster(model, request),
        apis::PRODUCE => return data::produce(model, request).unwrap_or(Reply::Close),
        apis::FETCH => return data::fetch(model, request).unwrap_or(Reply::Close),
        _ => return Reply::Close,
    };
    made.map_or(Reply::Close, |body| Reply::Body(Segments::from(body)))
}

/// A message as bytes.
pub(super) fn encoded(message: &impl Encodable, version: i16) -> Result<Bytes> {
    let mut body = BytesMut::new();
    message.encode(&mut body, version)?;
    Ok(body.freeze())
}

pub(super) fn text(text: &str) -> StrBytes {
    StrBytes::from_string(text.to_owned())
}

fn api_versions(model: &Model, request: &Received) -> Result<Bytes> {
    let own = model.versions.iter().find(|range| range.key == apis::API_VERSIONS);
    let (min, max) = own.map_or((0, 0), |range| (range.min, range.max));
    if !(min..=max).contains(&request.version) {
        let only = vec![version_of(apis::API_VERSIONS, min, max)];
        return encoded(&ApiVersionsResponse::default().with_error_code(35).with_api_keys(only), 0);
    }
    // The answer of v5 has the layout of v4.
    let layout = request.version.min(4);
    let error = if request.version >= 5 { mistaken(model, request)? } else { 0 };
    if error != 0 {
        return encoded(&ApiVersionsResponse::default().with_error_code(error), layout);
    }
    let keys = model.versions.iter().map(|range| version_of(range.key, range.min, range.max)).collect();
    let mut answer = ApiVersionsResponse::default().with_api_keys(keys);
    if layout >= 3 {
        answer = answer
            .with_finalized_features_epoch(9)
            .with_supported_features(supported(model, layout))
            .with_finalized_features(finalized(model));
    }
    encoded(&answer, layout)
}

fn version_of(key: i16, min: i16, max: i16) -> ApiVersion {
    ApiVersion::default().with_api_key(key).with_min_version(min).with_max_version(max)
}

/// Below v4 a broker leaves out features whose lowest level is 0.
fn supported(model: &Model, layout: i16) -> Vec<SupportedFeatureKey> {
    let shown = model.features.iter().filter(|feature| layout >= 4 || feature.min > 0);
    let key = |name, min, max| {
        SupportedFeatureKey::default().with_name(text(name)).with_min_version(min).with_max_version(max)
    };
    shown.map(|feature| key(feature.name, feature.min, feature.max)).collect()
}

fn finalized(model: &Model) -> Vec<FinalizedFeatureKey> {
    let key = |name, level| {
        FinalizedFeatureKey::default().with_name(text(name)).with_min_version_level(level).with_max_version_level(level)
    };
    model.features.iter().map(|feature| key(feature.name, feature.finalized)).collect()
}

/// KIP-1242: whether the client of a v5 means another cluster or node (129), or says only one of the two (42).
fn mistaken(model: &Model, request: &Received) -> Result<i16> {
    let mut body = request.body.clone();
    compact(&mut body)?;
    compact(&mut body)?;
    let cluster = compact(&mut body)?;
    let node = body.try_get_i32()?;
    Ok(match cluster {
        None if node == -1 => 0,
        None => 42,
        Some(_) if node == -1 => 42,
        Some(cluster) if cluster == model.cluster_id.as_bytes() && node == request.node => 0,
        Some(_) => 129,
    })
}

/// A compact nullable string of less than 127 bytes.
fn compact(body: &mut Bytes) -> Result<Option<Bytes>> {
    let length = usize::from(body.try_get_u8()?);
    ensure!(length <= 127 && length <= body.len(), "a string of {length} bytes");
    Ok(if length == 0 { None } else { Some(body.split_to(length - 1)) })
}

fn metadata(model: &Model, request: &Received) -> Result<Bytes> {
    let version = request.version;
    let asked: MetadataRequest = request.decode()?;
    let topics = match asked.topics {
        None => all_topics(model, version),
        Some(wanted) if wanted.is_empty() && version == 0 => all_topics(model, version),
        Some(wanted) => {
            let one = |topic: &kafka_protocol::messages::metadata_request::MetadataRequestTopic| {
                let name = topic.name.as_ref().map_or("", |name| name.0.as_str());
                match model.find(name, topic.topic_id) {
                    Some((name, found)) => described(name, found, version),
                    None => unknown(topic.name.clone(), topic.topic_id),
                }
            };
            wanted.iter().map(one).collect()
        }
    };
    let broker = |(&id, address): (&i32, &std::net::SocketAddr)| {
        MetadataResponseBroker::default()
            .with_node_id(id.into())
            .with_host(text(&address.ip().to_string()))
            .with_port(i32::from(address.port()))
    };
    let mut answer =
        MetadataResponse::default().with_brokers(model.nodes.iter().map(broker).collect()).with_topics(topics);
    if version >= 1 {
        answer = answer.with_controller_id(model.nodes.keys().next_back().copied().unwrap_or(-1).into());
    }
    if version >= 2 {
        answer = answer.with_cluster_id(Some(text(&model.cluster_id)));
    }
    encoded(&answer, version)
}

fn all_topics(model: &Model, version: i16) -> Vec<MetadataResponseTopic> {
    model.topics.iter().map(|(name, topic)| described(name, topic, version)).collect()
}

fn described(name: &str, topic: &Topic, version: i16) -> MetadataResponseTopic {
    let partition = |(index, partition): (usize, &Partition)| {
        let nodes = vec![partition.leader.into()];
        let described = MetadataResponsePartition::default()
            .with_partition_index(i32::try_from(index).unwrap_or(i32::MAX))
            .with_leader_id(partition.leader.into())
            .with_replica_nodes(nodes.clone())
            .with_isr_nodes(nodes);
        if version >= 7 { described.with_leader_epoch(partition.epoch) } else { described }
    };
    let described = MetadataResponseTopic::default()
        .with_name(Some(TopicName(text(name))))
        .with_partitions(topic.partitions.iter().enumerate().map(partition).collect());
    if version >= 10 { described.with_topic_id(topic.id) } else { described }
}

fn unknown(name: Option<TopicName>, id: Uuid) -> MetadataResponseTopic {
    let error = if id.is_nil() { 3 } else { 100 };
    MetadataResponseTopic::default().with_error_code(error).with_name(name).with_topic_id(id)
}

fn find_coordinator(model: &Model, request: &Received) -> Result<Bytes> {
    let asked: FindCoordinatorRequest = request.decode()?;
    let node = model.coordinator();
    let address = model.nodes.get(&node);
    let host = text(&address.map_or_else(String::new, |address| address.ip().to_string()));
    let port = address.map_or(-1, |address| i32::from(address.port()));
    if request.version < 4 {
        let answer = FindCoordinatorResponse::default().with_node_id(node.into()).with_host(host).with_port(port);
        return encoded(&answer, request.version);
    }
    let one = |key: &StrBytes| {
        Coordinator::default().with_key(key.clone()).with_node_id(node.into()).with_host(host.clone()).with_port(port)
    };
    let coordinators = asked.coordinator_keys.iter().map(one).collect();
    encoded(&FindCoordinatorResponse::default().with_coordinators(coordinators), request.version)
}

fn init_producer_id(model: &mut Model, request: &Received) -> Result<Bytes> {
    request.decode::<InitProducerIdRequest>()?;
    let id = model.next_producer_id;
    model.next_producer_id += 1;
    let answer =
        InitProducerIdResponse::default().with_producer_id(id.into()).with_producer_epoch(model.producer_epoch);
    encoded(&answer, request.version)
}

fn describe_cluster(model: &Model, request: &Received) -> Result<Bytes> {
    let asked: DescribeClusterRequest = request.decode()?;
    let broker = |(&id, address): (&i32, &std::net::SocketAddr)| {
        DescribeClusterBroker::default()
            .with_broker_id(id.into())
            .with_host(text(&address.ip().to_string()))
            .with_port(i32::from(address.port()))
    };
    let mut answer = DescribeClusterResponse::default()
        .with_cluster_id(text(&model.cluster_id))
        .with_controller_id(model.nodes.keys().next_back().copied().unwrap_or(-1).into())
        .with_brokers(model.nodes.iter().map(broker).collect());
    if request.version >= 1 {
        answer = answer.with_endpoint_type(asked.endpoint_type);
    }
    encoded(&answer, request.version)
}

/// The length of a compact string, array or records: one more, as a varint.
pub(super) fn put_compact_length(out: &mut BytesMut, length: usize) {
    put_uvarint(out, length + 1);
}

/// Seven bits a byte, the lowest first.
pub(super) fn put_uvarint(out: &mut BytesMut, value: usize) {
    let mut rest = value;
    while rest >= 0x80 {
        out.put_u8((rest & 0x7f) as u8 | 0x80);
        rest >>= 7;
    }
    out.put_u8(rest as u8);
}
