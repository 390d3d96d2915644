//! Lanes: the connections to brokers, as the engine sees them. Requests leave on a lane in order, answers come back in it.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use bytes::{BufMut, Bytes, BytesMut};
use skein_protocol::code::Code;
use skein_protocol::frame::{self, ReplyHead};
use skein_protocol::ids::{ApiKey, Direction};
use skein_protocol::outline::Outline;
use skein_protocol::passage::{self, Announce, Next, Passage};
use skein_protocol::rewrite::{Rewritten, rewrite};
use skein_protocol::varint::{narrow, wide};
use skein_protocol::{Malformed, answer};

use super::plan::PlanId;
use super::slots::{SlotId, SlotState};
use super::{Effect, Engine, Fault, Move, Need, Note, Out, Reason};
use crate::apis::{loss, metadata};
use crate::budget::Reserved;
use crate::path::{Lengths, Seen, Translator};
use crate::router::Lost;
use crate::topology::Destination;

/// A lane of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LaneId(pub u16);

/// How long a broker that could not be reached is left alone by one connection, at first; up to 16 times as long later.
const RESPITE: Duration = Duration::from_millis(100);
/// No fetch brings more: brokers bound even a single batch below it.
const MOST: u32 = 1 << 30;
/// Answers up to this size are completed even where they could stream.
const SMALL: u32 = 16 << 10;
/// Answers up to this size sit in the read buffer while they are completed; larger ones take from the process's budget.
const FITS_BUFFER: u32 = 256 << 10;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LaneState {
    /// Nobody is connecting.
    Idle,
    /// The shell is connecting.
    Dialling,
    /// Bytes can be sent.
    Up,
    /// It could not be reached, or was lost; until then it is not dialled again.
    Failed(Instant),
}

/// A request on a lane.
pub(super) struct Ticket {
    /// The correlation id that it has there.
    pub(super) correlation: i32,
    pub(super) purpose: Purpose,
    /// How long the broker may take.
    pub(super) grant: Duration,
}

/// Whose answer it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// A client's request that went to this one broker.
    Slot(SlotId, PlanId),
    /// A leg of a request that went to several.
    Leg(usize),
    /// A question of ours, in this version of Metadata.
    Own(i16),
}

/// An answer that is passing.
struct Passing {
    passage: Passage,
    slot: SlotId,
    plan: PlanId,
    seen: Seen,
}

pub(super) struct Lane {
    pub(super) to: Destination,
    pub(super) state: LaneState,
    pub(super) tickets: VecDeque<Ticket>,
    next_correlation: i32,
    passing: Option<Passing>,
    /// When the first ticket's answer is late. Set when it becomes the first.
    due: Option<Instant>,
    /// How often it was lost since its last answer.
    losses: u32,
    /// How many requests that want an answer it has had, and how many answers.
    asked: u64,
    answered: u64,
    /// What `asked` was when the last request without an answer went out. Unset by the answer to one that came behind it.
    silent: Option<u64>,
    /// Frames of legs that wait for the lane to be up.
    pub(super) queued: Vec<Bytes>,
    /// What follows the bytes that were told to be kept.
    deferred: Option<Move>,
    /// Memory for an answer that is being completed.
    reserved: Option<Reserved>,
}

impl Lane {
    fn new(to: Destination) -> Self {
        Self {
            to,
            state: LaneState::Idle,
            tickets: VecDeque::new(),
            next_correlation: 0,
            passing: None,
            due: None,
            losses: 0,
            asked: 0,
            answered: 0,
            silent: None,
            queued: Vec::new(),
            deferred: None,
            reserved: None,
        }
    }

    pub(super) fn due(&self) -> Option<Instant> {
        self.due
    }

    /// The number that the next request on it will have.
    pub(super) fn correlation(&mut self) -> i32 {
        let this = self.next_correlation;
        self.next_correlation = this.wrapping_add(1);
        this
    }

    pub(super) fn push(&mut self, now: Instant, ticket: Ticket) {
        if self.tickets.is_empty() {
            self.due = now.checked_add(ticket.grant);
        }
        self.tickets.push_back(ticket);
        self.asked += 1;
    }

