//! The raw client against the fake cluster, without a proxy: what the other tests rely on.

use std::time::{Duration, Instant};

use anyhow::Result;
use bytes::Bytes;
use kafka_protocol::messages::api_versions_response::ApiVersionsResponse;
use kafka_protocol::messages::{
    ApiVersionsRequest, DescribeClusterRequest, FetchRequest, FindCoordinatorRequest, InitProducerIdRequest,
    MetadataRequest, ProduceRequest,
};
use kafka_protocol::protocol::Decodable;
use skein_tests::apis::{self, FETCH, METADATA, PRODUCE};
use skein_tests::batch::{self, Batch};
use skein_tests::fake::model::topic_id;
use skein_tests::fake::{Action, Fake, Gate, Stored};
use skein_tests::raw::request::{self, Coordinated, Introduction, Place, Session};
use skein_tests::raw::{Closing, Outcome, Raw, Request};

const SOON: Duration = Duration::from_secs(5);

fn cluster() -> Result<(Fake, Raw)> {
    let fake = Fake::start("real", &[1, 7])?.topic("t", &[1, 7]);
    let raw = Raw::connect(fake.address(1)?)?;
    Ok((fake, raw))
}

fn place(partition: i32) -> Place {
    Place { topic: "t".to_owned(), id: topic_id("t"), partition }
}

#[test]
fn every_version_of_api_versions_shows_the_table() -> Result<()> {
    let (_fake, mut raw) = cluster()?;
    for version in 0..=5 {
        let answer = raw.ask(&request::api_versions(version, &Introduction::default()))?;
        let layout = version.min(4);
        let read = |body: &mut Bytes| ApiVersionsResponse::decode(body, layout);
        let answer = answer.read(apis::API_VERSIONS, version, read)?;
        assert_eq!((answer.error_code, answer.api_keys.len()), (0, apis::APIS.len()));
    }
    let unknown = raw.ask(&request::api_versions(99, &Introduction::default()))?;
    assert_eq!(unknown.rest[..], [0, 35, 0, 0, 0, 1, 0, 18, 0, 0, 0, 5]);
    raw.call(4, &ApiVersionsRequest::default())?;
    Ok(())
}

#[test]
fn a_broker_minds_the_cluster_and_node_of_api_versions_5() -> Result<()> {
    let (_fake, mut raw) = cluster()?;
    for (cluster_id, node_id, error) in
        [(Some("real"), 1, 0), (Some("real"), 7, 129), (Some("x"), 1, 129), (None, 1, 42), (Some("real"), -1, 42)]
    {
        let introduction = Introduction { cluster_id, node_id, ..Introduction::default() };
        let answer = raw.ask(&request::api_versions(5, &introduction))?;
        assert_eq!(answer.rest[..2], i16::to_be_bytes(error), "{introduction:?}");
    }
    Ok(())
}

#[test]
fn metadata_lists_nodes_and_topics_in_every_version() -> Result<()> {
    let (fake, mut raw) = cluster()?;
    for version in 0..=13 {
        let answer = raw.call(version, &request::metadata(version, None))?;
        assert_eq!(answer.brokers.len(), 2);
        assert_eq!(answer.brokers[1].port, i32::from(fake.address(7)?.port()));
        assert_eq!(answer.topics[0].partitions[1].leader_id.0, 7);
        let unknown = raw.call(version, &request::metadata(version, Some(&["nobody"])))?;
        assert_eq!(unknown.topics[0].error_code, 3);
    }
    assert_eq!(fake.requests_of(METADATA).len(), 28);
    assert_eq!(fake.requests_of(METADATA)[0].decode::<MetadataRequest>()?.topics, Some(Vec::new()));
    Ok(())
}

#[test]
fn discovery_is_answered_in_every_version() -> Result<()> {
    let (fake, mut raw) = cluster()?;
    fake.change(|model| model.coordinator = Some(7));
    for version in 0..=3 {
        let asked = request::find_coordinator(version, "g", Coordinated::Group);
        assert_eq!(raw.call::<FindCoordinatorRequest>(version, &asked)?.node_id.0, 7);
    }
    for version in 4..=6 {
        let asked = request::find_coordinator(version, "tx", Coordinated::Transaction);
        assert_eq!(raw.call::<FindCoordinatorRequest>(version, &asked)?.coordinators[0].node_id.0, 7);
    }
    for version in 0..=2 {
        assert_eq!(raw.call(version, &DescribeClusterRequest::default())?.brokers.len(), 2);
    }
    for version in 0..=5 {
        let given = raw.call::<InitProducerIdRequest>(version, &request::init_producer_id(None))?;
        assert_eq!(given.producer_id.0, 4711 + i64::from(version));
    }
    Ok(())
}

