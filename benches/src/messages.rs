//! The messages that the loader and the broker exchange, in the one shape that each has here.
//!
//! Produce v13, Fetch v18, Metadata v0–13, ApiVersions v0–5. Source: the JSON definitions of Kafka 4.4.

use crate::batch;
use crate::wire::{Decoder, Encoder, Shape};
use anyhow::{Context, Result, ensure};
use std::net::SocketAddr;
use std::sync::Arc;

/// API key of Produce.
pub const PRODUCE: i16 = 0;
/// API key of Fetch.
pub const FETCH: i16 = 1;
/// API key of Metadata.
pub const METADATA: i16 = 3;
/// API key of ApiVersions.
pub const API_VERSIONS: i16 = 18;
/// The version of Produce that is spoken.
pub const PRODUCE_VERSION: i16 = 13;
/// The version of Fetch that is spoken.
pub const FETCH_VERSION: i16 = 18;
/// The version of Metadata that the loader asks.
const METADATA_VERSION: i16 = 12;
/// The version of ApiVersions that the loader asks.
const API_VERSIONS_VERSION: i16 = 3;

/// The only topic.
pub const TOPIC: &str = "bench";
/// Its id on the broker.
pub const TOPIC_ID: TopicId = *b"skein bench topi";
/// Its partitions.
pub const PARTITIONS: i32 = 8;
/// The only broker's id.
const NODE: i32 = 1;
const CLUSTER_ID: &str = "synthetic";
const CLIENT_ID: &str = "loader";

/// A topic id as it is on the wire.
pub type TopicId = [u8; 16];

/// Key, lowest and highest version of what a broker of Kafka 4.4 offers to producers, consumers and admin clients.
#[rustfmt::skip]
const OFFERED: &[(i16, i16, i16)] = &[
    (PRODUCE, 0, 13), (FETCH, 4, 18), (2, 1, 11), (METADATA, 0, 13), (8, 2, 10), (9, 1, 10), (10, 0, 6), (11, 0, 9),
    (12, 0, 4), (13, 0, 5), (14, 0, 5), (15, 0, 6), (16, 0, 5), (17, 0, 1), (API_VERSIONS, 0, 5), (19, 2, 7), (20, 1, 6),
    (21, 0, 2), (22, 0, 5), (23, 2, 4), (24, 0, 5), (25, 0, 4), (26, 0, 5), (28, 0, 6), (32, 1, 4), (60, 0, 2),
];

/// The first version of `key` whose messages are flexible; only for the keys that are spoken.
fn flexible_from(key: i16) -> i16 {
    match key {
        FETCH => 12,
        API_VERSIONS => 3,
        _ => 9, // Produce, Metadata
    }
}

/// What a request's head says.
#[derive(Debug)]
pub struct Head<'a> {
    /// API key.
    pub key: i16,
    /// API version.
    pub version: i16,
    /// Correlation id.
    pub correlation: i32,
    /// The body, as far as it was kept.
    pub body: Decoder<'a>,
}

impl<'a> Head<'a> {
    /// Reads a request header (v1 or v2).
    pub fn read(request: &'a [u8]) -> Result<Self> {
        let mut body = Decoder::new(request);
        let (key, version, correlation) = (body.i16()?, body.i16()?, body.i32()?);
        body.string(Shape::Classic)?; // the client id keeps its classic form in flexible headers
        body.tags(Shape::of(version, flexible_from(key)))?;
        Ok(Self { key, version, correlation, body })
    }
}

/// A request header: of v2 if `version` is flexible, else of v1.
fn request(key: i16, version: i16, correlation: i32) -> Encoder {
    let mut request = Encoder::new();
    request.i16(key).i16(version).i32(correlation).string(Shape::Classic, CLIENT_ID);
    request.no_tags(Shape::of(version, flexible_from(key)));
    request
}

/// Where in a request frame the correlation id is, the length prefix included.
pub const REQUEST_CORRELATION: std::ops::Range<usize> = 8..12;

/// Records that end a message: the batch, then the empty tags of partition, topic and body.
///
/// # Errors
/// If `size` is too small for a batch.
pub fn records(size: usize) -> Result<Arc<[u8]>> {
    let mut bytes = batch::build(size)?;
    bytes.extend([0; 3]);
    Ok(bytes.into())
}

/// The bytes that `records` adds behind the batch.
const CLOSING: usize = 3;

/// A Produce request up to its records: one partition, acks −1, 30 s.
pub fn produce_request(topic: &TopicId, partition: i32, records: usize) -> Vec<u8> {
    let mut request = request(PRODUCE, PRODUCE_VERSION, 0);
    request.null_string(Shape::Flexible).i16(-1).i32(30_000);
    request.count(Shape::Flexible, 1).raw(topic).count(Shape::Flexible, 1).i32(partition).uvarint(records + 1);
    request.into_frame(records + CLOSING)
}

