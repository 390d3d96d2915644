//! A frame, sound or not, through all that reads one. What must hold of any bytes is asserted here.

use super::feed::{Pieces, feed};
use super::{Dice, expected_meanings};
use crate::answer;
use crate::code::Code;
use crate::edit::{Edit, Editor, Value};
use crate::frame;
use crate::ids::{ApiKey, Direction};
use crate::malformed::Malformed;
use crate::meaning::Meanings;
use crate::outline::Outline;
use crate::passage::{Announce, Passage, announce};
use crate::rewrite::rewrite;
use crate::table::{Fact, Layout, Table};
use crate::varint::{Inline, narrow, wide};
use crate::walker::{Flow, Open, Sink, Spot, Stop, Walker};

/// How often something may be told of a frame for each of its bytes, and how often more: an array of nothing is a byte of
/// which the start and the end are told.
const TOLD: (usize, usize) = (2, 16);

/// What came of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Whether the walker took the frame.
    pub walked: bool,
    /// Whether the passage did.
    pub passed: bool,
    /// Whether the rewrite did.
    pub rewritten: bool,
    /// Whether an answer was made.
    pub answered: bool,
}

/// Memory that a run of ordeals uses again, so that what is allocated is the crate's own.
#[derive(Debug, Default)]
pub struct Scratch {
    whole: Vec<u8>,
    window: Vec<u8>,
    out: Vec<u8>,
}

impl Scratch {
    /// Memory for frames of a usual size.
    pub fn new() -> Self {
        let room = || Vec::with_capacity(64 << 10);
        Self { whole: room(), window: room(), out: room() }
    }
}

/// Runs `frame`, without its length, through the frame head, walker, passage, rewrite and answer.
///
/// # Panics
/// If one of them goes on for longer than the frame's bytes give reason for, or makes an answer that is none.
pub fn run(
    key: ApiKey, version: i16, direction: Direction, frame: &[u8], dice: &mut Dice, scratch: &mut Scratch,
) -> Outcome {
    let mut outcome = Outcome::default();
    heads(frame);
    let Some(layout) = Table::get().layout(key, version, direction) else { return outcome };
    outcome.walked = walk(layout, frame, dice);
    let mut outline = Outline::default();
    let seed = dice.roll();
    outcome.passed = pass(layout, frame, dice, &mut outline, scratch);
    scratch.whole.clear();
    scratch.whole.extend(frame);
    let mut editor = Whim { dice: Dice::new(seed), bound: Lengths::Free };
    outcome.rewritten =
        rewrite(layout, expected_meanings(), &mut scratch.whole, &mut editor, &mut Outline::off()).is_ok();
    if outcome.passed && direction == Direction::ToBroker {
        outcome.answered = answer_is_sound(key, version, &outline);
    }
    outcome
}

fn heads(frame: &[u8]) {
    let claimed = narrow(frame.len()).to_be_bytes();
    let mut start = [0; 16];
    for (slot, byte) in start.iter_mut().zip(claimed.iter().chain(frame)) {
        *slot = *byte;
    }
    let start = start.get(..frame.len() + frame::LENGTH).unwrap_or(&start);
    let _ = frame::head(start, frame::LONGEST);
    let _ = frame::head(frame, 1 << 20);
    let _ = frame::reply_head(start);
}

fn walk(layout: &'static Layout, frame: &[u8], dice: &mut Dice) -> bool {
    let wanted = if dice.chance(128) { Meanings::NONE } else { expected_meanings() };
    ends(layout, frame, wanted)
}

/// Whether a walk comes to its end, which it must do soon in any case.
fn ends(layout: &'static Layout, mut frame: &[u8], wanted: Meanings) -> bool {
    let mut walker = Walker::new(layout, narrow(frame.len()), wanted);
    let mut told = Told(0);
    let stop = walker.run(&mut frame, &mut told);
    assert!(told.0 <= TOLD.0 * frame.len() + TOLD.1, "more is told of a frame than its bytes give reason for");
    stop == Ok(Stop::End)
}

/// Counts what a walk tells.
struct Told(usize);

impl<B> Sink<B> for Told {
    fn value(&mut self, _: &Spot, _: &mut B, _: usize) -> Result<Flow, Malformed> {
        self.0 += 1;
        Ok(Flow::On)
    }

    fn open(&mut self, _: &Open) -> Flow {
        self.0 += 1;
        Flow::On
    }

    fn element(&mut self, _: u32) {
        self.0 += 1;
    }

    fn close(&mut self, _: u32) {
        self.0 += 1;
    }

    fn tag_end(&mut self) {
        self.0 += 1;
    }
}

/// Feeds a passage with pieces, and counts what goes out. Says whether it came to its end.
fn pass(layout: &'static Layout, frame: &[u8], dice: &mut Dice, outline: &mut Outline, scratch: &mut Scratch) -> bool {
    let length = narrow(frame.len());
    let roomy = dice.chance(64);
    let bound = if roomy { Lengths::Room } else { Lengths::Fixed };
    let mut editor = Whim { dice: Dice::new(dice.roll()), bound };
    let mut passage = Passage::new(layout, length, expected_meanings());
    let mut announced = length;
    if roomy {
        match announce(layout, length, 4, frame) {
            Ok(Announce::Longer(longer)) => {
                passage = passage.with_room(longer);
                announced += longer;
            }
            Ok(Announce::Need(_) | Announce::TooLong) | Err(_) => return false,
        }
    }
    scratch.out.clear();
    let pieces = if dice.chance(64) { Pieces::Whole } else { Pieces::Random(dice) };
    feed(passage, frame, &mut editor, outline, pieces, &mut scratch.window, &mut scratch.out).is_ok_and(|()| {
        assert_eq!(scratch.out.len(), wide(announced), "the frame has another length than was announced");
        true
    })
}

fn answer_is_sound(key: ApiKey, version: i16, outline: &Outline) -> bool {
    let Some(answer) = answer::refusal(key, version, 7, outline, Code::NOT_COORDINATOR) else { return false };
    let Some(layout) = Table::get().layout(key, version, Direction::ToClient) else { return false };
    assert!(ends(layout, &answer, Meanings::NONE), "an answer of ours is malformed");
    true
}

/// Which lengths an editor may change.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lengths {
    Fixed,
    /// A name may grow by four bytes.
    Room,
    Free,
}

/// An editor that does what the dice say, most of it possible.
struct Whim {
    dice: Dice,
    bound: Lengths,
}

impl Editor for Whim {
    fn edit(&mut self, _: &'static Fact, value: Value<'_>) -> Edit {
        match (self.dice.below(64), value) {
            (0, _) => Edit::Null,
            (1, _) => Edit::Drop,
            (2, _) => Edit::Int(-1),
            (3..8, _) if self.bound == Lengths::Free => Edit::Drop,
            (8..40, Value::Int(number)) => Edit::Int(number ^ 1),
            (8..40, Value::Id([first, rest @ ..])) => {
                let mut id = [!first; 16];
                if let Some(slot) = id.get_mut(1..) {
                    slot.copy_from_slice(&rest);
                }
                Edit::Id(id)
            }
            (8..30, Value::Text(text)) if self.bound == Lengths::Fixed => Edit::Text(Inline::from_slice(text)),
            (8..30, Value::Text(text)) => {
                let mut longer = Inline::from_slice(b"us.-");
                longer.extend_from_slice(text);
                Edit::Text(longer)
            }
            _ => Edit::Keep,
        }
    }

    fn producer_id(&mut self, id: i64) -> Option<i64> {
        Some(id ^ 0x55)
    }
}
