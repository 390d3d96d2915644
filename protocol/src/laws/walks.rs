//! The walker takes every valid frame, and names each field that means something once, in order, with its value.

use super::{Sees, all, by, for_every_message, keep, rewritten, text};
use crate::edit::{Edit, Value};
use crate::ids::{ApiKey, Direction};
use crate::malformed::Malformed;
use crate::meaning::{Meaning, Meanings};
use crate::sample::{Recipe, SampleValue};
use crate::table::{Arity, Field, Kind, Table};
use crate::varint::{narrow, wide};
use crate::walker::{Structure, Token, Walker};

/// Every token with where it starts; how many bytes were walked.
fn tokens(walker: &mut Walker, frame: &[u8]) -> Result<Vec<(usize, Token)>, Malformed> {
    let mut tokens = Vec::new();
    loop {
        let at = wide(walker.at());
        let token = walker.step(&frame[at..])?;
        tokens.push((at, token));
        match token {
            Token::End => return Ok(tokens),
            Token::Need(_) => panic!("the frame is whole"),
            _ => {}
        }
    }
}

#[test]
fn every_field_that_means_something_is_named_once_where_it_stands() {
    for_every_message(12, &Recipe::WILD, |case| {
        for structure in [Structure::Told, Structure::Untold] {
            let mut walker = Walker::new(case.layout, narrow(case.sample.frame.len()), all(), structure);
            let told: Vec<_> = tokens(&mut walker, &case.sample.frame)
                .unwrap()
                .into_iter()
                .filter_map(|(at, token)| match token {
                    Token::Value(spot) => Some((at, wide(spot.len), spot.fact.path.as_str())),
                    _ => None,
                })
                .collect();
            let expected: Vec<_> =
                case.sample.expected.iter().map(|field| (field.at, field.len, field.fact.path.as_str())).collect();
            assert_eq!(told, expected, "{}", case.name);
        }
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
        for meaning in Meaning::ALL {
            let mut walker = Walker::new(
                case.layout,
                narrow(case.sample.frame.len()),
                Meanings::of(&[*meaning]),
                Structure::Told,
            );
            let told = tokens(&mut walker, &case.sample.frame).unwrap();
            let values = told.iter().filter_map(|(_, token)| match token {
                Token::Value(spot) => Some(spot.fact.meaning),
                _ => None,
            });
            let expected = case.sample.expected.iter().filter(|field| field.fact.meaning == *meaning);
            if *meaning != Meaning::Plain {
                assert!(values.eq(expected.map(|field| field.fact.meaning)), "{}", case.name);
            }
        }
    });
}

#[test]
fn bytes_behind_a_request_pass_and_behind_a_response_do_not() {
    for_every_message(2, &Recipe::PLAIN, |case| {
        let mut frame = case.sample.frame.clone();
        frame.extend([0, 0, 0]);
        let mut walker = Walker::new(case.layout, narrow(frame.len()), all(), Structure::Untold);
        let walked = tokens(&mut walker, &frame);
        match case.direction {
            Direction::ToBroker => assert_eq!(wide(walker.at()), frame.len(), "{}", case.name),
            Direction::ToClient => assert_eq!(walked.unwrap_err(), Malformed::Trailing { rest: 3 }, "{}", case.name),
        }
    });
}

#[test]
fn the_metadata_request_that_librdkafka_sends_passes() {
    // All topics, v9+: an int32 zero where the empty tags belong.
    let layout = Table::get().layout(ApiKey::METADATA, 12, Direction::ToBroker).unwrap();
    let frame = [0, 3, 0, 12, 0, 0, 0, 1, 0xff, 0xff, 0, 0, 0, 0, 0, 1, 0, 0];
    let mut walker = Walker::new(layout, narrow(frame.len()), all(), Structure::Told);
    assert!(tokens(&mut walker, &frame).is_ok());
}

#[test]
fn a_frame_that_is_cut_anywhere_is_not_taken_for_whole() {
    for_every_message(2, &Recipe::PLAIN, |case| {
        for len in 0..case.sample.frame.len() {
            let frame = &case.sample.frame[..len];
            let mut walker = Walker::new(case.layout, narrow(len), all(), Structure::Told);
            let refused = loop {
                match walker.step(frame.get(wide(walker.at())..).unwrap_or(&[])) {
                    Ok(Token::End) => break false,
                    Ok(Token::Need(bytes)) => panic!("{bytes} bytes are needed of a frame that has ended"),
                    Ok(_) => {}
                    Err(_) => break true,
                }
            };
            assert!(refused, "{} cut at {len}", case.name);
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
        let mut walker = Walker::new(layout, narrow(frame.len()), all(), Structure::Told);
        assert!(tokens(&mut walker, &frame).is_err());
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
        let mut walker = Walker::new(layout, narrow(frame.len()), all(), Structure::Told);
        assert_eq!(tokens(&mut walker, &frame).is_ok(), taken);
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
            let mut walker = Walker::new(case.layout, narrow(frame.len()), all(), Structure::Told);
            assert!(tokens(&mut walker, &frame).is_err(), "{}", case.name);
        }
    });
}

#[test]
fn what_the_walker_counts_on_holds_of_every_layout() {
    fn visit(field: &Field, check: &mut impl FnMut(&Field)) {
        check(field);
        field.fields.iter().for_each(|inner| visit(inner, check));
    }
    for api in Table::get().apis() {
        for direction in [Direction::ToBroker, Direction::ToClient] {
            let message = api.message(direction);
            for version in message.versions.from..=message.versions.to {
                let layout = message.layout(version).unwrap();
                assert!(layout.ops.len() < 1000, "op numbers are far from the one that stands for a section");
            }
            message.fields.iter().for_each(|field| {
                visit(field, &mut |field| {
                    let Some((number, versions)) = field.tag else { return };
                    assert!(number < 28, "{}: a tag that is blanked is moved up by 100 in one byte", field.fact.path);
                    let nullable = field.nullable.meet(versions).is_some();
                    assert!(
                        !(nullable && field.kind == Kind::Struct && field.arity == Arity::One),
                        "{}: a nullable tagged struct starts with a varint",
                        field.fact.path
                    );
                });
            });
        }
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
        let mut editor = by(|fact: &'static crate::table::Fact, _: Value<'_>| {
            if fact.meaning == meaning { edit.clone() } else { Edit::Keep }
        });
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
