//! Requests on their way to a broker: streamed, gathered, or whole.

use std::time::{Duration, Instant};

use bytes::Bytes;
use skein_filters::Beside;
use skein_protocol::answer;
use skein_protocol::code::Code;
use skein_protocol::frame::{self, Head};
use skein_protocol::ids::{ApiKey, Direction};
use skein_protocol::merge::together;
use skein_protocol::outline::Outline;
use skein_protocol::passage::{self, Announce, Next, Passage};
use skein_protocol::rewrite::{Rewritten, rewrite};
use skein_protocol::varint::{narrow, wide};

use super::{After, Effect, Engine, Incoming, LaneId, Move, Need, Out, PlanId, Reason, SlotId, SlotState, Step};
use crate::apis::{manner, metadata, woven};
use crate::engine::guard::{Judged, Whole};
use crate::engine::lanes::{LaneState, Purpose, Ticket, framed, write};
use crate::engine::{Note, astray, is_listing, tag};
use crate::graph::{Descent, Manner};
use crate::path::{Lengths, Seen, Translator};
use crate::router::Lost;
use crate::topology::{ClusterIndex, Destination};

/// A fetch whose answer must be completed asks for no more than this.
const COMPLETED_FETCH: i64 = 1 << 20;

/// What filters let through of a request, and the answer to the rest.
type Divided = (Vec<u8>, Option<Beside>);

impl Engine {
    /// A request to one broker.
    pub(super) fn one(&mut self, now: Instant, head: &Head, plan_id: PlanId, input: &mut [u8]) -> Step {
        let Some(plan) = self.plans.get(plan_id) else { return Step::Then(astray()) };
        let (to, manner) = (plan.path.to, plan.manner);
        let known = self.view(to.cluster).is_some_and(|view| view.topology.cluster_id.is_some());
        let login = matches!(head.key, ApiKey::SASL_HANDSHAKE | ApiKey::SASL_AUTHENTICATE);
        if !known && !login {
            if !self.login.is_relayed() {
                return self.wait_for(now, to.cluster, Need::Identity);
            }
            return self.ask_on_lane(now, to);
        }
        self.is_known(to.cluster);
        if woven::gives_producer_ids(head.key) && self.shares_its_tag(to.cluster) {
            return self.refuse_arriving(now, head, After::Code(Code::COORDINATOR_NOT_AVAILABLE));
        }
        let mut lane = self.lane(to);
        match self.reach(now, lane) {
            LaneState::Up => {}
            LaneState::Idle | LaneState::Dialling | LaneState::Renewing => {
                return self.once_dialled();
            }
            LaneState::Failed(_) if login => return self.end(Reason::Unreachable),
            LaneState::Failed(_)
                if !self.login.is_relayed() && to.node.is_some() && manner::is_for_any_broker(head.key) =>
            {
                // The address of a node that is gone still serves as bootstrap.
                let any = self.lane(Destination { node: None, ..to });
                match self.reach(now, any) {
                    LaneState::Up => lane = any,
                    LaneState::Failed(_) => return self.refuse_arriving(now, head, After::Lost(Lost::Unsent)),
                    LaneState::Idle | LaneState::Dialling | LaneState::Renewing => {
                        return self.once_dialled();
                    }
                }
            }
            LaneState::Failed(_) => return self.refuse_arriving(now, head, After::Lost(Lost::Unsent)),
        }
        if self.is_learning(lane) {
            return Step::Then(Move::Wait);
        }
        if is_listing(&self.views, to.cluster) {
            return Step::Then(Move::Wait);
        }
        let unknown = self.guard.unknown();
        if !unknown.is_empty() {
            return match self.door.book {
                Some(_) => self.list(now, &[to.cluster], unknown),
                None => self.learn(now, lane, &unknown),
            };
        }
        match manner {
            Manner::Stream => self.stream(now, head, plan_id, lane, input),
            Manner::Gather(cap) => self.gather(now, head, plan_id, (lane, cap), input),
        }
    }

