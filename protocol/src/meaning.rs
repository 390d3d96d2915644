//! What a field *is*: the identity or role that a proxy must know, whatever message it stands in.

macro_rules! meanings {
    ($($name:ident $bit:literal $word:literal $doc:literal),* $(,)?) => {
        /// The meaning of a field, as `meanings.tsv` gives it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Meaning { $(#[doc = $doc] $name),* }

        impl Meaning {
            /// Every meaning there is.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// The word that stands for it in the table.
            pub const fn word(self) -> &'static str {
                match self { $(Self::$name => $word),* }
            }

            const fn bit(self) -> u64 {
                match self { $(Self::$name => 1 << $bit),* }
            }
        }
    };
}

meanings! {
    Plain 0 "plain" "Nothing that a proxy must know.",
    TopicName 1 "topic_name" "A topic's name.",
    TopicId 2 "topic_id" "A topic's id (KIP-516); all zero is \"none\".",
    Partition 3 "partition" "A partition's number within its topic.",
    BrokerId 4 "broker_id" "A broker's id; negative is \"none\".",
    ReplicaId 5 "replica_id" "The id of the replica that asks; a consumer sends −1 or −2.",
    Host 6 "host" "A broker's host name.",
    Port 7 "port" "A broker's port.",
    ClusterId 8 "cluster_id" "The cluster's id.",
    GroupId 9 "group_id" "A group's id.",
    TransactionalId 10 "transactional_id" "A transactional id.",
    ProducerId 11 "producer_id" "A producer id (KIP-98).",
    ProducerEpoch 12 "producer_epoch" "The epoch of a producer id.",
    LeaderEpoch 13 "leader_epoch" "A partition's leader epoch (KIP-101).",
    Offset 14 "offset" "An offset in a partition.",
    Records 15 "records" "Record batches.",
    Principal 16 "principal" "A user or principal.",
    Acks 17 "acks" "How many replicas must have a Produce: 0, 1 or −1; with 0 there is no answer.",
    Wait 18 "wait" "How long the request lets the broker wait, in milliseconds.",
    Error 19 "error" "An error code.",
    FreeText 20 "free_text" "A message for people, which may quote names.",
    Throttle 21 "throttle" "For how long the client is asked to be quiet, in milliseconds.",
    ResourceType 22 "resource_type" "Which kind of thing the resource names that follow are names of.",
    ResourceName 23 "resource_name" "The name of a topic, group, broker, … as the resource type before it says.",
    PatternType 24 "pattern_type" "How an ACL's resource name is matched.",
    KeyType 25 "key_type" "What a coordinator key is: 0 group, 1 transaction, 2 share partition.",
    CoordinatorKey 26 "coordinator_key" "The id whose coordinator is asked for.",
    Rack 27 "rack" "A rack, the client's or a broker's.",
    SessionId 28 "session_id" "The id of a fetch session (KIP-227) within one broker.",
    SessionEpoch 29 "session_epoch" "The epoch of a fetch or share session.",
    MaxBytes 30 "max_bytes" "The most bytes that a whole fetch may bring.",
    TopicRegex 31 "topic_regex" "A pattern over topic names.",
    TopicOpaque 32 "topic_opaque" "Bytes of a client protocol that hold topic names.",
    Auth 33 "auth" "Bytes of a login, never logged.",
    SessionLifetime 34 "session_lifetime" "How long a login holds, in milliseconds (KIP-368).",
    ClientHost 35 "client_host" "The host of a client.",
    AuthorizedOperations 36 "authorized_operations" "What the asker may do with a resource: a bit for each operation (KIP-430).",
    AutoCreate 37 "auto_create" "Whether a topic that is asked for may be created.",
    ConfigName 38 "config_name" "The name of a configuration that an answer brings besides what was asked for.",
}

impl Meaning {
    /// The meaning that a word of the table stands for.
    pub fn named(word: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|meaning| meaning.word() == word)
    }
}

/// A set of meanings: what somebody wants to see of a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Meanings(u64);

impl Meanings {
    /// Nothing.
    pub const NONE: Self = Self(0);

    /// The set of these.
    pub const fn of(meanings: &[Meaning]) -> Self {
        let mut bits = 0;
        let mut rest = meanings;
        while let [first, tail @ ..] = rest {
            bits |= first.bit();
            rest = tail;
        }
        Self(bits)
    }

    /// Both sets.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The set, with the record batches that producer ids stand in if those are in it.
    pub(crate) const fn with_batches(self) -> Self {
        if self.has(Meaning::ProducerId) { self.and(Self::of(&[Meaning::Records])) } else { self }
    }

    /// Whether `meaning` is in it.
    #[inline]
    pub const fn has(self, meaning: Meaning) -> bool {
        self.0 & meaning.bit() != 0
    }

    /// Whether the two have a meaning in common.
    pub const fn meets(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_meaning_has_a_word_and_a_bit_of_its_own() {
        let mut seen = Meanings::NONE;
        for meaning in Meaning::ALL {
            assert_eq!(Meaning::named(meaning.word()), Some(*meaning));
            assert!(!seen.has(*meaning));
            seen = seen.and(Meanings::of(&[*meaning]));
        }
    }
}
