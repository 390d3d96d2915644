//! An answer of ours is a valid response that names what the request named, and carries the code.

use std::collections::{BTreeMap, BTreeSet};

use super::{Case, all, by, for_every_message, keep, rewritten, sampled};
use crate::answer::refusal;
use crate::code::Code;
use crate::edit::{Edit, Value};
use crate::ids::{ApiKey, Direction};
use crate::meaning::Meaning;
use crate::outline::{OUTLINED, Outline};
use crate::rewrite::rewrite;
use crate::sample::{self, Dice, Recipe, SampleValue};
use crate::table::{Fact, Table};

/// What a request names and its answer does not: it has no array for it, or only within what it brings if all is well.
const NOT_ANSWERED: [&str; 11] = [
    "ForgottenTopicsData",
    "TopicPartitions[].TopicId",
    "TopicPartitions[].Partitions",
    "Cursor.",
    "ResourceTypeFilter",
    "ResourceNameFilter",
    "Filters[]",
    "Creations[]",
    "Topology.",
    "Task",
    "ActiveTasks",
];

/// APIs whose items an outline cannot tell.
const UNTOLD: [i16; 4] = [27, 34, 49, 51];
/// DescribeLogDirs: the answer lists directories, and topics within them.
const BY_DIRECTORY: ApiKey = ApiKey(35);

