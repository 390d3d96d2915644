//! The walker takes every valid frame, and names each field that means something once, in order, with its value.

use super::{Sees, all, by, for_every_message, keep, rewritten, text};
use crate::edit::{Edit, Value};
use crate::ids::{ApiKey, Direction};
use crate::malformed::Malformed;
use crate::meaning::{Meaning, Meanings};
use crate::passage::BLANKED;
use crate::sample::{Recipe, SampleValue};
use crate::table::{Arity, Field, Kind, Layout, Table};
use crate::varint::{narrow, wide};
use crate::walker::{DEPTH, Flow, Sink, Spot, Stop, Walker};

/// The values that a walk tells of.
#[derive(Default)]
struct Values(Vec<Spot>);

impl<B> Sink<B> for Values {
    fn value(&mut self, spot: &Spot, _: &mut B, _: usize) -> Result<Flow, Malformed> {
        self.0.push(*spot);
        Ok(Flow::On)
    }
}

/// The values of a whole frame; that the walk comes to its end.
fn walk(layout: &'static Layout, mut frame: &[u8], wanted: Meanings) -> Result<Vec<Spot>, Malformed> {
    let mut values = Values::default();
    let mut walker = Walker::new(layout, narrow(frame.len()), wanted);
    let len = frame.len();
    match walker.run(&mut frame, &mut values)? {
        Stop::End => {
            assert_eq!(wide(walker.at()), len);
            Ok(values.0)
        }
        stop => panic!("the frame is whole, and the walk says {stop:?}"),
    }
}

#[test]
fn every_field_that_means_something_is_named_once_where_it_stands() {
    for_every_message(12, &Recipe::WILD, |case| {
        let told = walk(case.layout, &case.sample.frame, all()).unwrap();
        let told: Vec<_> = told.iter().map(|spot| (wide(spot.at), wide(spot.len), spot.fact.path.as_str())).collect();
        let expected: Vec<_> =
            case.sample.expected.iter().map(|field| (field.at, field.len, field.fact.path.as_str())).collect();
        assert_eq!(told, expected, "{}", case.name);
    });
}

#[test]
fn an_editor_sees_every_value() {
    for_every_message(12, &Recipe::WILD, |case| {
        let mut editor = Sees::just(&case.sample.expected, keep);
        rewritten(case.layout, &case.sample.frame, &mut editor).unwrap();
        assert!(editor.expected.is_empty(), "{}", case.name);
    });
}

#[test]
fn an_editor_sees_only_what_it_asked_for() {
    for_every_message(1, &Recipe::WILD, |case| {
        for meaning in Meaning::ALL.iter().filter(|meaning| **meaning != Meaning::Plain) {
            let told = walk(case.layout, &case.sample.frame, Meanings::of(&[*meaning])).unwrap();
            let expected = case.sample.expected.iter().filter(|field| field.fact.meaning == *meaning);
            let paths = told.iter().map(|spot| &spot.fact.path);
            assert!(paths.eq(expected.map(|field| &field.fact.path)), "{}", case.name);
        }
    });
}

#[test]
fn bytes_behind_a_request_pass_and_behind_a_response_do_not() {
    for_every_message(2, &Recipe::PLAIN, |case| {
        let frame = [&case.sample.frame[..], &[0, 0, 0]].concat();
        let walked = walk(case.layout, &frame, all()).map(|_| ());
        match case.direction {
            Direction::ToBroker => assert_eq!(walked, Ok(()), "{}", case.name),
            Direction::ToClient => assert_eq!(walked, Err(Malformed::Trailing { rest: 3 }), "{}", case.name),
        }
    });
}

#[test]
fn the_metadata_request_that_librdkafka_sends_passes() {
    // All topics, v9+: an int32 zero where the empty tags belong.
    let layout = Table::get().layout(ApiKey::METADATA, 12, Direction::ToBroker).unwrap();
    let frame = [0, 3, 0, 12, 0, 0, 0, 1, 0xff, 0xff, 0, 0, 0, 0, 0, 1, 0, 0];
    assert!(walk(layout, &frame, all()).is_ok());
}

#[test]
fn a_frame_that_is_cut_anywhere_is_not_taken_for_whole() {
    for_every_message(2, &Recipe::PLAIN, |case| {
        for len in 0..case.sample.frame.len() {
            assert!(walk(case.layout, &case.sample.frame[..len], all()).is_err(), "{} cut at {len}", case.name);
        }
    });
}

#[test]
fn a_tag_in_a_tag_ends_within_it() {
    // Produce v10, an answer. The tag NodeEndpoints is five bytes: one endpoint that begins a tag section whose only
    // tag's number and size would end behind it.
    let layout = Table::get().layout(ApiKey::PRODUCE, 10, Direction::ToClient).unwrap();
    for size in 9..13u8 {
        let mut frame = vec![0, 0, 0, 1, 0, 1, 0, 0, 0, 0, 1, 0, size];
        // One endpoint: id, host "", port, rack null, one tag of which the number stands in the frame's last bytes.
        frame.extend([2, 0, 0, 0, 1, 1, 0, 0, 0, 2, 0, 1, 0x85, 0x80, 0x00, 0x80, 0x80, 0x00]);
        assert!(walk(layout, &frame, all()).is_err());
    }
}