    /// The time that the last request granted is known only behind its head.
    pub(super) fn grant_last(&mut self, now: Instant, grant: Duration) {
        let only = self.tickets.len() == 1;
        if let Some(last) = self.tickets.back_mut() {
            last.grant = grant;
            if only {
                self.due = now.checked_add(grant);
            }
        }
    }

    /// The last request turned out to have no answer.
    pub(super) fn drop_last(&mut self) {
        self.tickets.pop_back();
        self.asked -= 1;
        self.silent = Some(self.asked);
        if self.tickets.is_empty() {
            self.due = None;
        }
    }

    fn pop(&mut self, now: Instant) -> Option<Ticket> {
        self.losses = 0;
        self.answered += 1;
        self.silent = self.silent.filter(|asked| self.answered <= *asked);
        let first = self.tickets.pop_front();
        self.due = self.tickets.front().and_then(|next| now.checked_add(next.grant));
        first
    }
}

/// What a look at a lane's next bytes led to.
enum Reply {
    /// So many bytes are decided about, to be kept.
    Kept(u32),
    /// Something else; what was kept before goes first.
    Then(Move),
}

impl Engine {
    /// The lane to a destination, made if there is none.
    pub(super) fn lane(&mut self, to: Destination) -> LaneId {
        let index = self.lanes.iter().position(|lane| lane.to == to).unwrap_or_else(|| {
            self.lanes.push(Lane::new(to));
            self.lanes.len() - 1
        });
        LaneId(u16::try_from(index).unwrap_or(u16::MAX))
    }

    pub(super) fn lane_mut(&mut self, id: LaneId) -> Option<&mut Lane> {
        self.lanes.get_mut(usize::from(id.0))
    }

    /// The state of a lane; one that may be dialled is.
    pub(super) fn reach(&mut self, now: Instant, id: LaneId) -> LaneState {
        let Some(lane) = self.lanes.get_mut(usize::from(id.0)) else { return LaneState::Idle };
        let rested = match lane.state {
            LaneState::Idle => true,
            LaneState::Failed(until) => until <= now,
            LaneState::Dialling | LaneState::Up => false,
        };
        if rested {
            lane.state = LaneState::Dialling;
            let to = lane.to;
            self.effects.push_back(Effect::Dial(id, to));
        }
        self.lanes.get(usize::from(id.0)).map_or(LaneState::Idle, |lane| lane.state)
    }

    /// A lane is connected.
    pub fn lane_up(&mut self, id: LaneId) {
        let Some(lane) = self.lane_mut(id) else { return };
        lane.state = LaneState::Up;
        let queued = std::mem::take(&mut lane.queued);
        self.effects.extend(queued.into_iter().map(|frame| Effect::Send(id, frame)));
    }

    /// A lane is lost, or could not be connected. What waits on it is answered; a lane that is needed again is dialled again.
    pub fn lane_lost(&mut self, now: Instant, id: LaneId) {
        let Some(lane) = self.lane_mut(id) else { return };
        let lost = if lane.state == LaneState::Up { Lost::Unknown } else { Lost::Unsent };
        // One loss is an accident; several without an answer between them are a broker that is better left alone.
        lane.state = match lane.losses {
            0 if lost == Lost::Unknown => LaneState::Idle,
            losses => LaneState::Failed(now + RESPITE * 2u32.saturating_pow(losses.min(4))),
        };
        lane.losses += 1;
        lane.due = None;
        let cluster = lane.to.cluster;
        let silent = lane.silent.take().is_some();
        (lane.asked, lane.answered) = (0, 0);
        lane.queued.clear();
        lane.deferred = None;
        lane.reserved = None;
        lane.next_correlation = 0;
        let cut = lane.passing.take().is_some();
        let tickets = std::mem::take(&mut lane.tickets);
        if lost == Lost::Unsent && !self.login.is_relayed() {
            self.effects.push_back(Effect::Ask(cluster, Need::Again));
        }
        if silent {
            // Closing is all that a broker does when a Produce without an answer fails, and all that can be done here.
            self.close(Reason::Unacknowledged);
        }
        if cut {
            self.effects.push_back(Effect::Close(Reason::AnswerCut));
        }
        if self.login.is_relayed() && lost == Lost::Unknown {
            // What was logged in is gone; another lane would not be.
            self.close_at_turn(Reason::LoginLost);
        }
        for ticket in tickets {
            match ticket.purpose {
                Purpose::Slot(slot, _) => self.slot_lost(slot, lost),
                Purpose::Leg(leg) => self.leg_done(now, leg, Err(lost)),
                Purpose::Own(_) => {}
            }
        }
        self.incoming_lost(id, lost);
        self.settle();
    }

