//! Topics that are named by their ids: what they are called is learnt once, for all connections.

use skein_protocol::ids::ApiKey;
use skein_protocol::messages::{
    FetchRequest, FetchResponse, MetadataRequest, MetadataResponse, ProduceRequest, ProduceResponse, fetch_request,
    metadata_response, produce_request, produce_response,
};
use skein_routing::engine::{Move, Reason};

use super::{story, text};
use crate::kit::{LANE, framed};

const MINE: &str = "11111111-1111-1111-1111-111111111111";
const SECRET: &str = "22222222-2222-2222-2222-222222222222";
const GONE: &str = "33333333-3333-3333-3333-333333333333";

fn fetch(ids: &[&str]) -> FetchRequest {
    let topic = |id: &&str| {
        let partition = fetch_request::FetchPartition::default().with_partition(3);
        fetch_request::FetchTopic::default().with_topic_id(id.parse().unwrap()).with_partitions(vec![partition])
    };
    FetchRequest::default()
        .with_replica_id((-1).into())
        .with_max_bytes(1 << 20)
        .with_session_epoch(-1)
        .with_topics(ids.iter().map(topic).collect())
}

fn produce(id: &str) -> ProduceRequest {
    let partition = produce_request::PartitionProduceData::default().with_index(3);
    let topic = produce_request::TopicProduceData::default()
        .with_topic_id(id.parse().unwrap())
        .with_partition_data(vec![partition]);
    ProduceRequest::default().with_acks(-1).with_topic_data(vec![topic])
}

/// What the cluster calls them.
fn named() -> MetadataResponse {
    let topic = |(id, name): (&str, Option<&'static str>)| {
        metadata_response::MetadataResponseTopic::default()
            .with_topic_id(id.parse().unwrap())
            .with_name(name.map(|name| text(name).into()))
            .with_error_code(if name.is_some() { 0 } else { 100 })
    };
    let known = [(MINE, Some("my-topic")), (SECRET, Some("secret")), (GONE, None)];
    MetadataResponse::default().with_topics(known.map(topic).to_vec())
}

#[test]
fn a_fetch_waits_until_the_names_of_its_topics_are_known() {
    let mut story = story();
    let asked = skein_protocol::messages::request(ApiKey::FETCH, 17, 7, "client", &fetch(&[SECRET, MINE, GONE]));
    let mut asked = framed(&asked.unwrap());
    assert_eq!(story.says(&mut asked), Move::Wait);
    let question: MetadataRequest = story.went(ApiKey::METADATA, 12);
    let mut ids: Vec<_> = question.topics.unwrap().iter().map(|topic| topic.topic_id.to_string()).collect();
    ids.sort();
    assert_eq!(ids, [MINE, SECRET, GONE]);
    assert!(!question.allow_auto_topic_creation);
    assert_eq!(story.says(&mut asked), Move::Wait);
    story.nothing_went();
    story.replies(ApiKey::METADATA, 12, 0, &named());
    assert!(story.got().is_empty(), "the client is told what it did not ask");
    story.says(&mut asked);
    let went: FetchRequest = story.went(ApiKey::FETCH, 17);
    assert_eq!(went.topics.iter().map(|topic| topic.topic_id.to_string()).collect::<Vec<_>>(), [MINE]);
    story.replies(ApiKey::FETCH, 17, 1, &FetchResponse::default());
    let told: FetchResponse = story.told(ApiKey::FETCH, 17);
    let mut codes: Vec<_> =
        told.responses.iter().map(|topic| (topic.topic_id.to_string(), topic.partitions[0].error_code)).collect();
    codes.sort();
    assert_eq!(codes, [(SECRET.to_owned(), 29), (GONE.to_owned(), 100)]);
    // It is not asked a second time.
    story.asks(ApiKey::FETCH, 17, &fetch(&[GONE]));
    story.nothing_went();
    assert_eq!(story.told::<FetchResponse>(ApiKey::FETCH, 17).responses[0].partitions[0].error_code, 100);
}

