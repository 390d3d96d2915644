//! Names that grow: in a frame that is complete, and in a stream that was announced longer. Addresses that are blanked.

use super::{Case, Sees, all, by, for_every_message, rewritten, sampled, text};
use crate::edit::{Edit, Value};
use crate::ids::{ApiKey, Direction};
use crate::malformed::Malformed;
use crate::meaning::{Meaning, Meanings};
use crate::messages::{self, Decodable, FetchResponse, ProduceRequest, ProduceResponse};
use crate::outline::Outline;
use crate::passage::{Announce, Passage, announce};
use crate::sample::feed::{Pieces, feed};
use crate::sample::{self, Dice, Expected, Recipe, Sample, SampleValue};
use crate::table::{Fact, Layout, Table};
use crate::varint::narrow;
use bytes::Bytes;

const PREFIX: &[u8] = b"somewhere-far-away.";

fn longer(_: &'static Fact, value: Value<'_>) -> Edit {
    match value {
        Value::Text(name) => text(&[PREFIX, name].concat()),
        _ => Edit::Keep,
    }
}

fn shorter(_: &'static Fact, value: Value<'_>) -> Edit {
    match value {
        Value::Text(name) => text(name.strip_prefix(PREFIX).expect("every name was made longer")),
        _ => Edit::Keep,
    }
}

fn grown(expected: &[Expected]) -> Vec<Expected> {
    let mut grown = expected.to_vec();
    for field in &mut grown {
        if let SampleValue::Text(name) = &mut field.value {
            *name = [PREFIX, name].concat();
        }
    }
    grown
}

#[test]
fn names_that_grow_in_a_complete_frame_are_there_and_shrink_to_the_input() {
    for (recipe, exact) in [(Recipe { padded: 0, ..Recipe::WILD }, true), (Recipe::WILD, false)] {
        for_every_message(10, &recipe, |Case { layout, sample, name, .. }| {
            let out = rewritten(layout, &sample.frame, &mut by(longer)).unwrap();
            let mut editor = Sees::just(&grown(&sample.expected), shorter);
            let back = rewritten(layout, &out, &mut editor).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert!(editor.expected.is_empty(), "{name}");
            if exact {
                assert_eq!(back, sample.frame, "{name}");
            } else {
                let mut editor = Sees::just(&sample.expected, super::keep);
                rewritten(layout, &back, &mut editor).unwrap();
            }
        });
    }
}

/// The messages that stream and hold names in their first array, and no others but a transactional id.
fn streams() -> impl Iterator<Item = (ApiKey, i16, Direction)> {
    let requests = (9..=12).map(|version| (ApiKey::PRODUCE, version, Direction::ToBroker));
    let answers = (9..=12).map(|version| (ApiKey::PRODUCE, version, Direction::ToClient));
    requests.chain(answers).chain([(ApiKey::FETCH, 12, Direction::ToClient)])
}

const NAMES: Meanings = Meanings::of(&[Meaning::TopicName, Meaning::TransactionalId]);

fn announced(layout: &'static Layout, frame: &[u8], growth: usize) -> u32 {
    // As much as is asked for must be enough to tell.
    let mut there = 0;
    loop {
        match announce(layout, narrow(frame.len()), narrow(growth), &frame[..there]).unwrap() {
            Announce::Need(bytes) => {
                assert!(bytes > there && bytes <= frame.len());
                there = bytes;
            }
            Announce::Longer(longer) => return longer,
            Announce::TooLong => panic!("these frames are short"),
        }
    }
}

fn stream(
    layout: &'static Layout, frame: &[u8], longer_by: u32, pieces: Pieces<'_>,
    change: impl FnMut(&'static Fact, Value<'_>) -> Edit,
) -> Result<Vec<u8>, Malformed> {
    let passage = Passage::new(layout, narrow(frame.len()), NAMES).with_room(longer_by);
    let mut out = Vec::new();
    feed(passage, frame, &mut by(change), &mut Outline::off(), pieces, &mut Vec::new(), &mut out).map(|()| out)
}

fn names(sample: &Sample) -> Vec<(&'static Fact, SampleValue)> {
    let fields = sample.expected.iter().filter(|field| NAMES.has(field.fact.meaning));
    fields.map(|field| (field.fact, field.value.clone())).collect()
}

fn read(layout: &'static Layout, frame: &[u8]) -> Vec<(&'static Fact, SampleValue)> {
    let mut found = Vec::new();
    let mut editor = by(|fact: &'static Fact, value: Value<'_>| {
        if NAMES.has(fact.meaning) {
            found.push((fact, sampled(value)));
        }
        Edit::Keep
    });
    rewritten(layout, frame, &mut editor).unwrap();
    found
}

