//! A request that goes to several brokers: steps, legs, and what follows when all legs are answered or lost.
//!
//! It is a barrier, so there is one at a time. Routers nest: a leg may itself be routed as a whole by the next level, whose
//! answer is then the leg's.

use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use skein_filters::{Address, Beside, Edge, Tag};
use skein_protocol::Malformed;
use skein_protocol::Meanings;
use skein_protocol::code::Code;
use skein_protocol::frame::{self, Head};
use skein_protocol::ids::{Direction, RealNodeId, VirtualNodeId, VirtualTopicId};
use skein_protocol::outline::{OUTLINED, Outline};
use skein_protocol::rewrite::{Rewritten, rewrite};
use skein_protocol::table::Table;
use skein_protocol::varint::Inline;

use super::answers::hides_coordinator;
use super::guard::Guard;
use super::lanes::{LaneState, Purpose, write};
use super::slots::{SlotId, SlotState};
use super::{Effect, Engine};
use crate::apis::metadata;
use crate::graph::{Descent, Level, Manner};
use crate::path::{Seen, Translator, renamed};
use crate::router::{Cx, Leg, Lost, Reply, Request, Step, Then};
use crate::topology::{ClusterIndex, Destination};

/// The most steps that a request may take: learning twice and asking twice at each of a few levels is far below.
const MOST_STEPS: u16 = 64;

/// What is under way for one request.
pub(super) struct Work {
    /// Its number on this connection.
    number: u32,
    slot: SlotId,
    head: Head,
    /// The edges down to the router that routes it, the face first.
    edges: Vec<Arc<dyn Edge>>,
    tasks: Vec<Task>,
    legs: Vec<Sent>,
    steps: u16,
}

/// The task that another is a leg of: its number, the leg's, and the edges between the two.
type Parent = (usize, usize, Vec<Arc<dyn Edge>>);

/// What one router has to do for it.
struct Task {
    level: Arc<Level>,
    /// None for the one that the client's request came to.
    parent: Option<Parent>,
    then: Option<Then>,
    replies: Vec<Option<Reply>>,
    left: usize,
}

/// A leg that went to a broker.
struct Sent {
    task: usize,
    index: usize,
    edges: Vec<Arc<dyn Edge>>,
    to: Destination,
    done: bool,
}

impl Work {
    /// Legs that are neither answered nor lost.
    pub(super) fn open_legs(&self) -> usize {
        self.legs.iter().filter(|leg| !leg.done).count()
    }
}

impl Engine {
    /// Begins with a request that is complete: `body` is its frame without its length.
    pub(super) fn start_work(
        &mut self, now: Instant, head: &Head, (mut body, beside): (Vec<u8>, Option<Beside>), edges: Vec<Arc<dyn Edge>>,
        level: &Arc<Level>, at: Option<VirtualNodeId>,
    ) -> Result<(), Malformed> {
        let completed = self.arrived();
        let mut outline = Outline::default();
        let tag = self.only_tag();
        translate_guarded(&edges, head, Direction::ToBroker, tag, (&mut body, &mut outline), &mut self.guard)?;
        let slot = self.slots.push(*head, outline);
        if let Some(slot) = self.slots.get_mut(slot) {
            slot.beside = beside;
            slot.state = SlotState::Asked;
        }
        let root = Task { level: Arc::clone(level), parent: None, then: None, replies: Vec::new(), left: 0 };
        self.works = self.works.wrapping_add(1);
        self.work =
            Some(Work { number: self.works, slot, head: *head, edges, tasks: vec![root], legs: Vec::new(), steps: 0 });
        let request = Request { head: *head, at, frame: completed.with(Bytes::from(body)) };
        let step = self.route(level, 0, request);
        self.run(now, 0, step);
        Ok(())
    }

    /// The tag of the cluster, if there is only one.
    fn only_tag(&self) -> Option<Tag> {
        match self.views.as_slice() {
            [only] => only.tag,
            _ => None,
        }
    }

    /// Has the router of a task route a request.
    fn route(&self, level: &Level, task: usize, request: Request) -> Step {
        let edges = self.edges_to(task);
        let names = |id: [u8; 16]| {
            let name = self.door.book.as_ref()?.name(VirtualTopicId(id))?;
            let over = |name: Inline, edge: &Arc<dyn Edge>| renamed(&**edge, Direction::ToBroker, &name);
            edges.iter().try_fold(Inline::from_slice(&name), over)
        };
        level.router.route(request, &Cx { client: &self.client, names: &names })
    }

    /// The edges from the client to the router of a task.
    fn edges_to(&self, task: usize) -> Vec<Arc<dyn Edge>> {
        let Some(work) = &self.work else { return Vec::new() };
        let (mut ways, mut at) = (Vec::new(), task);
        while let Some((parent, _, edges)) = work.tasks.get(at).and_then(|task| task.parent.as_ref()) {
            ways.push(edges.as_slice());
            at = *parent;
        }
        ways.push(work.edges.as_slice());
        ways.into_iter().rev().flatten().cloned().collect()
    }

