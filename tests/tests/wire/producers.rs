//! Producer ids: tagged for clients, real in transactions only, and batches that keep every other bit.

use anyhow::{Context, Result};
use bytes::Bytes;
use kafka_protocol::messages::{InitProducerIdRequest, InitProducerIdResponse, ProduceRequest};
use skein_tests::apis::{INIT_PRODUCER_ID, PRODUCE};
use skein_tests::batch::{self, Batch};
use skein_tests::fake::Fake;
use skein_tests::raw::Request;
use skein_tests::raw::request::{self, Place};

use crate::stage::{SOON, Stage, produced};

const REAL: i64 = 4711;

fn init(stage: &Stage, version: i16, transactional_id: Option<&str>) -> Result<InitProducerIdResponse> {
    stage.node(1)?.call::<InitProducerIdRequest>(version, &request::init_producer_id(transactional_id))
}

/// The real id in a tagged one; fails if it is not tagged as an issuer's must be.
fn untagged(id: i64) -> i64 {
    assert_eq!(id >> 62, 1, "bit 63 clear, bit 62 set: {id:#018x}");
    assert_eq!(id >> 40 & 0xff, 0, "switch epoch 0: {id:#018x}");
    id & ((1 << 40) - 1)
}

/// A producer id as a client holds it.
fn held(stage: &Stage, transactional_id: Option<&str>) -> Result<i64> {
    let id = init(stage, 4, transactional_id)?.producer_id.0;
    assert_eq!(untagged(id), REAL);
    Ok(id)
}

/// Sends one batch at every version from `from`; what left, what arrived.
fn through(
    stage: &Stage, from: i16, mut ask: impl FnMut(i16, &Place) -> ProduceRequest,
) -> Result<Vec<(Request, Bytes, i16)>> {
    let place = stage.place(0)?;
    let mut raw = stage.node(1)?;
    let mut all = Vec::new();
    for version in from..=13 {
        stage.fake.forget();
        let sent = Request::of(version, &ask(version, &place))?;
        let answer = raw.ask(&sent)?.decode::<ProduceRequest>(version)?;
        let received = stage.fake.wait_for(|request| request.key == PRODUCE, SOON)?;
        assert_eq!(received.version, version);
        all.push((sent, received.body, produced(&answer)));
    }
    Ok(all)
}

fn records(version: i16, body: &Bytes) -> Result<Bytes> {
    let request = <ProduceRequest as kafka_protocol::protocol::Decodable>::decode(&mut body.clone(), version)?;
    let partition = request.topic_data.first().and_then(|topic| topic.partition_data.first());
    partition.and_then(|partition| partition.records.clone()).context("no records")
}

#[test]
fn clients_hold_a_tagged_producer_id_in_every_version() -> Result<()> {
    let stage = Stage::new()?;
    let mut tags = Vec::new();
    for version in 0..=5 {
        for transactional_id in [None, Some("tx")] {
            let given = init(&stage, version, transactional_id)?;
            let real = untagged(given.producer_id.0);
            assert_eq!((given.error_code, given.producer_epoch), (0, 0));
            assert_eq!(real, REAL + i64::try_from(tags.len())?);
            tags.push(given.producer_id.0 >> 48);
        }
    }
    assert!(tags.iter().all(|tag| *tag == tags[0]), "{tags:x?}");
    Ok(())
}

#[test]
fn the_tag_is_that_of_the_issuing_cluster() -> Result<()> {
    let one = init(&Stage::new()?, 4, None)?.producer_id.0;
    let again = init(&Stage::new()?, 4, None)?.producer_id.0;
    let other = init(&Stage::before(Fake::start("some-other-cluster", &[1])?)?, 4, None)?.producer_id.0;
    assert_eq!(one, again);
    assert_eq!(untagged(one), untagged(other));
    assert_ne!(one, other);
    Ok(())
}

#[test]
fn the_epoch_of_a_producer_passes() -> Result<()> {
    let stage = Stage::new()?;
    stage.fake.change(|model| model.producer_epoch = 41);
    assert_eq!(init(&stage, 4, Some("tx"))?.producer_epoch, 41);
    Ok(())
}

