//! What somebody may try at a cluster, and what comes of it: of each deed the error codes of the answer and the names in it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;

use anyhow::{Context, Result};
use kafka_protocol::messages::{
    AddOffsetsToTxnRequest, AddPartitionsToTxnRequest, CreatePartitionsRequest, CreateTopicsRequest,
    DeleteGroupsRequest, DeleteRecordsRequest, DeleteTopicsRequest, DescribeAclsRequest, DescribeClientQuotasRequest,
    DescribeClusterRequest, DescribeConfigsRequest, DescribeGroupsRequest, DescribeProducersRequest,
    DescribeTransactionsRequest, DescribeUserScramCredentialsRequest, EndTxnRequest, GroupId, HeartbeatRequest,
    IncrementalAlterConfigsRequest, JoinGroupRequest, ListGroupsRequest, ListOffsetsRequest,
    ListPartitionReassignmentsRequest, ListTransactionsRequest, OffsetCommitRequest, OffsetFetchRequest,
    OffsetForLeaderEpochRequest, TopicName, TransactionalId,
    add_partitions_to_txn_request::AddPartitionsToTxnTopic,
    create_partitions_request::CreatePartitionsTopic,
    create_topics_request::CreatableTopic,
    delete_records_request::{DeleteRecordsPartition, DeleteRecordsTopic},
    describe_configs_request::DescribeConfigsResource,
    describe_producers_request::TopicRequest,
    describe_user_scram_credentials_request::UserName,
    incremental_alter_configs_request::{AlterConfigsResource, AlterableConfig},
    join_group_request::JoinGroupRequestProtocol,
    list_offsets_request::{ListOffsetsPartition, ListOffsetsTopic},
    offset_commit_request::{OffsetCommitRequestPartition, OffsetCommitRequestTopic},
    offset_fetch_request::{OffsetFetchRequestGroup, OffsetFetchRequestTopics},
    offset_for_leader_epoch_request::{OffsetForLeaderPartition, OffsetForLeaderTopic},
};
use kafka_protocol::protocol::{Request as Api, StrBytes};
use skein_tests::batch::Batch;
use skein_tests::process;
use skein_tests::raw::request::{self, Coordinated, Place, Session};
use skein_tests::raw::{self, Raw, Request};
use uuid::Uuid;

/// What the names of all things here begin with.
pub(crate) const OURS: &str = "acl.";

/// What has come of each deed.
pub(crate) type Outcomes = BTreeMap<String, String>;

/// The resources that are tried.
pub(crate) const TOPICS: [&str; 3] = ["acl.orders", "acl.bills", "acl.notes"];
const GROUPS: [&str; 2] = ["acl.readers", "acl.others"];
const TRANSACTIONAL_IDS: [&str; 2] = ["acl.payer", "acl.nobody"];

/// Whether somebody who may do everything could: groups were joined, and transactions went to their end.
pub(crate) fn are_done(outcomes: &Outcomes) -> bool {
    let joined = GROUPS.iter().filter_map(|group| outcomes.get(&format!("JoinGroup {group}")));
    // MEMBER_ID_REQUIRED is how a group begins.
    let joined = joined.filter(|outcome| outcome.contains("\"79\"")).count();
    let ended = TRANSACTIONAL_IDS.iter().filter(|id| outcomes.contains_key(&format!("InitProducerId {id} again")));
    joined == GROUPS.len() && ended.count() == TRANSACTIONAL_IDS.len()
}

/// Takes away what deeds have left behind.
pub(crate) fn undo(raw: &mut Raw) -> Result<()> {
    let groups = GROUPS.map(|group| GroupId(text(group))).to_vec();
    raw.call(2, &DeleteGroupsRequest::default().with_groups_names(groups)).map(drop)
}

/// Tries everything on one connection, which is logged in.
pub(crate) fn all(raw: &mut Raw) -> Result<Outcomes> {
    let mut tried = Tried { raw, outcomes: Outcomes::new() };
    tried.of_the_cluster()?;
    for topic in TOPICS {
        tried.read_and_write(topic)?;
        tried.administer(topic)?;
    }
    GROUPS.iter().try_for_each(|group| tried.group(group))?;
    TRANSACTIONAL_IDS.iter().try_for_each(|id| tried.transaction(id))?;
    Ok(tried.outcomes)
}

struct Tried<'a> {
    raw: &'a mut Raw,
    outcomes: Outcomes,
}

/// The code of who comes before a transaction has ended, as it is `said`.
const CONCURRENT_TRANSACTIONS: &str = "\"51\"";

