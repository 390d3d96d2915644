//! Requests that go nowhere: they are counted off, and answered from their outline.

use std::time::Instant;

use skein_protocol::answer;
use skein_protocol::code::Code;
use skein_protocol::frame::{self, Head};
use skein_protocol::ids::Direction;
use skein_protocol::outline::{OUTLINED, Outline};
use skein_protocol::passage::{Edit, Editor, Next, Passage, Value};
use skein_protocol::table::{Fact, Table};
use skein_protocol::varint::narrow;
use skein_protocol::{Meaning, Meanings};

use super::{After, Engine, Incoming, LaneId, Move, Out, Reason, SlotId, SlotState, Step};
use crate::engine::{Effect, Note, astray};
use crate::path::Seen;
use crate::router::Lost;

impl Engine {
    /// Begins to count a request off.
    pub(super) fn refuse_arriving(&mut self, now: Instant, head: &Head, after: After) -> Step {
        let Some(layout) = Table::get().layout(head.key, head.version, Direction::ToBroker) else {
            return self.end(Reason::NotOffered { key: head.key.0, version: head.version });
        };
        let wants = OUTLINED.and(Meanings::of(&[Meaning::Acks, Meaning::SessionEpoch]));
        let passage = self.boxed(Passage::new(layout, head.length, wants));
        let slot = self.slots.push(*head, Outline::default());
        self.arrives(now, head.length);
        self.incoming = Incoming::Counting { passage, slot, after, seen: Seen::default() };
        Step::Then(Move::Take(narrow(frame::LENGTH)))
    }

    /// Goes on with a request that is counted off.
    pub(super) fn count_off(&mut self, input: &mut [u8]) -> Step {
        let Incoming::Counting { passage, slot, seen, .. } = &mut self.incoming else {
            return Step::Then(astray());
        };
        let Some(asked) = self.slots.get_mut(*slot) else { return Step::Then(astray()) };
        match passage.next(input, &mut Counter { seen }, &mut asked.outline) {
            Ok(Next::Need(bytes)) => Step::Then(Move::Need(bytes)),
            Ok(Next::Keep(bytes)) => Step::Then(Move::Take(bytes)),
            Ok(Next::Put { skip, .. }) => Step::Then(Move::Take(skip)),
            // What is only counted is decided.
            Ok(Next::Zeros(_) | Next::Hold) => Step::Again,
            Ok(Next::End) => {
                if let Incoming::Counting { passage, slot, after, seen } = self.arrived() {
                    self.spare = Some(passage);
                    self.counted_off(slot, after, &seen);
                }
                Step::Again
            }
            Err(malformed) => {
                self.arrived();
                self.slots.drop_last();
                self.end(Reason::Malformed(malformed))
            }
        }
    }

    fn counted_off(&mut self, slot: SlotId, after: After, seen: &Seen) {
        if let After::Between = after {
            return self.refuse_between(slot, seen);
        }
        if seen.silent {
            // Closing is how a broker says that such a Produce failed.
            return self.set(slot, SlotState::Doomed(Reason::Unacknowledged));
        }
        if seen.incremental {
            self.forget_outline(slot);
        }
        match after {
            After::Code(code) => self.refuse(slot, code),
            After::Lost(lost) => self.answer_lost(slot, lost),
            After::Between => {}
        }
    }

    /// A request in the middle of a login. What names nothing is told nothing, as by a broker.
    fn refuse_between(&mut self, id: SlotId, seen: &Seen) {
        let Some(slot) = self.slots.get_mut(id) else { return };
        let (head, outline) = (slot.head, std::mem::take(&mut slot.outline));
        let refusal = |outline: &Outline| {
            answer::refusal(head.key, head.version, head.correlation, outline, Code::ILLEGAL_SASL_STATE)
        };
        let nothing = Outline::default();
        let frame = refusal(&outline).or_else(|| refusal(&nothing));
        match frame.or_else(|| answer::empty(head.key, head.version, head.correlation)) {
            Some(frame) if !seen.silent => {
                self.effects.push_back(Effect::Note(Note::Refused(head.key, Code::ILLEGAL_SASL_STATE)));
                self.answered(id, &frame);
            }
            _ => self.set(id, SlotState::Doomed(Reason::BeforeLogin { key: head.key })),
        }
    }

    /// The lane that a request was passing to is lost: the rest is counted off.
    pub(in crate::engine) fn incoming_lost(&mut self, id: LaneId) {
        self.incoming = lost(std::mem::replace(&mut self.incoming, Incoming::Idle), id);
        self.deferred = self.deferred.take().map(|then| match then {
            Move::Put(bytes, _, Out::Lane(lane)) | Move::Keep(bytes, Out::Lane(lane)) if lane == id => {
                Move::Take(bytes)
            }
            Move::Zeros(_, Out::Lane(lane)) if lane == id => Move::Take(0),
            then @ (Move::Need(_)
            | Move::Keep(..)
            | Move::Put(..)
            | Move::Zeros(..)
            | Move::Take(_)
            | Move::Wait
            | Move::Close(_)
            | Move::Hang(_)) => then,
        });
    }
}

/// What becomes of a request that is arriving when a lane is lost.
fn lost(incoming: Incoming, id: LaneId) -> Incoming {
    match incoming {
        Incoming::Passing { passage, slot, lane, seen, .. } if lane == id => {
            // A broker that was not to have all of it yet cannot have acted; one that was to may have, whether or not the
            // end has come.
            let lost = if passage.rest() > 0 { Lost::Unsent } else { Lost::Unknown };
            Incoming::Counting { passage, slot, after: After::Lost(lost), seen }
        }
        incoming @ (Incoming::Idle
        | Incoming::Passing { .. }
        | Incoming::Counting { .. }
        | Incoming::Reserved { .. }) => incoming,
    }
}

/// Looks at a request that is counted off.
pub(super) struct Counter<'a> {
    pub(super) seen: &'a mut Seen,
}

impl Editor for Counter<'_> {
    fn edit(&mut self, fact: &'static Fact, value: Value<'_>) -> Edit {
        match (fact.meaning, value) {
            (Meaning::Acks, Value::Int(acks)) => self.seen.silent = acks == 0,
            (Meaning::SessionEpoch, Value::Int(epoch)) => self.seen.incremental = epoch > 0,
            _ => {}
        }
        Edit::Keep
    }

    fn producer_id(&mut self, _id: i64) -> Option<i64> {
        None
    }
}
