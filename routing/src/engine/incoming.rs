//! The client's side: requests as they arrive, one at a time.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use skein_protocol::code::Code;
use skein_protocol::frame::{self, Head};
use skein_protocol::ids::{ApiKey, Direction};
use skein_protocol::outline::{OUTLINED, Outline};
use skein_protocol::passage::{self, Announce, Edit, Editor, Next, Passage, Value};
use skein_protocol::rewrite::{Rewritten, rewrite};
use skein_protocol::table::{Fact, Table};
use skein_protocol::varint::{narrow, wide};
use skein_protocol::{Malformed, Meaning, Meanings};

use super::lanes::{LaneId, LaneState, Purpose, STARVED, Ticket, framed, write};
use super::login::Admission;
use super::plan::{Course, PlanId};
use super::slots::{SlotId, SlotState};
use super::{Effect, Engine, Move, Need, Out, Reason};
use crate::apis::{api_versions, loss, manner, metadata};
use crate::budget::Reserved;
use crate::graph::Manner;
use crate::path::{Lengths, Seen, Translator};
use crate::router::Lost;
use crate::topology::Destination;

/// Requests up to this size sit in the read buffer while they are completed; larger ones take from the process's budget.
const FITS_BUFFER: u32 = 256 << 10;
/// A request of ours to answer is small.
const OURS: u32 = 64 << 10;
/// A fetch whose answer must be completed asks for no more than this.
const COMPLETED_FETCH: i64 = 1 << 20;

/// The request that is arriving.
pub(super) enum Incoming {
    /// None, or one whose head is not there yet.
    Idle,
    /// One whose body passes to a lane.
    Passing { passage: Box<Passage>, slot: SlotId, plan: PlanId, lane: LaneId, seen: Seen },
    /// One that is counted off; a code answers it.
    Counting { passage: Box<Passage>, slot: SlotId, after: After, seen: Seen },
    /// What follows the bytes that were told to be kept, and what was arriving.
    Deferred(Move, Box<Incoming>),
    /// One that is being completed and has memory for it.
    Reserved(Reserved),
}

/// What answers a request that was counted off.
#[derive(Clone, Copy, Debug)]
pub(super) enum After {
    /// This code.
    Code(Code),
    /// Whatever stands for a broker that is lost before it could act.
    Lost,
}

