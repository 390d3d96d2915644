//! Lanes: the connections to brokers, as the engine sees them. Requests leave on a lane in order, answers come back in it.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use bytes::{BufMut, Bytes, BytesMut};
use skein_protocol::answer;
use skein_protocol::code::Code;
use skein_protocol::frame;
use skein_protocol::outline::Outline;
use skein_protocol::varint::narrow;

use super::answers::Passing;
use super::latency::Latency;
use super::plan::PlanId;
use super::slots::{SlotId, SlotState};
use super::{Effect, Engine, Fault, Move, Need, Note, Reason};
use crate::apis::loss;
use crate::budget::Reserved;
use crate::router::Lost;
use crate::topology::Destination;

/// A lane of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LaneId(pub u16);

/// How long a broker that could not be reached is left alone by one connection, at first; up to 16 times as long later.
const RESPITE: Duration = Duration::from_millis(100);
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LaneState {
    /// Nobody is connecting.
    Idle,
    /// The shell is connecting.
    Dialling,
    /// Bytes can be sent.
    Up,
    /// It logs in again: requests wait until it has.
    Renewing,
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
    /// A leg of a request that went to several: the request's number among those, and the leg's.
    Leg(u32, usize),
    /// A question of ours, in this version of Metadata.
    Own(i16),
    /// A question of ours for the names of topic ids.
    Learn(PlanId),
    /// A step of a login of ours.
    Login,
}

pub(super) struct Lane {
    pub(super) to: Destination,
    pub(super) state: LaneState,
    pub(super) tickets: VecDeque<Ticket>,
    next_correlation: i32,
    pub(super) passing: Option<Passing>,
    /// When the first ticket's answer is late. Set when it becomes the first.
    due: Option<Instant>,
    /// When its login is to be renewed. Set when it is up, `None` if it never expires.
    pub(super) renews: Option<Instant>,
    /// Whether it has had a question of ours.
    pub(super) was_asked: bool,
    /// Whether the head of the first ticket's answer is here.
    is_coming: bool,
    /// How often it was lost since its last answer.
    losses: u32,
    /// How many requests that want an answer it has had, and how many answers.
    asked: u64,
    answered: u64,
    /// What `asked` was when the last request without an answer went out. Unset by the answer to one that came behind it.
    silent: Option<u64>,
    /// Legs that wait for the lane to be up: what comes behind a login must not be waited for before it.
    pub(super) queued: Vec<(Vec<u8>, Purpose, Duration)>,
    /// What follows the bytes that were told to be kept.
    pub(super) deferred: Option<Move>,
    /// Memory for an answer that is being completed.
    pub(super) reserved: Option<Reserved>,
    latency: Latency,
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
            renews: None,
            was_asked: false,
            is_coming: false,
            losses: 0,
            asked: 0,
            answered: 0,
            silent: None,
            queued: Vec::new(),
            deferred: None,
            reserved: None,
            latency: Latency::default(),
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

    /// What is sent: a frame without its length becomes one with it, and with the next correlation id.
    pub(super) fn send(&mut self, now: Instant, mut frame: Vec<u8>, purpose: Purpose, grant: Duration) -> Bytes {
        let correlation = self.correlation();
        self.push(now, Ticket { correlation, purpose, grant });
        write(&mut frame, frame::CORRELATION, correlation.to_be_bytes());
        framed(&frame)
    }

    /// A frame waits for the lane to be up.
    pub(super) fn queue(&mut self, now: Instant, frame: Vec<u8>, purpose: Purpose, grant: Duration) {
        self.queued.push((frame, purpose, grant));
        if self.due.is_none() {
            self.await_first(now);
        }
    }

    /// What is first has its time from now on.
    fn await_first(&mut self, now: Instant) {
        let queued = || self.queued.first().map(|(.., grant)| *grant);
        let grant = self.tickets.front().map(|ticket| ticket.grant).or_else(queued);
        self.due = grant.and_then(|grant| now.checked_add(grant));
    }

    /// The last request has left whole. The time that it grants is known only behind its head.
    pub(super) fn grant_last(&mut self, now: Instant, grant: Duration) {
        let only = self.tickets.len() == 1;
        if let Some(last) = self.tickets.back_mut() {
            last.grant = grant;
            self.latency.leaves(now, last.correlation);
            if only {
                self.due = now.checked_add(grant);
            }
        }
    }

    /// The head of an answer is here: what is left of it has so long.
    pub(super) fn comes(&mut self, now: Instant, allowance: Duration) {
        if !std::mem::replace(&mut self.is_coming, true) {
            self.due = now.checked_add(allowance);
            if let Some(first) = self.tickets.front() {
                self.latency.comes(now, first.correlation);
            }
        }
    }

    /// The slot of the first request, if it is a client's.
    fn next_slot(&self) -> Option<SlotId> {
        match self.tickets.front()?.purpose {
            Purpose::Slot(slot, _) => Some(slot),
            Purpose::Leg(..) | Purpose::Own(_) | Purpose::Learn(_) | Purpose::Login => None,
        }
    }

    /// The last request turned out to have no answer.
    pub(super) fn silence_last(&mut self) {
        self.drop_last();
        self.silent = Some(self.asked);
    }

    /// The last request never goes out whole.
    pub(super) fn drop_last(&mut self) {
        self.tickets.pop_back();
        self.asked -= 1;
        if self.tickets.is_empty() {
            self.due = None;
        }
    }

    /// Whether something waits for its answer.
    pub(super) fn is_waiting(&self) -> bool {
        !self.tickets.is_empty() || !self.queued.is_empty()
    }

