//! Requests that name what may be used and what may not.

use skein_filters::authorize::grants::Rule;
use skein_filters::authorize::operation::Operation;
use skein_filters::authorize::operation::Resource::{Group, Topic};
use skein_protocol::ids::ApiKey;
use skein_protocol::messages::{
    AddPartitionsToTxnRequest, AddPartitionsToTxnResponse, ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse, MetadataRequest, MetadataResponse, OffsetCommitRequest, OffsetCommitResponse,
    OffsetFetchRequest, OffsetFetchResponse, StrBytes, TopicName, add_partitions_to_txn_request, metadata_request,
    metadata_response, offset_commit_request, offset_commit_response, offset_fetch_request, offset_fetch_response,
};
use skein_routing::graph::Target;

use super::{mine, story, text};
use crate::kit::{CLUSTER, LANE, Story, disguised};

fn commit(topics: &[&'static str]) -> OffsetCommitRequest {
    let topic = |name: &&'static str| {
        let partition = offset_commit_request::OffsetCommitRequestPartition::default()
            .with_partition_index(3)
            .with_committed_offset(42)
            .with_committed_metadata(Some(StrBytes::default()));
        offset_commit_request::OffsetCommitRequestTopic::default()
            .with_name(text(name).into())
            .with_partitions(vec![partition])
    };
    OffsetCommitRequest::default()
        .with_group_id(text("my-group").into())
        .with_topics(topics.iter().map(topic).collect())
}

fn committed(name: &'static str) -> OffsetCommitResponse {
    let partition = offset_commit_response::OffsetCommitResponsePartition::default().with_partition_index(3);
    let topic = offset_commit_response::OffsetCommitResponseTopic::default()
        .with_name(text(name).into())
        .with_partitions(vec![partition]);
    OffsetCommitResponse::default().with_topics(vec![topic])
}

fn codes(told: &OffsetCommitResponse) -> Vec<(String, i32, i16)> {
    let of = |topic: &offset_commit_response::OffsetCommitResponseTopic| {
        let name = topic.name.to_string();
        let partitions = topic.partitions.clone();
        partitions.into_iter().map(move |one| (name.clone(), one.partition_index, one.error_code))
    };
    told.topics.iter().flat_map(of).collect()
}

#[test]
fn what_may_be_committed_is_and_the_rest_is_answered_with_it() {
    for version in [2, 7, 8, 9] {
        let mut story = story();
        story.asks(ApiKey::OFFSET_COMMIT, version, &commit(&["theirs", "my-topic", "others"]));
        let went: OffsetCommitRequest = story.went(ApiKey::OFFSET_COMMIT, version);
        assert_eq!(went, commit(&["my-topic"]), "v{version}");
        story.replies(ApiKey::OFFSET_COMMIT, version, 0, &committed("my-topic"));
        let told: OffsetCommitResponse = story.told(ApiKey::OFFSET_COMMIT, version);
        let must = [("my-topic", 0), ("theirs", 29), ("others", 29)].map(|(name, code)| (name.to_owned(), 3, code));
        assert_eq!(codes(&told), must, "v{version}");
    }
}

#[test]
fn what_is_wholly_refused_never_leaves() {
    let mut story = story();
    story.asks(ApiKey::OFFSET_COMMIT, 8, &commit(&["theirs"]));
    story.nothing_went();
    let told: OffsetCommitResponse = story.told(ApiKey::OFFSET_COMMIT, 8);
    assert_eq!(codes(&told), [("theirs".to_owned(), 3, 29)]);
    story.asks(ApiKey::OFFSET_COMMIT, 8, &commit(&["my-topic"]).with_group_id(text("theirs").into()));
    story.nothing_went();
    let told: OffsetCommitResponse = story.told(ApiKey::OFFSET_COMMIT, 8);
    assert_eq!(codes(&told), [("my-topic".to_owned(), 3, 30)]);
}

#[test]
fn a_lost_broker_leaves_the_refusals_in_the_answer() {
    let mut story = story();
    story.asks(ApiKey::OFFSET_COMMIT, 8, &commit(&["my-topic", "theirs"]));
    story.is_lost(LANE);
    let told: OffsetCommitResponse = story.told(ApiKey::OFFSET_COMMIT, 8);
    assert_eq!(codes(&told), [("my-topic".to_owned(), 3, 16), ("theirs".to_owned(), 3, 29)]);
}

#[test]
fn rules_are_about_the_names_that_clients_see() {
    let mut story = Story::under(mine(), disguised());
    story.asks(ApiKey::OFFSET_COMMIT, 8, &commit(&["my-topic", "theirs"]));
    let went: OffsetCommitRequest = story.went(ApiKey::OFFSET_COMMIT, 8);
    assert_eq!(went.topics.iter().map(|topic| topic.name.to_string()).collect::<Vec<_>>(), ["a.my-topic"]);
    story.replies(ApiKey::OFFSET_COMMIT, 8, 0, &committed("a.my-topic"));
    let told: OffsetCommitResponse = story.told(ApiKey::OFFSET_COMMIT, 8);
    assert_eq!(codes(&told), [("my-topic".to_owned(), 3, 0), ("theirs".to_owned(), 3, 29)]);
}