/// What a look at the client's next bytes led to.
enum Step {
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
        if let Incoming::Deferred(..) = self.incoming
            && let Incoming::Deferred(then, before) = std::mem::replace(&mut self.incoming, Incoming::Idle)
        {
            self.incoming = *before;
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
                Incoming::Idle | Incoming::Reserved(_) | Incoming::Deferred(..) => self.begin(now, ahead),
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
                Step::Then(then @ (Move::Need(_) | Move::Wait)) => return first(kept, then),
                Step::Then(then) => return self.defer_request(kept, then),
            }
        }
    }

    /// What was kept goes first; the rest is told at the next call.
    fn defer_request(&mut self, kept: Option<(u32, LaneId)>, then: Move) -> Move {
        let Some((bytes, lane)) = kept else { return then };
        let before = std::mem::replace(&mut self.incoming, Incoming::Idle);
        self.incoming = Incoming::Deferred(then, Box::new(before));
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
        if self.slots.len() >= self.door.limits.open_requests || self.work.is_some() || self.starved.is_some() {
            self.arrival = None;
            return Step::Then(Move::Wait);
        }
        match self.login.admit(head.key, head.version) {
            Admission::Pass => {}
            Admission::NoLoginHere => return self.refuse_arriving(&head, After::Code(Code::ILLEGAL_SASL_STATE)),
            Admission::OldHandshake => {
                self.close(Reason::OldHandshake);
                return self.refuse_arriving(&head, After::Code(Code::UNSUPPORTED_VERSION));
            }
            Admission::TooEarly => return self.end(Reason::BeforeLogin { key: head.key }),
        }
        match self.plans.course(&head, &self.door, self.at, &self.client) {
            Course::Ours => self.ours(now, &head, input),
            Course::One(plan) => self.one(now, &head, plan, input),
            Course::Whole(descent) => self.whole(now, &head, descent, input),
            Course::Refuse(code) => self.refuse_arriving(&head, After::Code(code)),
            Course::NotOffered => self.end(Reason::NotOffered { key: head.key.0, version: head.version }),
            Course::NoSuchNode => match self.at {
                Some(node) => self.end(Reason::NoSuchNode(node)),
                None => self.end(Reason::Unreachable),
            },
        }
    }

    /// A frame of so many bytes, 0 if that is not known yet, has begun to arrive.
    fn arrives(&mut self, now: Instant, length: u32) {
        let (begun, _) = self.arrival.unwrap_or((now, 0));
        self.arrival = Some((begun, length));
    }

    /// Closes once the answers before have left.
    fn end(&mut self, reason: Reason) -> Step {
        self.close(reason);
        Step::Again
    }

    /// Begins to count a request off.
    pub(super) fn refuse_arriving(&mut self, head: &Head, after: After) -> Step {
        let Some(layout) = Table::get().layout(head.key, head.version, Direction::ToBroker) else {
            return self.end(Reason::NotOffered { key: head.key.0, version: head.version });
        };
        let wants = OUTLINED.and(Meanings::of(&[Meaning::Acks]));
        let passage = Box::new(Passage::new(layout, head.length, wants));
        let slot = self.slots.push(*head, Outline::default());
        self.incoming = Incoming::Counting { passage, slot, after, seen: Seen::default() };
        Step::Then(Move::Take(narrow(frame::LENGTH)))
    }

    /// A frame of at most `cap` bytes that must be complete; what to do until it is, or `None` if it is.
    fn complete(&mut self, now: Instant, head: &Head, cap: u32, input: &[u8]) -> Option<Step> {
        if head.length > cap {
            return Some(self.end(Reason::TooLarge { key: head.key, length: head.length, cap }));
        }
        let whole = frame::LENGTH + wide(head.length);
        if input.len() >= whole {
            return None;
        }
        if head.length > FITS_BUFFER && !matches!(self.incoming, Incoming::Reserved(_)) {
            // The request as it comes, and as it goes.
            let Some(reserved) = self.door.requests.reserve(head.length.saturating_mul(2)) else {
                self.starved = Some(now + STARVED);
                return Some(Step::Then(Move::Wait));
            };
            self.incoming = Incoming::Reserved(reserved);
        }
        self.arrives(now, head.length);
        Some(Step::Then(Move::Need(whole)))
    }

    /// ApiVersions.
    fn ours(&mut self, now: Instant, head: &Head, input: &mut [u8]) -> Step {
        if let Some(step) = self.complete(now, head, OURS, input) {
            return step;
        }
        let Some(cluster) = self.door.clusters.first().copied() else { return self.end(Reason::Unreachable) };
        let Some(offer) = self.view(cluster).and_then(|view| view.topology.offer.clone()) else {
            return self.wait_for(now, cluster, Need::Offer);
        };
        let body = input.get(frame::LENGTH..frame::LENGTH + wide(head.length)).unwrap_or(&[]);
        let frame = Bytes::copy_from_slice(body);
        if let Some(layout) = Table::get().layout(head.key, head.version, Direction::ToBroker)
            && let Err(malformed) = walk(layout, &frame)
        {
            return self.end(Reason::Malformed(malformed));
        }
        let expected = api_versions::Expected { cluster_id: self.door.face.cluster_id(), at: self.at };
        let (answer, asked) = api_versions::answer(head, &frame, &offer, expected);
        if let Some((name, version)) = asked.software {
            self.client.software = Some((Arc::from(name), Arc::from(version)));
        }
        self.incoming = Incoming::Idle;
        self.arrival = None;
        let slot = self.slots.push(*head, Outline::off());
        self.answered(slot, &answer);
        Step::Then(Move::Take(narrow(frame::LENGTH) + head.length))
    }

    /// Waits for what must be known of a cluster; ends if it was not to be had.
    fn wait_for(&mut self, now: Instant, cluster: crate::topology::ClusterIndex, need: Need) -> Step {
        let patience = self.door.limits.patience;
        let Some(view) = self.views.iter_mut().find(|view| view.cluster == cluster) else {
            return self.end(Reason::Unreachable);
        };
        match view.since {
            Some(since) if now.saturating_duration_since(since) >= patience => return self.end(Reason::Unreachable),
            Some(_) => {}
            None => view.since = Some(now),
        }
        self.ask(now, cluster, need);
        Step::Then(Move::Wait)
    }

    /// A request to one broker.
    fn one(&mut self, now: Instant, head: &Head, plan_id: PlanId, input: &mut [u8]) -> Step {
        let Some(plan) = self.plans.get(plan_id) else { return Step::Then(Move::Wait) };
        let (to, manner) = (plan.path.to, plan.manner);
        let known = self.view(to.cluster).is_some_and(|view| view.topology.cluster_id.is_some());
        let login = matches!(head.key, ApiKey::SASL_HANDSHAKE | ApiKey::SASL_AUTHENTICATE);
        if !known && !login {
            if !self.login.is_relayed() {
                return self.wait_for(now, to.cluster, Need::Identity);
            }
            return self.ask_on_lane(now, to);
        }
        let mut lane = self.lane(to);
        match self.reach(now, lane) {
            LaneState::Up => {}
            LaneState::Idle | LaneState::Dialling => {
                return Step::Then(if self.effects.is_empty() { Move::Wait } else { Move::Take(0) });
            }
            LaneState::Failed(_) if login => return self.end(Reason::Unreachable),
            LaneState::Failed(_)
                if !self.login.is_relayed() && to.node.is_some() && manner::is_for_any_broker(head.key) =>
            {
                // The address of a node that is gone still serves as bootstrap.
                let any = self.lane(Destination { node: None, ..to });
                match self.reach(now, any) {
                    LaneState::Up => lane = any,
                    LaneState::Failed(_) => return self.refuse_arriving(head, After::Lost),
                    LaneState::Idle | LaneState::Dialling => {
                        return Step::Then(if self.effects.is_empty() { Move::Wait } else { Move::Take(0) });
                    }
                }
            }
            LaneState::Failed(_) => return self.refuse_arriving(head, After::Lost),
        }
        match manner {
            Manner::Stream => self.stream(now, head, plan_id, lane, input),
            Manner::Gather(cap) => self.gather(now, head, plan_id, (lane, cap), input),
        }
    }

    /// Without credentials of its own Skein asks on the client's lane, once, behind its login.
    fn ask_on_lane(&mut self, now: Instant, to: crate::topology::Destination) -> Step {
        let id = self.lane(to);
        if self.reach(now, id) != LaneState::Up {
            return Step::Then(if self.effects.is_empty() { Move::Wait } else { Move::Take(0) });
        }
        let offered =
            self.view(to.cluster).and_then(|view| view.topology.offer.as_ref()?.apis.get(&ApiKey::METADATA).copied());
        let Some(version) = offered.and_then(metadata::version) else { return self.end(Reason::Unreachable) };
        let grant = self.door.limits.answer_margin;
        let Some(lane) = self.lane_mut(id) else { return Step::Then(Move::Wait) };
        if lane.tickets.iter().any(|ticket| matches!(ticket.purpose, Purpose::Own(_))) {
            return Step::Then(Move::Wait);
        }
        let correlation = lane.correlation();
        lane.push(now, Ticket { correlation, purpose: Purpose::Own(version), grant });
        self.effects.push_back(Effect::Send(id, framed(&metadata::question(version, correlation))));
        Step::Then(Move::Take(0))
    }

    /// A request that passes while it arrives.
    fn stream(&mut self, now: Instant, head: &Head, plan_id: PlanId, id: LaneId, input: &mut [u8]) -> Step {
        let margin = self.door.limits.answer_margin;
        let Some(plan) = self.plans.get(plan_id) else { return Step::Then(Move::Wait) };
        let (layout, wants, lengths) = (plan.request.layout, plan.request.wants, plan.request.lengths);
        let mut passage = Passage::new(layout, head.length, wants);
        let mut length = head.length;
        if lengths == Lengths::Names {
            let growth = plan.path.growth(Direction::ToBroker).unwrap_or(0);
            let body = input.get(frame::LENGTH..).unwrap_or(&[]);
            match passage::announce(layout, head.length, growth, body) {
                Ok(Announce::Need(bytes)) => return Step::Then(Move::Need(frame::LENGTH + bytes)),
                Ok(Announce::Longer(longer)) => {
                    length = length.saturating_add(longer);
                    passage = passage.with_room(longer);
                }
                Ok(Announce::TooLong) => return self.gather(now, head, plan_id, (id, frame::LONGEST), input),
                Err(malformed) => return self.end(Reason::Malformed(malformed)),
            }
        }
        let Some(lane) = self.lane_mut(id) else { return Step::Then(Move::Wait) };
        let correlation = lane.correlation();
        write(input, 0, length.to_be_bytes());
        write(input, frame::LENGTH + frame::CORRELATION, correlation.to_be_bytes());
        let slot = self.slots.push(*head, Outline::default());
        if let Some(lane) = self.lane_mut(id) {
            lane.push(now, Ticket { correlation, purpose: Purpose::Slot(slot, plan_id), grant: margin });
        }
        self.arrives(now, head.length);
        self.incoming =
            Incoming::Passing { passage: Box::new(passage), slot, plan: plan_id, lane: id, seen: Seen::default() };
        Step::Kept(narrow(frame::LENGTH), id)
    }

    /// Goes on with a request that is passing.
    fn pass_request(&mut self, now: Instant, input: &mut [u8]) -> Step {
        let Incoming::Passing { passage, slot, plan, lane, seen } = &mut self.incoming else {
            return Step::Then(Move::Wait);
        };
        let (id, slot, plan_id) = (*lane, *slot, *plan);
        let (Some(plan), Some(asked)) = (self.plans.get(plan_id), self.slots.get_mut(slot)) else {
            return Step::Then(Move::Wait);
        };
        let tag = self.views.iter().find(|view| view.cluster == plan.path.to.cluster).and_then(|view| view.tag);
        let mut editor = Translator::new(&plan.path, plan.key, Direction::ToBroker, tag, seen);
        match passage.next(input, &mut editor, &mut asked.outline) {
            Ok(Next::Need(bytes)) => Step::Then(Move::Need(bytes)),
            Ok(Next::Keep(bytes)) => Step::Kept(bytes, id),
            Ok(Next::Put { skip, put }) => Step::Then(Move::Put(skip, put, Out::Lane(id))),
            Ok(Next::Zeros(bytes)) => Step::Then(Move::Zeros(bytes, Out::Lane(id))),
            Ok(Next::End) => {
                let seen = std::mem::take(seen);
                self.incoming = Incoming::Idle;
                self.arrival = None;
                self.sent(now, id, slot, &seen);
                Step::Again
            }
            Err(malformed) => {
                // Part of it has gone out: nothing can follow it on that lane, but what was asked before is still answered.
                self.incoming = Incoming::Idle;
                if let Some(lane) = self.lane_mut(id) {
                    lane.drop_last();
                }
                self.set(slot, SlotState::Doomed(Reason::Malformed(malformed)));
                self.end(Reason::Malformed(malformed))
            }
        }
    }

    /// A request has gone out whole.
    fn sent(&mut self, now: Instant, id: LaneId, slot: SlotId, seen: &Seen) {
        let grant = self.door.limits.answer_margin + Duration::from_millis(u64::from(seen.wait_ms));
        let Some(lane) = self.lane_mut(id) else { return };
        if seen.silent {
            lane.drop_last();
            return self.set(slot, SlotState::Silent);
        }
        lane.grant_last(now, grant);
        if let Some(asked) = self.slots.get_mut(slot) {
            asked.state = SlotState::Asked;
            if seen.incremental {
                // It names only what has changed: no answer could be made from it.
                asked.outline = Outline::off();
            }
        }
    }

    /// A request that goes to one broker once it is complete.
    fn gather(
        &mut self, now: Instant, head: &Head, plan_id: PlanId, (id, cap): (LaneId, u32), input: &mut [u8],
    ) -> Step {
        if let Some(step) = self.complete(now, head, cap, input) {
            return step;
        }
        let Some(plan) = self.plans.get(plan_id) else { return Step::Then(Move::Wait) };
        let body = input.get_mut(frame::LENGTH..frame::LENGTH + wide(head.length)).unwrap_or(&mut []);
        let (mut seen, mut outline) = (Seen::default(), Outline::default());
        let tag = self.tag(plan.path.to.cluster);
        let mut editor = Translator::new(&plan.path, plan.key, Direction::ToBroker, tag, &mut seen);
        if plan.response.lengths == Lengths::Any {
            editor.most_bytes = Some(COMPLETED_FETCH);
        }
        let rewritten = match rewrite(plan.request.layout, plan.request.wants, body, &mut editor, &mut outline) {
            Ok(rewritten) => rewritten,
            Err(malformed) => return self.end(Reason::Malformed(malformed)),
        };
        if seen.replica {
            return self.end(Reason::Replica { key: head.key });
        }
        self.incoming = Incoming::Idle;
        self.arrival = None;
        let Some(lane) = self.lane_mut(id) else { return Step::Then(Move::Wait) };
        let correlation = lane.correlation();
        let slot = self.slots.push(*head, outline);
        let margin = self.door.limits.answer_margin;
        if let Some(lane) = self.lane_mut(id) {
            lane.push(now, Ticket { correlation, purpose: Purpose::Slot(slot, plan_id), grant: margin });
        }
        self.sent(now, id, slot, &seen);
        let whole = narrow(frame::LENGTH) + head.length;
        match rewritten {
            Rewritten::InPlace => {
                write(input, frame::LENGTH + frame::CORRELATION, correlation.to_be_bytes());
                Step::Kept(whole, id)
            }
            Rewritten::Anew(mut bytes) => {
                write(&mut bytes, frame::CORRELATION, correlation.to_be_bytes());
                self.effects.push_back(Effect::Send(id, framed(&bytes)));
                Step::Then(Move::Take(whole))
            }
        }
    }

    /// A request that goes to several, complete.
    fn whole(&mut self, now: Instant, head: &Head, descent: crate::graph::Descent, input: &mut [u8]) -> Step {
        let crate::graph::Descent::Whole { cap, edges, level, at } = descent else { return Step::Then(Move::Wait) };
        if let Some(step) = self.complete(now, head, cap, input) {
            return step;
        }
        // A barrier: it starts when all before it are answered.
        if !self.slots.is_empty() {
            return Step::Then(Move::Wait);
        }
        let body = input.get(frame::LENGTH..frame::LENGTH + wide(head.length)).unwrap_or(&[]).to_vec();
        self.incoming = Incoming::Idle;
        self.arrival = None;
        if let Err(malformed) = self.start_work(now, head, body, edges, &level, at) {
            return self.end(Reason::Malformed(malformed));
        }
        Step::Then(Move::Take(narrow(frame::LENGTH) + head.length))
    }

    /// Goes on with a request that is counted off.
    fn count_off(&mut self, input: &mut [u8]) -> Step {
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
    pub(super) fn incoming_lost(&mut self, id: LaneId, lost: Lost) {
        let _ = lost;
        match std::mem::replace(&mut self.incoming, Incoming::Idle) {
            Incoming::Passing { passage, slot, lane, seen, .. } if lane == id => {
                // The broker never had all of it, so it cannot have acted.
                self.incoming = Incoming::Counting { passage, slot, after: After::Lost, seen };
            }
            Incoming::Deferred(then, before) => {
                self.incoming = *before;
                self.incoming_lost(id, lost);
                let then = match then {
                    Move::Put(skip, _, Out::Lane(lane)) if lane == id => Move::Take(skip),
                    Move::Keep(bytes, Out::Lane(lane)) if lane == id => Move::Take(bytes),
                    Move::Zeros(_, Out::Lane(lane)) if lane == id => Move::Take(0),
                    other => other,
                };
                let before = std::mem::replace(&mut self.incoming, Incoming::Idle);
                self.incoming = Incoming::Deferred(then, Box::new(before));
            }
            other => self.incoming = other,
        }
    }

    /// Closes at the turn of whatever is asked now.
    pub(super) fn close_at_turn(&mut self, reason: Reason) {
        self.close(reason);
    }
}

/// A request that wants no answer.
struct Silence;

/// Looks at a request that is counted off.
struct Counter<'a> {
    seen: &'a mut Seen,
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

/// Vouches for a frame.
fn walk(layout: &'static skein_protocol::table::Layout, frame: &[u8]) -> Result<(), Malformed> {
    let mut copy = frame.to_vec();
    rewrite(layout, Meanings::NONE, &mut copy, &mut Counter { seen: &mut Seen::default() }, &mut Outline::off())
        .map(|_| ())
}