/// The topic id and the partition of the Produce request whose body is `body`.
pub fn read_produce(body: &mut Decoder<'_>) -> Result<(TopicId, i32)> {
    body.string(Shape::Flexible)?;
    ensure!(body.i16()? == -1, "a Produce request whose acks is not -1");
    body.i32()?;
    one_partition(body)
}

/// A Fetch request without session for `size` bytes of one partition.
pub fn fetch_request(topic: &TopicId, partition: i32, size: usize) -> Vec<u8> {
    let mut request = request(FETCH, FETCH_VERSION, 0);
    request.i32(500).i32(1).i32(size as i32).i8(0).i32(0).i32(-1);
    request.count(Shape::Flexible, 1).raw(topic).count(Shape::Flexible, 1);
    request.i32(partition).i32(-1).i64(0).i32(-1).i64(-1).i32(size as i32).uvarint(0).uvarint(0);
    request.count(Shape::Flexible, 0).string(Shape::Flexible, "").uvarint(0);
    request.into_frame(0)
}

/// The topic id, the partition and the MaxBytes of the Fetch request whose body is `body`.
pub fn read_fetch(body: &mut Decoder<'_>) -> Result<(TopicId, i32, usize)> {
    body.raw(8)?; // MaxWaitMs, MinBytes
    let size = usize::try_from(body.i32()?)?;
    body.raw(9)?; // IsolationLevel, SessionId, SessionEpoch
    let (topic, partition) = one_partition(body)?;
    Ok((topic, partition, size))
}

fn one_partition(body: &mut Decoder<'_>) -> Result<(TopicId, i32)> {
    ensure!(body.count(Shape::Flexible)? == Some(1), "not exactly one topic");
    let topic = body.uuid()?;
    ensure!(body.count(Shape::Flexible)? == Some(1), "not exactly one partition");
    Ok((topic, body.i32()?))
}

/// The whole answer to a Produce request: success.
pub fn produce_answer(correlation: i32, topic: &TopicId, partition: i32) -> Vec<u8> {
    let mut answer = Encoder::new();
    answer.i32(correlation).uvarint(0);
    answer.count(Shape::Flexible, 1).raw(topic).count(Shape::Flexible, 1);
    answer
        .i32(partition)
        .i16(0)
        .i64(0)
        .i64(-1)
        .i64(0)
        .count(Shape::Flexible, 0)
        .null_string(Shape::Flexible)
        .uvarint(0);
    answer.uvarint(0).i32(0).uvarint(0);
    answer.into_frame(0)
}

/// The answer to a Fetch request up to its records: one partition, no session.
pub fn fetch_answer(correlation: i32, topic: &TopicId, partition: i32, records: usize) -> Vec<u8> {
    let mut answer = Encoder::new();
    answer.i32(correlation).uvarint(0).i32(0).i16(0).i32(0);
    answer.count(Shape::Flexible, 1).raw(topic).count(Shape::Flexible, 1);
    let end = 1 << 40; // the log's end, far behind what is fetched
    answer.i32(partition).i16(0).i64(end).i64(end).i64(0).uvarint(0).i32(-1).uvarint(records + 1);
    answer.into_frame(records + CLOSING)
}

/// An ApiVersions request.
pub fn api_versions_request(correlation: i32) -> Vec<u8> {
    let mut body = request(API_VERSIONS, API_VERSIONS_VERSION, correlation);
    body.string(Shape::Flexible, "skein-benches").string(Shape::Flexible, "1").uvarint(0);
    body.into_frame(0)
}

/// The answer to ApiVersions: `OFFERED`, no features.
pub fn api_versions_answer(version: i16, correlation: i32) -> Vec<u8> {
    let shape = Shape::of(version, flexible_from(API_VERSIONS));
    let mut answer = Encoder::new();
    answer.i32(correlation).i16(0).count(shape, OFFERED.len()); // always header v0
    for &(key, lowest, highest) in OFFERED {
        answer.i16(key).i16(lowest).i16(highest).no_tags(shape);
    }
    if version >= 1 {
        answer.i32(0);
    }
    answer.no_tags(shape);
    answer.into_frame(0)
}

/// Checks an answer to `api_versions_request`: success, and the versions that are spoken here are offered.
pub fn check_api_versions(answer: &[u8]) -> Result<()> {
    let mut answer = Decoder::new(answer);
    answer.i32()?;
    let error = answer.i16()?;
    ensure!(error == 0, "ApiVersions was answered with error {error}");
    let mut wanted = vec![(PRODUCE, PRODUCE_VERSION), (FETCH, FETCH_VERSION), (METADATA, METADATA_VERSION)];
    for _ in 0..answer.count(Shape::Flexible)?.context("ApiVersions without an array")? {
        let (key, range) = (answer.i16()?, answer.i16()?..=answer.i16()?);
        answer.tags(Shape::Flexible)?;
        wanted.retain(|(wanted, version)| *wanted != key || !range.contains(version));
    }
    ensure!(wanted.is_empty(), "not offered (key, version): {wanted:?}");
    Ok(())
}

