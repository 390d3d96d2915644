//! One client connection, as a state machine: bytes and time go in, moves and effects come out.
//!
//! The shell reads from the client and from each lane, shows what has arrived to [`Engine::from_client`] or
//! [`Engine::from_lane`], does what the [`Move`] says, and then what [`Engine::poll`] gives, in that order. Bytes that pass
//! stay in the buffer that they were read into; edits of the same width have been made there.

mod answers;
mod check;
mod ending;
mod guard;
mod incoming;
mod lanes;
mod latency;
mod login;
mod plan;
mod renewing;
mod slots;
mod work;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use skein_filters::{Client, Tag};
use skein_protocol::ids::{VirtualNodeId, VirtualTopicId};
use skein_protocol::passage::Passage;
use skein_protocol::varint::Inline;

pub use self::ending::{Fault, Note, Reason};
use self::guard::Guard;
use self::incoming::Incoming;
use self::lanes::Lane;
pub use self::lanes::LaneId;
use self::login::Login;
pub use self::login::Verdict;
use self::plan::Plans;
use self::slots::Slots;
use self::work::Work;
pub use crate::apis::sasl::Asked;
use crate::graph::Door;
use crate::topology::{ClusterIndex, Destination, Topology};

/// Where bytes go out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Out {
    /// To the client.
    Client,
    /// To a broker.
    Lane(LaneId),
}

/// What to do with the input that was shown.
#[derive(Debug, PartialEq, Eq)]
pub enum Move {
    /// So many contiguous bytes are needed; fewer were there.
    Need(usize),
    /// So many bytes go out as they are; they may reach beyond the input, and what is still to come of them is not shown.
    Keep(u32, Out),
    /// So many bytes of the input are left out, and these go out.
    Put(u32, Inline, Out),
    /// So many zero bytes go out; nothing of the input is taken.
    Zeros(u32, Out),
    /// So many bytes of the input are done with; they may reach beyond it. 0: look again once the effects are carried out.
    Take(u32),
    /// Nothing can be done with this input until something else has happened.
    Wait,
    /// The client's connection is over, once what was put out before has left.
    Close(Reason),
    /// The lane is over: [`Engine::lane_lost`] follows.
    Hang(Fault),
}

/// What to do besides.
#[derive(Debug)]
pub enum Effect {
    /// Send a frame, its length included, to a broker.
    Send(LaneId, Bytes),
    /// Send a frame, its length included, to the client.
    Answer(Bytes),
    /// Connect a lane; [`Engine::lane_up`] or [`Engine::lane_lost`] follows.
    Dial(LaneId, Destination),
    /// Close a lane, which the engine knows to be lost.
    Hang(LaneId, Fault),
    /// Find something out; [`Engine::learned`] follows.
    Ask(ClusterIndex, Need),
    /// Judge a step of the client's login; [`Engine::judged`] follows.
    Judge(Asked),
    /// Log a lane in again: its login is nearly over. [`Engine::lane_renewed`] or [`Engine::lane_lost`] follows, and before
    /// it [`Engine::lane_says`] for each step.
    Renew(LaneId),
    /// What a broker answered to a step of a login on a lane: a frame without its length.
    Renewing(LaneId, Bytes),
    /// What this connection found out of a cluster, for all.
    Told(ClusterIndex, Topology),
    /// Something worth telling.
    Note(Note),
    /// The client's connection is over, once what was put out before has left.
    Close(Reason),
}

/// What is to be found out of a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// What its brokers offer: asked before any login.
    Offer,
    /// Its cluster id and its brokers.
    Identity,
    /// Where its brokers are now, since one was not where it was said to be.
    Again,
    /// Which topics it has, with their ids: a client named one by an id that nobody has met.
    Topics,
}

