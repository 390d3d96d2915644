//! No edit is the input, bit for bit; an edit and its inverse are; and it makes no difference how a frame arrives.

use super::{Case, Sees, bijection, for_every_message, keep, passed, rewritten};
use crate::edit::Edit;
use crate::sample::feed::Pieces;
use crate::sample::Recipe;

#[test]
fn what_nobody_edits_is_the_input() {
    for_every_message(10, &Recipe::WILD, |Case { layout, sample, name, .. }| {
        assert_eq!(rewritten(layout, &sample.frame, &mut keep()).unwrap(), sample.frame, "{name}");
        assert_eq!(passed(layout, &sample.frame, &mut keep(), Pieces::Whole).unwrap(), sample.frame, "{name}");
    });
}

/// Tags that hold addresses are blanked on the way, not shown; so they are left out of these frames.
fn without_addresses(sample: &crate::sample::Sample) -> bool {
    sample.expected.iter().all(|field| field.fact.meaning != crate::Meaning::Host || !field.fact.path.starts_with("NodeEndpoints"))
}

#[test]
fn it_makes_no_difference_in_which_pieces_a_frame_arrives() {
    for_every_message(8, &Recipe::WILD, |Case { layout, sample, mut dice, name, .. }| {
        let mut pass = |pieces: Pieces<'_>| passed(layout, &sample.frame, &mut super::By(bijection), pieces).unwrap();
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
            let contents = field.value != crate::sample::SampleValue::Null && field.value != crate::sample::SampleValue::Text(Vec::new());
            assert_eq!(changed[from..to] != sample.frame[from..to], contents, "{name}: {}", field.fact.path);
        }
        assert_eq!(rewritten(layout, &changed, &mut super::By(bijection)).unwrap(), sample.frame, "{name}");
        if without_addresses(&sample) {
            let pieces = Pieces::Random(&mut dice);
            let streamed = passed(layout, &sample.frame, &mut Sees::just(&sample.expected, bijection), pieces).unwrap();
            assert_eq!(streamed, changed, "{name}");
        }
    });
}

#[test]
fn a_frame_that_keeps_its_length_is_changed_in_place() {
    for_every_message(2, &Recipe::WILD, |Case { layout, sample, name, .. }| {
        let mut frame = sample.frame.clone();
        let done = crate::rewrite::rewrite(
            layout,
            super::all(),
            &mut frame,
            &mut super::By(bijection),
            &mut crate::outline::Outline::off(),
        );
        assert_eq!(done, Ok(crate::rewrite::Rewritten::InPlace), "{name}");
    });
}

#[test]
fn a_stream_refuses_what_would_change_its_length() {
    for_every_message(2, &Recipe::PLAIN, |Case { layout, sample, name, .. }| {
        let has_text = sample.expected.iter().any(|field| matches!(field.value, crate::sample::SampleValue::Text(_)));
        if has_text && without_addresses(&sample) {
            let mut editor = super::By(|_: &'static crate::table::Fact, value: crate::edit::Value<'_>| match value {
                crate::edit::Value::Text(_) => super::text(&[b'x'; 200]),
                _ => Edit::Keep,
            });
            assert!(passed(layout, &sample.frame, &mut editor, Pieces::Whole).is_err(), "{name}");
        }
    });
}