#[test]
fn of_several_groups_each_has_its_own_verdict_and_that_of_its_topics() {
    let topics = |names: &[&'static str]| {
        let topic = |name: &&'static str| {
            offset_fetch_request::OffsetFetchRequestTopics::default()
                .with_name(text(name).into())
                .with_partition_indexes(vec![3])
        };
        Some(names.iter().map(topic).collect())
    };
    let group = |name, topics| {
        offset_fetch_request::OffsetFetchRequestGroup::default().with_group_id(text(name).into()).with_topics(topics)
    };
    let groups = vec![
        group("theirs", topics(&["my-topic"])),
        group("my-group", topics(&["my-topic", "secret"])),
        group("my-all", None),
    ];
    let mut story = story();
    story.asks(ApiKey::OFFSET_FETCH, 8, &OffsetFetchRequest::default().with_groups(groups));
    let went: OffsetFetchRequest = story.went(ApiKey::OFFSET_FETCH, 8);
    assert_eq!(went.groups, [group("my-group", topics(&["my-topic"])), group("my-all", None)]);
    let found = |names: &[&'static str]| {
        let topic = |name: &&'static str| {
            let partition = offset_fetch_response::OffsetFetchResponsePartitions::default()
                .with_partition_index(3)
                .with_committed_offset(42)
                .with_metadata(Some(StrBytes::default()));
            offset_fetch_response::OffsetFetchResponseTopics::default()
                .with_name(text(name).into())
                .with_partitions(vec![partition])
        };
        names.iter().map(topic).collect::<Vec<_>>()
    };
    let answer = |name, topics| {
        offset_fetch_response::OffsetFetchResponseGroup::default().with_group_id(text(name).into()).with_topics(topics)
    };
    let groups = vec![answer("my-group", found(&["my-topic"])), answer("my-all", found(&["my-topic", "secret"]))];
    story.replies(ApiKey::OFFSET_FETCH, 8, 0, &OffsetFetchResponse::default().with_groups(groups));
    let told: OffsetFetchResponse = story.told(ApiKey::OFFSET_FETCH, 8);
    let of = |group: &offset_fetch_response::OffsetFetchResponseGroup| {
        let of = |topic: &offset_fetch_response::OffsetFetchResponseTopics| {
            let partition = &topic.partitions[0];
            (topic.name.to_string(), partition.committed_offset, partition.error_code)
        };
        (group.group_id.to_string(), group.error_code, group.topics.iter().map(of).collect())
    };
    let told: Vec<(String, i16, Vec<_>)> = told.groups.iter().map(of).collect();
    let mine = ("my-topic".to_owned(), 42, 0);
    assert_eq!(
        told,
        [
            ("my-group".to_owned(), 0, vec![mine.clone(), ("secret".to_owned(), -1, 29)]),
            ("my-all".to_owned(), 0, vec![mine]),
            ("theirs".to_owned(), 30, vec![]),
        ]
    );
}

fn partitions_of(topics: &[&'static str], id: &'static str) -> AddPartitionsToTxnRequest {
    let topic = |name: &&'static str| {
        add_partitions_to_txn_request::AddPartitionsToTxnTopic::default()
            .with_name(text(name).into())
            .with_partitions(vec![1, 2])
    };
    AddPartitionsToTxnRequest::default()
        .with_v3_and_below_transactional_id(text(id).into())
        .with_v3_and_below_topics(topics.iter().map(topic).collect())
}

#[test]
fn a_topic_that_may_not_be_written_keeps_the_others_out_of_the_transaction() {
    for (id, codes) in [("my-tx", [55, 29]), ("theirs", [53, 53])] {
        let mut story = story();
        story.asks(ApiKey::ADD_PARTITIONS_TO_TXN, 3, &partitions_of(&["my-topic", "secret"], id));
        story.nothing_went();
        let told: AddPartitionsToTxnResponse = story.told(ApiKey::ADD_PARTITIONS_TO_TXN, 3);
        let mut found: Vec<_> = told
            .results_by_topic_v3_and_below
            .iter()
            .map(|topic| {
                let codes = topic.results_by_partition.iter().map(|one| one.partition_error_code);
                (topic.name.to_string(), codes.collect::<Vec<_>>())
            })
            .collect();
        found.sort();
        let must = [("my-topic", codes[0]), ("secret", codes[1])];
        assert_eq!(found, must.map(|(name, code)| (name.to_owned(), vec![code, code])));
    }
    let mut story = story();
    let asked = partitions_of(&["my-topic"], "my-tx");
    story.asks(ApiKey::ADD_PARTITIONS_TO_TXN, 3, &asked);
    assert_eq!(story.went::<AddPartitionsToTxnRequest>(ApiKey::ADD_PARTITIONS_TO_TXN, 3), asked);
}

