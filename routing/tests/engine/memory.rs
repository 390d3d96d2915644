//! Memory for what is completed.

use std::time::Duration;

use skein_protocol::ids::ApiKey;
use skein_protocol::messages::{
    self, MetadataRequest, MetadataResponse, StrBytes, TopicName, metadata_request::MetadataRequestTopic,
    metadata_response::MetadataResponseTopic,
};
use skein_routing::engine::{Effect, Fault, Move, Reason};
use skein_routing::graph::{LoginMode, Target};

use crate::kit::{CLUSTER, LANE, Story, answer, disguised, framed};

/// A Metadata request for so many topics.
fn metadata(topics: usize) -> Vec<u8> {
    let topic = |number| {
        let name = TopicName(StrBytes::from_string(format!("a-topic-with-a-rather-long-name-{number:08}")));
        MetadataRequestTopic::default().with_name(Some(name))
    };
    let request = MetadataRequest::default().with_topics(Some((0..topics).map(topic).collect()));
    framed(&messages::request(ApiKey::METADATA, 12, 7, "client", &request).unwrap())
}

/// A connection whose lane is up, a request of some 450 KiB, and the end of it that has not come yet.
fn large() -> (Story, Vec<u8>, Vec<u8>) {
    let mut story = Story::to(disguised(), LoginMode::None);
    let mut request = metadata(10_000);
    let rest = request.split_off(300 << 10);
    story.says(&mut request);
    story.is_up(LANE);
    (story, request, rest)
}

#[test]
fn it_is_taken_for_what_has_come_and_held_until_that_has_been_sent() {
    let (mut story, mut request, mut rest) = large();
    let all = story.requests.left();
    assert!(matches!(story.says(&mut request), Move::Need(_)));
    let taken = all - story.requests.left();
    assert_eq!(taken, 2 * (300 << 10));
    request.append(&mut rest);
    let whole = u32::try_from(request.len()).unwrap();
    assert_eq!(story.engine.from_client(story.now, &mut request), Move::Take(whole));
    let Some(Effect::Send(LANE, frame)) = story.engine.poll() else { panic!("nothing is sent") };
    assert_eq!(all - story.requests.left(), taken);
    drop(frame);
    assert_eq!(story.requests.left(), all);
}

#[test]
fn while_there_is_none_the_client_waits_and_is_looked_at_again() {
    let (mut story, mut request, mut rest) = large();
    let taken = story.requests.reserve(8 << 20).unwrap();
    assert_eq!(story.says(&mut request), Move::Wait);
    assert!(story.engine.next_deadline().is_some());
    story.passes(Duration::from_millis(20));
    assert_eq!(story.says(&mut request), Move::Wait);
    drop(taken);
    story.passes(Duration::from_millis(20));
    assert!(matches!(story.says(&mut request), Move::Need(_)));
    request.append(&mut rest);
    story.says(&mut request);
    assert_eq!(story.reached(LANE).len(), 1);
}

#[test]
fn what_can_never_be_had_is_not_waited_for() {
    let mut story = Story::to(disguised(), LoginMode::None);
    let mut request = metadata(100_000);
    assert!(request.len() > 4 << 20);
    story.says(&mut request);
    story.is_up(LANE);
    story.says(&mut request);
    let over = story.engine.is_over();
    assert!(matches!(over, Some(Reason::TooLarge { key: ApiKey::METADATA, .. })), "{over:?}");

    let mut story = Story::connected();
    story.says(&mut metadata(1));
    let mut long = answer(ApiKey::METADATA, 12, 0, 0);
    long[..4].copy_from_slice(&(5u32 << 20).to_be_bytes());
    let fault = story.answers(LANE, &mut long);
    assert!(matches!(fault, Move::Hang(Fault::TooLarge { cap: 0x40_0000, .. })), "{fault:?}");
}

#[test]
fn what_open_requests_name_is_bounded_for_all_of_them_together() {
    let mut story = Story::connected();
    let one = metadata(800);
    let mut input = one.repeat(64);
    assert_eq!(story.says(&mut input), Move::Wait);
    let open = story.engine.open_requests();
    assert!((8..=32).contains(&open), "{open} requests of {} bytes", one.len());
    let answers = (0..).map(|number| answer(ApiKey::METADATA, 12, number, 0)).take(open);
    story.answers(LANE, &mut answers.flatten().collect());
    story.says(&mut input);
    assert!(story.got().len() == open && story.engine.open_requests() > 0);
}

/// An answer of some 640 KiB to the first request of a lane.
fn large_answer() -> Vec<u8> {
    let topic = |number| {
        let name = TopicName(StrBytes::from_string(format!("a.topic-with-a-rather-long-name-{number:08}")));
        MetadataResponseTopic::default().with_name(Some(name))
    };
    let response = MetadataResponse::default().with_topics((0..10_000).map(topic).collect());
    framed(&messages::response(ApiKey::METADATA, 12, 0, &response).unwrap())
}

#[test]
fn for_an_answer_it_is_held_until_that_has_left() {
    // One goes out anew, the other as it came.
    for target in [disguised(), Target::Cluster(CLUSTER)] {
        let mut story = Story::to(target, LoginMode::None);
        let mut question = metadata(1);
        story.says(&mut question);
        story.is_up(LANE);
        story.says(&mut question);
        let (all, mut answer) = (story.answers.left(), large_answer());
        let first = story.engine.from_lane(story.now, LANE, &mut answer[..300 << 10]);
        assert!(matches!(first, Move::Need(_)), "{first:?}");
        let taken = all - story.answers.left();
        assert_eq!(taken, 2 * (u64::try_from(answer.len()).unwrap() - 4));
        let whole = u32::try_from(answer.len()).unwrap();
        assert_eq!(story.engine.from_lane(story.now, LANE, &mut answer), Move::Take(whole));
        let Some(Effect::Answer(frame)) = story.engine.poll() else { panic!("nothing is answered") };
        assert_eq!(all - story.answers.left(), taken);
        drop(frame);
        assert_eq!(story.answers.left(), all);
    }
}

#[test]
fn for_a_request_that_goes_as_it_came_it_is_held_too() {
    let mut story = Story::connected();
    let mut request = metadata(10_000);
    let mut rest = request.split_off(300 << 10);
    let all = story.requests.left();
    assert!(matches!(story.says(&mut request), Move::Need(_)));
    request.append(&mut rest);
    let whole = u32::try_from(request.len()).unwrap();
    assert_eq!(story.engine.from_client(story.now, &mut request), Move::Take(whole));
    let Some(Effect::Send(LANE, frame)) = story.engine.poll() else { panic!("nothing is sent") };
    assert!(story.requests.left() < all);
    drop(frame);
    assert_eq!(story.requests.left(), all);
}