#[test]
fn a_string_longer_than_any_of_kafkas_is_refused() {
    let layout = Table::get().layout(ApiKey::METADATA, 12, Direction::ToBroker).unwrap();
    for (len, taken) in [(0x7fffu32, true), (0x8000, false)] {
        let mut frame = vec![0, 3, 0, 12, 0, 0, 0, 1, 0xff, 0xff, 0, 2];
        frame.extend([0; 16]);
        crate::varint::put(&mut frame, len + 1);
        frame.resize(frame.len() + wide(len), b'a');
        frame.extend([0, 0, 0, 0]);
        assert_eq!(walk(layout, &frame, all()).is_ok(), taken);
    }
}

#[test]
fn each_tag_stands_once() {
    for_every_message(6, &Recipe { unknown_tags: 96, ..Recipe::WILD }, |case| {
        for tag in &case.sample.tags {
            let again = case.sample.frame[tag.at..tag.at + tag.len].to_vec();
            let mut frame = case.sample.frame.clone();
            if frame[tag.count_at] & 0x80 != 0 || frame[tag.count_at] > 100 {
                continue;
            }
            frame[tag.count_at] += 1;
            frame.splice(tag.at..tag.at, again);
            // Within another tag the size no longer fits, which is as good.
            assert!(walk(case.layout, &frame, all()).is_err(), "{}", case.name);
        }
    });
}

/// How many arrays, sections and tags are open within a field at once.
fn depth(field: &Field) -> usize {
    let array = usize::from(field.arity == Arity::Many);
    let tag = if field.tag.is_some() { 2 } else { 0 };
    // The section of a struct is open when a tag in it is.
    array + tag + field.fields.iter().map(depth).max().unwrap_or(0).max(usize::from(field.kind == Kind::Struct))
}

fn check(field: &Field) {
    field.fields.iter().for_each(check);
    let Some((number, versions)) = field.tag else { return };
    let path = &field.fact.path;
    assert!(number + BLANKED < 128, "{path}: the number of a tag that is blanked takes one byte still");
    let nullable = field.nullable.meet(versions).is_some();
    let one = field.kind == Kind::Struct && field.arity == Arity::One;
    assert!(!(nullable && one), "{path}: a nullable tagged struct starts with a varint");
}

#[test]
fn what_the_walker_counts_on_holds_of_every_layout() {
    for (key, version, direction) in crate::sample::messages() {
        let layout = Table::get().layout(key, version, direction).unwrap();
        assert!(layout.ops.len() < 1000, "{key:?} v{version}: op numbers have sixteen bits");
        let message = Table::get().api(key).unwrap().message(direction);
        message.fields.iter().for_each(check);
        let deepest = message.fields.iter().map(depth).max().unwrap_or(0);
        assert!(deepest < DEPTH, "{key:?} v{version}: {deepest} levels");
    }
}

#[test]
fn an_edit_that_does_not_fit_is_refused() {
    let layout = Table::get().layout(ApiKey::METADATA, 9, Direction::ToClient).unwrap();
    let mut dice = crate::sample::Dice::new(4);
    let recipe = Recipe { nulls: 0, ..Recipe::PLAIN };
    let sample = loop {
        let sample = crate::sample::any(ApiKey::METADATA, 9, Direction::ToClient, &recipe, &mut dice).unwrap();
        if sample.expected.iter().any(|field| field.fact.meaning == Meaning::Host) {
            break sample;
        }
    };
    let refuses = |meaning: Meaning, edit: Edit| {
        let mut editor = by(
            |fact: &'static crate::table::Fact, _: Value<'_>| {
                if fact.meaning == meaning { edit.clone() } else { Edit::Keep }
            },
        );
        matches!(rewritten(layout, &sample.frame, &mut editor), Err(Malformed::Unfit { .. }))
    };
    assert!(refuses(Meaning::Host, Edit::Null));
    assert!(refuses(Meaning::Host, Edit::Int(1)));
    assert!(refuses(Meaning::Host, text(&[b'a'; 0x8000])));
    assert!(!refuses(Meaning::Host, text(&[b'a'; 0x7fff])));
    assert!(refuses(Meaning::BrokerId, Edit::Int(1 << 32)));
    assert!(refuses(Meaning::BrokerId, Edit::Int(-(1 << 32))));
    assert!(!refuses(Meaning::BrokerId, Edit::Int(0xffff_ffff)));
    assert!(!refuses(Meaning::BrokerId, Edit::Int(i64::from(i32::MIN))));
    assert!(refuses(Meaning::BrokerId, Edit::Id([0; 16])));
    assert!(refuses(Meaning::BrokerId, text(b"")));
    assert!(refuses(Meaning::Throttle, Edit::Drop));
    assert!(!refuses(Meaning::ClusterId, Edit::Null));
    assert!(sample.expected.iter().all(|field| field.value != SampleValue::Any));
}