#[test]
fn a_member_subscribes_only_to_what_it_may_see() {
    let beat = |topic, regex: Option<&'static str>| {
        ConsumerGroupHeartbeatRequest::default()
            .with_group_id(text("my-group").into())
            .with_subscribed_topic_names(Some(vec![text("my-topic").into(), TopicName(text(topic))]))
            .with_subscribed_topic_regex(regex.map(text))
    };
    for (beat, code) in
        [(beat("secret", None), Some(29)), (beat("my-other", Some("my-.*")), Some(29)), (beat("my-other", None), None)]
    {
        let mut story = story();
        story.asks(ApiKey::CONSUMER_GROUP_HEARTBEAT, 1, &beat);
        match code {
            None => assert_eq!(story.went::<ConsumerGroupHeartbeatRequest>(ApiKey::CONSUMER_GROUP_HEARTBEAT, 1), beat),
            Some(code) => {
                story.nothing_went();
                let told: ConsumerGroupHeartbeatResponse = story.told(ApiKey::CONSUMER_GROUP_HEARTBEAT, 1);
                assert_eq!(told.error_code, code);
            }
        }
    }
    let everything =
        vec![("*", Rule::allow([Operation::Describe], Topic, "*")), ("*", Rule::allow([Operation::Read], Group, "*"))];
    let mut story = Story::under(everything, Target::Cluster(CLUSTER));
    story.asks(ApiKey::CONSUMER_GROUP_HEARTBEAT, 1, &beat("any", Some(".*")));
    assert_eq!(story.reached(LANE).len(), 1);
}

fn metadata(topics: Option<&[&'static str]>) -> MetadataRequest {
    let topic =
        |name: &&'static str| metadata_request::MetadataRequestTopic::default().with_name(Some(text(name).into()));
    MetadataRequest::default()
        .with_topics(topics.map(|topics| topics.iter().map(topic).collect()))
        .with_allow_auto_topic_creation(true)
}

fn described(names: &[&'static str]) -> MetadataResponse {
    let topic =
        |name: &&'static str| metadata_response::MetadataResponseTopic::default().with_name(Some(text(name).into()));
    let broker = metadata_response::MetadataResponseBroker::default().with_node_id(1.into()).with_host(text("b"));
    MetadataResponse::default().with_brokers(vec![broker]).with_topics(names.iter().map(topic).collect())
}

fn topics(told: &MetadataResponse) -> Vec<(String, i16)> {
    told.topics.iter().map(|topic| (topic.name.as_ref().unwrap().to_string(), topic.error_code)).collect()
}

#[test]
fn metadata_names_what_may_be_seen_and_always_the_brokers() {
    let mut story = story();
    story.asks(ApiKey::METADATA, 12, &metadata(Some(&["secret"])));
    assert_eq!(story.went::<MetadataRequest>(ApiKey::METADATA, 12).topics, Some(vec![]));
    story.replies(ApiKey::METADATA, 12, 0, &described(&[]));
    let told: MetadataResponse = story.told(ApiKey::METADATA, 12);
    assert_eq!((told.brokers.len(), topics(&told)), (1, vec![("secret".to_owned(), 29)]));

    story.asks(ApiKey::METADATA, 12, &metadata(None));
    assert_eq!(story.went::<MetadataRequest>(ApiKey::METADATA, 12).topics, None);
    story.replies(ApiKey::METADATA, 12, 1, &described(&["my-topic", "secret", "my-other"]));
    let told: MetadataResponse = story.told(ApiKey::METADATA, 12);
    assert_eq!(topics(&told), ["my-topic", "my-other"].map(|name| (name.to_owned(), 0)));
}

#[test]
fn a_topic_is_created_by_being_asked_for_only_if_it_may_be_created() {
    let describe = |name| ("*", Rule::allow([Operation::Describe], Topic, name));
    let create = ("*", Rule::allow([Operation::Create], Topic, "new-*"));
    for (asked, may) in [(vec!["old", "new-one"], false), (vec!["new-one"], true)] {
        let rules = vec![describe("old"), describe("new-*"), create.clone()];
        let mut story = Story::under(rules, Target::Cluster(CLUSTER));
        story.asks(ApiKey::METADATA, 9, &metadata(Some(&asked)));
        let went: MetadataRequest = story.went(ApiKey::METADATA, 9);
        assert_eq!(went.allow_auto_topic_creation, may);
        assert_eq!(went.topics.unwrap().len(), asked.len());
    }
    // Below version 4 nothing says that a topic is not to be created.
    let mut story = Story::under(vec![describe("old")], Target::Cluster(CLUSTER));
    story.asks(ApiKey::METADATA, 1, &metadata(Some(&["old"])));
    assert_eq!(story.went::<MetadataRequest>(ApiKey::METADATA, 1).topics, Some(vec![]));
    story.replies(ApiKey::METADATA, 1, 0, &described(&[]));
    assert_eq!(topics(&story.told(ApiKey::METADATA, 1)), [("old".to_owned(), 29)]);
}
