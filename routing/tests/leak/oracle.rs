//! What must come out, told without the edges: by the pairs of names alone.

use std::collections::BTreeSet;

use skein_filters::Address;
use skein_protocol::ids::{ApiKey, Direction};
use skein_protocol::meaning::Meaning;
use skein_protocol::sample::SampleValue;
use skein_protocol::table::{Fact, Role};

use crate::exceptions::Met;
use crate::marks::subscription;
use crate::reader::{Contents, Seen};
use crate::world::{NOBODY, Pair, World};

/// How a message goes through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Through {
    /// Complete: elements may be left out.
    Rewrite,
    /// As it arrives: tags with addresses are blanked.
    Passage,
}

/// A field of the input, and what it holds in the output.
#[derive(Clone, Debug)]
pub(crate) struct Becomes {
    pub(crate) before: Seen,
    pub(crate) after: SampleValue,
}

pub(crate) struct Oracle<'a> {
    world: &'a World,
    key: ApiKey,
    way: Direction,
    met: &'a mut Met,
    resource_type: i64,
    address: Option<&'a Address>,
    untransactional: bool,
}

/// What the fields of `input` become, those left out excepted.
pub(crate) fn expect(
    world: &World, (key, way): (ApiKey, Direction), through: Through, input: &Contents, met: &mut Met,
) -> Vec<Becomes> {
    let mut oracle = Oracle { world, key, way, met, resource_type: 0, address: None, untransactional: false };
    let mut dropped = BTreeSet::new();
    let mut out: Vec<Becomes> = Vec::new();
    for field in &input.fields {
        let blanked = through == Through::Passage && field.fact.path.starts_with("NodeEndpoints");
        if blanked || field.elements.iter().any(|element| dropped.contains(element)) {
            continue;
        }
        match oracle.after(field.fact, &field.value) {
            Some(after) => out.push(Becomes { before: field.clone(), after }),
            None => {
                let element = field.elements.last().unwrap();
                out.retain(|other| !other.before.elements.contains(element));
                dropped.insert(*element);
            }
        }
    }
    out
}

impl Oracle<'_> {
    /// The other side's value; itself if it has no pair.
    fn other<T: Clone + PartialEq>(&self, pairs: &[Pair<T>], value: &T) -> Option<T> {
        pairs.iter().find(|pair| pair.from(self.way) == value).map(|pair| pair.to(self.way).clone())
    }

    /// What a field becomes; `None`: the element that it stands in is left out.
    fn after(&mut self, fact: &Fact, value: &SampleValue) -> Option<SampleValue> {
        let passes = self.met.passes((self.key, self.way), fact);
        self.remember(fact, value);
        let after = match value {
            _ if passes => return Some(value.clone()),
            SampleValue::Int(number) if fact.meaning == Meaning::BrokerId => return self.node(fact, *number),
            SampleValue::Int(number) => SampleValue::Int(self.number(fact, *number)),
            SampleValue::Id(id) if fact.meaning == Meaning::TopicId && *id != [0; 16] => {
                SampleValue::Id(self.other(&self.world.ids, id).unwrap())
            }
            SampleValue::Text(_) if fact.meaning == Meaning::ClusterId && self.way == Direction::ToBroker => {
                SampleValue::Null
            }
            SampleValue::Text(text) => SampleValue::Text(self.text(fact, text)),
            SampleValue::Id(_) | SampleValue::Null | SampleValue::Any => value.clone(),
        };
        Some(after)
    }

    fn remember(&mut self, fact: &Fact, value: &SampleValue) {
        match (fact.meaning, value) {
            (Meaning::ResourceType, SampleValue::Int(number)) => self.resource_type = *number,
            (Meaning::TransactionalId, value) => self.untransactional = *value == SampleValue::Null,
            (Meaning::BrokerId, SampleValue::Int(number)) => {
                self.address = self.other(&self.world.nodes, number).and_then(|id| self.world.addresses.get(&id));
            }
            _ => {}
        }
    }

    fn node(&self, fact: &Fact, id: i64) -> Option<SampleValue> {
        let other = self.other(&self.world.nodes, &id);
        let known = match self.way {
            _ if id < 0 => id,
            Direction::ToBroker => other.unwrap_or(NOBODY),
            Direction::ToClient => match other.filter(|_| self.address.is_some()) {
                Some(other) => other,
                None if fact.role == Role::Alone => -1,
                None => return None,
            },
        };
        Some(SampleValue::Int(known))
    }

    fn number(&self, fact: &Fact, number: i64) -> i64 {
        let (to_broker, world) = (self.way == Direction::ToBroker, self.world);
        match fact.meaning {
            Meaning::Port if !to_broker => self.address.map_or(-1, |address| i64::from(address.port)),
            Meaning::ProducerId | Meaning::ProducerEpoch if to_broker && self.untransactional => -1,
            Meaning::ProducerId if number >= 0 => self.other(&world.producers, &number).unwrap(),
            Meaning::LeaderEpoch if number >= 0 => self.other(&world.epochs, &number).unwrap_or(-1),
            _ => number,
        }
    }

    fn text(&self, fact: &Fact, text: &Vec<u8>) -> Vec<u8> {
        let (world, to_client) = (self.world, self.way == Direction::ToClient);
        let named = || self.other(&world.names, text).unwrap();
        match fact.meaning {
            Meaning::TopicName | Meaning::TopicRegex if text.is_empty() => Vec::new(),
            Meaning::TopicName => named(),
            Meaning::ResourceName if self.resource_type == 2 && !text.is_empty() => named(),
            Meaning::ResourceName if matches!(self.resource_type, 4 | 8) && text != b"kafka-cluster" => {
                let id = std::str::from_utf8(text).unwrap().parse().unwrap();
                self.other(&world.nodes, &id).unwrap().to_string().into_bytes()
            }
            Meaning::TopicRegex => self.other(&world.patterns, text).unwrap(),
            Meaning::ClusterId if to_client => world.cluster_id.clone().into_bytes(),
            Meaning::Host if to_client => self.address.map_or(Vec::new(), |address| address.host.as_bytes().to_vec()),
            Meaning::TopicOpaque => self.subscription(text),
            _ => text.clone(),
        }
    }

    /// The names that it was made of are found by making each that there can be.
    fn subscription(&self, text: &[u8]) -> Vec<u8> {
        let count = self.world.names.len();
        let choices = (0..count).flat_map(|one| (0..count).map(move |two| [one, two]));
        let made = |names| subscription(self.world, names, |pair| pair.from(self.way));
        let names = choices.into_iter().find(|names| made(*names) == *text).unwrap();
        subscription(self.world, names, |pair| pair.to(self.way))
    }
}
