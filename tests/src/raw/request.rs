//! Requests: any key, version, correlation id and body, and builders for the commonest.

use anyhow::Result;
use bytes::{BufMut, Bytes, BytesMut};
use kafka_protocol::messages::fetch_request::{FetchPartition, FetchTopic};
use kafka_protocol::messages::metadata_request::MetadataRequestTopic;
use kafka_protocol::messages::produce_request::{PartitionProduceData, TopicProduceData};
use kafka_protocol::messages::{
    FetchRequest, FindCoordinatorRequest, InitProducerIdRequest, MetadataRequest, ProduceRequest, TopicName,
    TransactionalId,
};
use kafka_protocol::protocol::{Request as Api, StrBytes};
use uuid::Uuid;

use crate::apis::{self, Header};

/// One request, before it is a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// Any int16.
    pub key: i16,
    /// Any int16.
    pub version: i16,
    /// Any int32.
    pub correlation_id: i32,
    /// `None` is null.
    pub client_id: Option<String>,
    /// Which header goes in front.
    pub header: Header,
    /// What follows the header.
    pub body: Bytes,
}

impl Request {
    /// Any body under the header that fits the key and version; correlation id 1, client id "raw".
    pub fn new(key: i16, version: i16, body: impl Into<Bytes>) -> Request {
        let client_id = Some("raw".to_owned());
        Request { key, version, correlation_id: 1, client_id, header: apis::header(key, version), body: body.into() }
    }

    /// A message of the crate.
    ///
    /// # Errors
    /// It does not fit that version.
    pub fn of<A: Api>(version: i16, message: &A) -> Result<Request> {
        let mut body = BytesMut::new();
        message.encode(&mut body, version)?;
        Ok(Request::new(A::KEY, version, body))
    }

    /// With this correlation id.
    pub fn id(mut self, correlation_id: i32) -> Request {
        self.correlation_id = correlation_id;
        self
    }

    /// With this client id; `None` is null.
    pub fn client_id(mut self, client_id: Option<&str>) -> Request {
        self.client_id = client_id.map(str::to_owned);
        self
    }

    /// Under this header, fitting or not.
    pub fn header(mut self, header: Header) -> Request {
        self.header = header;
        self
    }

    /// Length, header, body.
    pub fn frame(&self) -> Bytes {
        let mut frame = BytesMut::with_capacity(32 + self.body.len());
        frame.put_i32(0);
        frame.put_i16(self.key);
        frame.put_i16(self.version);
        frame.put_i32(self.correlation_id);
        match &self.client_id {
            None => frame.put_i16(-1),
            Some(id) => {
                frame.put_i16(i16::try_from(id.len()).unwrap_or(i16::MAX));
                frame.put_slice(id.as_bytes());
            }
        }
        if self.header == Header::Flexible {
            frame.put_u8(0);
        }
        frame.put_slice(&self.body);
        let length = u32::try_from(frame.len() - 4).unwrap_or(u32::MAX);
        frame[..4].copy_from_slice(&length.to_be_bytes());
        frame.freeze()
    }
}

/// What an ApiVersions request carries.
#[derive(Clone, Debug)]
pub struct Introduction<'a> {
    /// v3+.
    pub software_name: &'a str,
    /// v3+.
    pub software_version: &'a str,
    /// v5: the cluster that is meant; `None` is null.
    pub cluster_id: Option<&'a str>,
    /// v5: the node that is meant; −1: none.
    pub node_id: i32,
}

impl Default for Introduction<'_> {
    fn default() -> Self {
        Introduction { software_name: "raw", software_version: "1.0", cluster_id: None, node_id: -1 }
    }
}

/// ApiVersions of any version; above 5 the layout of 5. By hand, since the crate stops at 4.
pub fn api_versions(version: i16, introduction: &Introduction<'_>) -> Request {
    let mut body = BytesMut::new();
    if version >= 3 {
        put_compact(&mut body, Some(introduction.software_name));
        put_compact(&mut body, Some(introduction.software_version));
        if version >= 5 {
            put_compact(&mut body, introduction.cluster_id);
            body.put_i32(introduction.node_id);
        }
        body.put_u8(0);
    }
    Request::new(apis::API_VERSIONS, version, body)
}

