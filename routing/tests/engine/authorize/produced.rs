//! Produce streams, and what may not be written is written nowhere.

use bytes::Bytes;
use skein_protocol::ids::ApiKey;
use skein_protocol::messages::{ProduceRequest, ProduceResponse, TransactionalId, produce_request, produce_response};
use skein_protocol::sample::{BatchKind, Dice, batches};
use skein_routing::engine::{Effect, Reason};

use super::{story, text};
use crate::kit::{LANE, Story, framed};

fn produce(topics: &[&'static str], acks: i16) -> ProduceRequest {
    let topic = |name: &&'static str| {
        let partition = |index| {
            let records = Bytes::from_static(b"none that a broker would take");
            produce_request::PartitionProduceData::default().with_index(index).with_records(Some(records))
        };
        produce_request::TopicProduceData::default()
            .with_name(text(name).into())
            .with_partition_data(vec![partition(3), partition(4)])
    };
    ProduceRequest::default().with_acks(acks).with_timeout_ms(500).with_topic_data(topics.iter().map(topic).collect())
}

/// What a broker says that has the partitions 0 to 9 of every topic.
fn written(went: &ProduceRequest) -> ProduceResponse {
    let topic = |asked: &produce_request::TopicProduceData| {
        let partition = |asked: &produce_request::PartitionProduceData| {
            let is_there = asked.index < 10;
            produce_response::PartitionProduceResponse::default()
                .with_index(asked.index)
                .with_error_code(if is_there { 0 } else { 3 })
                .with_base_offset(if is_there { 77 } else { -1 })
        };
        produce_response::TopicProduceResponse::default()
            .with_name(asked.name.clone())
            .with_partition_responses(asked.partition_data.iter().map(partition).collect())
    };
    ProduceResponse::default().with_responses(went.topic_data.iter().map(topic).collect())
}

fn indices(went: &ProduceRequest) -> Vec<(String, Vec<i32>)> {
    let of = |topic: &produce_request::TopicProduceData| {
        (topic.name.to_string(), topic.partition_data.iter().map(|one| one.index).collect())
    };
    went.topic_data.iter().map(of).collect()
}

fn codes(told: &ProduceResponse) -> Vec<(String, i32, i16, i64)> {
    let of = |topic: &produce_response::TopicProduceResponse| {
        let name = topic.name.to_string();
        let partitions = topic.partition_responses.clone();
        partitions.into_iter().map(move |one| (name.clone(), one.index, one.error_code, one.base_offset))
    };
    told.responses.iter().flat_map(of).collect()
}

/// Says all of it in pieces of so many bytes.
fn says_in_pieces(story: &mut Story, asked: &ProduceRequest, version: i16, piece: usize) {
    let whole = framed(&skein_protocol::messages::request(ApiKey::PRODUCE, version, 7, "client", asked).unwrap());
    let mut shown = Vec::new();
    for bytes in whole.chunks(piece) {
        shown.extend_from_slice(bytes);
        story.says(&mut shown);
    }
    assert!(shown.is_empty());
}

#[test]
fn what_may_not_be_written_goes_to_no_partition_that_there_is() {
    for version in [3, 9, 12] {
        for piece in [1, 7, 10_000] {
            let mut story = story();
            says_in_pieces(&mut story, &produce(&["my-topic", "secret", "my-other"], -1), version, piece);
            let went: ProduceRequest = story.went(ApiKey::PRODUCE, version);
            let spoilt = 1 << 30;
            let must = [("my-topic", vec![3, 4]), ("secret", vec![spoilt | 3, spoilt | 4]), ("my-other", vec![3, 4])];
            assert_eq!(indices(&went), must.map(|(name, indices)| (name.to_owned(), indices)));
            assert!(story.is_refused(ApiKey::PRODUCE, 29));
            story.replies(ApiKey::PRODUCE, version, 0, &written(&went));
            let told: ProduceResponse = story.told(ApiKey::PRODUCE, version);
            let topic = |name: &str, code, offset| [3, 4].map(|index| (name.to_owned(), index, code, offset));
            let must = [topic("my-topic", 0, 77), topic("secret", 29, -1), topic("my-other", 0, 77)].concat();
            assert_eq!(codes(&told), must, "v{version}, pieces of {piece}");
        }
    }
}

#[test]
fn a_transactional_id_that_may_not_be_used_writes_nothing() {
    let mut story = story();
    let asked = produce(&["my-topic"], -1).with_transactional_id(Some(TransactionalId(text("theirs"))));
    story.asks(ApiKey::PRODUCE, 9, &asked);
    let went: ProduceRequest = story.went(ApiKey::PRODUCE, 9);
    assert!(went.topic_data[0].partition_data.iter().all(|one| one.index > 1 << 30));
    story.replies(ApiKey::PRODUCE, 9, 0, &written(&went));
    let told: ProduceResponse = story.told(ApiKey::PRODUCE, 9);
    assert_eq!(codes(&told), [3, 4].map(|index| ("my-topic".to_owned(), index, 53, -1)));
}

#[test]
fn without_acknowledgement_a_broker_closes_and_so_does_the_clients_connection() {
    let mut story = story();
    story.asks(ApiKey::PRODUCE, 9, &produce(&["secret"], 0));
    let went: ProduceRequest = story.went(ApiKey::PRODUCE, 9);
    assert_eq!(indices(&went), [("secret".to_owned(), vec![1 << 30 | 3, 1 << 30 | 4])]);
    assert_eq!(story.engine.open_requests(), 0);
    // That is what a broker does with what fails and has no answer.
    story.is_lost(LANE);
    assert_eq!(story.engine.is_over(), Some(&Reason::Unacknowledged));
}

#[test]
fn a_lost_broker_is_told_of_in_the_clients_own_indices() {
    let mut story = story();
    story.asks(ApiKey::PRODUCE, 9, &produce(&["secret"], -1));
    story.is_lost(LANE);
    let told: ProduceResponse = story.told(ApiKey::PRODUCE, 9);
    assert_eq!(codes(&told), [3, 4].map(|index| ("secret".to_owned(), index, 7, -1)));
}

#[test]
fn what_may_be_written_passes_bit_for_bit() {
    let mut story = story();
    let mut asked = produce(&["my-topic", "my-other"], -1);
    let mut batch = Vec::new();
    batches::put(&mut batch, &mut Dice::new(1), BatchKind::Plain, -1);
    asked.topic_data[0].partition_data[0].records = Some(Bytes::from(batch));
    let frame = skein_protocol::messages::request(ApiKey::PRODUCE, 9, 0, "client", &asked).unwrap();
    story.says(&mut framed(&frame));
    assert_eq!(story.reached(LANE), [frame.to_vec()]);
    assert!(!story.told.iter().any(|told| matches!(told, Effect::Note(_))), "{:?}", story.told);
}
