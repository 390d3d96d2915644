//! What a Kafka 4.4 broker offers its clients: key, name, versions, and the first flexible version of each API.
//!
//! Produce is shown from 0 although 0–2 end in a close (KAFKA-18659); InitProducerId 6 is unstable and left out, and so
//! are 71 and 72, which need a telemetry reporter on the broker.

/// Which pair of header layouts a request and its answer have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Header {
    /// Request header v1, response header v0.
    Classic,
    /// Request header v2, response header v1 (but ApiVersions, whose answer has v0).
    Flexible,
}

/// One API as a 4.4 broker offers it.
#[derive(Clone, Copy, Debug)]
pub struct Api {
    /// Kafka's API key.
    pub key: i16,
    /// Kafka's name, without "Request".
    pub name: &'static str,
    /// Lowest version shown.
    pub min: i16,
    /// Highest stable version.
    pub max: i16,
    /// First version with compact types and tags; `i16::MAX`: none.
    pub flexible_from: i16,
}

/// Keys that tests name.
pub const PRODUCE: i16 = 0;
/// Fetch.
pub const FETCH: i16 = 1;
/// ListOffsets.
pub const LIST_OFFSETS: i16 = 2;
/// Metadata.
pub const METADATA: i16 = 3;
/// FindCoordinator.
pub const FIND_COORDINATOR: i16 = 10;
/// Heartbeat.
pub const HEARTBEAT: i16 = 12;
/// ApiVersions.
pub const API_VERSIONS: i16 = 18;
/// InitProducerId.
pub const INIT_PRODUCER_ID: i16 = 22;
/// OffsetForLeaderEpoch.
pub const OFFSET_FOR_LEADER_EPOCH: i16 = 23;
/// DescribeCluster.
pub const DESCRIBE_CLUSTER: i16 = 60;
/// ShareFetch.
pub const SHARE_FETCH: i16 = 78;

/// The header of a key and version; a key nobody knows gets the classic one.
pub fn header(key: i16, version: i16) -> Header {
    match api(key) {
        Some(api) if version >= api.flexible_from => Header::Flexible,
        _ => Header::Classic,
    }
}

/// The header of the answer to a key and version.
pub fn answer_header(key: i16, version: i16) -> Header {
    if key == API_VERSIONS { Header::Classic } else { header(key, version) }
}

/// The row of a key.
pub fn api(key: i16) -> Option<&'static Api> {
    APIS.iter().find(|api| api.key == key)
}

const fn row(key: i16, name: &'static str, min: i16, max: i16, flexible_from: i16) -> Api {
    Api { key, name, min, max, flexible_from }
}

const NEVER: i16 = i16::MAX;

