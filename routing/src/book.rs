//! Topic ids as clients hold them: what a topic is called by clients and what its cluster calls it, hashed.
//!
//! Real ids never pass: two routes may have one topic id, or clusters that were made from one image of a disk. A virtual id is
//! a function of the virtual cluster's declared id, the topic's name there, and its real id, so every instance and every build
//! gives the same. It changes when a topic is made anew, and only then. What it stands for is learnt from what clusters list.

use std::sync::Arc;

use dashmap::DashMap;
use sha2::{Digest, Sha256};
use skein_filters::{Cx, Edge, Memo};
use skein_protocol::ids::{ApiKey, Direction, RealTopicId, VirtualTopicId};
use skein_protocol::passage::{Edit, Value};
use skein_protocol::table::Fact;
use skein_protocol::varint::Inline;
use skein_protocol::{Meaning, Meanings};

use crate::graph::Target;
use crate::topology::ClusterIndex;

/// Topics that are remembered. With more, all are forgotten, and learnt again as clients name them.
const MOST: usize = 1 << 18;
/// APIs whose answers name a topic before they give its id.
const NAMED_FIRST: [ApiKey; 3] = [ApiKey::METADATA, ApiKey::CREATE_TOPICS, ApiKey::DELETE_TOPICS];

/// What a virtual id stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Known {
    /// The cluster.
    pub cluster: ClusterIndex,
    /// The topic's id there.
    pub real: RealTopicId,
    /// Its name, as clients see it.
    pub name: Arc<[u8]>,
}

/// The topic ids of a virtual cluster.
pub struct Book {
    /// The virtual cluster's declared id.
    id: Box<str>,
    target: Target,
    known: DashMap<VirtualTopicId, Known>,
    held: DashMap<(ClusterIndex, RealTopicId), VirtualTopicId>,
}

impl Book {
    /// An empty one, for the virtual cluster with the declared `id`, which leads to `target`.
    pub fn new(id: &str, target: Target) -> Self {
        Self { id: id.into(), target, known: DashMap::new(), held: DashMap::new() }
    }

    /// What an id stands for, as far as it is known.
    pub fn known(&self, id: VirtualTopicId) -> Option<Known> {
        self.known.get(&id).map(|known| known.clone())
    }

    /// The name of a topic, as clients see it.
    pub fn name(&self, id: VirtualTopicId) -> Option<Arc<[u8]>> {
        self.known.get(&id).map(|known| Arc::clone(&known.name))
    }

    /// What a topic of a cluster has as its id for clients, as far as it is known.
    pub fn held(&self, cluster: ClusterIndex, real: RealTopicId) -> Option<VirtualTopicId> {
        self.held.get(&(cluster, real)).map(|held| *held)
    }

    /// Whether ids in answers of this API come without a name in front by which they could be learnt.
    pub fn must_be_learnt(&self, key: ApiKey) -> bool {
        !NAMED_FIRST.contains(&key)
    }

    /// Whether an id in an answer of a cluster can be told to clients: it is one of theirs already, or stands for one.
    pub fn meets(&self, cluster: ClusterIndex, id: [u8; 16]) -> bool {
        self.held.contains_key(&(cluster, RealTopicId(id))) || self.known.contains_key(&VirtualTopicId(id))
    }

    /// A cluster lists a topic. `None`: clients do not see it.
    pub fn learn(&self, cluster: ClusterIndex, name: &[u8], real: RealTopicId) -> Option<VirtualTopicId> {
        if let Some(held) = self.held(cluster, real) {
            return Some(held);
        }
        let name = self.target.shown(cluster, name)?;
        let id = virtual_id(&self.id, &name, real);
        if self.known.len() >= MOST {
            self.known.clear();
            self.held.clear();
        }
        self.known.insert(id, Known { cluster, real, name: Arc::from(&*name) });
        self.held.insert((cluster, real), id);
        Some(id)
    }

    /// The edge that stands before a cluster: on its outer side ids are virtual.
    pub fn edge(self: &Arc<Self>, cluster: ClusterIndex) -> Arc<dyn Edge> {
        Arc::new(Ids { book: Arc::clone(self), cluster })
    }
}

