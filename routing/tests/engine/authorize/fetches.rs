//! Fetches: what may be read is, in sessions that were judged here.

use bytes::Bytes;
use skein_protocol::ids::ApiKey;
use skein_protocol::messages::{FetchRequest, FetchResponse, fetch_request, fetch_response};

use super::{story, text};
use crate::kit::{LANE, Story};

fn fetch(topics: &[&'static str], (session, epoch): (i32, i32)) -> FetchRequest {
    let topic = |name: &&'static str| {
        let partition = fetch_request::FetchPartition::default().with_partition(3).with_fetch_offset(5);
        fetch_request::FetchTopic::default().with_topic(text(name).into()).with_partitions(vec![partition])
    };
    FetchRequest::default()
        .with_replica_id((-1).into())
        .with_max_wait_ms(500)
        .with_max_bytes(50 << 20)
        .with_session_id(session)
        .with_session_epoch(epoch)
        .with_topics(topics.iter().map(topic).collect())
}

fn fetched(name: &'static str, session: i32) -> FetchResponse {
    let records = Some(Bytes::from_static(&[7; 40]));
    let partition = fetch_response::PartitionData::default().with_partition_index(3).with_records(records);
    let topic = fetch_response::FetchableTopicResponse::default()
        .with_topic(text(name).into())
        .with_partitions(vec![partition]);
    FetchResponse::default().with_session_id(session).with_responses(vec![topic])
}

fn codes(told: &FetchResponse) -> Vec<(String, i16, usize)> {
    let of = |topic: &fetch_response::FetchableTopicResponse| {
        let partition = &topic.partitions[0];
        (topic.topic.to_string(), partition.error_code, partition.records.as_ref().map_or(0, Bytes::len))
    };
    told.responses.iter().map(of).collect()
}

/// A session with number 9.
fn with_session() -> Story {
    let mut story = story();
    let full = fetch(&["my-topic"], (0, 0));
    story.asks(ApiKey::FETCH, 12, &full);
    assert_eq!(story.went::<FetchRequest>(ApiKey::FETCH, 12), full);
    story.replies(ApiKey::FETCH, 12, 0, &fetched("my-topic", 9));
    assert_eq!(story.told::<FetchResponse>(ApiKey::FETCH, 12).session_id, 9);
    story
}

#[test]
fn what_is_fetched_within_a_session_that_was_judged_here_passes() {
    let mut story = with_session();
    let more = fetch(&[], (9, 1));
    story.asks(ApiKey::FETCH, 12, &more);
    assert_eq!(story.went::<FetchRequest>(ApiKey::FETCH, 12), more);
}

#[test]
fn a_session_that_this_connection_does_not_have_is_not_found() {
    let mut story = with_session();
    for asked in [fetch(&[], (8, 1)), fetch(&["my-topic"], (8, 4)), fetch(&["secret"], (9, 1))] {
        story.asks(ApiKey::FETCH, 12, &asked);
        story.nothing_went();
        let told: FetchResponse = story.told(ApiKey::FETCH, 12);
        assert_eq!((told.error_code, told.responses.len()), (70, 0));
    }
}

#[test]
fn what_may_not_be_read_is_refused_beside_what_may_and_without_a_session() {
    for version in [4, 11, 12] {
        let mut story = story();
        let epoch = if version < 7 { (0, -1) } else { (0, 0) };
        story.asks(ApiKey::FETCH, version, &fetch(&["secret", "my-topic"], epoch));
        let went: FetchRequest = story.went(ApiKey::FETCH, version);
        assert_eq!(went.topics.iter().map(|topic| topic.topic.to_string()).collect::<Vec<_>>(), ["my-topic"]);
        // The refusal is not kept waiting, and what it is merged into is bounded.
        assert_eq!((went.session_epoch, went.max_wait_ms, went.max_bytes), (-1, 0, 1 << 20), "v{version}");
        story.replies(ApiKey::FETCH, version, 0, &fetched("my-topic", 0));
        let told: FetchResponse = story.told(ApiKey::FETCH, version);
        assert_eq!(codes(&told), [("my-topic".to_owned(), 0, 40), ("secret".to_owned(), 29, 0)], "v{version}");
        assert_eq!(told.session_id, 0);
    }
}

#[test]
fn a_topic_that_is_to_be_forgotten_and_may_not_be_known_is_left_out() {
    let mut story = with_session();
    let forgotten =
        |name| fetch_request::ForgottenTopic::default().with_topic(text(name).into()).with_partitions(vec![1]);
    let both = vec![forgotten("secret"), forgotten("my-old")];
    story.asks(ApiKey::FETCH, 12, &fetch(&[], (9, 1)).with_forgotten_topics_data(both));
    let went: FetchRequest = story.went(ApiKey::FETCH, 12);
    assert_eq!(went.forgotten_topics_data, [forgotten("my-old")]);
    assert_eq!((went.session_id, went.session_epoch), (9, 1));
    story.replies(ApiKey::FETCH, 12, 1, &fetched("my-topic", 9));
    assert_eq!(story.told::<FetchResponse>(ApiKey::FETCH, 12).responses.len(), 1);
}

#[test]
fn what_may_not_be_read_at_all_never_leaves() {
    let mut story = story();
    story.asks(ApiKey::FETCH, 12, &fetch(&["secret"], (0, 0)));
    story.nothing_went();
    let told: FetchResponse = story.told(ApiKey::FETCH, 12);
    assert_eq!(codes(&told), [("secret".to_owned(), 29, 0)]);
    story.is_lost(LANE);
    assert!(story.got().is_empty());
}
