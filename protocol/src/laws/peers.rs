//! The `kafka-protocol` crate, which was made by others from the same definitions, reads what is made and passed here, and
//! what it writes is walked.

use bytes::Bytes;

use super::{by, keep, rewritten};
use crate::ids::{ApiKey, Direction};
use crate::messages::{self, *};
use crate::sample::{self, Dice, Recipe};
use crate::table::Table;

fn agrees<Q, A>(key: ApiKey, newest: i16)
where
    Q: Decodable + Encodable + PartialEq + std::fmt::Debug,
    A: Decodable + Encodable + PartialEq + std::fmt::Debug,
{
    let versions = Table::get().api(key).unwrap().request.versions;
    for version in versions.from..=versions.to.min(newest) {
        for seed in 0..60 {
            agrees_in::<Q>(key, version, Direction::ToBroker, seed);
            agrees_in::<A>(key, version, Direction::ToClient, seed);
        }
    }
}

fn agrees_in<M: Decodable + Encodable + PartialEq + std::fmt::Debug>(
    key: ApiKey, version: i16, direction: Direction, seed: u64,
) {
    let name = format!("{key:?} v{version} {direction:?}, seed {seed}");
    let sample = sample::any(key, version, direction, &Recipe::WILD, &mut Dice::new(seed)).unwrap();
    let frame = Bytes::from(sample.frame);
    let message: M =
        messages::decode(key, version, direction, &frame).unwrap_or_else(|error| panic!("{name}: {error}"));
    let written = match direction {
        Direction::ToBroker => messages::request(key, version, 7, "client", &message),
        Direction::ToClient => messages::response(key, version, 7, &message),
    };
    let written = written.unwrap_or_else(|error| panic!("{name}: {error}")).freeze();
    let layout = Table::get().layout(key, version, direction).unwrap();
    let walked = rewritten(layout, &written, &mut by(keep)).unwrap_or_else(|error| panic!("{name}: {error}"));
    assert_eq!(walked, written);
    let again: M =
        messages::decode(key, version, direction, &written).unwrap_or_else(|error| panic!("{name}: {error}"));
    assert_eq!(again, message, "{name}");
}

macro_rules! agreements {
    ($($test:ident $key:literal $newest:literal $request:ident $response:ident),* $(,)?) => {
        $(#[test] fn $test() { agrees::<$request, $response>(ApiKey($key), $newest); })*
    };
}

agreements! {
    produce 0 12 ProduceRequest ProduceResponse,
    fetch 1 17 FetchRequest FetchResponse,
    list_offsets 2 10 ListOffsetsRequest ListOffsetsResponse,
    metadata 3 13 MetadataRequest MetadataResponse,
    offset_commit 8 9 OffsetCommitRequest OffsetCommitResponse,
    offset_fetch 9 9 OffsetFetchRequest OffsetFetchResponse,
    find_coordinator 10 6 FindCoordinatorRequest FindCoordinatorResponse,
    join_group 11 9 JoinGroupRequest JoinGroupResponse,
    heartbeat 12 4 HeartbeatRequest HeartbeatResponse,
    leave_group 13 5 LeaveGroupRequest LeaveGroupResponse,
    sync_group 14 5 SyncGroupRequest SyncGroupResponse,
    describe_groups 15 6 DescribeGroupsRequest DescribeGroupsResponse,
    list_groups 16 5 ListGroupsRequest ListGroupsResponse,
    sasl_handshake 17 1 SaslHandshakeRequest SaslHandshakeResponse,
    api_versions 18 4 ApiVersionsRequest ApiVersionsResponse,
    create_topics 19 7 CreateTopicsRequest CreateTopicsResponse,
    delete_topics 20 6 DeleteTopicsRequest DeleteTopicsResponse,
    delete_records 21 2 DeleteRecordsRequest DeleteRecordsResponse,
    init_producer_id 22 5 InitProducerIdRequest InitProducerIdResponse,
    offset_for_leader_epoch 23 4 OffsetForLeaderEpochRequest OffsetForLeaderEpochResponse,
    add_partitions_to_txn 24 5 AddPartitionsToTxnRequest AddPartitionsToTxnResponse,
    end_txn 26 5 EndTxnRequest EndTxnResponse,
    txn_offset_commit 28 5 TxnOffsetCommitRequest TxnOffsetCommitResponse,
    describe_configs 32 4 DescribeConfigsRequest DescribeConfigsResponse,
    sasl_authenticate 36 2 SaslAuthenticateRequest SaslAuthenticateResponse,
    describe_cluster 60 2 DescribeClusterRequest DescribeClusterResponse,
    consumer_group_heartbeat 68 1 ConsumerGroupHeartbeatRequest ConsumerGroupHeartbeatResponse,
    describe_topic_partitions 75 0 DescribeTopicPartitionsRequest DescribeTopicPartitionsResponse,
    share_fetch 78 1 ShareFetchRequest ShareFetchResponse,
}