/// One client connection.
pub struct Engine {
    door: Arc<Door>,
    client: Client,
    at: Option<VirtualNodeId>,
    /// Whether the client id of the first request has been read.
    is_named: bool,
    login: Login,
    views: Vec<View>,
    guard: Guard,
    plans: Plans,
    slots: Slots,
    lanes: Vec<Lane>,
    incoming: Incoming,
    /// What follows the bytes of the client that were told to be kept.
    deferred: Option<Move>,
    /// Memory for the next passage of a request.
    spare: Option<Box<Passage>>,
    /// When the request that is arriving began to, and its bytes if they are known. Set while there is a part of one.
    arrival: Option<(Instant, u32)>,
    work: Option<Work>,
    /// How many requests have gone to several brokers.
    works: u32,
    effects: VecDeque<Effect>,
    /// Set when the effect that closes the connection has been given.
    is_closed: bool,
    /// Set when nothing more is taken from the client; it closes once all answers have left.
    closing: Option<Reason>,
    /// Set while memory for a completed frame could not be had.
    starved: Option<Instant>,
    /// Since when a request has been waiting for memory.
    starving: Option<Instant>,
    /// Topic ids of the request that waits for lists of topics.
    learning: Vec<[u8; 16]>,
}

/// What this connection knows of a cluster.
struct View {
    cluster: ClusterIndex,
    topology: Arc<Topology>,
    tag: Option<Tag>,
    /// Until when an answer to a question is waited for. Set when it is asked.
    asked: Option<Instant>,
    /// Since when a request has been waiting for something to be known.
    since: Option<Instant>,
    /// Until when its list of topics is waited for. Set when it is asked for.
    listing: Option<Instant>,
}

/// What follows where an invariant does not hold.
fn astray() -> Move {
    Move::Close(Reason::Astray)
}

/// Whether a cluster's list of topics is waited for.
fn is_listing(views: &[View], cluster: ClusterIndex) -> bool {
    views.iter().any(|view| view.cluster == cluster && view.listing.is_some())
}

/// The tag of a cluster's producer ids.
fn tag(views: &[View], cluster: ClusterIndex) -> Option<Tag> {
    views.iter().find(|view| view.cluster == cluster)?.tag
}

impl Engine {
    /// A connection that came to node `at` of a door, or to its bootstrap address. `known`: what is known of its clusters.
    pub fn new(
        door: Arc<Door>, client: Client, at: Option<VirtualNodeId>, known: &[(ClusterIndex, Arc<Topology>)],
    ) -> Self {
        let views = door.clusters.iter().map(|cluster| {
            let found = known.iter().find(|(known, _)| known == cluster);
            let topology = found.map(|(_, topology)| Arc::clone(topology)).unwrap_or_default();
            View { cluster: *cluster, tag: topology.tag(), topology, asked: None, since: None, listing: None }
        });
        Self {
            login: Login::new(door.login),
            views: views.collect(),
            door,
            client,
            at,
            is_named: false,
            guard: Guard::default(),
            plans: Plans::default(),
            slots: Slots::default(),
            lanes: Vec::new(),
            incoming: Incoming::Idle,
            deferred: None,
            spare: None,
            arrival: None,
            work: None,
            works: 0,
            effects: VecDeque::new(),
            is_closed: false,
            closing: None,
            starved: None,
            starving: None,
            learning: Vec::new(),
        }
    }

    /// The next effect. They are to be carried out in order, after the move that the same call gave. None follows a close.
    pub fn poll(&mut self) -> Option<Effect> {
        if self.is_closed {
            // What would answer a request behind the one that could not be answered would be taken for that one's.
            self.effects.clear();
        }
        let effect = self.effects.pop_front();
        self.is_closed |= matches!(effect, Some(Effect::Close(_)));
        effect
    }

