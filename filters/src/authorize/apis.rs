//! What each API needs: facts, as Kafka's brokers and controllers ask their authorizers.
//!
//! An API without a row is one that Skein cannot judge, and is not offered. Source: KafkaApis, ControllerApis, AclApis and
//! ConfigHelper of Kafka 4, and the documentation of Kafka's operations by protocol.

use skein_protocol::code::Code;
use skein_protocol::ids::ApiKey;
use skein_protocol::{Meaning, Meanings};

use super::operation::Operation::{self, Alter, AlterConfigs, Create, Delete, Describe, DescribeConfigs, Read, Write};
use super::operation::Resource::{self, Group, Topic, TransactionalId};

/// What an API needs.
#[derive(Debug)]
pub struct Facts {
    /// The API.
    pub key: ApiKey,
    /// What it needs of the cluster.
    pub cluster: OfCluster,
    /// What it needs of each thing that a request names.
    pub asks: &'static [(Resource, Operation)],
    /// What a client needs of each thing that an answer lists, to see it there.
    pub shows: &'static [(Resource, Operation)],
}

/// What an API needs of the cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OfCluster {
    /// Nothing.
    Nothing,
    /// This, or all of it is refused.
    Needed(Operation),
    /// Who has this need not have it of each thing.
    Enough(Operation),
}

use OfCluster::{Enough, Needed, Nothing};

const fn row(
    key: i16, cluster: OfCluster, asks: &'static [(Resource, Operation)], shows: &'static [(Resource, Operation)],
) -> Facts {
    Facts { key: ApiKey(key), cluster, asks, shows }
}

/// One row for each API that can be judged, by key.
static FACTS: [Facts; 49] = [
    // A transactional id, where there is one; the index of a partition that is refused is spoilt on its way.
    row(0, Nothing, &[(TransactionalId, Write), (Topic, Write)], &[]),
    row(1, Nothing, &[(Topic, Read)], &[]),
    row(2, Nothing, &[(Topic, Describe)], &[]),
    // What may not be created is not: the request says so from version 4 on.
    row(3, Nothing, &[(Topic, Describe)], &[(Topic, Describe)]),
    row(8, Nothing, &[(Group, Read), (Topic, Read)], &[]),
    row(9, Nothing, &[(Group, Describe), (Topic, Describe)], &[(Topic, Describe)]),
    // By the type of the key.
    row(10, Nothing, &[(Group, Describe), (TransactionalId, Describe)], &[]),
    row(11, Nothing, &[(Group, Read)], &[]),
    row(12, Nothing, &[(Group, Read)], &[]),
    row(13, Nothing, &[(Group, Read)], &[]),
    row(14, Nothing, &[(Group, Read)], &[]),
    row(15, Nothing, &[(Group, Describe)], &[]),
    row(16, Enough(Describe), &[], &[(Group, Describe)]),
    row(19, Enough(Create), &[(Topic, Create)], &[]),
    row(20, Enough(Delete), &[(Topic, Delete)], &[]),
    row(21, Nothing, &[(Topic, Delete)], &[]),
    // Without a transactional id: IDEMPOTENT_WRITE of the cluster, which WRITE of any topic brings along (KIP-679).
    row(22, Nothing, &[(TransactionalId, Write)], &[]),
    row(23, Nothing, &[(Topic, Describe)], &[]),
    // One that is refused refuses the others (OPERATION_NOT_ATTEMPTED).
    row(24, Nothing, &[(TransactionalId, Write), (Topic, Write)], &[]),
    row(25, Nothing, &[(TransactionalId, Write), (Group, Read)], &[]),
    row(26, Nothing, &[(TransactionalId, Write)], &[]),
    row(28, Nothing, &[(TransactionalId, Write), (Group, Read), (Topic, Read)], &[]),
    row(29, Needed(Describe), &[], &[]),
    row(30, Needed(Alter), &[], &[]),
    row(31, Needed(Alter), &[], &[]),
    // By the type of the resource: that of brokers is the cluster's.
    row(32, Nothing, &[(Topic, DescribeConfigs), (Group, DescribeConfigs)], &[]),
    row(33, Nothing, &[(Topic, AlterConfigs), (Group, AlterConfigs)], &[]),
    row(34, Needed(Alter), &[], &[]),
    row(35, Needed(Describe), &[], &[]),
    row(37, Nothing, &[(Topic, Alter)], &[]),
    row(42, Nothing, &[(Group, Delete)], &[]),
    row(43, Needed(Alter), &[], &[]),
    row(44, Nothing, &[(Topic, AlterConfigs), (Group, AlterConfigs)], &[]),
    row(45, Needed(Alter), &[], &[]),
    row(46, Needed(Describe), &[], &[]),
    row(47, Nothing, &[(Group, Delete), (Topic, Read)], &[]),
    row(48, Needed(DescribeConfigs), &[], &[]),
    row(49, Needed(AlterConfigs), &[], &[]),
    row(50, Needed(Describe), &[], &[]),
    row(51, Needed(Alter), &[], &[]),
    row(57, Needed(Alter), &[], &[]),
    // Who is connected may know of the brokers.
    row(60, Nothing, &[], &[]),
    row(61, Nothing, &[(Topic, Read)], &[]),
    row(64, Needed(Alter), &[], &[]),
    row(65, Nothing, &[(TransactionalId, Describe)], &[(Topic, Describe)]),
    row(66, Nothing, &[], &[(TransactionalId, Describe)]),
    // One topic that may not be seen refuses the heartbeat; a pattern needs every topic.
    row(68, Nothing, &[(Group, Read), (Topic, Describe)], &[]),
    row(69, Nothing, &[(Group, Describe)], &[(Topic, Describe)]),
    row(74, Needed(DescribeConfigs), &[], &[]),
];

