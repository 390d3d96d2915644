//! What frames cost in allocations and steps: counts, which do not wobble as times do.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::wildcard_enum_match_arm,
    reason = "a test that fails panics"
)]

use allocation_counter::{AllocationInfo, measure};
use skein_protocol::ids::{ApiKey, Direction};
use skein_protocol::outline::{OUTLINED, Outline};
use skein_protocol::passage::{Announce, Edit, Editor, Next, Passage, Value, announce};
use skein_protocol::rewrite::{Rewritten, rewrite};
use skein_protocol::sample::{Dice, usual};
use skein_protocol::table::{Fact, Layout, Table};
use skein_protocol::varint::{Inline, narrow, wide};
use skein_protocol::{Meaning, Meanings};

const BROKERS: Meanings = Meanings::of(&[Meaning::BrokerId, Meaning::Host, Meaning::Port]);

/// Changes what keeps its width; names by `prefix`.
struct Change {
    prefix: &'static [u8],
}

impl Editor for Change {
    fn edit(&mut self, _: &'static Fact, value: Value<'_>) -> Edit {
        match value {
            Value::Int(number) => Edit::Int(number ^ 1),
            Value::Text(name) if !self.prefix.is_empty() => {
                let mut longer = Inline::from_slice(self.prefix);
                longer.extend_from_slice(name);
                Edit::Text(longer)
            }
            _ => Edit::Keep,
        }
    }

    fn producer_id(&mut self, id: i64) -> Option<i64> {
        Some(id ^ 1)
    }
}

fn layout(key: ApiKey, version: i16, direction: Direction) -> &'static Layout {
    Table::get().layout(key, version, direction).unwrap()
}

/// Passes a frame that is all there; says in how many steps.
fn pass(layout: &'static Layout, wanted: Meanings, frame: &mut [u8], outline: &mut Outline) -> usize {
    let mut passage = Passage::new(layout, narrow(frame.len()), wanted);
    let (mut at, mut steps) = (0, 0);
    loop {
        steps += 1;
        match passage.next(&mut frame[at..], &mut Change { prefix: b"" }, outline).unwrap() {
            Next::Keep(bytes) => at += wide(bytes),
            Next::End => break,
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(at, frame.len());
    steps
}

fn no_allocation(allocated: AllocationInfo) {
    assert_eq!(allocated.count_total, 0, "{allocated:?}");
}

#[test]
fn a_produce_passes_in_one_piece_without_an_allocation() {
    let layout = layout(ApiKey::PRODUCE, 13, Direction::ToBroker);
    let wanted = OUTLINED.and(Meanings::of(&[Meaning::ProducerId, Meaning::Acks, Meaning::Wait]));
    for payload in [100, 1024, 1 << 20] {
        let mut frame = usual::produce(payload, &mut Dice::new(1));
        let (mut outline, mut steps) = (Outline::default(), 0);
        no_allocation(measure(|| steps = pass(layout, wanted, &mut frame, &mut outline)));
        assert_eq!(steps, 2, "one piece, and the end");
        assert!(outline.is_whole() && outline.size() > 0);
    }
}

#[test]
fn a_fetch_answer_passes_in_one_piece_without_an_allocation() {
    let layout = layout(ApiKey::FETCH, 18, Direction::ToClient);
    for payload in [100, 1024, 1 << 20] {
        let mut frame = usual::fetched(payload, &mut Dice::new(1));
        let mut steps = 0;
        no_allocation(measure(|| steps = pass(layout, BROKERS, &mut frame, &mut Outline::off())));
        assert_eq!(steps, 2, "one piece, and the end");
    }
}

#[test]
fn metadata_that_keeps_its_length_is_rewritten_without_an_allocation() {
    let layout = layout(ApiKey::METADATA, 12, Direction::ToClient);
    for topics in [1, 1000] {
        let mut frame = usual::metadata(topics, &mut Dice::new(1));
        let wanted = Meanings::of(&[Meaning::BrokerId, Meaning::Port]);
        no_allocation(measure(|| {
            let done = rewrite(layout, wanted, &mut frame, &mut Change { prefix: b"" }, &mut Outline::off());
            assert_eq!(done, Ok(Rewritten::InPlace));
        }));
    }
}

#[test]
fn metadata_whose_names_grow_allocates_a_few_times_whatever_its_size() {
    let layout = layout(ApiKey::METADATA, 12, Direction::ToClient);
    let wanted = Meanings::of(&[Meaning::TopicName]);
    // The frame's bytes; and where there are more than eight names, two lists that double: of places, and of names.
    for (topics, most) in [(1, 1), (8, 3), (10_000, 30)] {
        let mut frame = usual::metadata(topics, &mut Dice::new(1));
        let allocated = measure(|| {
            let done = rewrite(layout, wanted, &mut frame, &mut Change { prefix: b"us." }, &mut Outline::off());
            assert!(matches!(done, Ok(Rewritten::Anew(_))));
        });
        // None would mean that nothing is counted.
        assert!(allocated.count_total >= 1 && allocated.count_total <= most, "{topics} topics: {allocated:?}");
        assert!(allocated.bytes_max <= 4 * u64::try_from(frame.len()).unwrap(), "{topics} topics: {allocated:?}");
    }
}

#[test]
fn a_stream_whose_names_grow_does_without_allocations_too() {
    let layout = layout(ApiKey::PRODUCE, 9, Direction::ToBroker);
    let mut frame = vec![0, 0, 0, 9, 0, 0, 0, 1, 0xff, 0xff, 0, 0, 0, 1, 0, 0, 0, 9];
    frame.extend([2, 9]);
    frame.extend(b"payments");
    frame.extend([2, 0, 0, 0, 0, 1, 0, 0, 0]);
    no_allocation(measure(|| {
        let announced = announce(layout, narrow(frame.len()), 3, &frame);
        assert_eq!(announced, Ok(Announce::Longer(10)));
        let mut passage = Passage::new(layout, narrow(frame.len()), Meanings::of(&[Meaning::TopicName])).with_room(10);
        let (mut at, mut steps) = (0, 0);
        while steps < 9 {
            steps += 1;
            match passage.next(&mut frame[at..], &mut Change { prefix: b"us." }, &mut Outline::off()).unwrap() {
                Next::Keep(bytes) => at += wide(bytes),
                Next::Put { skip, .. } => at += wide(skip),
                Next::Zeros(_) => {}
                Next::Hold | Next::End => break,
                Next::Need(bytes) => panic!("{bytes} bytes are needed"),
            }
        }
        assert_eq!(steps, 7, "up to the name, the name, up to the tags, their count, the filler, its zeros, the end");
    }));
}