/// What an answer says that depends on who asks.
fn said(answer: &impl Debug) -> String {
    let text = format!("{answer:?}");
    let codes = text.split("error_code: ").skip(1).map(|rest| rest.split([',', ' ']).next().unwrap_or_default());
    let words = text.split('"').filter(|word| word.starts_with(OURS)).collect::<BTreeSet<_>>();
    format!("{:?} {words:?}", codes.collect::<Vec<_>>())
}

impl Tried<'_> {
    fn ask<A: Api>(&mut self, what: &str, version: i16, body: &A) -> Result<A::Response>
    where
        A::Response: Debug,
    {
        let name = std::any::type_name::<A>().rsplit("::").next().unwrap_or_default().trim_end_matches("Request");
        let request = Request::of(version, body)?;
        let (answer, said) = process::until("the end of the transaction before", raw::PATIENCE, || {
            let answer = self.raw.ask(&request)?.decode::<A>(version)?;
            let said = said(&answer);
            Ok((!said.contains(CONCURRENT_TRANSACTIONS)).then_some((answer, said)))
        })
        .with_context(|| format!("{name} {what}"))?;
        self.outcomes.insert(format!("{name} {what}"), said);
        Ok(answer)
    }

    fn read_and_write(&mut self, topic: &str) -> Result<()> {
        let place = Place { topic: topic.to_owned(), id: Uuid::nil(), partition: 0 };
        self.ask(topic, 12, &request::metadata(12, Some(&[topic])))?;
        self.ask(topic, 12, &request::produce(12, &place, -1, Batch::small(1).build()))?;
        self.ask(topic, 12, &request::fetch(12, Session::None, std::slice::from_ref(&place)))?;
        let partition = ListOffsetsPartition::default().with_timestamp(-1);
        let latest = ListOffsetsTopic::default().with_name(name(topic)).with_partitions(vec![partition]);
        let latest = ListOffsetsRequest::default().with_replica_id((-1).into()).with_topics(vec![latest]);
        self.ask(topic, 7, &latest)?;
        let epoch = OffsetForLeaderPartition::default().with_current_leader_epoch(-1);
        let epoch = OffsetForLeaderTopic::default().with_topic(name(topic)).with_partitions(vec![epoch]);
        let epoch = OffsetForLeaderEpochRequest::default().with_replica_id((-1).into()).with_topics(vec![epoch]);
        self.ask(topic, 4, &epoch).map(drop)
    }

    /// Changes nothing: what is allowed is checked only, or cannot be done.
    fn administer(&mut self, topic: &str) -> Result<()> {
        let new = CreatableTopic::default().with_name(name(topic)).with_num_partitions(1).with_replication_factor(1);
        let new = CreateTopicsRequest::default().with_topics(vec![new]).with_validate_only(true);
        self.ask(topic, 7, &new.with_timeout_ms(1000))?;
        let gone = DeleteTopicsRequest::default().with_topic_names(vec![name(&format!("{topic}.gone"))]);
        self.ask(topic, 5, &gone.with_timeout_ms(1000))?;
        let more = CreatePartitionsTopic::default().with_name(name(topic)).with_count(9).with_assignments(None);
        let more = CreatePartitionsRequest::default().with_topics(vec![more]).with_validate_only(true);
        self.ask(topic, 3, &more.with_timeout_ms(1000))?;
        let described = DescribeConfigsResource::default().with_resource_type(2).with_resource_name(text(topic));
        let keys = Some(vec![StrBytes::from_static_str("retention.ms")]);
        let described = DescribeConfigsRequest::default().with_resources(vec![described.with_configuration_keys(keys)]);
        self.ask(topic, 4, &described)?;
        let config = AlterableConfig::default().with_name(StrBytes::from_static_str("retention.ms"));
        let config = config.with_value(Some(StrBytes::from_static_str("-1")));
        let altered = AlterConfigsResource::default().with_resource_type(2).with_resource_name(text(topic));
        let altered = vec![altered.with_configs(vec![config])];
        let altered = IncrementalAlterConfigsRequest::default().with_resources(altered).with_validate_only(true);
        self.ask(topic, 1, &altered)?;
        let records = vec![DeleteRecordsPartition::default()];
        let records = DeleteRecordsTopic::default().with_name(name(topic)).with_partitions(records);
        let records = DeleteRecordsRequest::default().with_topics(vec![records]).with_timeout_ms(1000);
        self.ask(topic, 2, &records)?;
        let producers = TopicRequest::default().with_name(name(topic)).with_partition_indexes(vec![0]);
        self.ask(topic, 0, &DescribeProducersRequest::default().with_topics(vec![producers])).map(drop)
    }

    fn group(&mut self, group: &str) -> Result<()> {
        let id = GroupId(text(group));
        self.ask(group, 4, &request::find_coordinator(4, group, Coordinated::Group))?;
        let protocol = JoinGroupRequestProtocol::default().with_name(StrBytes::from_static_str("range"));
        let joined = JoinGroupRequest::default().with_group_id(id.clone()).with_session_timeout_ms(10_000);
        let joined = joined.with_rebalance_timeout_ms(1000).with_protocol_type(StrBytes::from_static_str("consumer"));
        self.ask(group, 9, &joined.with_protocols(vec![protocol]))?;
        self.ask(group, 4, &HeartbeatRequest::default().with_group_id(id.clone()))?;
        for topic in TOPICS {
            let place = vec![OffsetCommitRequestPartition::default()];
            let place = OffsetCommitRequestTopic::default().with_name(name(topic)).with_partitions(place);
            let committed = OffsetCommitRequest::default().with_group_id(id.clone()).with_topics(vec![place]);
            self.ask(&format!("{group} {topic}"), 8, &committed.with_generation_id_or_member_epoch(-1))?;
            let place = OffsetFetchRequestTopics::default().with_name(name(topic)).with_partition_indexes(vec![0]);
            let fetched = OffsetFetchRequestGroup::default().with_group_id(id.clone()).with_topics(Some(vec![place]));
            let fetched = OffsetFetchRequest::default().with_groups(vec![fetched]);
            self.ask(&format!("{group} {topic}"), 8, &fetched)?;
        }
        self.ask(group, 5, &DescribeGroupsRequest::default().with_groups(vec![id.clone()]))?;
        self.ask(group, 2, &DeleteGroupsRequest::default().with_groups_names(vec![id])).map(drop)
    }

    fn transaction(&mut self, id: &str) -> Result<()> {
        let own = TransactionalId(text(id));
        self.ask(id, 4, &request::find_coordinator(4, id, Coordinated::Transaction))?;
        let begun = self.ask(id, 4, &request::init_producer_id(Some(id)))?;
        self.ask(id, 0, &DescribeTransactionsRequest::default().with_transactional_ids(vec![own.clone()]))?;
        if begun.error_code != 0 {
            return Ok(());
        }
        let (producer, epoch) = (begun.producer_id, begun.producer_epoch);
        for topic in TOPICS {
            let part = AddPartitionsToTxnTopic::default().with_name(name(topic)).with_partitions(vec![0]);
            let added = AddPartitionsToTxnRequest::default().with_v3_and_below_transactional_id(own.clone());
            let added = added.with_v3_and_below_producer_id(producer).with_v3_and_below_producer_epoch(epoch);
            self.ask(&format!("{id} {topic}"), 3, &added.with_v3_and_below_topics(vec![part]))?;
        }
        for group in GROUPS {
            let added = AddOffsetsToTxnRequest::default().with_transactional_id(own.clone());
            let added = added.with_producer_id(producer).with_producer_epoch(epoch).with_group_id(GroupId(text(group)));
            self.ask(&format!("{id} {group}"), 3, &added)?;
        }
        let ended = EndTxnRequest::default().with_transactional_id(own).with_producer_id(producer);
        self.ask(id, 3, &ended.with_producer_epoch(epoch))?;
        // The answer is before the end.
        self.ask(&format!("{id} again"), 4, &request::init_producer_id(Some(id))).map(drop)
    }

    fn of_the_cluster(&mut self) -> Result<()> {
        self.ask("all", 12, &request::metadata(12, None))?;
        self.ask("", 0, &DescribeClusterRequest::default())?;
        self.ask("", 4, &ListGroupsRequest::default())?;
        self.ask("", 0, &ListTransactionsRequest::default())?;
        self.ask("of no transaction", 4, &request::init_producer_id(None))?;
        // Any: of each kind, by each pattern, for each operation.
        let rules = DescribeAclsRequest::default().with_resource_type_filter(1).with_pattern_type_filter(1);
        self.ask("", 3, &rules.with_operation(1).with_permission_type(1))?;
        self.ask("", 1, &DescribeClientQuotasRequest::default())?;
        let users = vec![UserName::default().with_name(StrBytes::from_static_str("alice"))];
        self.ask("", 0, &DescribeUserScramCredentialsRequest::default().with_users(Some(users)))?;
        let moving = ListPartitionReassignmentsRequest::default().with_topics(None).with_timeout_ms(1000);
        self.ask("", 0, &moving)?;
        let broker = DescribeConfigsResource::default().with_resource_type(4).with_resource_name(text("7"));
        let keys = Some(vec![StrBytes::from_static_str("log.dirs")]);
        let broker = DescribeConfigsRequest::default().with_resources(vec![broker.with_configuration_keys(keys)]);
        self.ask("of the broker", 4, &broker).map(drop)
    }
}

fn text(text: &str) -> StrBytes {
    StrBytes::from_string(text.to_owned())
}

fn name(topic: &str) -> TopicName {
    TopicName(text(topic))
}
