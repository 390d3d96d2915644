//! No edit is the input, bit for bit; an edit and its inverse are; and it makes no difference how a frame arrives.

use super::{
    Case, Sees, all, bijection, by, for_every_message, keep, passed, rewritten, rewritten_by, streamed, streamed_of,
    text,
};
use crate::edit::{Edit, Value};
use crate::outline::Outline;
use crate::rewrite::{Rewritten, rewrite};
use crate::sample::feed::Pieces;
use crate::sample::{Recipe, SampleValue};
use crate::table::Fact;

#[test]
fn what_nobody_edits_is_the_input() {
    for_every_message(10, &Recipe::WILD, |Case { layout, sample, name, .. }| {
        assert_eq!(rewritten(layout, &sample.frame, &mut by(keep)).unwrap(), sample.frame, "{name}");
        assert_eq!(passed(layout, &sample.frame, &mut by(keep), Pieces::Whole).unwrap(), sample.frame, "{name}");
    });
}

#[test]
fn it_makes_no_difference_in_which_pieces_a_frame_arrives() {
    for_every_message(8, &Recipe::WILD, |Case { layout, sample, mut dice, name, .. }| {
        let pass = |pieces: Pieces<'_>| passed(layout, &sample.frame, &mut by(bijection), pieces).unwrap();
        let whole = pass(Pieces::Whole);
        assert_eq!(pass(Pieces::Bytes), whole, "{name}");
        for _ in 0..3 {
            assert_eq!(pass(Pieces::Random(&mut dice)), whole, "{name}");
        }
    });
}

#[test]
fn what_is_changed_and_changed_back_is_the_input() {
    for_every_message(10, &Recipe::WILD, |Case { layout, sample, mut dice, name, .. }| {
        let changed = rewritten(layout, &sample.frame, &mut Sees::just(&sample.expected, bijection)).unwrap();
        assert_eq!(changed.len(), sample.frame.len(), "{name}");
        for field in &sample.expected {
            let (from, to) = (field.at, field.at + field.len);
            let contents = field.value != SampleValue::Null && field.value != SampleValue::Text(Vec::new());
            assert_eq!(changed[from..to] != sample.frame[from..to], contents, "{name}: {}", field.fact.path);
        }
        assert_eq!(rewritten(layout, &changed, &mut by(bijection)).unwrap(), sample.frame, "{name}");
        let mut editor = Sees::just(&streamed_of(&sample), bijection);
        let changed = rewritten_by(layout, &sample.frame, streamed(), &mut by(bijection)).unwrap();
        let out = passed(layout, &sample.frame, &mut editor, Pieces::Random(&mut dice)).unwrap();
        assert_eq!(out, changed, "{name}");
        assert!(editor.expected.is_empty(), "{name}");
    });
}

#[test]
fn a_frame_that_keeps_its_length_is_changed_in_place() {
    for_every_message(2, &Recipe::WILD, |Case { layout, sample, name, .. }| {
        let mut frame = sample.frame.clone();
        let done = rewrite(layout, all(), &mut frame, &mut by(bijection), &mut Outline::off());
        assert_eq!(done, Ok(Rewritten::InPlace), "{name}");
    });
}

#[test]
fn a_stream_refuses_what_would_change_its_length() {
    for_every_message(2, &Recipe::PLAIN, |Case { layout, sample, name, .. }| {
        if streamed_of(&sample).iter().any(|field| matches!(field.value, SampleValue::Text(_))) {
            let mut editor = by(|_: &'static Fact, value: Value<'_>| match value {
                Value::Text(_) => text(&[b'x'; 200]),
                _ => Edit::Keep,
            });
            assert!(passed(layout, &sample.frame, &mut editor, Pieces::Whole).is_err(), "{name}");
        }
    });
}