/// A string of less than 127 bytes.
fn put_compact(out: &mut BytesMut, text: Option<&str>) {
    let Some(text) = text else { return out.put_u8(0) };
    assert!(text.len() < 127, "one byte of length is enough for tests");
    out.put_u8(text.len() as u8 + 1);
    out.put_slice(text.as_bytes());
}

/// Metadata for some topics; `None`: all, as that version says it.
pub fn metadata(version: i16, topics: Option<&[&str]>) -> MetadataRequest {
    let topic = |name: &&str| MetadataRequestTopic::default().with_name(Some(topic_name(name)));
    let topics = topics.map(|names| names.iter().map(topic).collect());
    let all = if version == 0 { Some(Vec::new()) } else { None };
    MetadataRequest::default().with_topics(topics.or(all)).with_allow_auto_topic_creation(true)
}

/// One partition, by name and by id, so that it can be said in any version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Used up to v12 of Produce and Fetch.
    pub topic: String,
    /// Used from v13 on.
    pub id: Uuid,
    /// The index.
    pub partition: i32,
}

/// Produce of one batch, with a timeout of 1 s.
pub fn produce(version: i16, place: &Place, acks: i16, batch: Bytes) -> ProduceRequest {
    let partition = PartitionProduceData::default().with_index(place.partition).with_records(Some(batch));
    let topic = TopicProduceData::default().with_partition_data(vec![partition]);
    let topic = if version >= 13 { topic.with_topic_id(place.id) } else { topic.with_name(topic_name(&place.topic)) };
    ProduceRequest::default().with_acks(acks).with_timeout_ms(1000).with_topic_data(vec![topic])
}

/// Produce of one batch in a transaction.
pub fn produce_in(version: i16, transactional_id: &str, place: &Place, batch: Bytes) -> ProduceRequest {
    let id = TransactionalId(StrBytes::from_string(transactional_id.to_owned()));
    produce(version, place, -1, batch).with_transactional_id(Some(id))
}

/// Which kind of Fetch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Session {
    /// Full, and no session afterwards.
    None,
    /// Full, and please open a session.
    New,
    /// Incremental: only changes.
    Go {
        /// From the answer to the full one.
        id: i32,
        /// 1, 2, 3, …
        epoch: i32,
    },
}

/// Fetch of some partitions from offset 0, without a limit, with a wait of at most 100 ms.
pub fn fetch(version: i16, session: Session, places: &[Place]) -> FetchRequest {
    let (id, epoch) = match session {
        Session::None => (0, -1),
        Session::New => (0, 0),
        Session::Go { id, epoch } => (id, epoch),
    };
    let request = FetchRequest::default()
        .with_replica_id((-1).into())
        .with_max_wait_ms(100)
        .with_min_bytes(1)
        .with_max_bytes(i32::MAX)
        .with_topics(places.iter().map(|place| fetch_topic(version, place)).collect());
    if version >= 7 { request.with_session_id(id).with_session_epoch(epoch) } else { request }
}

fn fetch_topic(version: i16, place: &Place) -> FetchTopic {
    let partition = FetchPartition::default().with_partition(place.partition).with_partition_max_bytes(i32::MAX);
    let topic = FetchTopic::default().with_partitions(vec![partition]);
    if version >= 13 { topic.with_topic_id(place.id) } else { topic.with_topic(topic_name(&place.topic)) }
}

/// Where keys are coordinated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coordinated {
    /// Key type 0.
    Group,
    /// Key type 1.
    Transaction,
}

/// FindCoordinator for one key, single up to v3, batched from v4.
pub fn find_coordinator(version: i16, key: &str, of: Coordinated) -> FindCoordinatorRequest {
    let key = StrBytes::from_string(key.to_owned());
    let request = FindCoordinatorRequest::default();
    let request = if version >= 4 { request.with_coordinator_keys(vec![key]) } else { request.with_key(key) };
    if of == Coordinated::Transaction { request.with_key_type(1) } else { request }
}

/// InitProducerId of a new producer.
pub fn init_producer_id(transactional_id: Option<&str>) -> InitProducerIdRequest {
    let id = transactional_id.map(|id| TransactionalId(StrBytes::from_string(id.to_owned())));
    InitProducerIdRequest::default()
        .with_transactional_id(id)
        .with_transaction_timeout_ms(60_000)
        .with_producer_id((-1).into())
        .with_producer_epoch(-1)
}

fn topic_name(name: &str) -> TopicName {
    TopicName(StrBytes::from_string(name.to_owned()))
}
