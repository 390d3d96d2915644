//! The client's side: requests as they arrive, one at a time.

mod counting;
mod learning;
mod listing;
mod ours;
mod sending;
mod steps;

use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use skein_protocol::code::Code;
use skein_protocol::frame::{self, Head};
use skein_protocol::passage::Passage;
use skein_protocol::varint::{narrow, wide};

use super::lanes::{LaneId, STARVED};
use super::login::Admission;
use super::plan::{Course, PlanId};
use super::slots::{SlotId, SlotState};
use super::{Effect, Engine, Move, Need, Out, Reason};
use crate::apis::manner::{self, Place};
use crate::budget::{Grown, Reserved};
use crate::path::Seen;
use crate::router::Lost;

/// Requests up to this size sit in the read buffer while they are completed; larger ones take from the process's budget.
const FITS_BUFFER: u32 = 256 << 10;
/// The request that is arriving.
pub(super) enum Incoming {
    /// None, or one whose head is not there yet.
    Idle,
    /// One whose body passes to a lane.
    Passing { passage: Box<Passage>, slot: SlotId, plan: PlanId, lane: LaneId, seen: Seen },
    /// One that is counted off; a code answers it.
    Counting { passage: Box<Passage>, slot: SlotId, after: After, seen: Seen },
    /// One that is being completed, with the memory that is held for it.
    Reserved { memory: Reserved },
}

impl Incoming {
    /// Whether memory is held for it.
    pub(super) fn is_reserved(&self) -> bool {
        matches!(self, Self::Reserved { .. })
    }

    /// The bytes of a request that was completed, with the memory that was taken for it until they are dropped.
    pub(super) fn with(self, bytes: Bytes) -> Bytes {
        match self {
            Self::Reserved { memory } => memory.with(bytes),
            Self::Idle | Self::Passing { .. } | Self::Counting { .. } => bytes,
        }
    }
}

/// What answers a request that was counted off.
#[derive(Clone, Copy, Debug)]
pub(super) enum After {
    /// This code.
    Code(Code),
    /// Whatever stands for a broker that is lost.
    Lost(Lost),
    /// What a broker says in the middle of a login.
    Between,
}

/// What a look at the client's next bytes led to.
pub(super) enum Step {
    /// So many bytes are to be kept, for a lane.
    Kept(u32, LaneId),
    /// Something else; what was kept before goes first.
    Then(Move),
    /// Nothing was taken; look again.
    Again,
}

impl Engine {
    /// Says what becomes of what the client has sent. `input` starts where the last move ended.
    pub fn from_client(&mut self, now: Instant, input: &mut [u8]) -> Move {
        if let Some(then) = self.deferred.take() {
            return then;
        }
        let mut kept: Option<(u32, LaneId)> = None;
        loop {
            let first = |kept: Option<(u32, LaneId)>, then: Move| match kept {
                Some((bytes, lane)) => Move::Keep(bytes, Out::Lane(lane)),
                None => then,
            };
            if !self.effects.is_empty() {
                return first(kept, Move::Take(0));
            }
            let done = kept.map_or(0, |(bytes, _)| bytes);
            let ahead = input.get_mut(wide(done)..).unwrap_or(&mut []);
            let step = match self.incoming {
                Incoming::Passing { .. } => self.pass_request(now, ahead),
                Incoming::Counting { .. } => self.count_off(ahead),
                Incoming::Idle | Incoming::Reserved { .. } => self.begin(now, ahead),
            };
            match step {
                Step::Again => {}
                Step::Kept(bytes, lane) if kept.is_none_or(|(_, before)| before == lane) => {
                    kept = Some((done + bytes, lane));
                    if wide(done + bytes) > input.len() {
                        return Move::Keep(done + bytes, Out::Lane(lane));
                    }
                }
                Step::Kept(bytes, lane) => return self.defer_request(kept, Move::Keep(bytes, Out::Lane(lane))),
                Step::Then(Move::Wait) => {
                    // It is not the client that is waited for.
                    self.arrival = None;
                    return first(kept, Move::Wait);
                }
                Step::Then(then @ Move::Need(_)) => return first(kept, then),
                Step::Then(then) => return self.defer_request(kept, then),
            }
        }
    }

    /// What was kept goes first; the rest is told at the next call.
    fn defer_request(&mut self, kept: Option<(u32, LaneId)>, then: Move) -> Move {
        let Some((bytes, lane)) = kept else { return then };
        self.deferred = Some(then);
        Move::Keep(bytes, Out::Lane(lane))
    }