    /// Whether another cluster's producer ids would be taken for those of this one: their tags are the same by chance.
    fn shares_its_tag(&self, cluster: ClusterIndex) -> bool {
        let tag = tag(&self.views, cluster);
        self.views.iter().any(|view| view.cluster != cluster && view.tag.is_some() && view.tag == tag)
    }

    /// Waits for a lane that is being dialled, or is to be.
    fn once_dialled(&self) -> Step {
        Step::Then(if self.effects.is_empty() { Move::Wait } else { Move::Take(0) })
    }

    /// Without credentials of its own Skein asks on the client's lane, once, behind its login.
    fn ask_on_lane(&mut self, now: Instant, to: Destination) -> Step {
        let id = self.lane(to);
        match self.reach(now, id) {
            LaneState::Up => {}
            LaneState::Idle | LaneState::Dialling | LaneState::Renewing => return self.once_dialled(),
            LaneState::Failed(_) => return self.end(Reason::Unreachable),
        }
        let offered =
            self.view(to.cluster).and_then(|view| view.topology.offer.as_ref()?.apis.get(&ApiKey::METADATA).copied());
        let Some(version) = offered.and_then(metadata::version) else { return self.end(Reason::Unreachable) };
        let grant = self.door.limits.answer_margin;
        let Some(lane) = self.lane_mut(id) else { return Step::Then(astray()) };
        if lane.tickets.iter().any(|ticket| matches!(ticket.purpose, Purpose::Own(_))) {
            return Step::Then(Move::Wait);
        }
        if std::mem::replace(&mut lane.was_asked, true) {
            // It has answered, and has not said which cluster it belongs to.
            return self.end(Reason::Unreachable);
        }
        let Some(lane) = self.lane_mut(id) else { return Step::Then(astray()) };
        let correlation = lane.correlation();
        lane.push(now, Ticket { correlation, purpose: Purpose::Own(version), grant });
        self.effects.push_back(Effect::Send(id, framed(&metadata::question(version, correlation))));
        Step::Then(Move::Take(0))
    }

    /// A request that passes while it arrives.
    fn stream(&mut self, now: Instant, head: &Head, plan_id: PlanId, id: LaneId, input: &mut [u8]) -> Step {
        let (margin, arrival) = (self.door.limits.answer_margin, self.door.limits.frame_arrival);
        let Some(plan) = self.plans.get(plan_id) else { return Step::Then(astray()) };
        let (layout, wants, lengths) = (plan.request.layout, plan.request.wants, plan.request.lengths);
        let mut passage = Passage::new(layout, head.length, wants);
        let mut length = head.length;
        if lengths == Lengths::Names {
            let growth = plan.path.growth(Direction::ToBroker).unwrap_or(0);
            let body = input.get(frame::LENGTH..).unwrap_or(&[]);
            match passage::announce(layout, head.length, growth, body) {
                Ok(Announce::Need(bytes)) => {
                    self.arrives(now, head.length);
                    return Step::Then(Move::Need(frame::LENGTH + bytes));
                }
                Ok(Announce::Longer(longer)) => {
                    length = length.saturating_add(longer);
                    passage = passage.with_room(longer);
                }
                Ok(Announce::TooLong) => return self.gather(now, head, plan_id, (id, frame::LONGEST), input),
                Err(malformed) => return self.end(Reason::Malformed(malformed)),
            }
        }
        let Some(lane) = self.lane_mut(id) else { return Step::Then(astray()) };
        let correlation = lane.correlation();
        write(input, 0, length.to_be_bytes());
        write(input, frame::LENGTH + frame::CORRELATION, correlation.to_be_bytes());
        let slot = self.slots.push(*head, Outline::default());
        if let Some(lane) = self.lane_mut(id) {
            // The broker's time begins when it has all of it; until then the client's does.
            let grant = margin + arrival + Duration::from_secs(u64::from(head.length >> 16));
            lane.push(now, Ticket { correlation, purpose: Purpose::Slot(slot, plan_id), grant });
        }
        self.arrives(now, head.length);
        let passage = self.boxed(passage);
        self.incoming = Incoming::Passing { passage, slot, plan: plan_id, lane: id, seen: Seen::default() };
        Step::Kept(narrow(frame::LENGTH), id)
    }