#[test]
fn produce_reaches_the_leader_in_every_version() -> Result<()> {
    let (fake, mut raw) = cluster()?;
    for version in 3..=13 {
        let sent = Batch::small(3).build();
        let answer = raw.call(version, &request::produce(version, &place(0), -1, sent.clone()))?;
        let part = &answer.responses[0].partition_responses[0];
        assert_eq!((part.error_code, part.base_offset), (0, 3 * i64::from(version - 3)));
        let received = fake.requests_of(PRODUCE).pop().unwrap().decode::<ProduceRequest>()?;
        assert_eq!(received.topic_data[0].partition_data[0].records.as_ref(), Some(&sent));
        let moved = raw.call(version, &request::produce(version, &place(1), 1, sent))?;
        let part = &moved.responses[0].partition_responses[0];
        assert_eq!(part.error_code, 6);
        assert_eq!(moved.node_endpoints.len(), usize::from(version >= 10));
    }
    let corrupt = request::produce(13, &place(0), 1, Batch::small(1).build_corrupt());
    assert_eq!(raw.call(13, &corrupt)?.responses[0].partition_responses[0].error_code, 2);
    raw.send(&Request::of(13, &request::produce(13, &place(0), 0, Batch::small(1).build()))?)?;
    raw.silent(Duration::from_millis(50))
}

#[test]
fn fetch_gives_what_is_stored_in_every_version() -> Result<()> {
    let (fake, mut raw) = cluster()?;
    let batch = Batch::small(2).build();
    fake.change(|model| model.partition("t", 0).stored = Stored::Given(batch.clone()));
    for version in 4..=18 {
        let both = [place(0), place(1)];
        let answer = raw.call::<FetchRequest>(version, &request::fetch(version, Session::None, &both))?;
        assert_eq!(answer.responses[0].partitions[0].records.as_ref(), Some(&batch));
        let moved = &answer.responses[1].partitions[0];
        assert_eq!((moved.error_code, moved.partition_index), (6, 1));
        assert_eq!(moved.current_leader.leader_id.0, if version >= 12 { 7 } else { -1 });
        assert_eq!(answer.node_endpoints.len(), usize::from(version >= 16));
    }
    let full = raw.call::<FetchRequest>(12, &request::fetch(12, Session::New, &[place(0)]))?;
    assert_ne!(full.session_id, 0);
    let go = Session::Go { id: full.session_id, epoch: 1 };
    assert_eq!(raw.call::<FetchRequest>(12, &request::fetch(12, go, &[]))?.responses, []);
    Ok(())
}

#[test]
fn a_large_fetch_passes_and_is_told_by_its_checksum() -> Result<()> {
    let (fake, mut raw) = cluster()?;
    fake.change(|model| model.partition("t", 0).stored = Stored::about(20 << 20));
    raw.send(&Request::of(12, &request::fetch(12, Session::None, &[place(0)]))?)?;
    let (mut crc, mut seen, mut head) = (0, 0, Vec::new());
    let length = raw.receive_through(SOON, |piece| {
        let skip = 4_usize.saturating_sub(seen).min(piece.len());
        head.extend_from_slice(&piece[..skip]);
        crc = crc32c::crc32c_append(crc, &piece[skip..]);
        seen += piece.len();
    })?;
    assert!(length > 20 << 20);
    assert_eq!(head, [0, 0, 0, 1]);
    let sent = fake.wait_for_sent(|sent| sent.key == FETCH, SOON)?;
    assert_eq!((sent.bytes, sent.crc), (length - 4, crc));
    Ok(())
}

#[test]
fn batches_keep_their_crc() -> Result<()> {
    let plain = batch::head(&Batch::small(10).by(5, 1, 7).build())?;
    assert_eq!(plain.crc, plain.computed_crc);
    assert_eq!((plain.producer_id, plain.producer_epoch, plain.sequence, plain.count), (5, 1, 7, 10));
    assert_eq!(plain.attributes, 0);
    assert_eq!(batch::head(&Batch::small(1).transactional().build())?.attributes, batch::TRANSACTIONAL);
    Ok(())
}

