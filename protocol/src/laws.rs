//! What must hold of every message of the table, in every version and direction.

mod answers;
mod bounds;
mod drops;
mod growth;
mod merges;
mod peers;
mod records;
mod round_trips;
mod walks;

use std::collections::VecDeque;

use crate::edit::{Edit, Editor, Value};
use crate::ids::{ApiKey, Direction};
use crate::malformed::Malformed;
use crate::meaning::{Meaning, Meanings};
use crate::outline::Outline;
use crate::passage::Passage;
use crate::rewrite::{Rewritten, rewrite};
use crate::sample::feed::{Pieces, feed};
use crate::sample::{self, Dice, Expected, Recipe, Sample, SampleValue};
use crate::table::{Fact, Layout, Table};
use crate::varint::{Inline, narrow};

/// Runs `law` over frames of every message; a failure says which dice made the frame.
fn for_every_message(each: u64, recipe: &Recipe, mut law: impl FnMut(Case)) {
    for (key, version, direction) in sample::messages() {
        for round in 0..each {
            let seed = round << 32 | u64::from(key.0.unsigned_abs()) << 16 | u64::from(version.unsigned_abs());
            let mut dice = Dice::new(seed);
            let sample = sample::any(key, version, direction, recipe, &mut dice).unwrap();
            let layout = Table::get().layout(key, version, direction).unwrap();
            let name = format!("{key:?} v{version} {direction:?}, seed {seed:#x}");
            let shown = Shown(name.clone(), sample.frame.clone());
            law(Case { key, version, direction, layout, sample, dice, name });
            drop(shown);
        }
    }
}

/// Says which frame it was if a law panics.
struct Shown(String, Vec<u8>);

impl Drop for Shown {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("in {}: {:02x?}", self.0, self.1);
        }
    }
}

struct Case {
    key: ApiKey,
    version: i16,
    direction: Direction,
    layout: &'static Layout,
    sample: Sample,
    dice: Dice,
    name: String,
}

fn all() -> Meanings {
    sample::expected_meanings()
}

/// An editor made of a function; producer ids of batches stay.
struct By<F>(F);

impl<F: FnMut(&'static Fact, Value<'_>) -> Edit> Editor for By<F> {
    fn edit(&mut self, fact: &'static Fact, value: Value<'_>) -> Edit {
        (self.0)(fact, value)
    }

    fn producer_id(&mut self, _: i64) -> Option<i64> {
        None
    }
}

/// An editor that decides by `decide`.
fn by<F: FnMut(&'static Fact, Value<'_>) -> Edit>(decide: F) -> By<F> {
    By(decide)
}

fn keep(_: &'static Fact, _: Value<'_>) -> Edit {
    Edit::Keep
}

/// Checks that it sees just what is expected, in order; `change` decides.
struct Sees<F> {
    expected: VecDeque<Expected>,
    change: F,
}

impl<F: FnMut(&'static Fact, Value<'_>) -> Edit> Sees<F> {
    fn just(expected: &[Expected], change: F) -> Self {
        Self { expected: expected.iter().cloned().collect(), change }
    }
}

impl<F: FnMut(&'static Fact, Value<'_>) -> Edit> Editor for Sees<F> {
    fn edit(&mut self, fact: &'static Fact, value: Value<'_>) -> Edit {
        let next = self.expected.pop_front().expect("no field was expected any more");
        assert!(std::ptr::eq(next.fact, fact), "{} was expected, not {}", next.fact.path, fact.path);
        assert_eq!(next.value, sampled(value), "{}", fact.path);
        (self.change)(fact, value)
    }

    fn producer_id(&mut self, _: i64) -> Option<i64> {
        None
    }
}

fn sampled(value: Value<'_>) -> SampleValue {
    match value {
        Value::Int(number) => SampleValue::Int(number),
        Value::Id(id) => SampleValue::Id(id),
        Value::Text(text) => SampleValue::Text(text.to_vec()),
        Value::Null => SampleValue::Null,
    }
}

/// Another value of the same width; doing it twice restores it.
fn bijection(_: &'static Fact, value: Value<'_>) -> Edit {
    match value {
        Value::Int(number) => Edit::Int(!number),
        Value::Id(id) => Edit::Id(id.map(|byte| !byte)),
        Value::Text(text) => Edit::Text(text.iter().map(|byte| byte ^ 1).collect()),
        Value::Null => Edit::Null,
    }
}

fn text(bytes: &[u8]) -> Edit {
    Edit::Text(Inline::from_slice(bytes))
}

/// All but hosts: tags that hold addresses are blanked in a stream that cares for them.
fn streamed() -> Meanings {
    let told = Meaning::ALL.iter().filter(|meaning| all().has(**meaning) && **meaning != Meaning::Host);
    told.fold(Meanings::NONE, |some, meaning| some.and(Meanings::of(&[*meaning])))
}

/// What of a sample is [`streamed`].
fn streamed_of(sample: &Sample) -> Vec<Expected> {
    sample.expected.iter().filter(|field| streamed().has(field.fact.meaning)).cloned().collect()
}

/// A frame, passed through in pieces, all but hosts shown to `editor`.
fn passed<E: Editor>(
    layout: &'static Layout, frame: &[u8], editor: &mut E, pieces: Pieces<'_>,
) -> Result<Vec<u8>, Malformed> {
    let passage = Passage::new(layout, narrow(frame.len()), streamed());
    let mut out = Vec::new();
    feed(passage, frame, editor, &mut Outline::off(), pieces, &mut Vec::new(), &mut out)?;
    Ok(out)
}

/// A frame, rewritten.
fn rewritten<E: Editor>(layout: &'static Layout, frame: &[u8], editor: &mut E) -> Result<Vec<u8>, Malformed> {
    rewritten_by(layout, frame, all(), editor)
}

fn rewritten_by<E: Editor>(
    layout: &'static Layout, frame: &[u8], wanted: Meanings, editor: &mut E,
) -> Result<Vec<u8>, Malformed> {
    let mut frame = frame.to_vec();
    match rewrite(layout, wanted, &mut frame, editor, &mut Outline::off())? {
        Rewritten::InPlace => Ok(frame),
        Rewritten::Anew(anew) => Ok(anew),
    }
}