fn decodes(key: ApiKey, version: i16, direction: Direction, frame: Vec<u8>) {
    let frame = Bytes::from(frame);
    fn ok<M: Decodable>(key: ApiKey, version: i16, direction: Direction, frame: &Bytes) {
        messages::decode::<M>(key, version, direction, frame).unwrap();
    }
    match (key, direction) {
        (ApiKey::PRODUCE, Direction::ToBroker) => ok::<ProduceRequest>(key, version, direction, &frame),
        (ApiKey::PRODUCE, Direction::ToClient) => ok::<ProduceResponse>(key, version, direction, &frame),
        _ => ok::<FetchResponse>(key, version, direction, &frame),
    }
}

#[test]
fn a_stream_whose_names_grow_has_just_the_length_that_was_announced() {
    for (key, version, direction) in streams() {
        let layout = Table::get().layout(key, version, direction).unwrap();
        for seed in 0..400 {
            let mut dice = Dice::new(seed);
            let sample = sample::any(key, version, direction, &Recipe::WILD, &mut dice).unwrap();
            let longer_by = announced(layout, &sample.frame, PREFIX.len());
            let out = stream(layout, &sample.frame, longer_by, Pieces::Random(&mut dice), longer).unwrap();
            assert_eq!(narrow(out.len()), narrow(sample.frame.len()) + longer_by, "{key:?} v{version} {seed}");
            let names: Vec<_> = grown(&sample.expected)
                .into_iter()
                .filter(|field| NAMES.has(field.fact.meaning))
                .map(|field| (field.fact, field.value))
                .collect();
            assert_eq!(read(layout, &out), names);
            assert_eq!(stream(layout, &sample.frame, longer_by, Pieces::Whole, longer).unwrap(), out);
            assert_eq!(stream(layout, &sample.frame, longer_by, Pieces::Bytes, longer).unwrap(), out);

            // A second proxy behind the first finds another number for its filler.
            let again_by = announced(layout, &out, 0);
            let again = stream(layout, &out, again_by, Pieces::Whole, shorter).unwrap();
            assert_eq!(narrow(again.len()), narrow(out.len()) + again_by);
            assert_eq!(read(layout, &again), self::names(&sample));
            decodes(key, version, direction, out);
            decodes(key, version, direction, again);
        }
    }
}

#[test]
fn a_name_that_grows_beyond_the_room_is_refused() {
    let layout = Table::get().layout(ApiKey::PRODUCE, 9, Direction::ToBroker).unwrap();
    let mut refused = 0;
    for seed in 0..100 {
        let mut dice = Dice::new(seed);
        let sample = sample::any(ApiKey::PRODUCE, 9, Direction::ToBroker, &Recipe::PLAIN, &mut dice).unwrap();
        let exact = announced(layout, &sample.frame, PREFIX.len());
        let named =
            sample.expected.iter().filter(|field| NAMES.has(field.fact.meaning) && field.value != SampleValue::Null);
        for less in 1..exact {
            match stream(layout, &sample.frame, exact - less, Pieces::Whole, longer) {
                Ok(out) => assert_eq!(narrow(out.len()), narrow(sample.frame.len()) + exact - less),
                Err(error) => {
                    assert!(matches!(error, Malformed::Outgrown { .. }));
                    refused += 1;
                }
            }
        }
        assert!(named.count() > 0 || exact == 6, "nothing grows but the tags");
    }
    assert!(refused > 100);
}

#[test]
fn a_version_without_a_place_for_a_filler_is_completed() {
    let layout = Table::get().layout(ApiKey::PRODUCE, 8, Direction::ToBroker).unwrap();
    assert_eq!(announce(layout, 100, 10, &[]), Ok(Announce::TooLong));
    let sample = sample::any(ApiKey::PRODUCE, 8, Direction::ToBroker, &Recipe::PLAIN, &mut Dice::new(1)).unwrap();
    assert!(stream(layout, &sample.frame, 100, Pieces::Whole, super::keep).is_err());
}

#[test]
fn a_frame_that_would_be_too_long_is_completed() {
    let layout = Table::get().layout(ApiKey::PRODUCE, 9, Direction::ToBroker).unwrap();
    let start = [0, 0, 0, 9, 0, 0, 0, 1, 0xff, 0xff, 0, 0, 0, 1, 0, 0, 0, 0, 0x81, 0x08];
    let announced = |length, growth| announce(layout, length, growth, &start);
    assert_eq!(announced(1 << 20, 10), Ok(Announce::Longer(1024 * 11 + 6)));
    assert_eq!(announced(1 << 20, 5000), Ok(Announce::TooLong));
    assert_eq!(announced(crate::frame::LONGEST, 10), Ok(Announce::TooLong));
}