#[test]
fn a_cluster_is_asked_with_its_real_producer_id() -> Result<()> {
    let stage = Stage::new()?;
    let held = held(&stage, Some("tx"))?;
    for version in 3..=5 {
        stage.fake.forget();
        let asked = request::init_producer_id(Some("tx")).with_producer_id(held.into()).with_producer_epoch(3);
        let given = stage.node(1)?.call::<InitProducerIdRequest>(version, &asked)?;
        untagged(given.producer_id.0);
        let received = stage.fake.wait_for(|request| request.key == INIT_PRODUCER_ID, SOON)?;
        let received: InitProducerIdRequest = received.decode()?;
        assert_eq!((received.producer_id.0, received.producer_epoch), (REAL, 3), "v{version}");
        assert_eq!(received.transactional_id, asked.transactional_id);
    }
    Ok(())
}

#[test]
fn without_a_transactional_id_a_new_producer_id_is_asked_for() -> Result<()> {
    let stage = Stage::new()?;
    let held = held(&stage, None)?;
    stage.fake.forget();
    let asked = request::init_producer_id(None).with_producer_id(held.into()).with_producer_epoch(3);
    untagged(stage.node(1)?.call::<InitProducerIdRequest>(4, &asked)?.producer_id.0);
    let received = stage.fake.wait_for(|request| request.key == INIT_PRODUCER_ID, SOON)?;
    let received: InitProducerIdRequest = received.decode()?;
    assert_eq!((received.producer_id.0, received.producer_epoch), (-1, -1));
    Ok(())
}

#[test]
fn a_batch_outside_transactions_passes_bit_for_bit() -> Result<()> {
    let stage = Stage::new()?;
    let tagged = held(&stage, None)?;
    let batches = [
        Batch::small(3),
        Batch::small(3).by(tagged, 0, 0),
        Batch::small(3).by(tagged | 5 << 40, 9, i32::MAX),
        Batch::small(1).by(77, 1, 2),
        Batch::large(300_000).by(tagged, 0, 3),
    ];
    for batch in batches {
        let bytes = batch.build();
        let passed = through(&stage, 3, |version, place| request::produce(version, place, -1, bytes.clone()))?;
        for (sent, received, code) in passed {
            assert_eq!(code, 0);
            assert!(sent.body == received, "v{}: the body differs", sent.version);
        }
    }
    Ok(())
}

#[test]
fn a_corrupt_batch_outside_transactions_stays_corrupt() -> Result<()> {
    let stage = Stage::new()?;
    let bytes = Batch::small(3).build_corrupt();
    for (sent, received, code) in
        through(&stage, 3, |version, place| request::produce(version, place, 1, bytes.clone()))?
    {
        assert_eq!(code, 2);
        assert!(sent.body == received, "v{}: the body differs", sent.version);
    }
    Ok(())
}

#[test]
fn a_transactional_batch_goes_up_with_the_real_producer_id_and_a_right_crc() -> Result<()> {
    let stage = Stage::new()?;
    let tagged = held(&stage, Some("tx"))?;
    for batch in [Batch::small(1), Batch::small(500), Batch::large(300_000)] {
        let bytes = batch.by(tagged, 3, 8).transactional().build();
        for (sent, received, code) in
            through(&stage, 3, |version, place| request::produce_in(version, "tx", place, bytes.clone()))?
        {
            let records = records(sent.version, &received)?;
            let head = batch::head(&records)?;
            assert_eq!(code, 0, "v{}", sent.version);
            assert_eq!((head.producer_id, head.producer_epoch, head.sequence), (REAL, 3, 8));
            assert_eq!(head.crc, head.computed_crc);
            assert!(batch::without_producer(&records) == batch::without_producer(&bytes), "more than the id differs");
            assert_eq!(received.len(), sent.body.len());
        }
    }
    Ok(())
}

#[test]
fn a_corrupt_transactional_batch_stays_corrupt() -> Result<()> {
    let stage = Stage::new()?;
    let tagged = held(&stage, Some("tx"))?;
    let bytes = Batch::small(5).by(tagged, 0, 0).transactional().build_corrupt();
    for (sent, received, code) in
        through(&stage, 3, |version, place| request::produce_in(version, "tx", place, bytes.clone()))?
    {
        let head = batch::head(&records(sent.version, &received)?)?;
        assert_eq!((code, head.producer_id), (2, REAL));
        assert_eq!(head.crc ^ head.computed_crc, 0x0100_0000, "the same bit is wrong as before");
    }
    Ok(())
}