/// The id that clients hold for a topic: the first half of a SHA-256, or the second where that means something to Kafka.
fn virtual_id(cluster: &str, name: &[u8], real: RealTopicId) -> VirtualTopicId {
    let mut hash = Sha256::new();
    for part in [cluster.as_bytes(), name] {
        hash.update(u64::try_from(part.len()).unwrap_or(u64::MAX).to_be_bytes());
        hash.update(part);
    }
    hash.update(real.0);
    let hash: [u8; 32] = hash.finalize().into();
    let half = |from: usize| hash.get(from..).and_then(|rest| rest.first_chunk().copied()).unwrap_or([0xff; 16]);
    let first: [u8; 16] = half(0);
    // 0 is "none", 1 is the metadata topic's.
    if u128::from_be_bytes(first) > 1 { VirtualTopicId(first) } else { VirtualTopicId(half(16)) }
}

/// See [`Book::edge`].
struct Ids {
    book: Arc<Book>,
    cluster: ClusterIndex,
}

impl Edge for Ids {
    fn wants(&self, key: ApiKey, way: Direction) -> Meanings {
        if way == Direction::ToClient && NAMED_FIRST.contains(&key) {
            return Meanings::of(&[Meaning::TopicName, Meaning::TopicId]);
        }
        Meanings::of(&[Meaning::TopicId])
    }

    fn growth(&self, _way: Direction) -> Option<u32> {
        None
    }

    fn edit(&self, memo: &mut Memo, cx: &Cx, fact: &'static Fact, value: Value<'_>) -> Edit {
        match (fact.meaning, cx.way, value) {
            (Meaning::TopicName, Direction::ToClient, value) if NAMED_FIRST.contains(&cx.key) => {
                memo.topic = if let Value::Text(name) = value { Inline::from_slice(name) } else { Inline::new() };
                Edit::Keep
            }
            (Meaning::TopicId, _, Value::Id(NONE)) => Edit::Keep,
            (Meaning::TopicId, Direction::ToBroker, Value::Id(id)) => {
                let known = self.book.known(VirtualTopicId(id)).filter(|known| known.cluster == self.cluster);
                // An id that no cluster has, since it is a hash: the broker says so.
                known.map_or(Edit::Keep, |known| Edit::Id(known.real.0))
            }
            (Meaning::TopicId, Direction::ToClient, Value::Id(id)) => {
                let real = RealTopicId(id);
                let learnt = || {
                    let named = NAMED_FIRST.contains(&cx.key) && !memo.topic.is_empty();
                    named.then(|| self.book.learn(self.cluster, &memo.topic, real))?
                };
                let held = self.book.held(self.cluster, real).or_else(learnt);
                if let Some(held) = held { Edit::Id(held.0) } else { self.unknown(cx.key, fact, id) }
            }
            _ => Edit::Keep,
        }
    }
}

const NONE: [u8; 16] = [0; 16];

impl Ids {
    /// A virtual id that a broker gives back as unknown stays; a real one that nobody has learnt is none of the client's.
    fn unknown(&self, key: ApiKey, fact: &Fact, id: [u8; 16]) -> Edit {
        let is_virtual = self.book.known.contains_key(&VirtualTopicId(id));
        match is_virtual {
            true => Edit::Keep,
            // Nothing is left out of what streams.
            false if fact.path.contains("[]") && !key.is_fetch() => Edit::Drop,
            false => Edit::Id(NONE),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_virtual_id_is_fixed_for_ever() {
        // sha256(00..06 "main-1" 00..06 "orders" 01 02 .. 10), as another program computes it.
        let real = RealTopicId([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]);
        assert_eq!(virtual_id("main-1", b"orders", real), VirtualTopicId(VECTOR));
    }
    const VECTOR: [u8; 16] =
        [0x73, 0x1d, 0x98, 0x56, 0x42, 0x9e, 0xc0, 0xc0, 0xde, 0x1b, 0x28, 0xfb, 0x2f, 0xa6, 0xbd, 0x7b];
}