    /// Carries a step out.
    fn run(&mut self, now: Instant, task: usize, step: Step) {
        let Some(work) = &mut self.work else { return };
        work.steps += 1;
        let bounded = work.steps <= MOST_STEPS;
        let is_root = work.tasks.get(task).is_some_and(|task| task.parent.is_none());
        match step {
            _ if !bounded => self.deliver(now, task, Err(Lost::Unknown)),
            Step::Answer(frame) => self.deliver(now, task, Ok(frame)),
            Step::Silence if is_root => {
                let slot = work.slot;
                self.work = None;
                self.set(slot, SlotState::Silent);
            }
            Step::Refuse(code) if is_root => {
                let slot = work.slot;
                self.work = None;
                self.refuse(slot, code);
            }
            Step::Silence | Step::Refuse(_) => self.deliver(now, task, Err(Lost::Unsent)),
            Step::Send { legs, .. } if legs.is_empty() => self.deliver(now, task, Err(Lost::Unsent)),
            Step::Send { legs, then } => {
                if let Some(task) = work.tasks.get_mut(task) {
                    task.then = Some(then);
                    task.left = legs.len();
                    task.replies = legs.iter().map(|_| None).collect();
                }
                for (index, leg) in legs.into_iter().enumerate() {
                    self.start_leg(now, task, index, leg);
                }
            }
        }
    }

    /// Sends a leg on its way.
    fn start_leg(&mut self, now: Instant, task: usize, index: usize, leg: Leg) {
        let Some(work) = &self.work else { return };
        let head = work.head;
        let Some(level) = work.tasks.get(task).map(|task| Arc::clone(&task.level)) else { return };
        let Some(route) = level.routes.get(&leg.route) else { return self.reply(now, task, index, Err(Lost::Unsent)) };
        let edges = vec![level.router.edge(leg.route)];
        let manner = Manner::Gather(frame::LONGEST);
        let mut body = leg.frame.to_vec();
        match route.target.descend(&head, leg.at, &self.client, (edges, manner, self.door.book.as_ref())) {
            Descent::One { path, .. } => {
                let edges = path.edges().to_vec();
                let tag = self.tag(path.to.cluster);
                match translate(&edges, &head, Direction::ToBroker, tag, &mut body, &mut Outline::off()) {
                    Ok(seen) => self.send_leg(now, Sent { task, index, edges, to: path.to, done: false }, body, &seen),
                    Err(_) => self.reply(now, task, index, Err(Lost::Unsent)),
                }
            }
            Descent::Whole { edges, level, at, .. } => {
                let translated = translate(&edges, &head, Direction::ToBroker, None, &mut body, &mut Outline::off());
                let Some(work) = &mut self.work else { return };
                let inner = Task {
                    level: Arc::clone(&level),
                    parent: Some((task, index, edges)),
                    then: None,
                    replies: Vec::new(),
                    left: 0,
                };
                work.tasks.push(inner);
                let number = work.tasks.len() - 1;
                if translated.is_err() {
                    return self.deliver(now, number, Err(Lost::Unsent));
                }
                let step = self.route(&level, number, Request { head, at, frame: Bytes::from(body) });
                self.run(now, number, step);
            }
            Descent::Refuse(_) | Descent::NoSuchNode => self.reply(now, task, index, Err(Lost::Unsent)),
        }
    }

    fn send_leg(&mut self, now: Instant, sent: Sent, body: Vec<u8>, seen: &Seen) {
        let (task, index) = (sent.task, sent.index);
        let id = self.lane(sent.to);
        let state = self.reach(now, id);
        if let LaneState::Failed(_) = state {
            return self.reply(now, task, index, Err(Lost::Unsent));
        }
        let Some(work) = &mut self.work else { return };
        work.legs.push(sent);
        let leg = work.legs.len() - 1;
        let number = work.number;
        let grant = self.door.limits.answer_margin + std::time::Duration::from_millis(u64::from(seen.wait_ms));
        let purpose = Purpose::Leg(number, leg);
        let Some(lane) = self.lane_mut(id) else { return };
        if state == LaneState::Up {
            let frame = lane.send(now, body, purpose, grant);
            self.effects.push_back(Effect::Send(id, frame));
        } else {
            lane.queue(now, body, purpose, grant);
        }
    }

    /// A leg that went to a broker is answered or lost. A second reply to one is ignored, and so is one to a request that
    /// is over.
    pub(super) fn leg_done(&mut self, now: Instant, (work, leg): (u32, usize), reply: Reply) {
        let Some(work) = self.work.as_mut().filter(|open| open.number == work) else { return };
        let head = work.head;
        let Some(sent) = work.legs.get_mut(leg).filter(|sent| !sent.done) else { return };
        sent.done = true;
        let (task, index, edges, cluster) = (sent.task, sent.index, std::mem::take(&mut sent.edges), sent.to.cluster);
        let tag = self.tag(cluster);
        self.reply(now, task, index, up(&edges, &head, tag, reply));
    }

