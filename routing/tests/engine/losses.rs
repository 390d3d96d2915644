//! What a client is told when a broker is lost.

use skein_protocol::Meaning;
use skein_protocol::ids::ApiKey;
use skein_protocol::messages::{self, InitProducerIdRequest, StrBytes, TransactionalId};
use skein_routing::engine::{Effect, Reason};

use crate::kit::{LANE, Story, asked, first, framed, request};

fn error(key: ApiKey, version: i16, story: &mut Story) -> Option<i64> {
    let got = story.got();
    assert_eq!(got.len(), 1, "{got:?} {:?}", story.told);
    first(key, version, &got[0], Meaning::Error)
}

#[test]
fn of_a_produce_that_a_broker_has_nobody_knows_what_became() {
    for version in [3, 7, 9, 13] {
        let mut story = Story::connected();
        story.says(&mut request(ApiKey::PRODUCE, version));
        story.is_lost(LANE);
        assert_eq!(error(ApiKey::PRODUCE, version, &mut story), Some(7), "v{version}");
    }
}

#[test]
fn a_produce_that_a_broker_has_in_part_was_not_written() {
    for version in [3, 7, 9, 13] {
        let mut story = Story::connected();
        let mut produce = request(ApiKey::PRODUCE, version);
        let mut rest = produce.split_off(40);
        story.says(&mut produce);
        story.is_lost(LANE);
        produce.append(&mut rest);
        story.says(&mut produce);
        assert_eq!(error(ApiKey::PRODUCE, version, &mut story), Some(6), "v{version}");
    }
}

#[test]
fn of_a_produce_whose_end_was_on_its_way_nobody_knows_either() {
    let mut story = Story::connected();
    // Of a Produce v7 nothing comes behind the records: its end is decided about before it has come.
    let mut produce = request(ApiKey::PRODUCE, 7);
    let mut last = produce.split_off(produce.len() - 1);
    story.says(&mut produce);
    story.is_lost(LANE);
    produce.append(&mut last);
    story.says(&mut produce);
    assert_eq!(error(ApiKey::PRODUCE, 7, &mut story), Some(7));
}

#[test]
fn a_produce_without_answer_that_goes_nowhere_ends_the_connection() {
    let silent = || {
        asked(ApiKey::PRODUCE, 13, |meaning| match meaning {
            Meaning::Acks => 1 << 16,
            _ => 0,
        })
    };
    let mut story = Story::connected();
    story.says(&mut silent());
    assert_eq!((story.reached(LANE).len(), story.engine.open_requests()), (1, 0));
    // It may have been lost with the lane, and nothing else would say so.
    story.is_lost(LANE);
    assert_eq!(story.engine.is_over(), Some(&Reason::Unacknowledged));

    let mut story = Story::new();
    let mut produce = silent();
    story.says(&mut produce);
    story.is_lost(LANE);
    story.says(&mut produce);
    assert!(matches!(story.told.last(), Some(Effect::Close(Reason::Unacknowledged))), "{:?}", story.told);
}

fn incremental() -> Vec<u8> {
    asked(ApiKey::FETCH, 18, |meaning| match meaning {
        Meaning::ReplicaId => -1,
        Meaning::SessionEpoch => 5,
        _ => 0,
    })
}

#[test]
fn a_fetch_is_told_to_look_for_its_leader_unless_it_names_only_what_has_changed() {
    let mut story = Story::connected();
    story.says(&mut request(ApiKey::FETCH, 18));
    story.is_lost(LANE);
    assert_eq!(error(ApiKey::FETCH, 18, &mut story), Some(6));

    let mut story = Story::connected();
    story.says(&mut incremental());
    story.is_lost(LANE);
    let last = story.told.last();
    assert!(matches!(last, Some(Effect::Close(Reason::NoAnswer { key: ApiKey::FETCH }))), "{last:?}");
}

#[test]
fn a_fetch_of_what_has_changed_whose_broker_is_out_of_reach_ends_the_connection_too() {
    let mut story = Story::new();
    let mut fetch = incremental();
    story.says(&mut fetch);
    story.is_lost(LANE);
    story.says(&mut fetch);
    let last = story.told.last();
    assert!(matches!(last, Some(Effect::Close(Reason::NoAnswer { key: ApiKey::FETCH }))), "{last:?}");
    assert!(story.got().is_empty());
}

#[test]
fn only_a_producer_with_transactions_is_told_to_look_for_a_coordinator() {
    let transactional = Some(TransactionalId(StrBytes::from_static_str("tx")));
    for (id, code) in [(transactional, 16), (None, 14)] {
        let mut story = Story::connected();
        let question = InitProducerIdRequest::default().with_transactional_id(id);
        story.says(&mut framed(&messages::request(ApiKey::INIT_PRODUCER_ID, 4, 7, "client", &question).unwrap()));
        story.is_lost(LANE);
        assert_eq!(error(ApiKey::INIT_PRODUCER_ID, 4, &mut story), Some(code));
    }
}