    /// Looks at the next request.
    fn begin(&mut self, now: Instant, input: &mut [u8]) -> Step {
        if let Some(reason) = &self.closing {
            return Step::Then(if self.slots.is_empty() { Move::Close(reason.clone()) } else { Move::Wait });
        }
        let limits = &self.door.limits;
        let most = if self.login.is_stranger() { limits.frame_before_login } else { limits.frame };
        let head = match frame::head(input, most) {
            Ok(Some(head)) => head,
            Ok(None) if input.is_empty() => {
                self.arrival = None;
                return Step::Then(Move::Need(frame::HEAD));
            }
            Ok(None) => {
                self.arrives(now, 0);
                return Step::Then(Move::Need(frame::HEAD));
            }
            Err(malformed) => return self.end(Reason::Malformed(malformed)),
        };
        if self.slots.are_full(self.door.limits.open_requests) || self.work.is_some() || self.starved.is_some() {
            self.arrival = None;
            return Step::Then(Move::Wait);
        }
        let admission = match self.admitted(now, &head) {
            Ok(admission) => admission,
            Err(step) => return step,
        };
        if !self.is_named {
            match frame::client_id(input, &head) {
                Ok(id) => self.named(id),
                Err(bytes) => {
                    self.arrives(now, head.length);
                    return Step::Then(Move::Need(bytes));
                }
            }
        }
        if admission == Admission::Step {
            return self.login_step(now, &head, input);
        }
        if matches!(manner::place(head.key), Place::Broker(_)) {
            self.guard.open(&self.door, self.at, &self.client);
        }
        match self.plans.course(&head, &self.door, self.at, (&self.client, &self.guard)) {
            Course::Ours => self.ours(now, &head, input),
            Course::One(plan) => self.one(now, &head, plan, input),
            Course::Whole(descent) => self.whole(now, &head, descent, input),
            Course::Refuse(code) => self.refuse_arriving(now, &head, After::Code(code)),
            Course::NotOffered => self.end(Reason::NotOffered { key: head.key.0, version: head.version }),
            Course::NoSuchNode => match self.at {
                Some(node) => self.end(Reason::NoSuchNode(node)),
                None => self.end(Reason::Unreachable),
            },
        }
    }

    /// What the login makes of a request: it passes, or is a step of the login itself; or what happens instead.
    fn admitted(&mut self, now: Instant, head: &Head) -> Result<Admission, Step> {
        let instead = match self.login.admit(now, head.key, head.version) {
            admission @ (Admission::Pass | Admission::Step) => return Ok(admission),
            Admission::Wait => Step::Then(Move::Wait),
            Admission::OutOfPlace => self.refuse_arriving(now, head, After::Code(Code::ILLEGAL_SASL_STATE)),
            Admission::OutOfTurn => {
                self.close(Reason::LoginOutOfTurn { key: head.key });
                self.refuse_arriving(now, head, After::Code(Code::ILLEGAL_SASL_STATE))
            }
            Admission::OldHandshake => {
                self.close(Reason::OldHandshake);
                self.refuse_arriving(now, head, After::Code(Code::UNSUPPORTED_VERSION))
            }
            // Some clients take no notice of a token that is refused, and go on: a broker has an answer for them.
            Admission::Between => {
                self.close(Reason::BeforeLogin { key: head.key });
                self.refuse_arriving(now, head, After::Between)
            }
            // The broker has not said yet what it makes of the login.
            Admission::TooEarly if !self.slots.is_empty() => Step::Then(Move::Wait),
            Admission::TooEarly => self.end(Reason::BeforeLogin { key: head.key }),
            Admission::Expired => self.end(Reason::LoginExpired),
        };
        Err(instead)
    }

    /// The client has said its id, or that it has none.
    fn named(&mut self, id: Option<&[u8]>) {
        self.is_named = true;
        self.client.client_id = id.and_then(|id| std::str::from_utf8(id).ok()).map(Arc::from);
    }

    /// Nothing of a request is arriving any more; gives what was.
    pub(super) fn arrived(&mut self) -> Incoming {
        (self.arrival, self.starving) = (None, None);
        std::mem::replace(&mut self.incoming, Incoming::Idle)
    }

    /// Memory for a passage: that of the last one, if there was one.
    fn boxed(&mut self, passage: Passage) -> Box<Passage> {
        match self.spare.take() {
            Some(mut spare) => {
                *spare = passage;
                spare
            }
            None => Box::new(passage),
        }
    }

    /// A frame of so many bytes, 0 if that is not known yet, has begun to arrive.
    pub(super) fn arrives(&mut self, now: Instant, length: u32) {
        let (begun, _) = self.arrival.unwrap_or((now, 0));
        self.arrival = Some((begun, length));
    }

    /// Closes once the answers before have left.
    pub(super) fn end(&mut self, reason: Reason) -> Step {
        self.close(reason);
        Step::Again
    }

    /// A frame of at most `cap` bytes that must be complete; what to do until it is, or `None` if it is.
    pub(super) fn complete(&mut self, now: Instant, head: &Head, cap: u32, input: &[u8]) -> Option<Step> {
        let cap = cap.min(self.door.requests.longest());
        if head.length > cap {
            return Some(self.end(Reason::TooLarge { key: head.key, length: head.length, cap }));
        }
        let whole = frame::LENGTH + wide(head.length);
        if input.len() >= whole {
            return None;
        }
        // Memory is taken for what has arrived, as it comes and as it goes: what is only claimed keeps nobody else waiting.
        let next = whole.min(input.len() + wide(FITS_BUFFER));
        if input.len() > wide(FITS_BUFFER) && self.hold(narrow(input.len()).saturating_mul(2)) == Grown::No {
            let since = *self.starving.get_or_insert(now);
            if now.saturating_duration_since(since) >= self.door.limits.patience {
                return Some(self.end(Reason::NoMemory { key: head.key, length: head.length }));
            }
            self.starved = Some(now + STARVED);
            return Some(Step::Then(Move::Wait));
        }
        self.starving = None;
        self.arrives(now, head.length);
        Some(Step::Then(Move::Need(next)))
    }

    /// Holds so many bytes of the process's memory for the request that arrives.
    fn hold(&mut self, bytes: u32) -> Grown {
        if let Incoming::Reserved { memory } = &mut self.incoming {
            return memory.grow(bytes);
        }
        let Some(memory) = self.door.requests.reserve(bytes) else { return Grown::No };
        self.incoming = Incoming::Reserved { memory };
        Grown::Yes
    }
}
