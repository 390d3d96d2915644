//! Produce and Fetch: by the leader, else NOT_LEADER_OR_FOLLOWER with the hints of KIP-951.
//!
//! A Fetch answer is written by hand, since its records may be more than should be held. Sessions are opened when
//! asked for; an incremental Fetch is answered as if nothing had changed.

use anyhow::Result;
use bytes::{BufMut, BytesMut};
use kafka_protocol::messages::fetch_request::FetchTopic;
use kafka_protocol::messages::produce_request::{PartitionProduceData, TopicProduceData};
use kafka_protocol::messages::produce_response::{
    LeaderIdAndEpoch, NodeEndpoint, PartitionProduceResponse, TopicProduceResponse,
};
use kafka_protocol::messages::{FetchRequest, ProduceRequest, ProduceResponse};
use uuid::Uuid;

use super::answers::{encoded, put_compact_length, put_uvarint, text};
use super::connection::Reply;
use super::ledger::Received;
use super::model::Model;
use super::segments::{Segments, Stored};
use crate::batch;

const NOT_LEADER: i16 = 6;

/// The end of a log counts records; with acks=0 a fault closes the connection.
pub(super) fn produce(model: &mut Model, request: &Received) -> Result<Reply> {
    let asked: ProduceRequest = request.decode()?;
    let mut moved = Vec::new();
    let topics: Vec<_> = asked.topic_data.iter().map(|topic| produced_to(model, request, topic, &mut moved)).collect();
    if asked.acks == 0 {
        let errors = topics.iter().flat_map(|topic| &topic.partition_responses).any(|one| one.error_code != 0);
        return Ok(if errors { Reply::Close } else { Reply::Silence });
    }
    let mut answer = ProduceResponse::default().with_responses(topics);
    if request.version >= 10 {
        let endpoint = |&node: &i32| {
            let address = model.nodes.get(&node)?;
            let (host, port) = (text(&address.ip().to_string()), i32::from(address.port()));
            Some(NodeEndpoint::default().with_node_id(node.into()).with_host(host).with_port(port))
        };
        answer = answer.with_node_endpoints(moved.iter().filter_map(endpoint).collect());
    }
    Ok(Reply::Body(Segments::from(encoded(&answer, request.version)?)))
}

fn produced_to(
    model: &mut Model, request: &Received, topic: &TopicProduceData, moved: &mut Vec<i32>,
) -> TopicProduceResponse {
    let mut one = |data: &PartitionProduceData| produced(model, request, topic, data, moved);
    TopicProduceResponse::default()
        .with_name(topic.name.clone())
        .with_topic_id(topic.topic_id)
        .with_partition_responses(topic.partition_data.iter().map(&mut one).collect())
}

fn produced(
    model: &mut Model, request: &Received, topic: &TopicProduceData, data: &PartitionProduceData, moved: &mut Vec<i32>,
) -> PartitionProduceResponse {
    let answer = PartitionProduceResponse::default().with_index(data.index).with_base_offset(-1);
    let found = model.find(topic.name.0.as_str(), topic.topic_id).map(|(name, _)| name.clone());
    let index = usize::try_from(data.index).ok();
    let partition =
        found.and_then(|name| model.topics.get_mut(&name)).and_then(|topic| topic.partitions.get_mut(index?));
    let Some(partition) = partition else {
        return answer.with_error_code(if topic.topic_id.is_nil() { 3 } else { 100 });
    };
    if partition.leader != request.node {
        let answer = answer.with_error_code(NOT_LEADER);
        if request.version < 10 {
            return answer;
        }
        moved.push(partition.leader);
        let hint = LeaderIdAndEpoch::default().with_leader_id(partition.leader.into());
        return answer.with_current_leader(hint.with_leader_epoch(partition.epoch));
    }
    let head = data.records.as_ref().and_then(|records| batch::head(records).ok());
    let Some(head) = head.filter(|head| head.crc == head.computed_crc) else {
        return answer.with_error_code(2);
    };
    let base = partition.end;
    partition.end += i64::from(head.count);
    answer.with_error_code(0).with_base_offset(base)
}

pub(super) fn fetch(model: &mut Model, request: &Received) -> Result<Reply> {
    let asked: FetchRequest = request.decode()?;
    let version = request.version;
    let session = match (asked.session_id, asked.session_epoch) {
        (id, epoch) if epoch > 0 => id,
        (_, 0) if version >= 7 => {
            model.next_session += 1;
            model.next_session
        }
        _ => 0,
    };
    let mut out = Writer { body: Segments::default(), version, moved: Vec::new() };
    out.fields().put_i32(0);
    if version >= 7 {
        out.fields().put_i16(0);
        out.fields().put_i32(session);
    }
    // Nothing changes in a session of ours.
    let topics: &[FetchTopic] = if asked.session_epoch > 0 { &[] } else { &asked.topics };
    out.array(topics.len());
    for topic in topics {
        out.topic(model, request.node, topic);
    }
    out.endpoints(model);
    Ok(Reply::Body(out.body))
}

