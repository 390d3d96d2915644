//! What must hold after every step of every test.

use super::Engine;
use super::incoming::Incoming;
use super::lanes::{LaneState, Purpose};
use super::slots::SlotState;

/// Where an incoming request leads, as far as the invariants care.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Arriving {
    Nothing,
    Body,
}

impl Engine {
    /// The invariants of the engine.
    ///
    /// 1. Nothing behind a barrier has started before its answer is made.
    /// 2. Each request has one slot; the first slot is never one that is done.
    /// 3. A slot that a broker has is on exactly one lane, and its lane keeps the order of the slots. A step of a login that
    ///    is being judged is on none.
    /// 4. Whatever waits has a deadline.
    /// 5. A body that is arriving belongs to the last slot.
    ///
    /// # Errors
    /// Which one does not hold.
    pub fn check(&self) -> Result<(), &'static str> {
        let arriving = self.arriving();
        if self.work.is_some() && (self.slots.len() != 1 || arriving == Arriving::Body) {
            return Err("a request started behind a barrier");
        }
        if self.work.as_ref().is_some_and(|work| work.open_legs() == 0) {
            return Err("a barrier waits for nothing");
        }
        self.check_slots(arriving)?;
        self.check_lanes()
    }

    fn arriving(&self) -> Arriving {
        match self.incoming {
            Incoming::Passing { .. } | Incoming::Counting { .. } => Arriving::Body,
            Incoming::Idle | Incoming::Reserved { .. } => Arriving::Nothing,
        }
    }

    fn check_slots(&self, arriving: Arriving) -> Result<(), &'static str> {
        let mut bodies = 0;
        let mut passing = 0;
        let mut asked = 0;
        for (index, slot) in self.slots.iter().enumerate() {
            match slot.state {
                SlotState::Arriving => {
                    bodies += 1;
                    if index + 1 != self.slots.len() {
                        return Err("a request came behind one that has not arrived");
                    }
                }
                SlotState::Passing => {
                    passing += 1;
                    if index != 0 {
                        return Err("an answer passes before its turn");
                    }
                }
                SlotState::Ready(_) | SlotState::Silent | SlotState::Doomed(_) if index == 0 => {
                    return Err("the first slot is done and has not left");
                }
                SlotState::Asked => asked += 1,
                SlotState::Ready(_) | SlotState::Silent | SlotState::Doomed(_) => {}
            }
        }
        if bodies > 1 || (bodies == 1) != (arriving == Arriving::Body) {
            return Err("a body arrives without a slot, or a slot waits for a body that does not arrive");
        }
        let on_lanes = self.lanes.iter().flat_map(|lane| &lane.tickets);
        let judged = usize::from(self.login.judged_by().is_some());
        let tickets = on_lanes.filter(|ticket| matches!(ticket.purpose, Purpose::Slot(..))).count();
        let works = usize::from(self.work.is_some()) + judged;
        if tickets + works < asked + passing || tickets + works > asked + passing + bodies {
            return Err("a slot is asked on no lane, or on two");
        }
        Ok(())
    }

    fn check_lanes(&self) -> Result<(), &'static str> {
        for lane in &self.lanes {
            if lane.is_waiting() && lane.due().is_none() {
                return Err("a request waits without a deadline");
            }
            if !lane.is_waiting() && lane.due().is_some() {
                return Err("a deadline without a request");
            }
            let slots = || {
                lane.tickets.iter().filter_map(|ticket| match ticket.purpose {
                    Purpose::Slot(slot, _) => Some(slot),
                    Purpose::Leg(..) | Purpose::Own(_) | Purpose::Learn(_) | Purpose::Login => None,
                })
            };
            if slots().zip(slots().skip(1)).any(|(one, next)| one >= next) {
                return Err("a lane has requests out of order");
            }
            if !matches!(lane.state, LaneState::Up | LaneState::Renewing) && slots().next().is_some() {
                return Err("a request is on a lane that is not up");
            }
        }
        Ok(())
    }
}
