//! What a passage costs. Under a profiler, the instructions of one are the difference of two counts by that of the rounds:
//!
//! ```text
//! cargo run --release -p skein-protocol --features sample --example cost -- produce|fetch|metadata|rewrite [ROUNDS]
//! ```

use std::hint::black_box;

use skein_protocol::ids::{ApiKey, Direction};
use skein_protocol::outline::Outline;
use skein_protocol::passage::{Edit, Editor, Next, Passage, Value};
use skein_protocol::rewrite::rewrite;
use skein_protocol::sample::{Dice, usual};
use skein_protocol::table::{Fact, Table};
use skein_protocol::varint::narrow;
use skein_protocol::{Meaning, Meanings};

/// Shifts broker ids; keeps the rest.
struct Shift;

impl Editor for Shift {
    fn edit(&mut self, fact: &'static Fact, value: Value<'_>) -> Edit {
        match (fact.meaning, value) {
            (Meaning::BrokerId, Value::Int(id)) if id >= 0 => Edit::Int(id ^ 0x10),
            _ => Edit::Keep,
        }
    }

    fn producer_id(&mut self, id: i64) -> Option<i64> {
        Some(id ^ 1)
    }
}

fn main() {
    let mut words = std::env::args().skip(1);
    let what = words.next().unwrap_or_else(|| "produce".to_owned());
    let rounds: u64 = words.next().and_then(|word| word.parse().ok()).unwrap_or(1_000_000);
    let mut dice = Dice::new(1);
    let asked = skein_protocol::outline::OUTLINED;
    let brokers = Meanings::of(&[Meaning::BrokerId, Meaning::Host, Meaning::Port]);
    let (key, version, direction, wanted, mut frame) = match what.as_str() {
        "fetch" => (ApiKey::FETCH, 18, Direction::ToClient, brokers, usual::fetched(1024, &mut dice)),
        "metadata" | "rewrite" => (ApiKey::METADATA, 12, Direction::ToClient, brokers, usual::metadata(10, &mut dice)),
        _ => {
            let wanted = asked.and(Meanings::of(&[Meaning::ProducerId]));
            (ApiKey::PRODUCE, 13, Direction::ToBroker, wanted, usual::produce(1024, &mut dice))
        }
    };
    let Some(layout) = Table::get().layout(key, version, direction) else { return };
    let started = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
    for _ in 0..rounds {
        let mut outline = if direction == Direction::ToBroker { Outline::default() } else { Outline::off() };
        if what == "rewrite" {
            let rewritten = rewrite(layout, wanted, black_box(&mut frame), &mut Shift, &mut outline);
            assert!(black_box(rewritten).is_ok());
            continue;
        }
        let mut passage = Passage::new(layout, narrow(frame.len()), wanted);
        let mut at = 0;
        loop {
            match passage.next(black_box(&mut frame).get_mut(at..).unwrap_or(&mut []), &mut Shift, &mut outline) {
                Ok(Next::Keep(bytes)) => at += skein_protocol::varint::wide(bytes),
                Ok(Next::End) => break,
                other => {
                    eprintln!("{other:?}");
                    return;
                }
            }
        }
        assert_eq!(at, black_box(frame.len()));
        black_box(outline.size());
    }
    let took = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default() - started;
    println!("{what}: {} bytes, {} ns each", frame.len(), took.as_nanos() / u128::from(rounds.max(1)));
}
