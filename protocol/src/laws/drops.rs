//! An element that is left out is gone, and nothing else is: counts and tag sizes follow.

use super::{Case, by, for_every_message, rewritten, sampled};
use crate::edit::{Edit, Value};
use crate::ids::{ApiKey, Direction};
use crate::meaning::Meaning;
use crate::sample::{Dice, Expected, Recipe, SampleValue};
use crate::table::{Fact, Role, Table};

fn can_go(fact: &Fact) -> bool {
    matches!(fact.role, Role::Element | Role::Listed)
}

/// What is left of `expected` if the elements named by the fields that `goes` says are left out.
fn left(expected: &[Expected], goes: &[bool]) -> Vec<(&'static Fact, SampleValue)> {
    let mut left = Vec::new();
    let mut gone: Option<&'static Fact> = None;
    for (field, goes) in expected.iter().zip(goes) {
        if let Some(fact) = gone {
            let element = &fact.path[..fact.path.rfind("[]").map_or(0, |at| at + 2)];
            let within = field.fact.path.starts_with(element) && !std::ptr::eq(fact, field.fact);
            if within && fact.role == Role::Listed {
                continue;
            }
        }
        gone = goes.then_some(field.fact);
        if !goes {
            left.push((field.fact, field.value.clone()));
        }
    }
    left
}

#[test]
fn elements_that_are_left_out_are_gone_and_no_others_are() {
    let mut dropped = 0;
    for_every_message(20, &Recipe::WILD, |Case { layout, sample, mut dice, name, .. }| {
        let goes: Vec<bool> = sample.expected.iter().map(|field| can_go(field.fact) && dice.chance(128)).collect();
        dropped += goes.iter().filter(|goes| **goes).count();
        let expected = left(&sample.expected, &goes);
        // Values are the decision's key: a field within an element that is gone is not asked about.
        let mut asked = sample.expected.iter().zip(&goes);
        let mut editor = by(|fact: &'static Fact, value: Value<'_>| {
            let (_, goes) = asked
                .find(|(field, _)| std::ptr::eq(field.fact, fact) && field.value == sampled(value))
                .expect("fields come in order");
            if *goes { Edit::Drop } else { Edit::Keep }
        });
        let out = rewritten(layout, &sample.frame, &mut editor).unwrap();
        let mut found = Vec::new();
        let mut reader = by(|fact: &'static Fact, value: Value<'_>| {
            found.push((fact, sampled(value)));
            Edit::Keep
        });
        rewritten(layout, &out, &mut reader).unwrap_or_else(|error| panic!("{name}: {error}"));
        let paths = |fields: &[(&'static Fact, SampleValue)]| -> Vec<(String, SampleValue)> {
            fields.iter().map(|(fact, value)| (fact.path.clone(), value.clone())).collect()
        };
        assert_eq!(paths(&found), paths(&expected), "{name}");
    });
    assert!(dropped > 1000, "{dropped} were");
}

#[test]
fn a_broker_is_left_out_of_metadata_and_of_replicas() {
    let layout = Table::get().layout(ApiKey::METADATA, 9, Direction::ToClient).unwrap();
    let broker = |id: u8, host: &[u8]| {
        let length = u8::try_from(host.len()).unwrap() + 1;
        [&[0, 0, 0, id, length][..], host, &[0, 0, 0x23, 0x84, 0, 0]].concat()
    };
    let frame = |brokers: &[Vec<u8>], replicas: &[u8]| {
        let count = u8::try_from(brokers.len()).unwrap() + 1;
        let mut frame = [&[0, 0, 0, 7, 0, 0, 0, 0, 0, count][..], &brokers.concat()].concat();
        frame.extend([0, 0, 0, 0, 1, 2, 0, 0, 2, b't', 0, 2, 0, 0, 0, 0, 0, 3, 0, 0, 0, 1, 0, 0, 0, 9]);
        for _ in 0..2 {
            frame.push(u8::try_from(replicas.len()).unwrap() + 1);
            replicas.iter().for_each(|id| frame.extend([0, 0, 0, *id]));
        }
        frame.extend([1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        frame
    };
    let before = frame(&[broker(1, b"one"), broker(2, b"two"), broker(3, b"three")], &[1, 2, 3]);
    let after = frame(&[broker(1, b"one"), broker(3, b"three")], &[1, 3]);
    let mut editor = by(|fact: &'static Fact, value: Value<'_>| match (fact.meaning, value) {
        (Meaning::BrokerId, Value::Int(2)) => Edit::Drop,
        (Meaning::Host, Value::Text(b"two")) => panic!("the broker is gone"),
        _ => Edit::Keep,
    });
    assert_eq!(rewritten(layout, &before, &mut editor).unwrap(), after);
}

#[test]
fn an_endpoint_is_left_out_of_a_tag() {
    let layout = Table::get().layout(ApiKey::PRODUCE, 10, Direction::ToClient).unwrap();
    let one = [0, 0, 0, 1, 4, b'o', b'n', b'e', 0, 0, 0, 9, 0, 0];
    let two = [0, 0, 0, 2, 4, b't', b'w', b'o', 0, 0, 0, 9, 0, 0];
    // Padded sizes are written anew.
    let before = [&[0, 0, 0, 7, 0, 1, 0, 0, 0, 0, 2, 0, 0x9d, 0x00, 3][..], &one, &two, &[120, 1, 0xaa]].concat();
    let after = [&[0, 0, 0, 7, 0, 1, 0, 0, 0, 0, 2, 0, 15, 2][..], &two, &[120, 1, 0xaa]].concat();
    let mut editor = by(|_: &'static Fact, value: Value<'_>| match value {
        Value::Int(1) => Edit::Drop,
        _ => Edit::Keep,
    });
    assert_eq!(rewritten(layout, &before, &mut editor).unwrap(), after);
}

#[test]
fn an_array_that_loses_all_its_elements_is_empty_and_not_null() {
    let layout = Table::get().layout(ApiKey::METADATA, 9, Direction::ToClient).unwrap();
    let one = [0, 0, 0, 1, 2, b'h', 0, 0, 0, 9, 0, 0];
    let before = [&[0, 0, 0, 7, 0, 0, 0, 0, 0, 2][..], &one, &[0, 0, 0, 0, 1, 1, 0x80, 0, 0, 0, 0]].concat();
    let after = [&[0, 0, 0, 7, 0, 0, 0, 0, 0, 1][..], &[0, 0, 0, 0, 1, 1, 0x80, 0, 0, 0, 0]].concat();
    let mut editor = by(|fact: &'static Fact, _: Value<'_>| if can_go(fact) { Edit::Drop } else { Edit::Keep });
    assert_eq!(rewritten(layout, &before, &mut editor).unwrap(), after);
}

#[test]
fn a_stream_leaves_nothing_out() {
    let layout = Table::get().layout(ApiKey::METADATA, 9, Direction::ToClient).unwrap();
    for seed in 0..40 {
        let mut dice = Dice::new(seed);
        let sample = crate::sample::any(ApiKey::METADATA, 9, Direction::ToClient, &Recipe::PLAIN, &mut dice).unwrap();
        let has = sample.expected.iter().any(|field| can_go(field.fact));
        let mut editor = by(|fact: &'static Fact, _: Value<'_>| if can_go(fact) { Edit::Drop } else { Edit::Keep });
        let out = super::passed(layout, &sample.frame, &mut editor, crate::sample::feed::Pieces::Whole);
        assert_eq!(out.is_err(), has);
    }
}