#[test]
fn each_action_does_what_it_says() -> Result<()> {
    let (fake, _raw) = cluster()?;
    let ask = || -> Result<Raw> {
        let mut raw = Raw::connect(fake.address(1)?)?;
        raw.send(&Request::of(1, &request::metadata(1, None))?.id(500))?;
        Ok(raw)
    };
    let on = |action: Action| fake.on_next(METADATA, action);
    on(Action::Answer(Bytes::from_static(b"abc")));
    assert_eq!(ask()?.receive(SOON)?.rest, "abc");
    on(Action::with(|request| Bytes::from(format!("v{}", request.version))));
    assert_eq!(ask()?.receive(SOON)?.rest, "v1");
    on(Action::Frame(Bytes::from_static(&[0, 0, 0, 4, 9, 9, 9, 9])));
    assert_eq!(ask()?.receive(SOON)?.correlation_id, 0x0909_0909);
    on(Action::WrongCorrelation);
    assert_eq!(ask()?.receive(SOON)?.correlation_id, 500 ^ 0xff);
    on(Action::Garble(4));
    assert_eq!(ask()?.receive(SOON)?.rest[0], 0xff);
    on(Action::Close);
    assert_eq!(ask()?.closed(SOON)?, Closing::Clean);
    on(Action::Reset);
    assert_eq!(ask()?.closed(SOON)?, Closing::Reset);
    on(Action::CloseAfter(6));
    assert!(ask()?.receive(SOON).unwrap_err().to_string().contains("in the middle of a frame"));
    on(Action::Length(-1));
    assert!(ask()?.receive(SOON).unwrap_err().to_string().contains("a frame of 4294967295 bytes"));
    on(Action::Drop);
    let mut dropped = ask()?;
    dropped.silent(Duration::from_millis(50))?;
    dropped.call(1, &request::metadata(1, None))?;
    on(Action::StopReading);
    let mut stopped = ask()?;
    stopped.send(&Request::of(1, &request::metadata(1, None))?)?;
    stopped.silent(Duration::from_millis(50))?;
    on(Action::HalfClose);
    let mut half = ask()?;
    assert!(matches!(half.outcome(SOON)?, Outcome::Answered(_)));
    assert_eq!(half.closed(SOON)?, Closing::Clean);
    half.send(&Request::of(1, &request::metadata(1, Some(&["half"])))?)?;
    fake.wait_for(|request| request.body.ends_with(b"half"), SOON)?;
    Ok(())
}

#[test]
fn answers_can_be_late_slow_or_held() -> Result<()> {
    let (fake, mut raw) = cluster()?;
    let metadata = Request::of(1, &request::metadata(1, None))?;
    let begun = Instant::now();
    fake.on_next(METADATA, Action::Delay(Duration::from_millis(60)));
    raw.ask(&metadata)?;
    fake.on_next(METADATA, Action::Trickle(50, Duration::from_millis(20)));
    raw.ask(&metadata)?;
    assert!(begun.elapsed() > Duration::from_millis(100), "{:?}", begun.elapsed());
    let gate = Gate::new();
    fake.on_next(METADATA, [Action::Hold(gate.clone()), Action::WrongCorrelation]);
    raw.send(&metadata)?;
    raw.silent(Duration::from_millis(50))?;
    gate.open();
    assert_ne!(raw.receive(SOON)?.correlation_id, 1);
    Ok(())
}

#[test]
fn a_script_may_be_for_one_node_or_for_every_request() -> Result<()> {
    let (fake, mut first) = cluster()?;
    let mut second = Raw::connect(fake.address(7)?)?;
    let fetch = |partition| Request::of(12, &request::fetch(12, Session::None, &[place(partition)]));
    fake.on_next_at(7, FETCH, Action::WrongCorrelation);
    fake.on_every(METADATA, Action::Answer(Bytes::from_static(b"x")));
    first.ask(&fetch(0)?)?;
    assert!(second.ask(&fetch(1)?).is_err());
    second.ask(&fetch(1)?)?;
    for _ in 0..3 {
        assert_eq!(first.ask(&Request::of(1, &request::metadata(1, None))?)?.rest, "x");
    }
    fake.behave();
    first.call(1, &request::metadata(1, None))?;
    assert_eq!(fake.connections(), 2);
    Ok(())
}

#[test]
fn a_killed_node_refuses_until_it_is_restarted() -> Result<()> {
    let (mut fake, mut raw) = cluster()?;
    let mut other = Raw::connect(fake.address(7)?)?;
    raw.call(1, &request::metadata(1, None))?;
    let connection = fake.requests()[0].connection;
    fake.kill(1)?;
    raw.closed(SOON)?;
    assert!(Raw::connect(fake.address(1)?).is_err());
    fake.wait_closed(connection, SOON)?;
    other.call(1, &request::metadata(1, None))?;
    fake.restart(1)?;
    let mut again = Raw::connect(fake.address(1)?)?;
    again.call(1, &request::metadata(1, None))?;
    assert_eq!(fake.open_connections().len(), 2);
    Ok(())
}

#[test]
fn a_broker_closes_on_what_it_does_not_know() -> Result<()> {
    let (fake, mut raw) = cluster()?;
    raw.send(&Request::new(10_000, 0, Bytes::new()))?;
    raw.closed(SOON)?;
    let mut raw = Raw::connect(fake.address(1)?)?;
    raw.send(&Request::new(METADATA, 99, Bytes::new()))?;
    raw.closed(SOON)?;
    assert_eq!(fake.requests().len(), 2);
    Ok(())
}