/// What an API needs; `None`: it cannot be judged.
pub fn facts(key: ApiKey) -> Option<&'static Facts> {
    let at = FACTS.binary_search_by_key(&key, |facts| facts.key).ok()?;
    FACTS.get(at)
}

/// Every API that can be judged.
pub fn all() -> impl Iterator<Item = &'static Facts> {
    FACTS.iter()
}

impl Facts {
    /// The operation that it needs of each thing of a kind that a request names.
    pub fn asks(&self, resource: Resource) -> Option<Operation> {
        of(self.asks, resource)
    }

    /// The operation that a client needs to see a thing of a kind in an answer.
    pub fn shows(&self, resource: Resource) -> Option<Operation> {
        of(self.shows, resource)
    }
}

fn of(pairs: &[(Resource, Operation)], resource: Resource) -> Option<Operation> {
    pairs.iter().find(|(of, _)| *of == resource).map(|(_, operation)| *operation)
}

/// The fields that name things of these kinds.
pub(super) fn fields(pairs: &[(Resource, Operation)]) -> Meanings {
    pairs.iter().fold(Meanings::NONE, |all, (resource, _)| {
        all.and(match resource {
            Topic => Meanings::of(&[Meaning::TopicName, Meaning::TopicId]),
            Group => Meanings::of(&[Meaning::GroupId]),
            TransactionalId => Meanings::of(&[Meaning::TransactionalId]),
            Resource::Cluster => Meanings::NONE,
        })
    })
}

/// What is told of something that may not be used.
pub(super) fn code(resource: Resource) -> Code {
    match resource {
        Topic => Code::TOPIC_AUTHORIZATION_FAILED,
        Group => Code::GROUP_AUTHORIZATION_FAILED,
        TransactionalId => Code::TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
        Resource::Cluster => Code::CLUSTER_AUTHORIZATION_FAILED,
    }
}

/// What a configuration is of, as `ConfigResource.Type` has it.
pub(super) fn config_resource(kind: i64) -> Resource {
    match kind {
        2 => Topic,
        32 => Group,
        // Brokers, their loggers, clients' metrics; and what nobody knows, which the broker refuses in its own words.
        _ => Resource::Cluster,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rows_are_in_order_and_each_is_found() {
        assert!(FACTS.windows(2).all(|pair| pair[0].key < pair[1].key));
        assert!(all().all(|row| facts(row.key).is_some_and(|found| std::ptr::eq(found, row))));
    }
}
