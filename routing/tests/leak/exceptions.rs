//! What is not translated, or cannot be translated back: all of it, with reasons. Each row must be met.

use std::collections::BTreeSet;

use skein_protocol::ids::{ApiKey, Direction};
use skein_protocol::meaning::Meaning;
use skein_protocol::sample::SampleValue;
use skein_protocol::table::Fact;

use crate::reader::Batch;
use crate::world::NOBODY;

/// What becomes of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rule {
    /// It crosses unchanged, whatever it holds.
    Passes,
    /// It is replaced, and nothing tells what it was.
    Lost,
    /// The same, where it is replaced with this number.
    LostAs(i64),
}

pub(crate) struct Exception {
    /// The APIs; none: all.
    keys: &'static [i16],
    way: Direction,
    meaning: Meaning,
    /// What the field's path ends with.
    path: &'static str,
    rule: Rule,
    why: &'static str,
}

use Direction::{ToBroker, ToClient};
use Rule::{Lost, LostAs, Passes};

const fn all(way: Direction, meaning: Meaning, rule: Rule, why: &'static str) -> Exception {
    Exception { keys: &[], way, meaning, path: "", rule, why }
}

const fn of(
    keys: &'static [i16], way: Direction, meaning: Meaning, path: &'static str, rule: Rule, why: &'static str,
) -> Exception {
    Exception { keys, way, meaning, path, rule, why }
}

#[rustfmt::skip]
pub(crate) const EXCEPTIONS: &[Exception] = &[
    of(&[1], ToClient, Meaning::ProducerId, "AbortedTransactions[].ProducerId", Passes,
        "clients compare them only with the producer ids of the batches beside them, which pass too"),
    of(&[14], ToBroker, Meaning::TopicOpaque, "Assignment", Passes,
        "the leader speaks to other clients, in names as clients know them; no broker reads it"),
    of(&[14], ToClient, Meaning::TopicOpaque, "Assignment", Passes, "the same, on its way back"),
    of(&[15], ToClient, Meaning::TopicOpaque, "MemberAssignment", Passes, "the same, as a group's description shows it"),
    all(ToClient, Meaning::Host, Lost, "the address that is declared for the broker, or none"),
    all(ToClient, Meaning::Port, Lost, "the address that is declared for the broker, or none"),
    all(ToClient, Meaning::ClusterId, Lost, "every cluster behind it is one virtual cluster"),
    all(ToBroker, Meaning::ClusterId, Lost, "a broker that is not told the cluster does not check it"),
    all(ToClient, Meaning::BrokerId, LostAs(-1), "a broker without a declared address is none"),
    all(ToBroker, Meaning::BrokerId, LostAs(NOBODY), "a node of another route is no broker of this cluster"),
    all(ToBroker, Meaning::LeaderEpoch, LostAs(-1), "an epoch of an earlier generation is none of this cluster"),
    of(&[22], ToBroker, Meaning::ProducerId, "", LostAs(-1), "without a transactional id a broker allocates a new one"),
    of(&[22], ToBroker, Meaning::ProducerEpoch, "", LostAs(-1), "it goes with the producer id"),
];

/// Record batches whose producer ids pass.
pub(crate) fn batch_passes(key: ApiKey, way: Direction, batch: &Batch) -> bool {
    // Fetched ones are compared only with the aborted transactions beside them. Outside a transaction a broker does not
    // check who issued an id, and a tagged one collides with no other.
    way == ToClient && key.is_fetch() || !batch.transactional
}

/// APIs of which a disguise refuses what it cannot translate.
pub(crate) const REFUSED: &[(i16, &str)] = &[
    (18, "the proxy answers it itself: no path is taken"),
    (74, "the names stand in front of the types that say what they are names of"),
];

/// The rows that were met.
#[derive(Default)]
pub(crate) struct Met(BTreeSet<usize>);

impl Met {
    fn find(&mut self, (key, way): (ApiKey, Direction), fact: &Fact, holds: impl Fn(Rule) -> bool) -> bool {
        let found = EXCEPTIONS.iter().position(|row| {
            let named = row.keys.is_empty() || row.keys.contains(&key.0);
            named && row.way == way && row.meaning == fact.meaning && fact.path.ends_with(row.path) && holds(row.rule)
        });
        self.0.extend(found);
        found.is_some()
    }

    /// Whether a field crosses unchanged.
    pub(crate) fn passes(&mut self, at: (ApiKey, Direction), fact: &Fact) -> bool {
        self.find(at, fact, |rule| rule == Passes)
    }

    /// Whether nothing tells of a field what it was before it became `now`.
    pub(crate) fn lost(&mut self, at: (ApiKey, Direction), fact: &Fact, now: &SampleValue) -> bool {
        self.find(at, fact, |rule| match rule {
            Passes => false,
            Lost => true,
            LostAs(number) => *now == SampleValue::Int(number),
        })
    }

    /// That every row has its use.
    pub(crate) fn all(&self) {
        for (at, row) in EXCEPTIONS.iter().enumerate() {
            assert!(self.0.contains(&at), "nothing needs the exception of {:?} {}: {}", row.meaning, row.path, row.why);
        }
    }
}
