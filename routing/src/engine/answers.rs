//! What brokers send: answers, each matched to the request that is next in line on its lane.

use std::time::{Duration, Instant};

use bytes::Bytes;
use skein_protocol::Malformed;
use skein_protocol::code::Code;
use skein_protocol::frame::{self, ReplyHead};
use skein_protocol::ids::{ApiKey, Direction};
use skein_protocol::outline::Outline;
use skein_protocol::passage::{self, Announce, Next, Passage};
use skein_protocol::rewrite::{Rewritten, rewrite};
use skein_protocol::varint::{narrow, wide};

use super::incoming::Incoming;
use super::lanes::{LaneId, Purpose, STARVED, write};
use super::plan::PlanId;
use super::slots::{SlotId, SlotState};
use super::{Effect, Engine, Fault, Move, Out, astray, is_listing, tag};
use crate::apis::metadata;
use crate::path::{Lengths, Seen, Translator};

/// No fetch brings more: brokers bound even a single batch below it.
const MOST: u32 = 1 << 30;
/// Answers up to this size are completed even where they could stream.
const SMALL: u32 = 16 << 10;
/// Answers up to this size sit in the read buffer while they are completed; larger ones take from the process's budget.
const FITS_BUFFER: u32 = 256 << 10;

/// An answer that is passing.
pub(super) struct Passing {
    passage: Passage,
    plan: PlanId,
    seen: Seen,
}

/// What a look at a lane's next bytes led to.
enum Reply {
    /// So many bytes are decided about, to be kept.
    Kept(u32),
    /// Something else; what was kept before goes first.
    Then(Move),
}

impl Engine {
    /// Says what becomes of what a broker has sent. `input` starts where the last move on this lane ended.
    pub fn from_lane(&mut self, now: Instant, id: LaneId, input: &mut [u8]) -> Move {
        if let Some(deferred) = self.lane_mut(id).and_then(|lane| lane.deferred.take()) {
            return deferred;
        }
        let mut kept: u32 = 0;
        loop {
            let first = |kept: u32, then: Move| if kept > 0 { Move::Keep(kept, Out::Client) } else { then };
            if !self.effects.is_empty() {
                return first(kept, Move::Take(0));
            }
            let ahead = input.get_mut(wide(kept)..).unwrap_or(&mut []);
            let passing = self.lane_mut(id).is_some_and(|lane| lane.passing.is_some());
            let reply = if passing { self.pass_answer(now, id, ahead) } else { self.next_answer(now, id, ahead) };
            match reply {
                Ok(Reply::Kept(bytes)) => {
                    kept += bytes;
                    if wide(kept) > input.len() {
                        return Move::Keep(kept, Out::Client);
                    }
                }
                Ok(Reply::Then(then @ (Move::Need(_) | Move::Wait))) => return first(kept, then),
                Ok(Reply::Then(then)) => return self.defer(id, kept, then),
                Err(fault) => return self.defer(id, kept, Move::Hang(fault)),
            }
        }
    }

    /// What was kept goes first; the rest is told at the next call.
    fn defer(&mut self, id: LaneId, kept: u32, then: Move) -> Move {
        if kept == 0 {
            return then;
        }
        if let Some(lane) = self.lane_mut(id) {
            lane.deferred = Some(then);
        }
        Move::Keep(kept, Out::Client)
    }

