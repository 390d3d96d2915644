//! What the cluster is: nodes, topics, leaders, versions, ids.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use uuid::Uuid;

use super::segments::Stored;
use crate::apis;

/// The versions of one API that the brokers say they speak.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// Any key, known or not.
    pub key: i16,
    /// Lowest version.
    pub min: i16,
    /// Highest version.
    pub max: i16,
}

/// A feature and its levels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Feature {
    /// As `transaction.version`.
    pub name: &'static str,
    /// Lowest level supported.
    pub min: i16,
    /// Highest level supported.
    pub max: i16,
    /// Level in force.
    pub finalized: i16,
}

/// One partition.
#[derive(Clone, Debug)]
pub struct Partition {
    /// A node id, or −1.
    pub leader: i32,
    /// Raised by the test when the leader moves.
    pub epoch: i32,
    /// What Fetch gives.
    pub stored: Stored,
    /// Offset of the next batch.
    pub end: i64,
}

/// One topic.
#[derive(Clone, Debug)]
pub struct Topic {
    /// A function of the name, unless changed.
    pub id: Uuid,
    /// By index.
    pub partitions: Vec<Partition>,
}

impl Topic {
    /// Empty partitions with these leaders.
    pub fn led_by(name: &str, leaders: &[i32]) -> Topic {
        let partition = |&leader: &i32| Partition { leader, epoch: 3, stored: Stored::Empty, end: 0 };
        Topic { id: topic_id(name), partitions: leaders.iter().map(partition).collect() }
    }
}

/// The id of a topic: the same in every cluster here.
pub fn topic_id(name: &str) -> Uuid {
    let low = u64::from(crc32c::crc32c(name.as_bytes()));
    Uuid::from_u64_pair(0x7465_7374_0000_4000, 0x8000_0000_0000_0000 | low)
}

/// The cluster as its brokers see it.
#[derive(Debug)]
pub struct Model {
    /// What Metadata says.
    pub cluster_id: String,
    /// Nodes that Metadata lists. A killed node stays until the test removes it.
    pub nodes: BTreeMap<i32, SocketAddr>,
    /// By name.
    pub topics: BTreeMap<String, Topic>,
    /// What ApiVersions says, true or not.
    pub versions: Vec<Range>,
    /// What ApiVersions says.
    pub features: Vec<Feature>,
    /// Who coordinates every group and transaction; `None`: the lowest node.
    pub coordinator: Option<i32>,
    /// The next real producer id.
    pub next_producer_id: i64,
    /// What InitProducerId gives as epoch.
    pub producer_epoch: i16,
    /// Ids of fetch sessions.
    pub(super) next_session: i32,
}

impl Model {
    pub(super) fn new(cluster_id: &str) -> Model {
        let feature = |name, min, max, finalized| Feature { name, min, max, finalized };
        Model {
            cluster_id: cluster_id.to_owned(),
            nodes: BTreeMap::new(),
            topics: BTreeMap::new(),
            versions: apis::APIS.iter().map(|api| Range { key: api.key, min: api.min, max: api.max }).collect(),
            features: vec![
                feature("metadata.version", 7, 30, 30),
                feature("transaction.version", 0, 2, 2),
                feature("group.version", 0, 1, 1),
            ],
            coordinator: None,
            next_producer_id: 4711,
            producer_epoch: 0,
            next_session: 1000,
        }
    }

    /// Says other versions of one key.
    pub fn offer(&mut self, key: i16, min: i16, max: i16) {
        self.withhold(key);
        self.versions.push(Range { key, min, max });
    }

    /// Says nothing of one key.
    pub fn withhold(&mut self, key: i16) {
        self.versions.retain(|range| range.key != key);
    }

    /// One partition of a topic that the test has made.
    ///
    /// # Panics
    /// There is none.
    pub fn partition(&mut self, topic: &str, index: usize) -> &mut Partition {
        let found = self.topics.get_mut(topic).and_then(|topic| topic.partitions.get_mut(index));
        found.unwrap_or_else(|| panic!("no partition {topic}-{index}"))
    }

    /// The node that coordinates everything.
    pub(super) fn coordinator(&self) -> i32 {
        self.coordinator.or_else(|| self.nodes.keys().next().copied()).unwrap_or(-1)
    }

    /// A topic by id or, if that is zero, by name.
    pub(super) fn find(&self, name: &str, id: Uuid) -> Option<(&String, &Topic)> {
        let wanted = |entry: &(&String, &Topic)| if id.is_nil() { entry.0 == name } else { entry.1.id == id };
        self.topics.iter().find(wanted)
    }
}
