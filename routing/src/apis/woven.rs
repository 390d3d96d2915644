//! How each API goes where topics, groups and transactional ids belong to several routes.

use skein_protocol::code::Code;
use skein_protocol::ids::ApiKey;
use skein_protocol::table::Fact;

use crate::router::Owned;

/// Bytes of a request that goes to several routes.
const CAP: u32 = 16 << 20;

/// How an API goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// To the route of the node that it came to; what is elsewhere is refused.
    Addressed,
    /// To each route that has something of it; at most so many bytes.
    Several(u32),
    /// It is not offered.
    NotOffered,
}

/// How an API goes.
pub fn way(key: ApiKey) -> Way {
    match key {
        ApiKey::METADATA | ApiKey::FIND_COORDINATOR | ApiKey::DESCRIBE_CLUSTER => Way::Several(CAP),
        // Topics are created, deleted, grown and configured by their owners; so are elections and reassignments.
        ApiKey(19 | 20 | 32 | 33 | 37 | 43 | 44 | 45 | 46) => Way::Several(CAP),
        // Access rules, quotas, users and tokens of several clusters are not one thing. What lists everything that a cluster
        // has, or moves it between directories, or belongs to Kafka Streams' own groups, has no rules here yet.
        ApiKey(29..=31 | 34 | 38..=41 | 48..=51 | 57 | 64 | 74 | 75 | 88 | 89 | 93) => Way::NotOffered,
        _ => Way::Addressed,
    }
}

/// The code for a topic that another route has.
pub fn elsewhere(key: ApiKey, version: i16) -> Code {
    match key {
        // A commit, a subscription, or what a group remembers: home is one cluster.
        ApiKey::OFFSET_COMMIT | ApiKey::OFFSET_FETCH | ApiKey::CONSUMER_GROUP_HEARTBEAT | ApiKey(47 | 76 | 90..=92) => {
            Code::TOPIC_AUTHORIZATION_FAILED
        }
        ApiKey::ADD_PARTITIONS_TO_TXN => Code::TRANSACTION_ABORTABLE,
        ApiKey::TXN_OFFSET_COMMIT if version >= 4 => Code::TRANSACTION_ABORTABLE,
        ApiKey::TXN_OFFSET_COMMIT => Code::GROUP_AUTHORIZATION_FAILED,
        _ => Code::NOT_LEADER_OR_FOLLOWER,
    }
}

/// The code for a partition in a transaction whose home is another route.
pub fn outside_transaction(version: i16) -> Code {
    if version >= 11 { Code::TRANSACTION_ABORTABLE } else { Code::TOPIC_AUTHORIZATION_FAILED }
}

/// The code for offsets of a group that is at home on another route than the transaction.
pub fn group_elsewhere(version: i16) -> Code {
    if version >= 4 { Code::TRANSACTION_ABORTABLE } else { Code::GROUP_AUTHORIZATION_FAILED }
}

/// DescribeConfigs.
pub const DESCRIBE_CONFIGS: ApiKey = ApiKey(32);

/// The code for what a cluster was asked, and did not answer.
pub fn lost(key: ApiKey) -> Code {
    match key {
        ApiKey::METADATA => Code::LEADER_NOT_AVAILABLE,
        ApiKey::FIND_COORDINATOR => Code::COORDINATOR_NOT_AVAILABLE,
        _ => Code::REQUEST_TIMED_OUT,
    }
}

/// The code for a group or transactional id that is at home on another route than that of the node that was asked.
pub fn not_at_home(key: ApiKey, version: i16, of: Owned) -> Code {
    match (key, of) {
        // Its group coordinator is the right one; it is the transaction that cannot reach it.
        (ApiKey::TXN_OFFSET_COMMIT, Owned::TransactionalId) => group_elsewhere(version),
        // Sent to the transaction's coordinator.
        (ApiKey::ADD_OFFSETS_TO_TXN, Owned::Group) => group_elsewhere(version),
        _ => Code::NOT_COORDINATOR,
    }
}

/// Whether topics stand below each of the groups of a request.
pub fn has_topics(key: ApiKey) -> bool {
    matches!(key, ApiKey::OFFSET_FETCH | ApiKey(90))
}

/// Whether what a field names is told to the broker without being answered for: what a fetch is to forget, and directories.
pub fn needs_no_answer(fact: &Fact) -> bool {
    fact.path.starts_with("ForgottenTopicsData")
}

/// Whether an answer lists all groups or transactions that a broker has.
pub fn lists_everything(key: ApiKey) -> bool {
    matches!(key, ApiKey(16 | 66))
}

/// Whether a request adds something to a transaction.
pub fn adds_to_transaction(key: ApiKey) -> bool {
    matches!(key, ApiKey::ADD_PARTITIONS_TO_TXN | ApiKey::ADD_OFFSETS_TO_TXN)
}

/// Whether an answer gives a producer id.
pub fn gives_producer_ids(key: ApiKey) -> bool {
    key == ApiKey::INIT_PRODUCER_ID
}
