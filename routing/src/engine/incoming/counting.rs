//! Requests that go nowhere: they are counted off, and answered from their outline.

use std::time::Instant;

use skein_protocol::frame::{self, Head};
use skein_protocol::ids::Direction;
use skein_protocol::outline::{OUTLINED, Outline};
use skein_protocol::passage::{Edit, Editor, Next, Passage, Value};
use skein_protocol::table::{Fact, Table};
use skein_protocol::varint::narrow;
use skein_protocol::{Meaning, Meanings};

use super::{After, Engine, Incoming, LaneId, Move, Out, Reason, SlotId, SlotState, Step};
use crate::apis::loss;
use crate::path::Seen;
use crate::router::Lost;

impl Engine {
    /// Begins to count a request off.
    pub(super) fn refuse_arriving(&mut self, now: Instant, head: &Head, after: After) -> Step {
        let Some(layout) = Table::get().layout(head.key, head.version, Direction::ToBroker) else {
            return self.end(Reason::NotOffered { key: head.key.0, version: head.version });
        };
        let wants = OUTLINED.and(Meanings::of(&[Meaning::Acks]));
        let passage = Box::new(Passage::new(layout, head.length, wants));
        let slot = self.slots.push(*head, Outline::default());
        self.arrives(now, head.length);
        self.incoming = Incoming::Counting { passage, slot, after, seen: Seen::default() };
        Step::Then(Move::Take(narrow(frame::LENGTH)))
    }

    /// Goes on with a request that is counted off.
    pub(super) fn count_off(&mut self, input: &mut [u8]) -> Step {
        let Incoming::Counting { passage, slot, after, seen } = &mut self.incoming else {
            return Step::Then(Move::Wait);
        };
        let (slot, after) = (*slot, *after);
        let Some(asked) = self.slots.get_mut(slot) else { return Step::Then(Move::Wait) };
        match passage.next(input, &mut Counter { seen }, &mut asked.outline) {
            Ok(Next::Need(bytes)) => Step::Then(Move::Need(bytes)),
            Ok(Next::Keep(bytes)) => Step::Then(Move::Take(bytes)),
            Ok(Next::Put { skip, .. }) => Step::Then(Move::Take(skip)),
            Ok(Next::Zeros(_)) => Step::Again,
            Ok(Next::End) => {
                let silent = seen.silent;
                let (head, outline) = (asked.head, std::mem::take(&mut asked.outline));
                self.incoming = Incoming::Idle;
                self.arrival = None;
                self.counted_off(slot, &head, &outline, after, silent.then_some(Silence));
                Step::Again
            }
            Err(malformed) => {
                self.incoming = Incoming::Idle;
                self.slots.drop_last();
                self.end(Reason::Malformed(malformed))
            }
        }
    }

    fn counted_off(&mut self, slot: SlotId, head: &Head, outline: &Outline, after: After, silence: Option<Silence>) {
        let code = match after {
            After::Code(code) => Some(code),
            After::Lost => loss::code(head.key, Lost::Unsent),
        };
        match (silence, code) {
            (Some(Silence), _) => self.set(slot, SlotState::Doomed(Reason::Unacknowledged)),
            (None, Some(code)) => self.refuse(slot, head, outline, code),
            (None, None) => self.set(slot, SlotState::Doomed(Reason::NoAnswer { key: head.key })),
        }
    }

    /// The lane that a request was passing to is lost: the rest is counted off.
    pub(in crate::engine) fn incoming_lost(&mut self, id: LaneId) {
        self.incoming = lost(std::mem::replace(&mut self.incoming, Incoming::Idle), id);
    }
}

/// What becomes of a request that is arriving when a lane is lost.
fn lost(incoming: Incoming, id: LaneId) -> Incoming {
    match incoming {
        // The broker never had all of it, so it cannot have acted.
        Incoming::Passing { passage, slot, lane, seen, .. } if lane == id => {
            Incoming::Counting { passage, slot, after: After::Lost, seen }
        }
        Incoming::Deferred(then, before) => {
            let before = Box::new(lost(*before, id));
            let goes_there = |out: Out| out == Out::Lane(id);
            let then = match then {
                Move::Put(bytes, _, out) | Move::Keep(bytes, out) if goes_there(out) => Move::Take(bytes),
                Move::Zeros(_, out) if goes_there(out) => Move::Take(0),
                then @ (Move::Need(_)
                | Move::Keep(..)
                | Move::Put(..)
                | Move::Zeros(..)
                | Move::Take(_)
                | Move::Wait
                | Move::Close(_)
                | Move::Hang(_)) => then,
            };
            Incoming::Deferred(then, before)
        }
        incoming @ (Incoming::Idle
        | Incoming::Passing { .. }
        | Incoming::Counting { .. }
        | Incoming::Reserved { .. }) => incoming,
    }
}

/// A request that wants no answer.
struct Silence;

/// Looks at a request that is counted off.
pub(super) struct Counter<'a> {
    pub(super) seen: &'a mut Seen,
}

impl Editor for Counter<'_> {
    fn edit(&mut self, fact: &'static Fact, value: Value<'_>) -> Edit {
        if let (Meaning::Acks, Value::Int(acks)) = (fact.meaning, value) {
            self.seen.silent = acks == 0;
        }
        Edit::Keep
    }

    fn producer_id(&mut self, _id: i64) -> Option<i64> {
        None
    }
}