/// The samples of answers with addresses in a tag, hosts marked.
fn with_addresses(version: i16, key: ApiKey, seed: u64) -> Option<(Sample, Dice)> {
    let mut dice = Dice::new(seed);
    let mut marker = |fact: &'static Fact| match fact.meaning {
        Meaning::Host => SampleValue::Text(b"marked-host".to_vec()),
        Meaning::Port => SampleValue::Int(0x5a5b_5c5d),
        _ => SampleValue::Any,
    };
    let sample = sample::sample(key, version, Direction::ToClient, &Recipe::WILD, &mut dice, &mut marker).unwrap();
    let has = sample.expected.iter().any(|field| field.fact.meaning == Meaning::Host);
    has.then_some((sample, dice))
}

#[test]
fn addresses_in_a_stream_are_blanked_to_the_last_byte() {
    let answers = (16..=18).map(|version| (ApiKey::FETCH, version));
    for (key, version) in answers.chain((10..=13).map(|version| (ApiKey::PRODUCE, version))) {
        let layout = Table::get().layout(key, version, Direction::ToClient).unwrap();
        for (sample, mut dice) in (0..200).filter_map(|seed| with_addresses(version, key, seed)) {
            if sample.tags.iter().any(|tag| sample.frame[tag.at] == 100) {
                continue;
            }
            let pass = |pieces: Pieces<'_>| {
                let passage = Passage::new(layout, narrow(sample.frame.len()), all());
                let mut out = Vec::new();
                let mut editor = by(|fact: &'static Fact, _: Value<'_>| {
                    assert!(!fact.path.starts_with("NodeEndpoints"), "nobody can answer for what is blanked");
                    Edit::Keep
                });
                feed(passage, &sample.frame, &mut editor, &mut Outline::off(), pieces, &mut Vec::new(), &mut out)
                    .unwrap();
                out
            };
            let out = pass(Pieces::Whole);
            assert_eq!(out, pass(Pieces::Bytes));
            assert_eq!(out, pass(Pieces::Random(&mut dice)));
            assert_eq!(out.len(), sample.frame.len());
            let holds = |frame: &[u8], bytes: &[u8]| frame.windows(bytes.len()).any(|window| window == bytes);
            assert!(holds(&sample.frame, b"marked-host") && !holds(&out, b"marked"));
            assert!(!holds(&out, &[0x5a, 0x5b, 0x5c, 0x5d]));
            let left: Vec<_> =
                sample.expected.iter().filter(|field| !field.fact.path.starts_with("NodeEndpoints")).cloned().collect();
            let mut reader = Sees::just(&left, super::keep);
            rewritten(layout, &out, &mut reader).unwrap();
            assert!(reader.expected.is_empty());
            // What stands outside the tag is as it was.
            let from = sample.tags.iter().find(|tag| {
                let first = sample.expected.iter().find(|field| field.fact.path.starts_with("NodeEndpoints"));
                first.is_some_and(|field| tag.at < field.at && field.at < tag.at + tag.len)
                    && sample.frame[tag.count_at..].len() >= tag.len
                    && sample.frame[tag.at] & 0x7f == 0
            });
            let tag = from.expect("the endpoints stand in a tag");
            assert_eq!(out[..tag.at], sample.frame[..tag.at]);
            assert_eq!(out[tag.at + tag.len..], sample.frame[tag.at + tag.len..]);
        }
    }
}

#[test]
fn an_answer_with_the_tag_that_blanked_ones_get_is_refused() {
    let layout = Table::get().layout(ApiKey::PRODUCE, 10, Direction::ToClient).unwrap();
    let one = [2, 0, 0, 0, 1, 4, b'o', b'n', b'e', 0, 0, 0, 9, 0, 0];
    let frame = [&[0, 0, 0, 7, 0, 1, 0, 0, 0, 0, 2, 0, 15][..], &one, &[100, 0]].concat();
    let passage = Passage::new(layout, narrow(frame.len()), all());
    let passed = feed(
        passage,
        &frame,
        &mut by(super::keep),
        &mut Outline::off(),
        Pieces::Whole,
        &mut Vec::new(),
        &mut Vec::new(),
    );
    assert!(matches!(passed, Err(Malformed::TagAgain { tag: 100, .. })));
}