/// A Metadata request for all topics.
pub fn metadata_request(correlation: i32) -> Vec<u8> {
    let mut body = request(METADATA, METADATA_VERSION, correlation);
    body.uvarint(0).i8(0).i8(0).uvarint(0);
    body.into_frame(0)
}

/// Whether the Metadata request whose body is `body` asks for any topic.
pub fn metadata_wants_topics(version: i16, body: &mut Decoder<'_>) -> Result<bool> {
    let count = body.count(Shape::of(version, flexible_from(METADATA)))?;
    Ok(version == 0 || count != Some(0))
}

/// The answer to Metadata: one broker at `address` and, if asked for, one topic that it leads.
pub fn metadata_answer(version: i16, correlation: i32, address: SocketAddr, topics: bool) -> Vec<u8> {
    let shape = Shape::of(version, flexible_from(METADATA));
    let mut answer = Encoder::new();
    answer.i32(correlation).no_tags(shape);
    if version >= 3 {
        answer.i32(0);
    }
    answer.count(shape, 1).i32(NODE).string(shape, &address.ip().to_string()).i32(address.port().into());
    if version >= 1 {
        answer.null_string(shape);
    }
    answer.no_tags(shape);
    if version >= 2 {
        answer.string(shape, CLUSTER_ID);
    }
    if version >= 1 {
        answer.i32(NODE);
    }
    answer.count(shape, topics.into());
    if topics {
        metadata_topic(&mut answer, version, shape);
    }
    if (8..=10).contains(&version) {
        answer.i32(i32::MIN);
    }
    if version >= 13 {
        answer.i16(0);
    }
    answer.no_tags(shape);
    answer.into_frame(0)
}

fn metadata_topic(answer: &mut Encoder, version: i16, shape: Shape) {
    answer.i16(0).string(shape, TOPIC);
    if version >= 10 {
        answer.raw(&TOPIC_ID);
    }
    if version >= 1 {
        answer.i8(0);
    }
    answer.count(shape, PARTITIONS as usize);
    for partition in 0..PARTITIONS {
        answer.i16(0).i32(partition).i32(NODE);
        if version >= 7 {
            answer.i32(0);
        }
        answer.count(shape, 1).i32(NODE).count(shape, 1).i32(NODE);
        if version >= 5 {
            answer.count(shape, 0);
        }
        answer.no_tags(shape);
    }
    if version >= 8 {
        answer.i32(i32::MIN);
    }
    answer.no_tags(shape);
}

/// What the loader learns from Metadata.
#[derive(Clone, Copy, Debug)]
pub struct Learnt {
    /// Where the leader of all partitions listens.
    pub leader: SocketAddr,
    /// The topic's id, as this address shows it.
    pub topic: TopicId,
}

/// Reads the answer to `metadata_request`.
pub fn read_metadata(answer: &[u8]) -> Result<Learnt> {
    let (mut answer, shape) = (Decoder::new(answer), Shape::Flexible);
    answer.i32()?;
    answer.tags(shape)?;
    answer.i32()?;
    let mut brokers = Vec::new();
    for _ in 0..answer.count(shape)?.unwrap_or(0) {
        let (id, host, port) = (answer.i32()?, answer.string(shape)?.unwrap_or_default(), answer.i32()?);
        answer.string(shape)?;
        answer.tags(shape)?;
        brokers.push((id, format!("{host}:{port}")));
    }
    answer.string(shape)?;
    answer.i32()?;
    ensure!(answer.count(shape)? == Some(1), "Metadata does not show exactly one topic");
    let (error, name, topic) = (answer.i16()?, answer.string(shape)?, answer.uuid()?);
    ensure!(error == 0 && name == Some(TOPIC), "Metadata shows topic {name:?} with error {error}");
    answer.i8()?;
    ensure!(answer.count(shape)? == Some(PARTITIONS as usize), "Metadata does not show {PARTITIONS} partitions");
    let (error, _, leader) = (answer.i16()?, answer.i32()?, answer.i32()?);
    let address = brokers.iter().find(|(id, _)| *id == leader).map(|(_, address)| address);
    let address = address.with_context(|| format!("the leader, {leader}, is not a listed broker (error {error})"))?;
    Ok(Learnt { leader: address.parse().with_context(|| format!("not an address: {address}"))?, topic })
}
