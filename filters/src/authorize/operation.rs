//! Kafka's operations and kinds of resource.

/// What somebody wants to do, as Kafka's `AclOperation` has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Operation {
    /// Consume, join a group, commit.
    Read,
    /// Produce.
    Write,
    /// Make a topic.
    Create,
    /// Delete it.
    Delete,
    /// Change it.
    Alter,
    /// Know that it is there.
    Describe,
    /// What brokers do among themselves.
    ClusterAction,
    /// See its configuration.
    DescribeConfigs,
    /// Change its configuration.
    AlterConfigs,
    /// Produce with a producer id.
    IdempotentWrite,
}

use Operation::{
    Alter, AlterConfigs, ClusterAction, Create, Delete, Describe, DescribeConfigs, IdempotentWrite, Read, Write,
};

impl Operation {
    /// All of them, by their words in a rule.
    pub const ALL: [(&'static str, Self); 10] = [
        ("READ", Read),
        ("WRITE", Write),
        ("CREATE", Create),
        ("DELETE", Delete),
        ("ALTER", Alter),
        ("DESCRIBE", Describe),
        ("CLUSTER_ACTION", ClusterAction),
        ("DESCRIBE_CONFIGS", DescribeConfigs),
        ("ALTER_CONFIGS", AlterConfigs),
        ("IDEMPOTENT_WRITE", IdempotentWrite),
    ];

    /// Its number in Kafka, which is also its bit in the fields that tell what somebody may do (KIP-430).
    pub const fn code(self) -> u32 {
        match self {
            Read => 3,
            Write => 4,
            Create => 5,
            Delete => 6,
            Alter => 7,
            Describe => 8,
            ClusterAction => 9,
            DescribeConfigs => 10,
            AlterConfigs => 11,
            IdempotentWrite => 12,
        }
    }
}

/// A set of operations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Operations(u32);

impl Operations {
    /// The set of these.
    pub fn of(operations: impl IntoIterator<Item = Operation>) -> Self {
        operations.into_iter().fold(Self::default(), |set, one| set.and(Self(1 << one.code())))
    }

    /// Every operation.
    pub fn every() -> Self {
        Self::of(Operation::ALL.map(|(_, operation)| operation))
    }

    /// Both sets.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether it is in it.
    pub const fn has(self, operation: Operation) -> bool {
        self.0 & 1 << operation.code() != 0
    }

    /// With what being allowed these brings along: who may read, write, delete or alter something may know of it, and who
    /// may change a configuration may see it. To deny something denies nothing else.
    #[must_use]
    pub fn with_implied(self) -> Self {
        let mut all = self;
        if [Read, Write, Delete, Alter].into_iter().any(|operation| self.has(operation)) {
            all = all.and(Self::of([Describe]));
        }
        if self.has(AlterConfigs) {
            all = all.and(Self::of([DescribeConfigs]));
        }
        all
    }

    /// As a bit field (KIP-430).
    pub const fn bits(self) -> u32 {
        self.0
    }
}

/// A kind of resource that rules are about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Resource {
    /// A topic.
    Topic,
    /// A consumer group, or a group of another kind.
    Group,
    /// A transactional id.
    TransactionalId,
    /// The cluster itself.
    Cluster,
}

impl Resource {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Topic, Self::Group, Self::TransactionalId, Self::Cluster];
}