    /// A leg of a task has its reply, in the words of the task's level.
    fn reply(&mut self, now: Instant, task: usize, index: usize, reply: Reply) {
        let Some(work) = &mut self.work else { return };
        let Some(task_mut) = work.tasks.get_mut(task) else { return };
        if let Some(place) = task_mut.replies.get_mut(index)
            && place.is_none()
        {
            *place = Some(reply);
            task_mut.left -= 1;
        }
        if task_mut.left > 0 {
            return;
        }
        let Some(then) = task_mut.then.take() else { return };
        let replies = std::mem::take(&mut task_mut.replies).into_iter().map(|reply| reply.unwrap_or(Err(Lost::Unsent)));
        let step = then(replies.collect());
        self.run(now, task, step);
    }

    /// A task is done.
    fn deliver(&mut self, now: Instant, task: usize, reply: Reply) {
        let Some(work) = &mut self.work else { return };
        let head = work.head;
        let parent = work.tasks.get_mut(task).and_then(|task| task.parent.take());
        if let Some((parent, index, edges)) = parent {
            return self.reply(now, parent, index, up(&edges, &head, None, reply));
        }
        let slot = work.slot;
        let edges = std::mem::take(&mut work.edges);
        self.work = None;
        let tag = self.only_tag();
        let crowned = reply.map(|frame| self.crowned(&head, frame));
        let shown = crowned.and_then(|frame| {
            let mut frame = frame.to_vec();
            let parts = (&mut frame, &mut Outline::off());
            let seen = translate_guarded(&edges, &head, Direction::ToClient, tag, parts, &mut self.guard);
            seen.map(|seen| (frame, seen)).map_err(|_| Lost::Unknown)
        });
        match shown {
            Ok((mut frame, seen)) => {
                self.note_unlisted(&seen.memo);
                if hides_coordinator(head.key, &seen) {
                    return self.refuse(slot, Code::COORDINATOR_NOT_AVAILABLE);
                }
                write(&mut frame, 0, head.correlation.to_be_bytes());
                self.answered(slot, &frame);
            }
            Err(lost) => self.answer_lost(slot, lost),
        }
    }
}

impl Engine {
    /// An answer that tells of brokers tells of those of all clusters, whichever were asked.
    fn crowned(&self, head: &Head, frame: Bytes) -> Bytes {
        if self.door.book.is_none() || !metadata::tells_of_brokers(head.key) {
            return frame;
        }
        let shown = |cluster: ClusterIndex, node: &RealNodeId| self.door.target.virtual_node(cluster, *node);
        let brokers = self.views.iter().flat_map(|view| {
            let place = |(node, place): (&RealNodeId, &Address)| Some((shown(view.cluster, node)?, place.clone()));
            view.topology.nodes.iter().filter_map(place)
        });
        metadata::crowned(head, &frame, &brokers.collect::<Vec<_>>()).map_or(frame, Bytes::from)
    }
}

/// Brings a reply up over some edges.
fn up(edges: &[Arc<dyn Edge>], head: &Head, tag: Option<Tag>, reply: Reply) -> Reply {
    translated_up(edges, head, tag, &reply?).map(|(frame, _)| Bytes::from(frame))
}

/// An answer that is malformed counts as lost.
fn translated_up(
    edges: &[Arc<dyn Edge>], head: &Head, tag: Option<Tag>, frame: &Bytes,
) -> Result<(Vec<u8>, Seen), Lost> {
    let mut frame = frame.to_vec();
    let seen = translate(edges, head, Direction::ToClient, tag, &mut frame, &mut Outline::off());
    seen.map(|seen| (frame, seen)).map_err(|_| Lost::Unknown)
}

/// Runs edges over a complete frame.
fn translate(
    edges: &[Arc<dyn Edge>], head: &Head, way: Direction, tag: Option<Tag>, frame: &mut Vec<u8>, outline: &mut Outline,
) -> Result<Seen, Malformed> {
    translate_guarded(edges, head, way, tag, (frame, outline), &mut Guard::default())
}

/// Runs filters and edges over a complete frame.
fn translate_guarded(
    edges: &[Arc<dyn Edge>], head: &Head, way: Direction, tag: Option<Tag>,
    (frame, outline): (&mut Vec<u8>, &mut Outline), guard: &mut Guard,
) -> Result<Seen, Malformed> {
    let unknown = Malformed::UnknownMessage { key: head.key.0, version: head.version };
    let layout = Table::get().layout(head.key, head.version, way).ok_or(unknown)?;
    let own = OUTLINED.and(Meanings::of(&[skein_protocol::Meaning::Wait]));
    let guarded = guard.wants(head.key, way).fields;
    let wants = edges.iter().map(|edge| edge.wants(head.key, way)).fold(own, Meanings::and).and(guarded);
    let mut seen = Seen::default();
    let mut editor = Translator::over(edges, head.key, way, tag, &mut seen).guarded(guard.filters(), guarded);
    if let Rewritten::Anew(bytes) = rewrite(layout, wants, frame, &mut editor, outline)? {
        *frame = bytes;
    }
    Ok(seen)
}