/// Every API that a 4.4 broker offers.
pub const APIS: [Api; 77] = [
    row(0, "Produce", 0, 13, 9),
    row(1, "Fetch", 4, 18, 12),
    row(2, "ListOffsets", 1, 11, 6),
    row(3, "Metadata", 0, 13, 9),
    row(8, "OffsetCommit", 2, 10, 8),
    row(9, "OffsetFetch", 1, 10, 6),
    row(10, "FindCoordinator", 0, 6, 3),
    row(11, "JoinGroup", 0, 9, 6),
    row(12, "Heartbeat", 0, 4, 4),
    row(13, "LeaveGroup", 0, 5, 4),
    row(14, "SyncGroup", 0, 5, 4),
    row(15, "DescribeGroups", 0, 6, 5),
    row(16, "ListGroups", 0, 5, 3),
    row(17, "SaslHandshake", 0, 1, NEVER),
    row(18, "ApiVersions", 0, 5, 3),
    row(19, "CreateTopics", 2, 7, 5),
    row(20, "DeleteTopics", 1, 6, 4),
    row(21, "DeleteRecords", 0, 2, 2),
    row(22, "InitProducerId", 0, 5, 2),
    row(23, "OffsetForLeaderEpoch", 2, 4, 4),
    row(24, "AddPartitionsToTxn", 0, 5, 3),
    row(25, "AddOffsetsToTxn", 0, 4, 3),
    row(26, "EndTxn", 0, 5, 3),
    row(27, "WriteTxnMarkers", 1, 2, 1),
    row(28, "TxnOffsetCommit", 0, 6, 3),
    row(29, "DescribeAcls", 1, 3, 2),
    row(30, "CreateAcls", 1, 3, 2),
    row(31, "DeleteAcls", 1, 3, 2),
    row(32, "DescribeConfigs", 1, 4, 4),
    row(33, "AlterConfigs", 0, 2, 2),
    row(34, "AlterReplicaLogDirs", 1, 2, 2),
    row(35, "DescribeLogDirs", 1, 5, 2),
    row(36, "SaslAuthenticate", 0, 2, 2),
    row(37, "CreatePartitions", 0, 3, 2),
    row(38, "CreateDelegationToken", 1, 3, 2),
    row(39, "RenewDelegationToken", 1, 2, 2),
    row(40, "ExpireDelegationToken", 1, 2, 2),
    row(41, "DescribeDelegationToken", 1, 3, 2),
    row(42, "DeleteGroups", 0, 3, 2),
    row(43, "ElectLeaders", 0, 2, 2),
    row(44, "IncrementalAlterConfigs", 0, 1, 1),
    row(45, "AlterPartitionReassignments", 0, 1, 0),
    row(46, "ListPartitionReassignments", 0, 0, 0),
    row(47, "OffsetDelete", 0, 0, NEVER),
    row(48, "DescribeClientQuotas", 0, 1, 1),
    row(49, "AlterClientQuotas", 0, 1, 1),
    row(50, "DescribeUserScramCredentials", 0, 0, 0),
    row(51, "AlterUserScramCredentials", 0, 0, 0),
    row(55, "DescribeQuorum", 0, 2, 0),
    row(57, "UpdateFeatures", 0, 2, 0),
    row(60, "DescribeCluster", 0, 2, 0),
    row(61, "DescribeProducers", 0, 0, 0),
    row(64, "UnregisterBroker", 0, 0, 0),
    row(65, "DescribeTransactions", 0, 0, 0),
    row(66, "ListTransactions", 0, 2, 0),
    row(68, "ConsumerGroupHeartbeat", 0, 1, 0),
    row(69, "ConsumerGroupDescribe", 0, 1, 0),
    row(74, "ListConfigResources", 0, 1, 0),
    row(75, "DescribeTopicPartitions", 0, 0, 0),
    row(76, "ShareGroupHeartbeat", 1, 1, 0),
    row(77, "ShareGroupDescribe", 1, 1, 0),
    row(78, "ShareFetch", 1, 2, 0),
    row(79, "ShareAcknowledge", 1, 2, 0),
    row(80, "AddRaftVoter", 0, 1, 0),
    row(81, "RemoveRaftVoter", 0, 0, 0),
    row(83, "InitializeShareGroupState", 0, 0, 0),
    row(84, "ReadShareGroupState", 0, 0, 0),
    row(85, "WriteShareGroupState", 0, 1, 0),
    row(86, "DeleteShareGroupState", 0, 0, 0),
    row(87, "ReadShareGroupStateSummary", 0, 1, 0),
    row(88, "StreamsGroupHeartbeat", 0, 1, 0),
    row(89, "StreamsGroupDescribe", 0, 1, 0),
    row(90, "DescribeShareGroupOffsets", 0, 1, 0),
    row(91, "AlterShareGroupOffsets", 0, 0, 0),
    row(92, "DeleteShareGroupOffsets", 0, 0, 0),
    row(93, "StreamsGroupTopologyDescriptionUpdate", 0, 0, 0),
    row(94, "UnregisterController", 0, 0, 0),
];