    /// Goes on with a request that is passing.
    pub(super) fn pass_request(&mut self, now: Instant, input: &mut [u8]) -> Step {
        let Incoming::Passing { passage, slot, plan, lane, seen } = &mut self.incoming else {
            return Step::Then(astray());
        };
        let (id, slot) = (*lane, *slot);
        let waits = self.plans.get(*plan).is_some_and(|plan| is_listing(&self.views, plan.path.to.cluster));
        if waits {
            return Step::Then(Move::Wait);
        }
        let (Some(plan), Some(asked)) = (self.plans.get(*plan), self.slots.get_mut(slot)) else {
            return Step::Then(astray());
        };
        let tag = tag(&self.views, plan.path.to.cluster);
        let mut editor = Translator::new(&plan.path, plan.key, Direction::ToBroker, tag, seen)
            .guarded(self.guard.filters(), plan.request.guarded.fields);
        match passage.next(input, &mut editor, &mut asked.outline) {
            Ok(Next::Hold) => {
                let cluster = plan.path.to.cluster;
                let unknown = self.guard.unknown();
                self.list(now, &[cluster], unknown)
            }
            Ok(Next::Need(bytes)) => Step::Then(Move::Need(bytes)),
            Ok(Next::Keep(bytes)) => Step::Kept(bytes, id),
            Ok(Next::Put { skip, put }) => Step::Then(Move::Put(skip, put, Out::Lane(id))),
            Ok(Next::Zeros(bytes)) => Step::Then(Move::Zeros(bytes, Out::Lane(id))),
            Ok(Next::End) => {
                if let Incoming::Passing { passage, seen, .. } = self.arrived() {
                    self.spare = Some(passage);
                    self.sent(now, id, slot, &seen);
                }
                Step::Again
            }
            Err(malformed) => {
                // Part of it has gone out: nothing can follow it on that lane, but what was asked before is still answered.
                self.arrived();
                if let Some(lane) = self.lane_mut(id) {
                    lane.drop_last();
                }
                self.set(slot, SlotState::Doomed(Reason::Malformed(malformed)));
                self.end(Reason::Malformed(malformed))
            }
        }
    }

    /// What was refused of a request on its way is answered by the slot, beside the broker's answer to the rest.
    fn spoilt(&mut self, slot: SlotId, seen: &Seen) {
        let spoilt = &seen.memo.spoilt;
        let mut codes: Vec<Code> = spoilt.iter().map(|(_, code)| *code).collect();
        codes.sort_unstable_by_key(|code| code.0);
        codes.dedup();
        let Some(asked) = self.slots.get_mut(slot) else { return };
        let Head { key, version, correlation, .. } = asked.head;
        let mut beside: Option<Beside> = None;
        for code in codes {
            let is_one = |n| spoilt.iter().any(|(number, of)| *number == n && *of == code);
            let outline = asked.outline.only(is_one);
            let code = if code == Code::TRANSACTION_ABORTABLE { woven::outside_transaction(version) } else { code };
            let refused = answer::refusal(key, version, correlation, &outline, code);
            let joined = match (beside.take(), refused) {
                (None, refused) => refused,
                (Some(before), Some(refused)) => together(&asked.head, &before.frame, &refused).ok(),
                (Some(_), None) => None,
            };
            beside = joined.map(|frame| Beside { frame, code });
            if beside.is_none() && !seen.silent {
                // It named more than is remembered: no answer can be made.
                self.effects.push_back(Effect::Close(Reason::NoAnswer { key }));
                return;
            }
        }
        if let Some(beside) = beside {
            self.effects.push_back(Effect::Note(Note::Refused(key, beside.code)));
            asked.beside = Some(beside);
        }
    }