type Names = BTreeSet<(&'static str, String)>;

fn name(fact: &Fact, value: &SampleValue) -> Option<(&'static str, String)> {
    (OUTLINED.has(fact.meaning) && *value != SampleValue::Null).then(|| (fact.meaning.word(), format!("{value:?}")))
}

/// The answer to a case, and whether its outline was whole.
fn answer(case: &Case) -> Option<Vec<u8>> {
    let mut outline = Outline::default();
    let mut frame = case.sample.frame.clone();
    rewrite(case.layout, all(), &mut frame, &mut by(keep), &mut outline).unwrap();
    assert!(outline.is_whole());
    refusal(case.key, case.version, 7, &outline, Code::NOT_COORDINATOR)
}

/// What an answer names, and in how many places it has the code.
fn read(case: &Case, answer: &[u8]) -> (Names, usize) {
    let layout = Table::get().layout(case.key, case.version, Direction::ToClient).unwrap();
    let (mut names, mut codes) = (Names::new(), 0);
    let editor = |fact: &'static Fact, value: Value<'_>| {
        codes += usize::from(fact.meaning == Meaning::Error && value == Value::Int(16));
        names.extend(name(fact, &sampled(value)));
        Edit::Keep
    };
    rewritten(layout, answer, &mut by(editor)).unwrap_or_else(|error| panic!("{}: {error}", case.name));
    (names, codes)
}

#[test]
fn it_names_what_the_request_named_and_carries_the_code() {
    let mut answered: BTreeMap<ApiKey, usize> = BTreeMap::new();
    for_every_message(30, &Recipe::WILD, |case| {
        if case.direction == Direction::ToClient {
            return;
        }
        let count = answered.entry(case.key).or_default();
        let Some(answer) = answer(&case) else { return };
        *count += 1;
        let (named, codes) = read(&case, &answer);
        assert!(codes > 0, "{}", case.name);
        let has = Table::get().layout(case.key, case.version, Direction::ToClient).unwrap().meanings();
        let asked = case.sample.expected.iter().filter(|field| {
            has.has(field.fact.meaning)
                && case.key != BY_DIRECTORY
                && !NOT_ANSWERED.iter().any(|path| field.fact.path.contains(path))
        });
        for name in asked.filter_map(|field| name(field.fact, &field.value)) {
            assert!(named.contains(&name), "{}: {name:?} is not in {named:?}", case.name);
        }
    });
    for (key, count) in answered {
        assert_eq!(count == 0, UNTOLD.contains(&key.0), "{key:?}");
    }
}

#[test]
fn a_request_that_names_a_partition_is_always_answered() {
    for_every_message(12, &Recipe::PLAIN, |case| {
        let named = case
            .sample
            .expected
            .iter()
            .any(|field| field.fact.meaning == Meaning::Partition && !field.fact.path.starts_with("Forgotten"));
        if case.direction == Direction::ToBroker && named && !UNTOLD.contains(&case.key.0) {
            assert!(answer(&case).is_some(), "{}", case.name);
        }
    });
}

#[test]
fn partitions_that_a_fetch_forgets_are_not_answered() {
    // Fetch v13 within a session: no topics, one forgotten.
    let frame = [
        &[0, 1, 0, 13, 0, 0, 0, 7, 0xff, 0xff, 0][..],
        &[0xff; 4],
        &[0, 0, 1, 0xf4, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 6],
        &[1, 2],
        &[9; 16],
        &[2, 0, 0, 0, 3, 0],
        &[1, 0],
    ]
    .concat();
    let layout = Table::get().layout(ApiKey::FETCH, 13, Direction::ToBroker).unwrap();
    let mut outline = Outline::default();
    rewrite(layout, all(), &mut frame.clone(), &mut by(keep), &mut outline).unwrap();
    let answer = refusal(ApiKey::FETCH, 13, 7, &outline, Code::NOT_LEADER_OR_FOLLOWER).unwrap();
    // Correlation id, tags, throttle time, the code at the top, no session, no topics, tags.
    assert_eq!(answer, [0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 6, 0, 0, 0, 0, 1, 0]);
}

#[test]
fn null_is_answered_with_null_and_records_with_none() {
    // Metadata v12 by topic id, the name null.
    let frame = [&[0, 3, 0, 12, 0, 0, 0, 7, 0xff, 0xff, 0, 2][..], &[9; 16], &[0, 0, 0, 0, 0]].concat();
    let layout = Table::get().layout(ApiKey::METADATA, 12, Direction::ToBroker).unwrap();
    let mut outline = Outline::default();
    rewrite(layout, all(), &mut frame.clone(), &mut by(keep), &mut outline).unwrap();
    let answer = refusal(ApiKey::METADATA, 12, 7, &outline, Code::UNKNOWN_TOPIC_ID).unwrap();
    let topic = [&[2, 0, 100, 0][..], &[9; 16]].concat();
    assert!(answer.windows(topic.len()).any(|window| window == topic), "{answer:02x?}");

    let sample = loop_until(ApiKey::FETCH, 11, |outline| {
        refusal(ApiKey::FETCH, 11, 7, outline, Code::NOT_LEADER_OR_FOLLOWER).is_some()
    });
    let answer = refusal(ApiKey::FETCH, 11, 7, &sample, Code::NOT_LEADER_OR_FOLLOWER).unwrap();
    // A classic partition without aborted transactions and records ends in a preferred replica of −1, and two zeros.
    assert_eq!(answer[answer.len() - 8..], [0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0]);
}

/// The outline of a random request in which `fits`, with a partition in it.
fn loop_until(key: ApiKey, version: i16, fits: impl Fn(&Outline) -> bool) -> Outline {
    let layout = Table::get().layout(key, version, Direction::ToBroker).unwrap();
    for seed in 0..1000 {
        let recipe = Recipe { nulls: 0, ..Recipe::PLAIN };
        let sample = sample::any(key, version, Direction::ToBroker, &recipe, &mut Dice::new(seed)).unwrap();
        let mut outline = Outline::default();
        rewrite(layout, all(), &mut sample.frame.clone(), &mut by(keep), &mut outline).unwrap();
        let last = sample.expected.iter().rfind(|field| field.fact.path.starts_with("Topics"));
        if last.is_some_and(|field| field.fact.path.contains("Partitions")) && fits(&outline) {
            return outline;
        }
    }
    panic!("no such request in a thousand")
}

#[test]
fn an_outline_that_overflows_gives_no_answer() {
    let mut frame = vec![0, 3, 0, 12, 0, 0, 0, 7, 0xff, 0xff, 0];
    crate::varint::put(&mut frame, 3001);
    for _ in 0..3000 {
        frame.extend([7; 16]);
        frame.extend([0, 0]);
    }
    frame.extend([0, 0, 0]);
    let layout = Table::get().layout(ApiKey::METADATA, 12, Direction::ToBroker).unwrap();
    let mut outline = Outline::default();
    rewrite(layout, all(), &mut frame, &mut by(keep), &mut outline).unwrap();
    assert!(!outline.is_whole());
    assert_eq!(refusal(ApiKey::METADATA, 12, 7, &outline, Code::UNKNOWN_TOPIC_ID), None);
}