/// The answer to a Fetch v4–18, field by field.
struct Writer {
    body: Segments,
    version: i16,
    moved: Vec<i32>,
}

impl Writer {
    fn fields(&mut self) -> &mut BytesMut {
        self.body.fields()
    }

    fn is_flexible(&self) -> bool {
        self.version >= 12
    }

    fn array(&mut self, count: usize) {
        match self.is_flexible() {
            true => put_compact_length(self.fields(), count),
            false => self.fields().put_i32(i32::try_from(count).unwrap_or(i32::MAX)),
        }
    }

    fn topic(&mut self, model: &Model, node: i32, topic: &FetchTopic) {
        if self.version >= 13 {
            self.fields().put_slice(topic.topic_id.as_bytes());
        } else {
            self.string(topic.topic.0.as_str());
        }
        self.array(topic.partitions.len());
        for partition in &topic.partitions {
            self.partition(model, node, topic, partition.partition);
        }
        self.tags(0);
    }

    fn partition(&mut self, model: &Model, node: i32, topic: &FetchTopic, index: i32) {
        let found = model.find(topic.topic.0.as_str(), topic.topic_id);
        let at = usize::try_from(index).unwrap_or(usize::MAX);
        let partition = found.and_then(|(_, topic)| topic.partitions.get(at));
        let (error, records) = match partition {
            None => (unknown(topic.topic_id), &Stored::Empty),
            Some(partition) if partition.leader != node => (NOT_LEADER, &Stored::Empty),
            Some(partition) => (0, &partition.stored),
        };
        let out = self.fields();
        out.put_i32(index);
        out.put_i16(error);
        out.put_i64(partition.map_or(-1, |partition| partition.end));
        out.put_i64(partition.map_or(-1, |partition| partition.end));
        if self.version >= 5 {
            self.fields().put_i64(0);
        }
        self.array(0);
        if self.version >= 11 {
            self.fields().put_i32(-1);
        }
        match self.is_flexible() {
            true => put_compact_length(self.fields(), records.len()),
            false => self.fields().put_i32(i32::try_from(records.len()).unwrap_or(i32::MAX)),
        }
        self.body.records(records);
        match partition {
            Some(partition) if error == NOT_LEADER && self.is_flexible() => {
                self.moved.push(partition.leader);
                self.leader_hint(partition.leader, partition.epoch);
            }
            _ => self.tags(0),
        }
    }

    /// CurrentLeader, tag 1.
    fn leader_hint(&mut self, leader: i32, epoch: i32) {
        self.tags(1);
        let out = self.fields();
        out.put_slice(&[1, 9]);
        out.put_i32(leader);
        out.put_i32(epoch);
        out.put_u8(0);
    }

    /// NodeEndpoints, tag 0, v16+.
    fn endpoints(&mut self, model: &Model) {
        let known: Vec<_> = self.moved.iter().filter_map(|node| Some((*node, *model.nodes.get(node)?))).collect();
        if self.version < 16 || known.is_empty() {
            return self.tags(0);
        }
        let mut tag = BytesMut::new();
        put_compact_length(&mut tag, known.len());
        for (node, address) in known {
            let host = address.ip().to_string();
            tag.put_i32(node);
            put_compact_length(&mut tag, host.len());
            tag.put_slice(host.as_bytes());
            tag.put_i32(i32::from(address.port()));
            // Null rack, no tags.
            tag.put_slice(&[0, 0]);
        }
        self.tags(1);
        let out = self.fields();
        out.put_u8(0);
        put_uvarint(out, tag.len());
        out.put_slice(&tag);
    }

    fn string(&mut self, text: &str) {
        match self.is_flexible() {
            true => put_compact_length(self.fields(), text.len()),
            false => self.fields().put_i16(i16::try_from(text.len()).unwrap_or(i16::MAX)),
        }
        self.fields().put_slice(text.as_bytes());
    }

    fn tags(&mut self, count: u8) {
        if self.is_flexible() {
            self.fields().put_u8(count);
        }
    }
}

fn unknown(id: Uuid) -> i16 {
    if id.is_nil() { 3 } else { 100 }
}
