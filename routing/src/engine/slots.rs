//! Answer slots: one per request, in the order in which the requests came. Answers leave in that order.

use std::collections::VecDeque;

use bytes::Bytes;
use skein_filters::Beside;
use skein_protocol::frame::Head;
use skein_protocol::merge::together;
use skein_protocol::outline::Outline;
use skein_protocol::varint::narrow;

use super::lanes::framed;
use super::{Effect, Engine, Reason};
use crate::budget::Reserved;

/// The number of a request on its connection, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct SlotId(pub(super) u64);

/// A request that has no answer yet, or whose answer waits for its turn.
pub(super) struct Slot {
    pub(super) head: Head,
    pub(super) outline: Outline,
    pub(super) state: SlotState,
    /// The answer to what a filter kept from the broker; it is merged into that to the rest.
    pub(super) beside: Option<Beside>,
    /// Bytes that it holds besides: its outline and its answer.
    weight: usize,
}

/// How far a request has come.
#[derive(Debug)]
pub(super) enum SlotState {
    /// Its body is still arriving.
    Arriving,
    /// A broker has it, or a step works on it.
    Asked,
    /// Its answer is passing.
    Passing,
    /// Its answer waits for its turn: a frame with its length.
    Ready(Bytes),
    /// It has no answer: a Produce with acks = 0.
    Silent,
    /// It has none, and the connection ends when its turn comes.
    Doomed(Reason),
}

/// Bytes that the open requests of one connection may hold together in outlines, and in answers that wait for their turn.
const MOST_HELD: usize = 1 << 20;

/// All of them.
#[derive(Default)]
pub(super) struct Slots {
    queue: VecDeque<Slot>,
    /// The number of the first.
    first: u64,
    /// What all of them hold.
    weight: usize,
}

impl Slots {
    pub(super) fn len(&self) -> usize {
        self.queue.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Slot> {
        self.queue.iter()
    }

    pub(super) fn push(&mut self, head: Head, outline: Outline) -> SlotId {
        self.queue.push_back(Slot { head, outline, state: SlotState::Arriving, beside: None, weight: 0 });
        SlotId(self.first + u64::from(narrow(self.queue.len() - 1)))
    }

    pub(super) fn get_mut(&mut self, id: SlotId) -> Option<&mut Slot> {
        let index = id.0.checked_sub(self.first)?;
        self.queue.get_mut(usize::try_from(index).ok()?)
    }

    /// Whether a slot is the one whose answer leaves next.
    pub(super) fn is_first(&self, id: SlotId) -> bool {
        id.0 == self.first && !self.queue.is_empty()
    }

    pub(super) fn pop(&mut self) -> Option<Slot> {
        let slot = self.queue.pop_front()?;
        self.first += 1;
        self.weight -= slot.weight;
        Some(slot)
    }

    /// Takes back the request that came last: it was none.
    pub(super) fn drop_last(&mut self) {
        self.weight -= self.queue.pop_back().map_or(0, |slot| slot.weight);
    }

    /// What a slot holds has changed.
    pub(super) fn weigh(&mut self, id: SlotId) {
        let Some(slot) = self.get_mut(id) else { return };
        let answer = if let SlotState::Ready(answer) = &slot.state { answer.len() } else { 0 };
        let beside = slot.beside.as_ref().map_or(0, |beside| beside.frame.len());
        let weight = slot.outline.allocated() + answer + beside;
        let before = std::mem::replace(&mut slot.weight, weight);
        self.weight = self.weight - before + weight;
    }

    /// Whether they hold as much as one connection may.
    pub(super) fn are_full(&self, most: usize) -> bool {
        self.queue.len() >= most || self.weight >= MOST_HELD
    }

    fn front(&self) -> Option<&SlotState> {
        self.queue.front().map(|slot| &slot.state)
    }
}

impl Engine {
    /// An answer is there: a frame without its length.
    pub(super) fn answered(&mut self, id: SlotId, frame: &[u8]) {
        self.answered_holding(id, frame, None);
    }

    /// The same, with the memory that is held for it until it has left.
    pub(super) fn answered_holding(&mut self, id: SlotId, frame: &[u8], memory: Option<Reserved>) {
        let beside = self.slots.get_mut(id).and_then(|slot| Some((slot.head, slot.beside.take()?)));
        let framed = match beside {
            None => framed(frame),
            Some((head, beside)) => match together(&head, frame, &beside.frame) {
                Ok(both) => framed(&both),
                // It was walked before: this does not happen. What would be left out is not.
                Err(malformed) => return self.set(id, SlotState::Doomed(Reason::Malformed(malformed))),
            },
        };
        self.set(
            id,
            SlotState::Ready(match memory {
                Some(memory) => memory.with(framed),
                None => framed,
            }),
        );
    }

    /// Something was decided about a slot; whatever is first in line and done leaves.
    pub(super) fn set(&mut self, id: SlotId, state: SlotState) {
        if let Some(slot) = self.slots.get_mut(id) {
            slot.state = state;
        }
        self.slots.weigh(id);
        self.settle();
    }

    /// Lets go of what is first in line and done.
    pub(super) fn settle(&mut self) {
        while let Some(SlotState::Ready(_) | SlotState::Silent | SlotState::Doomed(_)) = self.slots.front() {
            let Some(slot) = self.slots.pop() else { return };
            match slot.state {
                SlotState::Ready(answer) => self.effects.push_back(Effect::Answer(answer)),
                SlotState::Doomed(reason) => {
                    self.effects.push_back(Effect::Close(reason.clone()));
                    self.close(reason);
                }
                SlotState::Silent | SlotState::Arriving | SlotState::Asked | SlotState::Passing => {}
            }
        }
    }
}