#[test]
fn a_question_that_is_lost_leaves_the_names_unknown() {
    let mut story = story();
    let asked = skein_protocol::messages::request(ApiKey::FETCH, 17, 7, "client", &fetch(&[MINE])).unwrap();
    let mut asked = framed(&asked);
    story.says(&mut asked);
    assert_eq!(story.reached(LANE).len(), 1);
    story.is_lost(LANE);
    story.says(&mut asked);
    story.is_up(LANE);
    story.says(&mut asked);
    assert!(asked.is_empty());
    assert_eq!(story.told::<FetchResponse>(ApiKey::FETCH, 17).responses[0].partitions[0].error_code, 100);
}

#[test]
fn a_produce_to_a_topic_of_which_only_the_id_is_known_is_to_be_tried_again() {
    let mut story = story();
    let answer = |index: i32, code| {
        let partition = produce_response::PartitionProduceResponse::default().with_index(index).with_error_code(code);
        let topic = produce_response::TopicProduceResponse::default()
            .with_topic_id(MINE.parse().unwrap())
            .with_partition_responses(vec![partition]);
        ProduceResponse::default().with_responses(vec![topic])
    };
    story.asks(ApiKey::PRODUCE, 13, &produce(MINE));
    let went: ProduceRequest = story.went(ApiKey::PRODUCE, 13);
    let index = went.topic_data[0].partition_data[0].index;
    assert!(index > 1 << 30);
    story.replies(ApiKey::PRODUCE, 13, 0, &answer(index, 3));
    let told: ProduceResponse = story.told(ApiKey::PRODUCE, 13);
    let partition = &told.responses[0].partition_responses[0];
    assert_eq!((partition.index, partition.error_code), (3, 100));

    let again = skein_protocol::messages::request(ApiKey::PRODUCE, 13, 7, "client", &produce(MINE)).unwrap();
    let mut again = framed(&again);
    assert_eq!(story.says(&mut again), Move::Wait);
    let _: MetadataRequest = story.went(ApiKey::METADATA, 12);
    story.replies(ApiKey::METADATA, 12, 1, &named());
    story.says(&mut again);
    let went: ProduceRequest = story.went(ApiKey::PRODUCE, 13);
    assert_eq!(went, produce(MINE));
    story.replies(ApiKey::PRODUCE, 13, 2, &answer(3, 0));
    let told: ProduceResponse = story.told(ApiKey::PRODUCE, 13);
    assert_eq!(told.responses[0].partition_responses[0].error_code, 0);
}

#[test]
fn metadata_that_passes_tells_what_ids_are_called() {
    let mut story = story();
    story.asks(ApiKey::METADATA, 12, &MetadataRequest::default().with_topics(None));
    assert_eq!(story.reached(LANE).len(), 1);
    story.replies(ApiKey::METADATA, 12, 0, &named());
    assert_eq!(story.got().len(), 1);
    story.asks(ApiKey::FETCH, 17, &fetch(&[MINE]));
    assert_eq!(story.went::<FetchRequest>(ApiKey::FETCH, 17), fetch(&[MINE]));
}

#[test]
fn however_many_unknown_ids_a_request_names_some_are_asked_for_once() {
    let mut story = story();
    let ids: Vec<String> = (1..=70_000_u128)
        .map(|id| format!("{:032x}", id << 8))
        .map(|hex| [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-"))
        .collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    let request = skein_protocol::messages::request(ApiKey::FETCH, 17, 7, "client", &fetch(&ids)).unwrap();
    let mut asks = framed(&request);
    assert_eq!(story.says(&mut asks), Move::Wait);
    let question: MetadataRequest = story.went(ApiKey::METADATA, 12);
    assert_eq!(question.topics.unwrap().len(), 1024);
    story.replies(ApiKey::METADATA, 12, 0, &MetadataResponse::default());
    // More than an answer is kept in mind for: it ends, which is what this is about.
    assert_eq!(story.says(&mut asks), Move::Close(Reason::Forbidden { key: ApiKey::FETCH }));
    assert!(story.reached(LANE).is_empty(), "nothing is asked a second time");
}