    /// Goes on with an answer that is passing.
    fn pass_answer(&mut self, now: Instant, id: LaneId, input: &mut [u8]) -> Result<Reply, Fault> {
        let Some(lane) = self.lanes.get_mut(usize::from(id.0)) else { return Ok(Reply::Then(astray())) };
        let Some(passing) = &mut lane.passing else { return Ok(Reply::Then(astray())) };
        let Some(plan) = self.plans.get(passing.plan) else { return Ok(Reply::Then(astray())) };
        let tag = tag(&self.views, plan.path.to.cluster);
        let mut editor = Translator::new(&plan.path, plan.key, Direction::ToClient, tag, &mut passing.seen)
            .guarded(self.guard.filters(), plan.response.guarded.fields);
        let next = passing.passage.next(input, &mut editor, &mut Outline::off()).map_err(Fault::Malformed)?;
        Ok(match next {
            // Nobody holds an answer.
            Next::Hold => Reply::Then(astray()),
            Next::Need(bytes) => Reply::Then(Move::Need(bytes)),
            Next::Keep(bytes) => Reply::Kept(bytes),
            Next::Put { skip, put } => Reply::Then(Move::Put(skip, put, Out::Client)),
            Next::Zeros(bytes) => Reply::Then(Move::Zeros(bytes, Out::Client)),
            Next::End => {
                let memo = std::mem::take(&mut passing.seen.memo);
                lane.passing = None;
                lane.pop(now);
                self.slots.pop();
                self.note_unlisted(&memo);
                self.settle();
                Reply::Kept(0)
            }
        })
    }

    /// Begins with the next answer on a lane.
    fn next_answer(&mut self, now: Instant, id: LaneId, input: &mut [u8]) -> Result<Reply, Fault> {
        let Some(head) = frame::reply_head(input).map_err(Fault::Malformed)? else {
            return Ok(Reply::Then(Move::Need(frame::REPLY_HEAD)));
        };
        let first = self.lanes.get(usize::from(id.0)).and_then(|lane| lane.tickets.front());
        let Some(ticket) = first.filter(|ticket| ticket.correlation == head.correlation) else {
            return Err(Fault::Correlation {
                found: head.correlation,
                expected: first.map(|ticket| ticket.correlation),
            });
        };
        match ticket.purpose {
            Purpose::Slot(slot, plan) => self.next_of_slot(now, id, &head, (slot, plan), input),
            Purpose::Leg(work, leg) => {
                let Some(frame) = self.whole_answer(&head, input)? else { return Ok(Reply::Then(need(&head))) };
                let frame = Bytes::copy_from_slice(frame);
                self.pop_ticket(now, id);
                self.leg_done(now, (work, leg), Ok(frame));
                Ok(Reply::Then(Move::Take(head.length + 4)))
            }
            Purpose::Learn(plan) => {
                let Some(frame) = self.whole_answer(&head, input)? else { return Ok(Reply::Then(need(&head))) };
                let frame = frame.to_vec();
                self.pop_ticket(now, id);
                self.learnt(plan, frame)?;
                Ok(Reply::Then(Move::Take(head.length + 4)))
            }
            Purpose::Login => {
                let Some(frame) = self.whole_answer(&head, input)? else { return Ok(Reply::Then(need(&head))) };
                let frame = Bytes::copy_from_slice(frame);
                self.pop_ticket(now, id);
                self.effects.push_back(Effect::Renewing(id, frame));
                Ok(Reply::Then(Move::Take(head.length + 4)))
            }
            Purpose::Own(version) => {
                let Some(frame) = self.whole_answer(&head, input)? else { return Ok(Reply::Then(need(&head))) };
                let told = metadata::learn(version, &Bytes::copy_from_slice(frame)).map_err(|_| Fault::Unread)?;
                self.pop_ticket(now, id);
                if let Some(cluster) = self.lanes.get(usize::from(id.0)).map(|lane| lane.to.cluster) {
                    self.effects.push_back(Effect::Told(cluster, told));
                }
                Ok(Reply::Then(Move::Take(head.length + 4)))
            }
        }
    }

    fn pop_ticket(&mut self, now: Instant, id: LaneId) {
        if let Some(lane) = self.lane_mut(id) {
            lane.pop(now);
        }
    }