    pub(super) fn pop(&mut self, now: Instant) -> Option<Ticket> {
        self.losses = 0;
        self.is_coming = false;
        self.answered += 1;
        self.silent = self.silent.filter(|asked| self.answered <= *asked);
        let first = self.tickets.pop_front();
        self.await_first(now);
        first
    }
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
            LaneState::Dialling | LaneState::Up | LaneState::Renewing => false,
        };
        if lane.state == LaneState::Up && lane.renews.is_some_and(|renews| renews <= now) {
            lane.state = LaneState::Renewing;
            self.effects.push_back(Effect::Renew(id));
        } else if rested {
            lane.state = LaneState::Dialling;
            let to = lane.to;
            self.effects.push_back(Effect::Dial(id, to));
        }
        self.lanes.get(usize::from(id.0)).map_or(LaneState::Idle, |lane| lane.state)
    }

    /// How long the broker of a lane has taken, if a request that was timed has begun to be answered since this was last asked.
    pub fn latency(&mut self, id: LaneId) -> Option<Duration> {
        self.lane_mut(id)?.latency.take()
    }

    /// A lane is connected, and logged in where that is needed.
    pub fn lane_up(&mut self, now: Instant, id: LaneId) {
        self.lane_renewed(now, id, None);
    }

    /// A lane is lost, or could not be connected. What waits on it is answered; a lane that is needed again is dialled again.
    pub fn lane_lost(&mut self, now: Instant, id: LaneId) {
        let Some(lane) = self.lane_mut(id) else { return };
        let was_up = matches!(lane.state, LaneState::Up | LaneState::Renewing);
        let lost = if was_up { Lost::Unknown } else { Lost::Unsent };
        // One loss is an accident; several without an answer between them are a broker that is better left alone.
        lane.state = match lane.losses {
            0 if lost == Lost::Unknown => LaneState::Idle,
            losses => LaneState::Failed(now + RESPITE * 2u32.saturating_pow(losses.min(4))),
        };
        lane.losses += 1;
        (lane.due, lane.renews) = (None, None);
        let cluster = lane.to.cluster;
        let silent = lane.silent.take().is_some();
        lane.is_coming = false;
        (lane.asked, lane.answered) = (0, 0);
        let queued = std::mem::take(&mut lane.queued);
        lane.deferred = None;
        lane.reserved = None;
        lane.next_correlation = 0;
        lane.latency.forget();
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
            self.close(Reason::LoginLost);
        }
        let sent = tickets.into_iter().map(|ticket| (ticket.purpose, lost));
        for (purpose, lost) in sent.chain(queued.into_iter().map(|(_, purpose, _)| (purpose, Lost::Unsent))) {
            match purpose {
                Purpose::Slot(slot, _) => self.slot_lost(slot, lost),
                Purpose::Leg(work, leg) => self.leg_done(now, (work, leg), Err(lost)),
                Purpose::Own(_) | Purpose::Learn(_) | Purpose::Login => {}
            }
        }
        self.incoming_lost(id);
        self.settle();
    }

    /// The request of a slot will not be answered by its broker.
    pub(super) fn slot_lost(&mut self, id: SlotId, lost: Lost) {
        let Some(slot) = self.slots.get_mut(id) else { return };
        if matches!(slot.state, SlotState::Arriving) {
            // The rest of its body is still to be counted off.
            return;
        }
        self.answer_lost(id, lost);
    }

    /// Answers a request whose broker is lost; the connection ends at its turn if no code says so.
    pub(super) fn answer_lost(&mut self, id: SlotId, lost: Lost) {
        let Some(slot) = self.slots.get_mut(id) else { return };
        let head = slot.head;
        match loss::code(&head, &slot.outline, lost) {
            Some(code) => self.refuse(id, code),
            None => self.set(id, SlotState::Doomed(Reason::NoAnswer { key: head.key })),
        }
    }

    /// Answers a request with a code; if its API has no place for one, the connection ends at its turn.
    pub(super) fn refuse(&mut self, id: SlotId, code: Code) {
        let Some(slot) = self.slots.get_mut(id) else { return };
        let (head, outline) = (slot.head, std::mem::take(&mut slot.outline));
        match answer::refusal(head.key, head.version, head.correlation, &outline, code) {
            Some(frame) => {
                self.effects.push_back(Effect::Note(Note::Refused(head.key, code)));
                self.answered(id, &frame);
            }
            None => self.set(id, SlotState::Doomed(Reason::NoAnswer { key: head.key })),
        }
    }

    /// A request names only what has changed: no answer could be made from it.
    pub(super) fn forget_outline(&mut self, id: SlotId) {
        if let Some(slot) = self.slots.get_mut(id) {
            slot.outline = Outline::off();
        }
    }

    /// Lanes whose answer is late are hung up; one whose answer waits for its turn is given more time.
    pub(super) fn late_lanes(&mut self, now: Instant) {
        let margin = self.door.limits.answer_margin;
        for index in 0..self.lanes.len() {
            let Some(lane) = self.lanes.get_mut(index).filter(|lane| lane.due.is_some_and(|due| due <= now)) else {
                continue;
            };
            if lane.is_coming && lane.next_slot().is_some_and(|slot| !self.slots.is_first(slot)) {
                lane.due = now.checked_add(margin);
            } else if let Ok(index) = u16::try_from(index) {
                self.effects.push_back(Effect::Hang(LaneId(index), Fault::Late));
                self.lane_lost(now, LaneId(index));
            }
        }
    }
}

/// How long a frame waits before it tries again to get memory.
pub(super) const STARVED: Duration = Duration::from_millis(20);

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
