//! Who is waited for, and how long.

use std::time::Duration;

use skein_protocol::ids::ApiKey;
use skein_protocol::sample::{Dice, usual};
use skein_routing::engine::{Effect, Fault, Move, Reason};

use crate::kit::{LANE, OTHER, Story, answer, framed, request};

const fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

#[test]
fn a_body_that_comes_slowly_is_not_the_brokers_fault() {
    let mut story = Story::connected();
    let mut produce = framed(&usual::produce(10_000, &mut Dice::new(1)));
    let mut rest = produce.split_off(60);
    story.says(&mut produce);
    // A broker would be late by now.
    story.passes(seconds(45));
    assert!(!story.told.iter().any(|told| matches!(told, Effect::Hang(..))), "{:?}", story.told);
    produce.append(&mut rest);
    story.says(&mut produce);
    assert_eq!(story.reached(LANE).len(), 1);
    // 30 s of the request's own, and the margin.
    assert_eq!(story.engine.next_deadline(), Some(story.now + seconds(30 + 30)));
}

#[test]
fn a_body_that_does_not_come_ends_the_connection() {
    let mut story = Story::connected();
    let mut produce = framed(&usual::produce(10_000, &mut Dice::new(1)));
    produce.truncate(60);
    story.says(&mut produce);
    story.passes(seconds(61));
    assert!(matches!(story.told.last(), Some(Effect::Close(Reason::Stalled))), "{:?}", story.told);
}

#[test]
fn an_answer_that_has_begun_to_come_is_not_late() {
    let mut story = Story::connected();
    story.says(&mut request(ApiKey::FETCH, 18));
    story.passes(seconds(29));
    let mut fetched = framed(&usual::fetched(1 << 20, &mut Dice::new(1)));
    fetched[4..8].copy_from_slice(&[0; 4]);
    let mut rest = fetched.split_off(100);
    story.answers(LANE, &mut fetched);
    // A mebibyte is given 16 seconds more than a frame that is short.
    story.passes(seconds(70));
    assert!(!story.told.iter().any(|told| matches!(told, Effect::Hang(..))), "{:?}", story.told);
    fetched.append(&mut rest);
    story.answers(LANE, &mut fetched);
    assert_eq!(story.got().len(), 1);
    assert!(story.engine.is_idle());
}

#[test]
fn an_answer_that_never_ends_is_late_at_last() {
    let mut story = Story::connected();
    story.says(&mut request(ApiKey::FETCH, 18));
    let mut fetched = framed(&usual::fetched(1 << 20, &mut Dice::new(1)));
    fetched[4..8].copy_from_slice(&[0; 4]);
    fetched.truncate(100);
    story.answers(LANE, &mut fetched);
    story.passes(seconds(77));
    let told = &story.told[story.told.len() - 2..];
    assert!(matches!(told, [Effect::Hang(LANE, Fault::Late), Effect::Close(Reason::AnswerCut)]), "{told:?}");
}

#[test]
fn an_answer_that_waits_for_its_turn_is_not_late() {
    let mut story = Story::new();
    // The node is out of reach, and any other broker can say where a coordinator is.
    story.says(&mut request(ApiKey::HEARTBEAT, 4));
    story.is_lost(LANE);
    let mut question = request(ApiKey::FIND_COORDINATOR, 4);
    story.says(&mut question);
    story.is_up(OTHER);
    story.says(&mut question);
    // It is back, and quicker than the other.
    story.now += seconds(1);
    let mut fetch = request(ApiKey::FETCH, 18);
    story.says(&mut fetch);
    story.is_up(LANE);
    story.says(&mut fetch);
    assert_eq!((story.reached(OTHER).len(), story.reached(LANE).len()), (1, 1));
    let mut fetched = answer(ApiKey::FETCH, 18, 0, 0);
    assert_eq!(story.answers(LANE, &mut fetched), Move::Wait);
    story.passes(seconds(40));
    let hung: Vec<_> = story.told.iter().filter(|told| matches!(told, Effect::Hang(..))).collect();
    assert!(matches!(hung[..], [Effect::Hang(OTHER, Fault::Late)]), "{hung:?}");
    story.answers(LANE, &mut fetched);
    assert_eq!(story.got().len(), 2);
}

#[test]
fn the_end_of_a_body_that_is_answered_before_it_is_told_is_waited_for() {
    let mut story = Story::connected();
    // Of a Produce v7 nothing comes behind the records.
    let mut produce = request(ApiKey::PRODUCE, 7);
    let mut last = produce.split_off(produce.len() - 1);
    story.says(&mut produce);
    let mut produced = answer(ApiKey::PRODUCE, 7, 0, 0);
    assert_eq!(story.answers(LANE, &mut produced), Move::Wait);
    produce.append(&mut last);
    story.says(&mut produce);
    story.answers(LANE, &mut produced);
    assert_eq!(story.got().len(), 1);
}

#[test]
fn a_broker_is_timed_from_the_end_of_a_request_to_the_head_of_its_answer() {
    let mut story = Story::connected();
    let mut fetch = request(ApiKey::FETCH, 18);
    let mut last = fetch.split_off(fetch.len() - 1);
    story.says(&mut fetch);
    story.passes(seconds(1));
    fetch.append(&mut last);
    story.says(&mut fetch);
    assert_eq!(story.engine.latency(LANE), None);
    story.passes(seconds(2));
    let mut answer = answer(ApiKey::FETCH, 18, 0, 0);
    let mut rest = answer.split_off(10);
    story.answers(LANE, &mut answer);
    // The rest of it may take its time.
    story.passes(seconds(5));
    answer.append(&mut rest);
    story.answers(LANE, &mut answer);
    assert_eq!(story.engine.latency(LANE), Some(seconds(2)));
    assert_eq!(story.engine.latency(LANE), None);
}

#[test]
fn a_broker_that_is_lost_is_not_timed_by_the_answers_of_the_next() {
    let mut story = Story::connected();
    story.says(&mut request(ApiKey::FETCH, 18));
    story.is_lost(LANE);
    story.passes(seconds(3));
    story.says(&mut request(ApiKey::FETCH, 18));
    story.is_up(LANE);
    story.says(&mut request(ApiKey::FETCH, 18));
    story.answers(LANE, &mut answer(ApiKey::FETCH, 18, 0, 0));
    assert_eq!(story.engine.latency(LANE), Some(Duration::ZERO));
}
