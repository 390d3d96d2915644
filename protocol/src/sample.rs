//! Frames made by dice: valid ones of any message, with all that Kafka's encoding allows, and ones that were spoilt.
//!
//! A frame is made from the fields of the table, not from the layout that the walker runs, so that each checks the other.
//! The same seed makes the same frame.

pub mod batches;
pub mod dice;
pub mod feed;
pub mod ordeal;
pub mod spoil;
pub mod usual;
mod writer;

use std::sync::LazyLock;

use crate::ids::{ApiKey, Direction};
use crate::meaning::{Meaning, Meanings};
use crate::table::{Fact, Role, Table};
pub use dice::Dice;

/// The number behind a word of the command line, for programs that run until so many frames are through.
pub fn argument(name: &str, otherwise: u64) -> u64 {
    let mut words = std::env::args().skip_while(|word| word != name).skip(1);
    words.next().and_then(|word| word.parse().ok()).unwrap_or(otherwise)
}

/// A value that a field of a sample holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SampleValue {
    /// Whatever the dice say.
    Any,
    /// An integer; cut to the field's width.
    Int(i64),
    /// A uuid.
    Id([u8; 16]),
    /// A string, or bytes.
    Text(Vec<u8>),
    /// Null; an empty string where there is no null.
    Null,
}

/// What a field that means something holds, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expected {
    /// What is known of the field.
    pub fact: &'static Fact,
    /// Never [`SampleValue::Any`].
    pub value: SampleValue,
    /// Where its encoding starts, in bytes from the start of the frame.
    pub at: usize,
    /// Bytes of its encoding.
    pub len: usize,
}

/// A record batch in a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Batch {
    /// Where it starts.
    pub at: usize,
    /// Its bytes that are there.
    pub len: usize,
    /// What it is.
    pub kind: BatchKind,
    /// The producer id in its header; meaningless in an old message set.
    pub producer: i64,
}

/// What a record batch is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BatchKind {
    /// Magic 2, within a transaction.
    Transactional,
    /// Magic 2, without one.
    Plain,
    /// A message set of magic 0 or 1.
    Old,
    /// Magic 2, its end missing, as at the end of a Fetch answer's partition.
    Cut,
}

/// A length or count in a sample: where a liar would lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Length {
    /// Where it starts.
    pub at: usize,
    /// How it is written.
    pub written: Written,
}

/// How a length is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Written {
    /// Two bytes, big-endian.
    Two,
    /// Four bytes, big-endian.
    Four,
    /// A varint of so many bytes.
    Varint(u8),
}

/// A tag in a sample, number and size included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TagAt {
    /// Where the count of its section stands.
    pub count_at: usize,
    /// Where it starts.
    pub at: usize,
    /// Bytes of it.
    pub len: usize,
}

/// How often what is rare occurs, in 256ths.
#[derive(Clone, Copy, Debug)]
pub struct Recipe {
    /// A varint that takes more bytes than it needs.
    pub padded: u8,
    /// A tag that nobody knows, per section.
    pub unknown_tags: u8,
    /// A null, where it is allowed.
    pub nulls: u8,
    /// A known tag.
    pub tags: u8,
    /// Records that end in a batch that is cut off, in responses.
    pub cut: u8,
    /// Records that are an old message set.
    pub old: u8,
    /// Bytes behind the last field, in requests.
    pub trailing: u8,
    /// The most elements of an array.
    pub elements: u32,
}

impl Recipe {
    /// What well-behaved peers of today send.
    pub const PLAIN: Self =
        Self { padded: 0, unknown_tags: 0, nulls: 40, tags: 128, cut: 0, old: 0, trailing: 0, elements: 3 };
    /// All that is allowed.
    pub const WILD: Self =
        Self { padded: 24, unknown_tags: 32, nulls: 40, tags: 128, cut: 64, old: 32, trailing: 32, elements: 3 };
}

/// A frame without its length, and what it holds.
#[derive(Clone, Debug, Default)]
pub struct Sample {
    /// Its bytes, header included.
    pub frame: Vec<u8>,
    /// What each field that means something holds, in the order of the wire; record batches excepted.
    pub expected: Vec<Expected>,
    /// The record batches.
    pub batches: Vec<Batch>,
    /// The lengths and counts.
    pub lengths: Vec<Length>,
    /// The tags.
    pub tags: Vec<TagAt>,
    /// Bytes behind the last field.
    pub trailing: usize,
}

/// Every meaning whose fields [`Sample::expected`] lists.
pub fn expected_meanings() -> Meanings {
    let told = Meaning::ALL.iter().filter(|meaning| !matches!(meaning, Meaning::Plain | Meaning::Records));
    told.fold(Meanings::NONE, |all, meaning| all.and(Meanings::of(&[*meaning])))
}

/// The fact by which a marker is asked for the producer id of a record batch.
pub fn batch_producer() -> &'static Fact {
    static FACT: LazyLock<Fact> =
        LazyLock::new(|| Fact { meaning: Meaning::ProducerId, role: Role::Alone, path: "batch.producerId".to_owned() });
    &FACT
}

/// Makes a valid frame. `marker` says what each field that means something holds.
///
/// `None`: the table has no such message.
pub fn sample(
    key: ApiKey, version: i16, direction: Direction, recipe: &Recipe, dice: &mut Dice,
    marker: &mut dyn FnMut(&'static Fact) -> SampleValue,
) -> Option<Sample> {
    let message = Table::get().api(key)?.message(direction);
    let mut writer = writer::Writer::new(version, message.layout(version)?, recipe, dice, marker);
    writer.header(key);
    writer.structure(&message.fields);
    writer.trail();
    Some(writer.finish())
}

/// The same with dice for every value.
pub fn any(key: ApiKey, version: i16, direction: Direction, recipe: &Recipe, dice: &mut Dice) -> Option<Sample> {
    sample(key, version, direction, recipe, dice, &mut |_| SampleValue::Any)
}

/// Every message of the table.
pub fn messages() -> impl Iterator<Item = (ApiKey, i16, Direction)> {
    Table::get().apis().flat_map(|api| {
        [Direction::ToBroker, Direction::ToClient].into_iter().flat_map(move |direction| {
            let versions = api.message(direction).versions;
            (versions.from..=versions.to).map(move |version| (api.key, version, direction))
        })
    })
}
