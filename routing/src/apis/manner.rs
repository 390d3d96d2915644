//! How each API goes to its broker, and which are not offered.

use skein_protocol::ids::ApiKey;

use crate::graph::Manner;

/// Bytes of a request that is completed: far above what a client sends of these, far below what would hurt.
const USUAL: u32 = 1 << 20;
/// Those that can name every topic or member: assignments, commits, reassignments, configurations.
const LARGE: u32 = 16 << 20;

/// Where an API is dealt with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// By Skein itself.
    Ours,
    /// By a step of a login.
    Login,
    /// By a broker.
    Broker(Manner),
    /// Nowhere: it is not offered.
    NotOffered,
}

/// Where an API is dealt with.
pub fn place(key: ApiKey) -> Place {
    match key {
        ApiKey::API_VERSIONS => Place::Ours,
        ApiKey::SASL_HANDSHAKE | ApiKey::SASL_AUTHENTICATE => Place::Login,
        ApiKey::PRODUCE => Place::Broker(Manner::Stream),
        // Controllers' ids and addresses are outside the bijection; telemetry carries labels of the broker's own; markers
        // are written by coordinators.
        ApiKey::DESCRIBE_QUORUM
        | ApiKey::GET_TELEMETRY_SUBSCRIPTIONS
        | ApiKey::PUSH_TELEMETRY
        | ApiKey::WRITE_TXN_MARKERS => Place::NotOffered,
        // Controllers, and the share coordinators among brokers.
        ApiKey(80..=87 | 94) => Place::NotOffered,
        ApiKey::OFFSET_COMMIT
        | ApiKey::TXN_OFFSET_COMMIT
        | ApiKey::FETCH
        | ApiKey::JOIN_GROUP
        | ApiKey::SYNC_GROUP
        | ApiKey::METADATA
        | ApiKey(19 | 20 | 32 | 33 | 37 | 43 | 44 | 45 | 88) => Place::Broker(Manner::Gather(LARGE)),
        _ => Place::Broker(Manner::Gather(USUAL)),
    }
}

/// Whether any broker of a cluster can answer: not only the leader, the coordinator, or the one that is asked about itself.
pub fn is_for_any_broker(key: ApiKey) -> bool {
    matches!(
        key,
        ApiKey::METADATA
            | ApiKey::FIND_COORDINATOR
            | ApiKey::DESCRIBE_CLUSTER
            | ApiKey(19 | 20 | 29 | 30 | 31 | 37 | 43 | 45 | 46 | 48 | 49 | 50 | 51 | 57 | 75)
    )
}

/// The highest version offered, where it is below what the table has.
pub fn highest(key: ApiKey) -> i16 {
    match key {
        // From v4 on it is between brokers.
        ApiKey::ADD_PARTITIONS_TO_TXN => 3,
        _ => i16::MAX,
    }
}
