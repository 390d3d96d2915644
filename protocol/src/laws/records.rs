//! Record batches: producer ids of transactions are changed, with a CRC that is right just if it was before.

use super::{all, for_every_message, keep};
use crate::edit::{Edit, Editor, Value};
use crate::meaning::{Meaning, Meanings};
use crate::outline::Outline;
use crate::passage::Passage;
use crate::sample::feed::{Pieces, feed};
use crate::sample::{BatchKind, Recipe, batches};
use crate::table::Fact;
use crate::varint::narrow;

struct Producers(Vec<i64>);

impl Editor for Producers {
    fn edit(&mut self, fact: &'static Fact, value: Value<'_>) -> Edit {
        keep(fact, value)
    }

    fn producer_id(&mut self, id: i64) -> Option<i64> {
        self.0.push(id);
        Some(id + (5 << 40))
    }
}

#[test]
fn a_transaction_gets_its_producer_id_and_nothing_else_changes() {
    let mut patched = 0;
    for_every_message(20, &Recipe::WILD, |mut case| {
        // Every other case has a bit of a batch wrong.
        let spoilt = case.dice.chance(128);
        let mut frame = case.sample.frame.clone();
        if spoilt {
            for batch in &case.sample.batches {
                if let Some(byte) = frame.get_mut(batch.at + 58).filter(|_| batch.len > 58) {
                    *byte ^= 0x40;
                }
            }
        }
        let transactions: Vec<_> =
            case.sample.batches.iter().filter(|batch| batch.kind == BatchKind::Transactional).collect();
        let mut editor = Producers(Vec::new());
        let passage = Passage::new(case.layout, narrow(frame.len()), Meanings::of(&[Meaning::ProducerId]));
        let mut out = Vec::new();
        let pieces = Pieces::Random(&mut case.dice);
        feed(passage, &frame, &mut editor, &mut Outline::off(), pieces, &mut Vec::new(), &mut out).unwrap();
        assert_eq!(editor.0, transactions.iter().map(|batch| batch.producer).collect::<Vec<_>>(), "{}", case.name);
        let mut restored = out.clone();
        for batch in &transactions {
            let range = batch.at..batch.at + batch.len;
            assert!(batches::is_sound(&case.sample.frame[range.clone()]), "{}", case.name);
            assert_eq!(batches::is_sound(&out[range.clone()]), !spoilt, "{}", case.name);
            assert_eq!(batches::producer(&out[range.clone()]), Some(batch.producer + (5 << 40)));
            for at in (17..21).chain(43..51) {
                restored[batch.at + at] = frame[batch.at + at];
            }
            patched += 1;
        }
        assert_eq!(restored, frame, "{}", case.name);

        let mut rewritten = frame.clone();
        let wanted = Meanings::of(&[Meaning::ProducerId]);
        crate::rewrite::rewrite(case.layout, wanted, &mut rewritten, &mut Producers(Vec::new()), &mut Outline::off())
            .unwrap();
        assert_eq!(rewritten, out, "{}", case.name);
    });
    assert!(patched > 200, "{patched} were");
}

#[test]
fn records_that_nobody_asked_for_are_not_looked_at() {
    for_every_message(4, &Recipe::WILD, |case| {
        let mut editor = Producers(Vec::new());
        let wanted = all();
        assert!(!wanted.has(Meaning::Records));
        let wanted = Meaning::ALL
            .iter()
            .filter(|meaning| wanted.has(**meaning) && **meaning != Meaning::ProducerId && **meaning != Meaning::Host)
            .fold(Meanings::NONE, |all, meaning| all.and(Meanings::of(&[*meaning])));
        let passage = Passage::new(case.layout, narrow(case.sample.frame.len()), wanted);
        let mut out = Vec::new();
        let frame = &case.sample.frame;
        feed(passage, frame, &mut editor, &mut Outline::off(), Pieces::Whole, &mut Vec::new(), &mut out).unwrap();
        assert_eq!((out, editor.0), (case.sample.frame, Vec::new()), "{}", case.name);
    });
}
