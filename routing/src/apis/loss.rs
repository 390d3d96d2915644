//! Which error code stands for an answer that never comes. Clients accept a closed set of codes per API; one that is not in
//! it is an exception to them, not a retry.

use skein_protocol::Meaning;
use skein_protocol::answer;
use skein_protocol::code::Code;
use skein_protocol::frame::Head;
use skein_protocol::ids::ApiKey;
use skein_protocol::outline::Outline;

use crate::router::Lost;

/// The code for a request whose broker is lost; `None`: no code says it, and the client's connection closes.
pub fn code(head: &Head, outline: &Outline, lost: Lost) -> Option<Code> {
    match (head.key, lost) {
        // librdkafka reads 7 as "possibly persisted" and 6 as "not persisted".
        (ApiKey::PRODUCE, Lost::Unknown) => Some(Code::REQUEST_TIMED_OUT),
        (
            ApiKey::PRODUCE
            | ApiKey::FETCH
            | ApiKey::LIST_OFFSETS
            | ApiKey::OFFSET_FOR_LEADER_EPOCH
            | ApiKey::DELETE_RECORDS
            | ApiKey::DESCRIBE_PRODUCERS
            | ApiKey::SHARE_FETCH
            | ApiKey::SHARE_ACKNOWLEDGE,
            _,
        ) => Some(Code::NOT_LEADER_OR_FOLLOWER),
        (
            ApiKey::JOIN_GROUP
            | ApiKey::SYNC_GROUP
            | ApiKey::HEARTBEAT
            | ApiKey::LEAVE_GROUP
            | ApiKey::CONSUMER_GROUP_HEARTBEAT
            | ApiKey::SHARE_GROUP_HEARTBEAT
            | ApiKey::OFFSET_FETCH
            | ApiKey::OFFSET_COMMIT
            | ApiKey::TXN_OFFSET_COMMIT
            | ApiKey::ADD_OFFSETS_TO_TXN
            | ApiKey::ADD_PARTITIONS_TO_TXN
            | ApiKey::END_TXN
            | ApiKey::DESCRIBE_GROUPS,
            _,
        ) => Some(Code::NOT_COORDINATOR),
        // A producer without transactions has no coordinator to look for; a broker that has no id to give says 14.
        (ApiKey::INIT_PRODUCER_ID, _) if answer::is_null(head, outline, Meaning::TransactionalId) => {
            Some(Code::COORDINATOR_LOAD_IN_PROGRESS)
        }
        (ApiKey::INIT_PRODUCER_ID, _) => Some(Code::NOT_COORDINATOR),
        (ApiKey::FIND_COORDINATOR, _) => Some(Code::COORDINATOR_NOT_AVAILABLE),
        _ => None,
    }
}
