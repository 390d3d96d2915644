//! Marked values: what a peer on one side would put into each field.

use skein_protocol::ids::{ApiKey, Direction};
use skein_protocol::meaning::Meaning;
use skein_protocol::sample::{Dice, SampleValue};
use skein_protocol::table::Fact;

use crate::world::{FOREIGN, Pair, REAL_CLUSTER, REAL_HOSTS, REAL_PORTS, SENT_CLUSTER, World};

/// Kinds of resource.
const TOPIC: i64 = 2;
const GROUP: i64 = 3;
const BROKER: i64 = 4;
const BROKER_LOGGER: i64 = 8;

/// Fills the fields of one message.
pub(crate) struct Marker<'a> {
    pub(crate) world: &'a World,
    pub(crate) key: ApiKey,
    pub(crate) way: Direction,
    pub(crate) dice: Dice,
    /// Whether there are brokers that clients cannot reach, or nodes of other routes.
    pub(crate) strangers: bool,
    pub(crate) resource_type: i64,
}

impl Marker<'_> {
    fn one<T: Clone>(&mut self, pairs: &[Pair<T>]) -> T {
        pairs[self.dice.index(pairs.len())].from(self.way).clone()
    }

    fn rarely(&mut self) -> bool {
        self.dice.chance(16)
    }

    pub(crate) fn mark(&mut self, fact: &Fact) -> SampleValue {
        match fact.meaning {
            Meaning::TopicName | Meaning::TopicRegex | Meaning::ClusterId if self.rarely() => SampleValue::Null,
            Meaning::BrokerId | Meaning::LeaderEpoch | Meaning::ProducerId if self.rarely() => SampleValue::Int(-1),
            Meaning::TopicId if self.rarely() => SampleValue::Id([0; 16]),
            Meaning::Host if self.rarely() => SampleValue::Text(Vec::new()),
            Meaning::TopicName => SampleValue::Text(self.one(&self.world.names)),
            Meaning::TopicId => SampleValue::Id(self.one(&self.world.ids)),
            Meaning::BrokerId => SampleValue::Int(self.node()),
            Meaning::ReplicaId => SampleValue::Int(-1),
            Meaning::Host => SampleValue::Text(self.dice.one_of(&REAL_HOSTS, "").into()),
            Meaning::Port => SampleValue::Int(self.dice.one_of(&REAL_PORTS, 0)),
            Meaning::ClusterId if self.way == Direction::ToClient => SampleValue::Text(REAL_CLUSTER.into()),
            Meaning::ClusterId => SampleValue::Text(SENT_CLUSTER.into()),
            Meaning::ProducerId => SampleValue::Int(self.one(&self.world.producers)),
            Meaning::ProducerEpoch => SampleValue::Int(7),
            Meaning::TransactionalId if self.dice.chance(64) => SampleValue::Null,
            Meaning::LeaderEpoch => SampleValue::Int(self.epoch()),
            Meaning::ResourceType => {
                let acl = (29..=31).contains(&self.key.0);
                let last = if acl { GROUP } else { BROKER_LOGGER };
                self.resource_type = self.dice.one_of(&[TOPIC, TOPIC, BROKER, last], TOPIC);
                SampleValue::Int(self.resource_type)
            }
            Meaning::ResourceName => self.resource(),
            Meaning::KeyType => SampleValue::Int(i64::from(self.dice.below(2))),
            Meaning::TopicRegex => SampleValue::Text(self.one(&self.world.patterns)),
            Meaning::TopicOpaque => SampleValue::Text(self.opaque(fact)),
            _ => SampleValue::Any,
        }
    }

    fn node(&mut self) -> i64 {
        let known = if self.strangers && self.way == Direction::ToClient { 3 } else { 2 };
        match self.way {
            Direction::ToBroker if self.strangers && self.dice.chance(64) => FOREIGN,
            _ => *self.world.nodes[self.dice.index(known)].from(self.way),
        }
    }

    fn epoch(&mut self) -> i64 {
        match self.way {
            Direction::ToBroker if self.strangers && self.dice.chance(32) => 5,
            _ => self.one(&self.world.epochs),
        }
    }

    fn resource(&mut self) -> SampleValue {
        let acl = (29..=31).contains(&self.key.0);
        let kind = self.resource_type;
        match kind {
            TOPIC if self.rarely() => SampleValue::Null,
            TOPIC => SampleValue::Text(self.one(&self.world.names)),
            BROKER if acl => SampleValue::Text(b"kafka-cluster".to_vec()),
            BROKER | BROKER_LOGGER => SampleValue::Text(self.one(&self.world.nodes).to_string().into_bytes()),
            _ => SampleValue::Any,
        }
    }

    /// What clients say to each other: a subscription, whose first names brokers read, or an assignment. All else is in
    /// names as clients know them.
    fn opaque(&mut self, fact: &Fact) -> Vec<u8> {
        let read = fact.path.ends_with("Metadata");
        let names = [(); 2].map(|()| self.dice.index(self.world.names.len()));
        subscription(self.world, names, |pair| if read { pair.from(self.way) } else { &pair.client })
    }
}

/// Version 1, two topics, no user data, and a partition that is owned.
pub(crate) fn subscription(world: &World, names: [usize; 2], side: impl Fn(&Pair<Vec<u8>>) -> &Vec<u8>) -> Vec<u8> {
    let mut out = vec![0, 1, 0, 0, 0, 2];
    let name = |out: &mut Vec<u8>, name: &[u8]| {
        out.extend(u16::try_from(name.len()).unwrap().to_be_bytes());
        out.extend(name);
    };
    for at in names {
        name(&mut out, side(&world.names[at]));
    }
    out.extend([0xff, 0xff, 0xff, 0xff, 0, 0, 0, 1]);
    name(&mut out, &world.names[names[0]].client);
    out.extend([0, 0, 0, 1, 0, 0, 0, 0]);
    out
}
