//! The field table: what every message of every API looks like, in every version.
//!
//! `wire.table` is made from Kafka's own message definitions by `cargo xtask wire-table`. It is read once per process
//! into an immutable [`Table`]; for each (key, version, direction) a flat program, the [`Layout`], is compiled, which the
//! walker runs.

mod compile;
mod parse;

use std::collections::BTreeMap;
use std::sync::LazyLock;

pub(crate) use compile::{Encoding, Form, Nullable, Op, Place};

use crate::ids::{ApiKey, Direction};
use crate::meaning::{Meaning, Meanings};

/// The text that the generator wrote.
const TEXT: &str = include_str!("../wire.table");

/// A range of versions, both ends included; empty if `from > to`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Versions {
    /// The first version.
    pub from: i16,
    /// The last version.
    pub to: i16,
}

impl Versions {
    /// No version.
    pub const NONE: Self = Self { from: 1, to: 0 };

    /// Whether `version` lies in it.
    pub const fn has(self, version: i16) -> bool {
        self.from <= version && version <= self.to
    }

    /// What two ranges share; `None` if nothing.
    pub fn meet(self, other: Self) -> Option<Self> {
        let both = Self { from: self.from.max(other.from), to: self.to.min(other.to) };
        (both.from <= both.to).then_some(both)
    }
}

/// How a value is encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// So many bytes: bool, the integers, float64, uuid.
    Fixed(u8),
    /// A string.
    Text,
    /// Bytes that nobody reads.
    Blob,
    /// Record batches.
    Records,
    /// Fields in order.
    Struct,
}

/// Whether there is one value or an array of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arity {
    /// One.
    One,
    /// An array.
    Many,
}

/// What a field holds when nobody has set it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Default {
    /// Zero, false, empty.
    Empty,
    /// Null.
    Null,
    /// A number.
    Number(i64),
}

/// A field of a message, or of a struct within one.
#[derive(Clone, Debug)]
pub struct Field {
    /// Its name, as Kafka spells it.
    pub name: String,
    /// Its encoding.
    pub kind: Kind,
    /// One or an array.
    pub arity: Arity,
    /// The versions that have it.
    pub versions: Versions,
    /// The versions in which it may be null.
    pub nullable: Versions,
    /// Its tag number, and the versions in which it is a tagged field.
    pub tag: Option<(u32, Versions)>,
    /// Its default.
    pub default: Default,
    /// What it is; the table's facts about it have this number.
    pub fact: &'static Fact,
    /// The fields of a struct.
    pub fields: Vec<Field>,
}

/// How a field stands among its neighbours: what may be done if its value has no place on the other side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It is one of several facts about something: only its value can be changed.
    Alone,
    /// It is an element of an array of such values, and can be left out.
    Element,
    /// It names what an element of an array is about, a broker with its address, and the element can be left out with it.
    Listed,
}

/// What is known of a field in all versions. Each field of each message has one, at one address.
#[derive(Debug, PartialEq, Eq)]
pub struct Fact {
    /// What it is.
    pub meaning: Meaning,
    /// How it stands among its neighbours.
    pub role: Role,
    /// Its path in the message, dotted, with `[]` behind arrays.
    pub path: String,
}

/// One direction of an API.
#[derive(Debug)]
pub struct Message {
    /// The versions that exist.
    pub versions: Versions,
    /// The first flexible version; above `versions.to` if there is none.
    pub flexible_from: i16,
    /// Its fields, in the order of the wire.
    pub fields: Vec<Field>,
    layouts: Vec<Layout>,
}

impl Message {
    /// Whether `version` has compact lengths and tagged fields (KIP-482).
    pub fn is_flexible(&self, version: i16) -> bool {
        version >= self.flexible_from
    }

    /// The program of one version.
    pub fn layout(&self, version: i16) -> Option<&Layout> {
        let index = usize::try_from(version.checked_sub(self.versions.from)?).ok()?;
        self.layouts.get(index)
    }
}

/// An API: its name, and its two messages.
#[derive(Debug)]
pub struct Api {
    /// Its key.
    pub key: ApiKey,
    /// Its name: `Produce`, `FindCoordinator`.
    pub name: String,
    /// The request.
    pub request: Message,
    /// The response.
    pub response: Message,
}

impl Api {
    /// The message of one direction.
    pub fn message(&self, direction: Direction) -> &Message {
        match direction {
            Direction::ToBroker => &self.request,
            Direction::ToClient => &self.response,
        }
    }
}

/// The program of one (key, version, direction), header included.
#[derive(Debug)]
pub struct Layout {
    pub(crate) ops: Vec<Op>,
    pub(crate) facts: Vec<&'static Fact>,
    pub(crate) tags: Vec<Vec<KnownTag>>,
    pub(crate) runs: Vec<Run>,
    direction: Direction,
    meanings: Meanings,
    flexible: bool,
}

impl Layout {
    /// Every meaning that a field of it has.
    pub fn meanings(&self) -> Meanings {
        self.meanings
    }

    /// Whether it ends in tagged fields, so that a filler has a place.
    pub fn is_flexible(&self) -> bool {
        self.flexible
    }

    /// Whether it lists brokers: an entry that clients cannot reach would have to be left out.
    pub fn lists_brokers(&self) -> bool {
        self.facts.iter().any(|fact| fact.meaning == Meaning::BrokerId && fact.role != Role::Alone)
    }

    /// Which way it goes.
    pub fn direction(&self) -> Direction {
        self.direction
    }
}

/// A tag that a section may hold.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KnownTag {
    pub(crate) number: u32,
    pub(crate) start: u16,
    pub(crate) holds: Meanings,
}

/// Neighbours of fixed widths.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run {
    /// All their bytes.
    pub(crate) bytes: u32,
    /// The op behind theirs.
    pub(crate) end: u16,
    pub(crate) holds: Meanings,
}

/// All APIs.
#[derive(Debug)]
pub struct Table {
    apis: BTreeMap<i16, Api>,
}

impl Table {
    /// The table of this build.
    ///
    /// It is a constant in all but its making: text that was checked in, read once.
    pub fn get() -> &'static Self {
        static TABLE: LazyLock<Table> = LazyLock::new(|| {
            #[expect(clippy::expect_used, reason = "the text is part of the build, and a test reads all of it")]
            parse::table(TEXT).expect("the checked-in table is well-formed")
        });
        &TABLE
    }

    /// An API by its key.
    pub fn api(&self, key: ApiKey) -> Option<&Api> {
        self.apis.get(&key.0)
    }

    /// Every API, by key.
    pub fn apis(&self) -> impl Iterator<Item = &Api> {
        self.apis.values()
    }

    /// The program of a message.
    pub fn layout(&self, key: ApiKey, version: i16, direction: Direction) -> Option<&Layout> {
        self.api(key)?.message(direction).layout(version)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_directions_have_the_same_versions() {
        for api in Table::get().apis() {
            assert_eq!(api.request.versions, api.response.versions, "{}", api.name);
            assert_eq!(api.request.flexible_from, api.response.flexible_from, "{}", api.name);
        }
    }

    #[test]
    fn every_version_has_a_layout_and_no_other_has() {
        for api in Table::get().apis() {
            for direction in [Direction::ToBroker, Direction::ToClient] {
                let message = api.message(direction);
                for version in -1..=message.versions.to + 1 {
                    assert_eq!(
                        message.layout(version).is_some(),
                        message.versions.has(version),
                        "{} {version}",
                        api.name
                    );
                }
            }
        }
    }
}