    /// A request has gone out whole.
    fn sent(&mut self, now: Instant, id: LaneId, slot: SlotId, seen: &Seen) {
        let grant = self.door.limits.answer_margin + Duration::from_millis(u64::from(seen.wait_ms));
        if let (Some(code), Some(asked)) = (seen.memo.denied, self.slots.get_mut(slot)) {
            let key = asked.head.key;
            self.effects.push_back(Effect::Note(Note::Refused(key, code)));
        }
        self.spoilt(slot, seen);
        let Some(lane) = self.lane_mut(id) else { return };
        if seen.silent {
            lane.silence_last();
            return self.set(slot, SlotState::Silent);
        }
        lane.grant_last(now, grant);
        if let Some(asked) = self.slots.get_mut(slot) {
            asked.state = SlotState::Asked;
        }
        if seen.incremental {
            self.forget_outline(slot);
        }
        self.slots.weigh(slot);
    }

    /// A request that goes to one broker once it is complete.
    fn gather(
        &mut self, now: Instant, head: &Head, plan_id: PlanId, (id, cap): (LaneId, u32), input: &mut [u8],
    ) -> Step {
        if let Some(step) = self.complete(now, head, cap, input) {
            return step;
        }
        let Some(plan) = self.plans.get(plan_id) else { return Step::Then(astray()) };
        if plan.request.guarded.whole == Whole::No {
            return self.forward(now, head, plan_id, (id, None), input);
        }
        let body = input.get_mut(frame::LENGTH..frame::LENGTH + wide(head.length)).unwrap_or(&mut []);
        match self.guard.judge(head, body) {
            Ok(Judged::Forward) => self.forward(now, head, plan_id, (id, None), input),
            Ok(Judged::Part(part, beside)) => {
                if let Some(beside) = &beside {
                    self.effects.push_back(Effect::Note(Note::Refused(head.key, beside.code)));
                }
                self.forward(now, head, plan_id, (id, Some((part, beside))), input)
            }
            Ok(Judged::Answer(answer)) => self.answer_refused(head, &answer),
            // What must be learnt is asked for before the request is looked at again.
            Ok(Judged::Learn) => Step::Again,
            Ok(Judged::Close) => self.end(Reason::Forbidden { key: head.key }),
            Err(malformed) => self.end(Reason::Malformed(malformed)),
        }
    }

    /// A request that is complete is answered by a filter.
    pub(super) fn answer_refused(&mut self, head: &Head, answer: &Beside) -> Step {
        self.arrived();
        self.effects.push_back(Effect::Note(Note::Refused(head.key, answer.code)));
        let slot = self.slots.push(*head, Outline::off());
        self.answered(slot, &answer.frame);
        Step::Then(Move::Take(narrow(frame::LENGTH) + head.length))
    }

