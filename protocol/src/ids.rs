//! The numbers that name things, each a type of its own, so that a virtual one is never taken for a real one.

use std::fmt;

/// A broker id as clients see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct VirtualNodeId(pub i32);

/// A broker id as one cluster knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RealNodeId(pub i32);

/// A topic id as clients see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct VirtualTopicId(pub [u8; 16]);

/// A topic id as one cluster knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RealTopicId(pub [u8; 16]);

impl fmt::Display for VirtualNodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for RealNodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// An API key, known or not.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ApiKey(pub i16);

/// The keys that some code of ours must tell from the others. What the table alone can decide needs no name here.
macro_rules! keys {
    ($($name:ident $key:literal),* $(,)?) => {
        impl ApiKey { $(
            #[doc = concat!("API key ", stringify!($key), ".")]
            pub const $name: Self = Self($key);
        )* }
    };
}

keys! {
    PRODUCE 0, FETCH 1, LIST_OFFSETS 2, METADATA 3, OFFSET_COMMIT 8, OFFSET_FETCH 9, FIND_COORDINATOR 10, JOIN_GROUP 11,
    HEARTBEAT 12, LEAVE_GROUP 13, SYNC_GROUP 14, DESCRIBE_GROUPS 15, SASL_HANDSHAKE 17, API_VERSIONS 18,
    CREATE_TOPICS 19, DELETE_TOPICS 20, DELETE_RECORDS 21, INIT_PRODUCER_ID 22, OFFSET_FOR_LEADER_EPOCH 23, ADD_PARTITIONS_TO_TXN 24, ADD_OFFSETS_TO_TXN 25,
    END_TXN 26, WRITE_TXN_MARKERS 27, TXN_OFFSET_COMMIT 28, SASL_AUTHENTICATE 36, DESCRIBE_QUORUM 55, DESCRIBE_CLUSTER 60,
    DESCRIBE_PRODUCERS 61, CONSUMER_GROUP_HEARTBEAT 68, GET_TELEMETRY_SUBSCRIPTIONS 71, PUSH_TELEMETRY 72,
    SHARE_GROUP_HEARTBEAT 76, SHARE_FETCH 78, SHARE_ACKNOWLEDGE 79,
}

impl fmt::Display for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match crate::table::Table::get().api(*self) {
            Some(api) => f.write_str(&api.name),
            None => write!(f, "key {}", self.0),
        }
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Which way a message goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// A request, from a client to a broker.
    ToBroker,
    /// A response, from a broker to a client.
    ToClient,
}

impl ApiKey {
    /// Whether its answers bring records.
    pub fn is_fetch(self) -> bool {
        self == Self::FETCH || self == Self::SHARE_FETCH
    }
}