    /// Something is known of a cluster that was not, or is known to be out of reach (`None`).
    pub fn learned(&mut self, cluster: ClusterIndex, topology: Option<Arc<Topology>>) {
        let Some(view) = self.views.iter_mut().find(|view| view.cluster == cluster) else { return };
        view.asked = None;
        let Some(topology) = topology else {
            view.listing = None;
            return;
        };
        let news = topology
            .topics
            .clone()
            .filter(|topics| !view.topology.topics.as_ref().is_some_and(|known| Arc::ptr_eq(known, topics)));
        view.tag = topology.tag();
        view.topology = topology;
        let (Some(topics), Some(book)) = (news, &self.door.book) else { return };
        view.listing = None;
        for (name, id) in topics.iter() {
            book.learn(cluster, name.as_bytes(), *id);
        }
        for id in &self.learning {
            if let Some(name) = book.name(VirtualTopicId(*id))
                && let Ok(name) = std::str::from_utf8(&name)
            {
                self.guard.learned(*id, name);
            }
        }
    }

    /// Time has passed.
    pub fn tick(&mut self, now: Instant) {
        if self.starved.is_some_and(|until| until <= now) {
            self.starved = None;
        }
        if self.arrives_by().is_some_and(|by| by <= now) {
            self.arrival = None;
            self.effects.push_back(Effect::Close(Reason::Stalled));
        }
        for view in &mut self.views {
            if view.asked.is_some_and(|until| until <= now) {
                view.asked = None;
            }
            if view.listing.is_some_and(|until| until <= now) {
                view.listing = None;
            }
        }
        self.late_judgement(now);
        self.late_lanes(now);
    }

    /// When the request that is arriving must have arrived: a second per 64 KiB is slow enough for anyone.
    fn arrives_by(&self) -> Option<Instant> {
        let (begun, length) = self.arrival?;
        begun.checked_add(self.door.limits.frame_arrival + Duration::from_secs(u64::from(length >> 16)))
    }

    /// When [`Engine::tick`] is due.
    pub fn next_deadline(&self) -> Option<Instant> {
        let lanes = self.lanes.iter().filter_map(Lane::due);
        let views = self.views.iter().flat_map(|view| [view.asked, view.listing]).flatten();
        let logins = self.login.judged_by();
        lanes.chain(views).chain(logins).chain(self.arrives_by()).chain(self.starved).min()
    }

    /// Requests that have no answer yet.
    pub fn open_requests(&self) -> usize {
        self.slots.len()
    }

    /// Whether nothing is under way: no part of a request, no answer outstanding.
    pub fn is_idle(&self) -> bool {
        self.slots.is_empty() && matches!(self.incoming, Incoming::Idle) && self.effects.is_empty()
    }

    /// Whether answers are due to requests that have come whole.
    pub fn owes(&self) -> bool {
        self.slots.iter().any(|slot| !matches!(slot.state, slots::SlotState::Arriving))
    }

    /// Why the connection is over, once nothing is left to be answered.
    pub fn is_over(&self) -> Option<&Reason> {
        self.closing.as_ref().filter(|_| self.slots.is_empty() && self.effects.is_empty())
    }

    /// Whether the client need not log in any more before it may ask.
    pub fn is_logged_in(&self) -> bool {
        !self.login.is_stranger()
    }

    /// Who the client is.
    pub fn client(&self) -> &Client {
        &self.client
    }

    fn view(&self, cluster: ClusterIndex) -> Option<&View> {
        self.views.iter().find(|view| view.cluster == cluster)
    }

    fn tag(&self, cluster: ClusterIndex) -> Option<Tag> {
        tag(&self.views, cluster)
    }

    /// Asks, unless that has been done.
    fn ask(&mut self, now: Instant, cluster: ClusterIndex, need: Need) {
        let until = now + self.door.limits.patience;
        if let Some(view) = self.views.iter_mut().find(|view| view.cluster == cluster)
            && view.asked.is_none()
        {
            view.asked = Some(until);
            self.effects.push_back(Effect::Ask(cluster, need));
        }
    }

    /// Takes nothing more from the client; closes once all answers have left.
    fn close(&mut self, reason: Reason) {
        self.closing.get_or_insert(reason);
    }

    fn note_unlisted(&mut self, memo: &skein_filters::Memo) {
        if let Some(node) = memo.last_unlisted {
            self.effects.push_back(Effect::Note(Note::Unlisted(node)));
        }
    }
}