    /// A complete request goes out, or a part of it.
    fn forward(
        &mut self, now: Instant, head: &Head, plan_id: PlanId, (id, part): (LaneId, Option<Divided>), input: &mut [u8],
    ) -> Step {
        let Some(plan) = self.plans.get(plan_id) else { return Step::Then(astray()) };
        let (mut part, beside) = part.map_or((None, None), |(part, beside)| (Some(part), beside));
        let body = match &mut part {
            Some(part) => part,
            None => input.get_mut(frame::LENGTH..frame::LENGTH + wide(head.length)).unwrap_or(&mut []),
        };
        let (mut seen, mut outline) = (Seen::default(), Outline::default());
        let tag = tag(&self.views, plan.path.to.cluster);
        let mut editor = Translator::new(&plan.path, plan.key, Direction::ToBroker, tag, &mut seen)
            .guarded(self.guard.filters(), plan.request.guarded.fields);
        if plan.response.lengths == Lengths::Any || beside.is_some() {
            editor.most_bytes = Some(COMPLETED_FETCH);
        }
        let rewritten = match rewrite(plan.request.layout, plan.request.wants, body, &mut editor, &mut outline) {
            Ok(rewritten) => rewritten,
            Err(malformed) => return self.end(Reason::Malformed(malformed)),
        };
        if seen.replica {
            return self.end(Reason::Replica { key: head.key });
        }
        let Some(lane) = self.lane_mut(id) else { return Step::Then(astray()) };
        let correlation = lane.correlation();
        let completed = self.arrived();
        let slot = self.slots.push(*head, outline);
        if let Some(asked) = self.slots.get_mut(slot) {
            asked.beside = beside;
        }
        let margin = self.door.limits.answer_margin;
        if let Some(lane) = self.lane_mut(id) {
            lane.push(now, Ticket { correlation, purpose: Purpose::Slot(slot, plan_id), grant: margin });
        }
        self.sent(now, id, slot, &seen);
        let whole = narrow(frame::LENGTH) + head.length;
        let mut bytes = match (rewritten, part) {
            (Rewritten::Anew(bytes), _) | (Rewritten::InPlace, Some(bytes)) => bytes,
            (Rewritten::InPlace, None) => {
                write(input, frame::LENGTH + frame::CORRELATION, correlation.to_be_bytes());
                if !completed.is_reserved() {
                    return Step::Kept(whole, id);
                }
                let frame = Bytes::copy_from_slice(input.get(..wide(whole)).unwrap_or(&[]));
                self.effects.push_back(Effect::Send(id, completed.with(frame)));
                return Step::Then(Move::Take(whole));
            }
        };
        write(&mut bytes, frame::CORRELATION, correlation.to_be_bytes());
        self.effects.push_back(Effect::Send(id, completed.with(framed(&bytes))));
        Step::Then(Move::Take(whole))
    }

    /// A request that goes to several, complete.
    pub(super) fn whole(&mut self, now: Instant, head: &Head, descent: Descent, input: &mut [u8]) -> Step {
        let Descent::Whole { cap, edges, level, at } = descent else { return Step::Then(astray()) };
        if let Some(step) = self.complete(now, head, cap, input) {
            return step;
        }
        // A barrier: it starts when all before it are answered.
        if !self.slots.is_empty() || self.views.iter().any(|view| view.listing.is_some()) {
            return Step::Then(Move::Wait);
        }
        let unknown = match self.unlisted_ids(head, input) {
            Ok(unknown) => unknown,
            Err(malformed) => return self.end(Reason::Malformed(malformed)),
        };
        if !unknown.is_empty() {
            let clusters = self.door.clusters.clone();
            return self.list(now, &clusters, unknown);
        }
        let mut body = input.get(frame::LENGTH..frame::LENGTH + wide(head.length)).unwrap_or(&[]).to_vec();
        let beside = match self.guard.judge(head, &mut body) {
            Ok(Judged::Forward) => None,
            Ok(Judged::Part(part, beside)) => {
                body = part;
                beside
            }
            Ok(Judged::Answer(answer)) => return self.answer_refused(head, &answer),
            // There is no one lane to ask on: what is not known is refused.
            Ok(Judged::Learn) => {
                self.guard.unknown();
                return Step::Again;
            }
            Ok(Judged::Close) => return self.end(Reason::Forbidden { key: head.key }),
            Err(malformed) => return self.end(Reason::Malformed(malformed)),
        };
        if let Err(malformed) = self.start_work(now, head, (body, beside), edges, &level, at) {
            return self.end(Reason::Malformed(malformed));
        }
        Step::Then(Move::Take(narrow(frame::LENGTH) + head.length))
    }
}
