//! Of an answer that was cut in two the merged parts are the answer again, but for the order of its items.

use super::{Case, by, for_every_message, rewritten, sampled};
use crate::edit::{Edit, Value};
use crate::ids::Direction;
use crate::merge::merge;
use crate::outline::OUTLINED;
use crate::sample::{Recipe, SampleValue};
use crate::table::{Fact, Layout};

/// The depth of arrays that a field stands in.
fn depth(fact: &Fact) -> usize {
    fact.path.matches("[]").count()
}

/// What the fields hold, in no order. Within tags nothing is merged, so nothing is looked at there.
fn contents(layout: &'static Layout, frame: &[u8]) -> Vec<(String, SampleValue)> {
    let mut found = Vec::new();
    let mut reader = by(|fact: &'static Fact, value: Value<'_>| {
        found.push((fact.path.clone(), sampled(value)));
        Edit::Keep
    });
    rewritten(layout, frame, &mut reader).unwrap();
    found.sort_by_key(|(path, value)| (path.clone(), format!("{value:?}")));
    found
}

#[test]
fn two_parts_of_an_answer_are_merged_into_it() {
    let recipe = Recipe { tags: 0, nulls: 0, ..Recipe::PLAIN };
    let mut cut = 0;
    for_every_message(20, &recipe, |Case { layout, direction, sample, name, .. }| {
        if direction == Direction::ToBroker {
            return;
        }
        // The items of the outermost arrays, by the first thing that names each: those of one part have an even length.
        let named = |fact: &Fact| depth(fact) == 1 && OUTLINED.has(fact.meaning);
        let Some(by_what) = sample.expected.iter().find(|field| named(field.fact)).map(|field| field.fact) else {
            return;
        };
        let part = |kept: usize| {
            let mut editor = by(|fact: &'static Fact, value: Value<'_>| {
                let parity = usize::from(format!("{value:?}").bytes().fold(0u8, u8::wrapping_add) & 1);
                if std::ptr::eq(fact, by_what) && parity != kept { Edit::Drop } else { Edit::Keep }
            });
            rewritten(layout, &sample.frame, &mut editor).unwrap()
        };
        let (first, rest) = (part(0), part(1));
        let merged = merge(layout, &first, &rest).unwrap_or_else(|error| panic!("{name}: {error}"));
        // What stands beside the array is the same in both, and is there once.
        let beside = |path: &str| !path.starts_with(by_what.path.split("[]").next().unwrap());
        let mut must = contents(layout, &sample.frame);
        let mut is = contents(layout, &merged);
        must.retain(|(path, _)| !beside(path));
        is.retain(|(path, _)| !beside(path));
        assert_eq!(is, must, "{name}");
        cut += usize::from(first.len() != sample.frame.len() && rest.len() != sample.frame.len());
    });
    assert!(cut > 500, "{cut} answers were cut in two");
}