    /// The whole frame of an answer that must be completed, without its length; `None` until it is there.
    fn whole_answer<'a>(&self, head: &ReplyHead, input: &'a mut [u8]) -> Result<Option<&'a mut [u8]>, Fault> {
        let cap = self.most_completed();
        if head.length > cap {
            return Err(Fault::TooLarge { length: head.length, cap });
        }
        Ok(input.get_mut(frame::LENGTH..frame::LENGTH + wide(head.length)))
    }

    /// The longest answer that is completed.
    fn most_completed(&self) -> u32 {
        self.door.limits.completed_answer.min(self.door.answers.longest())
    }

    fn next_of_slot(
        &mut self, now: Instant, id: LaneId, head: &ReplyHead, (slot, plan_id): (SlotId, PlanId), input: &mut [u8],
    ) -> Result<Reply, Fault> {
        // An answer whose turn has not come stays where it is: behind it nothing is read either.
        let allowance = self.door.limits.frame_arrival + Duration::from_secs(u64::from(head.length >> 16));
        if let Some(lane) = self.lane_mut(id) {
            // It is not late any more; from here on its bytes are waited for, and the client that takes them.
            lane.comes(now, allowance);
        }
        if !self.slots.is_first(slot) {
            return Ok(Reply::Then(Move::Wait));
        }
        let is_divided = self.slots.get_mut(slot).is_some_and(|slot| slot.beside.is_some());
        if self.slots.get_mut(slot).is_some_and(|slot| matches!(slot.state, SlotState::Arriving)) {
            // Nobody can answer what has not been asked to its end, though the shell may have sent that before it said so.
            let ended = matches!(&self.incoming, Incoming::Passing { passage, .. } if passage.rest() == 0);
            return if ended { Ok(Reply::Then(Move::Wait)) } else { Err(Fault::Early) };
        }
        let Some(plan) = self.plans.get(plan_id) else { return Ok(Reply::Then(astray())) };
        let (key, growth) = (plan.key, plan.path.growth(Direction::ToClient));
        let (layout, wants, lengths) = (plan.response.layout, plan.response.wants, plan.response.lengths);
        // What is small is judged before any of it goes on, and can still be answered for if it is malformed.
        let small = head.length <= SMALL || (!key.is_fetch() && head.length <= FITS_BUFFER);
        let longer = match lengths {
            // What a filter has answered is merged into it.
            _ if small || is_divided => return self.complete_answer(now, id, head, (slot, plan_id), input),
            _ if !key.is_fetch() && head.length > self.most_completed() => {
                return Err(Fault::TooLarge { length: head.length, cap: self.most_completed() });
            }
            _ if head.length > MOST => return Err(Fault::TooLarge { length: head.length, cap: MOST }),
            Lengths::Any => return self.complete_answer(now, id, head, (slot, plan_id), input),
            Lengths::Kept => 0,
            Lengths::Names => {
                let body = input.get(frame::LENGTH..).unwrap_or(&[]);
                match passage::announce(layout, head.length, growth.unwrap_or(0), body).map_err(Fault::Malformed)? {
                    Announce::Need(bytes) => return Ok(Reply::Then(Move::Need(frame::LENGTH + bytes))),
                    Announce::Longer(longer) => longer,
                    Announce::TooLong => return self.complete_answer(now, id, head, (slot, plan_id), input),
                }
            }
        };
        let length = head.length.checked_add(longer).ok_or(Fault::Malformed(Malformed::Outgrown { at: 0 }))?;
        let mut passage = Passage::new(layout, head.length, wants);
        if longer > 0 {
            passage = passage.with_room(longer);
        }
        let Some(asked) = self.slots.get_mut(slot) else { return Ok(Reply::Then(astray())) };
        asked.state = SlotState::Passing;
        let correlation = asked.head.correlation;
        write(input, 0, length.to_be_bytes());
        write(input, frame::LENGTH, correlation.to_be_bytes());
        if let Some(lane) = self.lane_mut(id) {
            lane.passing = Some(Passing { passage, plan: plan_id, seen: Seen::default() });
        }
        Ok(Reply::Kept(narrow(frame::LENGTH)))
    }

    /// An answer in which lengths may change: it is completed, changed, and goes out as one.
    fn complete_answer(
        &mut self, now: Instant, id: LaneId, head: &ReplyHead, (slot, plan_id): (SlotId, PlanId), input: &mut [u8],
    ) -> Result<Reply, Fault> {
        let Some(body) = self.whole_answer(head, input)? else { return Ok(Reply::Then(self.room_for(now, id, head))) };
        let Some(plan) = self.plans.get(plan_id) else { return Ok(Reply::Then(astray())) };
        let (cluster, layout) = (plan.path.to.cluster, plan.response.layout);
        if is_listing(&self.views, cluster) {
            return Ok(Reply::Then(Move::Wait));
        }
        let unheld = self.unheld_ids(plan.key, layout, cluster, body).map_err(Fault::Malformed)?;
        if !unheld.is_empty() {
            self.list(now, &[cluster], unheld);
            return Ok(Reply::Then(Move::Take(0)));
        }
        let Some(body) = self.whole_answer(head, input)? else { return Ok(Reply::Then(astray())) };
        let Some(plan) = self.plans.get(plan_id) else { return Ok(Reply::Then(astray())) };
        let Some(asked) = self.slots.get_mut(slot) else { return Ok(Reply::Then(astray())) };
        write(body, 0, asked.head.correlation.to_be_bytes());
        let is_divided = asked.beside.is_some();
        let tag = tag(&self.views, plan.path.to.cluster);
        let (mut seen, message) = (Seen::default(), plan.response);
        let mut editor = Translator::new(&plan.path, plan.key, Direction::ToClient, tag, &mut seen)
            .guarded(self.guard.filters(), message.guarded.fields);
        let rewritten = rewrite(message.layout, message.wants, body, &mut editor, &mut Outline::off());
        let rewritten = rewritten.map_err(Fault::Malformed)?;
        let key = plan.key;
        self.pop_ticket(now, id);
        let memory = self.lane_mut(id).and_then(|lane| lane.reserved.take());
        self.note_unlisted(&seen.memo);
        if key == ApiKey::SASL_AUTHENTICATE {
            self.login.judged(seen.error);
        }
        let whole = head.length + narrow(frame::LENGTH);
        if hides_coordinator(key, &seen) {
            self.refuse(slot, Code::COORDINATOR_NOT_AVAILABLE);
            return Ok(Reply::Then(Move::Take(whole)));
        }
        match (rewritten, memory) {
            (Rewritten::InPlace, None) if !is_divided => {
                self.slots.pop();
                self.settle();
                return Ok(Reply::Kept(whole));
            }
            // What memory is held for is held until it has left.
            (Rewritten::InPlace, memory) => {
                let body = input.get(frame::LENGTH..wide(whole)).unwrap_or(&[]);
                self.answered_holding(slot, body, memory);
            }
            (Rewritten::Anew(bytes), memory) => self.answered_holding(slot, &bytes, memory),
        }
        Ok(Reply::Then(Move::Take(whole)))
    }

    /// What to wait for before an answer is complete: its bytes, or memory for them.
    fn room_for(&mut self, now: Instant, id: LaneId, head: &ReplyHead) -> Move {
        let needed = head.length > FITS_BUFFER && self.lane_mut(id).is_some_and(|lane| lane.reserved.is_none());
        if needed {
            // The answer as it comes, and as it goes.
            let Some(reserved) = self.door.answers.reserve(head.length.saturating_mul(2)) else {
                self.starved = Some(now + STARVED);
                return Move::Wait;
            };
            if let Some(lane) = self.lane_mut(id) {
                lane.reserved = Some(reserved);
            }
        }
        need(head)
    }
}

/// A coordinator that clients cannot reach is none: they ask again until its address is declared. Below version 4 its error
/// stands in front of it, and has passed when it is found.
pub(super) fn hides_coordinator(key: ApiKey, seen: &Seen) -> bool {
    key == ApiKey::FIND_COORDINATOR && seen.memo.unlisted > seen.memo.explained
}

fn need(head: &ReplyHead) -> Move {
    Move::Need(frame::LENGTH + wide(head.length))
}