    /// The request of a slot will not be answered by its broker.
    pub(super) fn slot_lost(&mut self, id: SlotId, lost: Lost) {
        let Some(slot) = self.slots.get_mut(id) else { return };
        if matches!(slot.state, SlotState::Arriving) {
            // The rest of its body is still to be counted off.
            return;
        }
        let (head, outline) = (slot.head, std::mem::take(&mut slot.outline));
        match loss::code(head.key, lost) {
            Some(code) => self.refuse(id, &head, &outline, code),
            None => self.set(id, SlotState::Doomed(Reason::NoAnswer { key: head.key })),
        }
    }

    /// Answers a request with a code; if its API has no place for one, the connection ends at its turn.
    pub(super) fn refuse(&mut self, id: SlotId, head: &frame::Head, outline: &Outline, code: Code) {
        match answer::refusal(head.key, head.version, head.correlation, outline, code) {
            Some(frame) => {
                self.effects.push_back(Effect::Note(Note::Refused(head.key, code)));
                self.answered(id, &frame);
            }
            None => self.set(id, SlotState::Doomed(Reason::NoAnswer { key: head.key })),
        }
    }

    /// Lanes whose answer is late are hung up.
    pub(super) fn late_lanes(&mut self, now: Instant) {
        for index in 0..self.lanes.len() {
            let late = self.lanes.get(index).is_some_and(|lane| lane.due.is_some_and(|due| due <= now));
            if let (true, Ok(index)) = (late, u16::try_from(index)) {
                self.effects.push_back(Effect::Hang(LaneId(index), Fault::Late));
                self.lane_lost(now, LaneId(index));
            }
        }
    }

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
        let Some(lane) = self.lanes.get_mut(usize::from(id.0)) else { return Ok(Reply::Then(Move::Wait)) };
        let Some(passing) = &mut lane.passing else { return Ok(Reply::Then(Move::Wait)) };
        let Some(plan) = self.plans.get(passing.plan) else { return Ok(Reply::Then(Move::Wait)) };
        let tag = self.views.iter().find(|view| view.cluster == plan.path.to.cluster).and_then(|view| view.tag);
        let mut editor = Translator::new(&plan.path, plan.key, Direction::ToClient, tag, &mut passing.seen);
        let next = passing.passage.next(input, &mut editor, &mut Outline::off()).map_err(Fault::Malformed)?;
        Ok(match next {
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
            self.late_replies += 1;
            return Err(Fault::Correlation {
                found: head.correlation,
                expected: first.map(|ticket| ticket.correlation),
            });
        };
        match ticket.purpose {
            Purpose::Slot(slot, plan) => self.next_of_slot(now, id, &head, (slot, plan), input),
            Purpose::Leg(leg) => {
                let Some(frame) = self.whole_answer(&head, input)? else { return Ok(Reply::Then(need(&head))) };
                let frame = Bytes::copy_from_slice(frame);
                self.pop_ticket(now, id);
                self.leg_done(now, leg, Ok(frame));
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
        let cap = self.door.limits.completed_answer;
        if head.length > cap {
            return Err(Fault::TooLarge { length: head.length, cap });
        }
        Ok(input.get_mut(frame::LENGTH..frame::LENGTH + wide(head.length)))
    }

    fn next_of_slot(
        &mut self, now: Instant, id: LaneId, head: &ReplyHead, (slot, plan_id): (SlotId, PlanId), input: &mut [u8],
    ) -> Result<Reply, Fault> {
        // An answer whose turn has not come stays where it is: behind it nothing is read either.
        if !self.slots.is_first(slot) {
            return Ok(Reply::Then(Move::Wait));
        }
        if self.slots.get_mut(slot).is_some_and(|slot| matches!(slot.state, SlotState::Arriving)) {
            // Nobody can answer what has not been asked to its end.
            return Err(Fault::Early);
        }
        let Some(plan) = self.plans.get(plan_id) else { return Ok(Reply::Then(Move::Wait)) };
        let (key, growth) = (plan.key, plan.path.growth(Direction::ToClient));
        let (layout, wants, lengths) = (plan.response.layout, plan.response.wants, plan.response.lengths);
        // What is small is judged before any of it goes on, and can still be answered for if it is malformed.
        let small = head.length <= SMALL || (!key.is_fetch() && head.length <= FITS_BUFFER);
        let longer = match lengths {
            _ if small => return self.complete_answer(now, id, head, (slot, plan_id), input),
            _ if !key.is_fetch() && head.length > self.door.limits.completed_answer => {
                return Err(Fault::TooLarge { length: head.length, cap: self.door.limits.completed_answer });
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
        let Some(asked) = self.slots.get_mut(slot) else { return Ok(Reply::Then(Move::Wait)) };
        asked.state = SlotState::Passing;
        let correlation = asked.head.correlation;
        write(input, 0, length.to_be_bytes());
        write(input, frame::LENGTH, correlation.to_be_bytes());
        if let Some(lane) = self.lane_mut(id) {
            lane.passing = Some(Passing { passage, slot, plan: plan_id, seen: Seen::default() });
        }
        Ok(Reply::Kept(narrow(frame::LENGTH)))
    }

    /// An answer in which lengths may change: it is completed, changed, and goes out as one.
    fn complete_answer(
        &mut self, now: Instant, id: LaneId, head: &ReplyHead, (slot, plan_id): (SlotId, PlanId), input: &mut [u8],
    ) -> Result<Reply, Fault> {
        let Some(body) = self.whole_answer(head, input)? else { return Ok(Reply::Then(self.room_for(now, id, head))) };
        let Some(plan) = self.plans.get(plan_id) else { return Ok(Reply::Then(Move::Wait)) };
        let Some(asked) = self.slots.get_mut(slot) else { return Ok(Reply::Then(Move::Wait)) };
        write(body, 0, asked.head.correlation.to_be_bytes());
        let tag = self.views.iter().find(|view| view.cluster == plan.path.to.cluster).and_then(|view| view.tag);
        let mut seen = Seen::default();
        let mut editor = Translator::new(&plan.path, plan.key, Direction::ToClient, tag, &mut seen);
        let message = plan.response;
        let rewritten = rewrite(message.layout, message.wants, body, &mut editor, &mut Outline::off());
        let rewritten = rewritten.map_err(Fault::Malformed)?;
        let (key, request, outline) = (plan.key, asked.head, std::mem::take(&mut asked.outline));
        self.pop_ticket(now, id);
        if let Some(lane) = self.lane_mut(id) {
            lane.reserved = None;
        }
        self.note_unlisted(&seen.memo);
        if key == ApiKey::SASL_AUTHENTICATE {
            self.login.judged(seen.error);
        }
        let whole = head.length + narrow(frame::LENGTH);
        if key == ApiKey::FIND_COORDINATOR && seen.memo.unlisted > 0 {
            // A coordinator that clients cannot reach is none: they ask again until its address is declared.
            self.refuse(slot, &request, &outline, Code::COORDINATOR_NOT_AVAILABLE);
            return Ok(Reply::Then(Move::Take(whole)));
        }
        match rewritten {
            Rewritten::InPlace => {
                self.slots.pop();
                self.settle();
                Ok(Reply::Kept(whole))
            }
            Rewritten::Anew(bytes) => {
                self.answered(slot, &bytes);
                Ok(Reply::Then(Move::Take(whole)))
            }
        }
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

/// How long a frame waits before it tries again to get memory.
pub(super) const STARVED: Duration = Duration::from_millis(20);

fn need(head: &ReplyHead) -> Move {
    Move::Need(frame::LENGTH + wide(head.length))
}

pub(super) fn write<const N: usize>(bytes: &mut [u8], at: usize, value: [u8; N]) {
    if let Some(slot) = bytes.get_mut(at..at + N) {
        slot.copy_from_slice(&value);
    }
}

/// A frame with its length in front.
pub(super) fn framed(frame: &[u8]) -> Bytes {
    let mut out = BytesMut::with_capacity(frame.len() + frame::LENGTH);
    out.put_u32(narrow(frame.len()));
    out.put_slice(frame);
    out.freeze()
}
