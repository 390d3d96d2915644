//! One run: what happens, and what must be so at its end.

use std::sync::Arc;
use std::time::{Duration, Instant};

use skein_filters::Client as Who;
use skein_protocol::ids::{ApiKey, VirtualNodeId};
use skein_protocol::sample::Dice;
use skein_protocol::table::Table;
use skein_routing::budget::Reserved;
use skein_routing::engine::{Engine, LaneId, Need, Reason};
use skein_routing::graph::Door;
use skein_routing::topology::{ClusterIndex, Destination, Offer, Topology};

use crate::broker::Broker;
use crate::client::Client;
use crate::graphs;
use crate::peer::Peer;
use crate::shell::Lane;

/// Steps in which things go wrong; those that follow only bring what was begun to its end.
const STORMY: u64 = 600;
/// Steps after which everything must have come to its end.
const MOST_STEPS: u64 = 60_000;

/// A dial: its lane, when it ends, and whether well.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dial {
    lane: LaneId,
    at: Instant,
    reached: bool,
}

/// A question about a cluster: when it is answered, and with what.
struct Question {
    cluster: ClusterIndex,
    at: Instant,
    known: Option<Arc<Topology>>,
}

/// What has been counted.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) seeds: u64,
    pub(crate) steps: u64,
    pub(crate) calls: u64,
    pub(crate) answers: u64,
    pub(crate) refused: u64,
    pub(crate) renewed: u64,
    /// Connections that ended with all answers.
    pub(crate) whole: u64,
    pub(crate) closed: u64,
    pub(crate) reasons: std::collections::BTreeMap<&'static str, u64>,
}

pub(crate) struct World {
    pub(crate) dice: Dice,
    pub(crate) now: Instant,
    pub(crate) engine: Engine,
    door: Arc<Door>,
    pub(crate) client: Client,
    pub(crate) socket: Peer,
    /// How many of the client's bytes were read.
    pub(crate) read: usize,
    pub(crate) lanes: Vec<Option<Lane>>,
    pub(crate) dials: Vec<Dial>,
    questions: Vec<Question>,
    hogs: Vec<Reserved>,
    pub(crate) closed: Option<Reason>,
    /// Whether nothing goes wrong: every answer is then a broker's.
    pub(crate) calm: bool,
    pub(crate) calls: u64,
    /// Whether lanes have logins that expire.
    logs_in: bool,
    /// Logins that were renewed.
    pub(crate) tally_renewals: u64,
    steps: u64,
}

/// All that is known of a cluster.
fn topology(cluster: ClusterIndex) -> Topology {
    let apis = Table::get().apis().map(|api| (api.key, api.request.versions)).collect();
    Topology {
        cluster_id: Some(Arc::from(format!("cluster-{}", cluster.0))),
        offer: Some(Arc::new(Offer { apis, epoch: -1, ..Offer::default() })),
        ..Topology::default()
    }
}

impl World {
    pub(crate) fn new(seed: u64) -> Self {
        let mut dice = Dice::new(seed.wrapping_mul(0x9e37_79b9));
        let door = Arc::new(graphs::door(&mut dice));
        let who = Who::arrived(Arc::from("simulated"), ([127, 0, 0, 1], 1).into());
        let at = dice.chance(128).then_some(VirtualNodeId(0));
        let known: Vec<_> = door
            .clusters
            .iter()
            .filter(|_| dice.chance(200))
            .map(|cluster| (*cluster, Arc::new(topology(*cluster))))
            .collect();
        let requests = 1 + dice.index(30);
        Self {
            engine: Engine::new(Arc::clone(&door), who, at, &known),
            door,
            client: Client::new(requests, &mut dice),
            now: begins(),
            socket: Peer::new(),
            read: 0,
            lanes: Vec::new(),
            dials: Vec::new(),
            questions: Vec::new(),
            hogs: Vec::new(),
            closed: None,
            calm: seed.is_multiple_of(4),
            calls: 0,
            logs_in: dice.chance(80),
            tally_renewals: 0,
            steps: 0,
            dice,
        }
    }

    /// The engine was called: its invariants hold.
    pub(crate) fn called(&mut self) -> Result<(), String> {
        self.calls += 1;
        self.engine.check().map_err(str::to_owned)
    }

    /// Whether things still go wrong.
    fn is_stormy(&self) -> bool {
        !self.calm && self.steps < STORMY
    }

    pub(crate) fn run(&mut self) -> Result<(), String> {
        while self.closed.is_none() && !self.is_done() {
            self.steps += 1;
            if self.steps > MOST_STEPS {
                return Err(format!("it does not end: {} requests are open", self.engine.open_requests()));
            }
            self.step()?;
            self.settle()?;
            self.check_deadline()?;
        }
        self.judge_end()
    }

    fn is_done(&self) -> bool {
        self.client.has_sent_all()
            && self.socket.wire.is_empty()
            && self.socket.holds() == 0
            && self.socket.outbox.is_empty()
            && self.client.unanswered() == 0
            && self.dials.is_empty()
            && self.questions.is_empty()
            && self.lanes.iter().flatten().all(|lane| lane.peer.outbox.is_empty())
    }

    fn check_deadline(&self) -> Result<(), String> {
        let waits = self.engine.open_requests() > 0 && self.closed.is_none();
        if waits && self.engine.next_deadline().is_none() {
            return Err("requests are open without a deadline".to_owned());
        }
        Ok(())
    }

    /// Something happens.
    fn step(&mut self) -> Result<(), String> {
        if !self.is_stormy() {
            self.hogs.clear();
            self.socket.blocked = self.calm && self.dice.chance(40);
            for lane in self.lanes.iter_mut().flatten() {
                lane.peer.blocked = self.calm && self.dice.chance(40);
            }
        }
        let most = self.dice.one_of(&[1, 8, 60, 400, 20_000, 1 << 20], 60);
        let most = 1 + self.dice.index(most);
        match self.dice.below(16) {
            0..6 => {
                let piece = self.client.piece(most).to_vec();
                self.socket.wire.extend(piece);
            }
            6..11 => self.brokers_send(most),
            11..13 => self.advance(),
            13 if self.is_stormy() => self.block(),
            14 if self.is_stormy() && self.dice.chance(60) => return self.lose_one(),
            15 if self.is_stormy() => self.starve(),
            _ => {}
        }
        Ok(())
    }

    fn brokers_send(&mut self, most: usize) {
        for lane in self.lanes.iter_mut().flatten() {
            if self.dice.chance(160) {
                let piece = lane.broker.piece(self.now, most);
                lane.peer.wire.extend(piece);
            }
        }
    }

    /// Time passes: a little, or until something is due.
    fn advance(&mut self) {
        let brokers = self.lanes.iter().flatten().filter_map(|lane| lane.broker.due());
        let dials = self.dials.iter().map(|dial| dial.at);
        let next = brokers.chain(dials).chain(self.questions.iter().map(|question| question.at)).min();
        let little = self.now + Duration::from_millis(u64::from(self.dice.below(4)));
        let stuck = self.client.has_sent_all() && self.lanes.iter().flatten().all(|lane| lane.peer.wire.is_empty());
        let deadline = self.engine.next_deadline().filter(|_| !self.calm);
        let to = match self.dice.below(16) {
            0 if self.is_stormy() && self.dice.chance(16) => deadline,
            0..8 => next,
            8 if next.is_none() && stuck && self.steps > STORMY => self.engine.next_deadline(),
            _ => None,
        };
        self.now = to.unwrap_or(little).max(self.now);
    }

    fn block(&mut self) {
        let blocked = self.dice.chance(100);
        let which = self.dice.index(self.lanes.len() + 1);
        match self.lanes.get_mut(which) {
            Some(Some(lane)) => {
                lane.peer.blocked = blocked;
                lane.broker.mute |= self.dice.chance(4);
            }
            Some(None) => {}
            None => self.socket.blocked = blocked,
        }
    }

    fn starve(&mut self) {
        if self.dice.chance(128) {
            return self.hogs.clear();
        }
        let budget = if self.dice.chance(128) { &self.door.requests } else { &self.door.answers };
        let most = u32::try_from(budget.left()).unwrap().saturating_sub(self.dice.below(400_000));
        self.hogs.extend(budget.reserve(most));
    }

    fn lose_one(&mut self) -> Result<(), String> {
        let index = self.dice.index(self.lanes.len());
        match self.lanes.get(index) {
            Some(Some(_)) => self.lose(LaneId(u16::try_from(index).unwrap())),
            _ => Ok(()),
        }
    }

    pub(crate) fn outcome_of_dial(&mut self, lane: LaneId, _to: Destination) -> Dial {
        let reached = !self.is_stormy() || !self.dice.chance(60);
        Dial { lane, at: self.now + Duration::from_millis(u64::from(self.dice.below(60))), reached }
    }

    pub(crate) fn ask(&mut self, cluster: ClusterIndex, _need: Need) {
        let known = (!self.is_stormy() || !self.dice.chance(60)).then(|| Arc::new(topology(cluster)));
        let most = if self.is_stormy() && self.dice.chance(10) { 5000 } else { 100 };
        let at = self.now + Duration::from_millis(u64::from(self.dice.below(most)));
        self.questions.push(Question { cluster, at, known });
    }

    /// When a login of ours is to be renewed.
    pub(crate) fn renews(&mut self) -> Option<Instant> {
        let after = Duration::from_millis(u64::from(self.dice.below(100)));
        self.logs_in.then(|| self.now + after)
    }

    pub(crate) fn dialled(&mut self) -> Result<bool, String> {
        let Some(index) = self.dials.iter().position(|dial| dial.at <= self.now) else { return Ok(false) };
        let dial = self.dials.swap_remove(index);
        if dial.reached {
            let slot = &mut self.lanes[usize::from(dial.lane.0)];
            if slot.is_some() {
                return Err("a lane that is up was dialled".to_owned());
            }
            *slot = Some(Lane { peer: Peer::new(), broker: Broker::default(), said: 0 });
            let renews = self.renews();
            self.engine.lane_renewed(self.now, dial.lane, renews);
        } else {
            self.engine.lane_lost(self.now, dial.lane);
        }
        self.called()?;
        self.carry_out_effects()?;
        Ok(true)
    }

    pub(crate) fn questioned(&mut self) -> Result<bool, String> {
        let Some(index) = self.questions.iter().position(|question| question.at <= self.now) else {
            return Ok(false);
        };
        let question = self.questions.swap_remove(index);
        self.engine.learned(question.cluster, question.known);
        self.called()?;
        self.carry_out_effects()?;
        Ok(true)
    }

    pub(crate) fn timed(&mut self) -> Result<bool, String> {
        if self.engine.next_deadline().is_none_or(|due| due > self.now) {
            return Ok(false);
        }
        self.engine.tick(self.now);
        self.called()?;
        self.carry_out_effects()?;
        if self.closed.is_none() && self.engine.next_deadline().is_some_and(|due| due <= self.now) {
            return Err("what was due is due again at once".to_owned());
        }
        Ok(true)
    }

    /// What must be so at the end.
    fn judge_end(&self) -> Result<(), String> {
        let part = self.client.holds_part();
        match &self.closed {
            None if !self.engine.is_idle() => Err("something is under way that nobody asked for".to_owned()),
            None if self.engine.next_deadline().is_some() => Err("something is due that nobody asked for".to_owned()),
            None if part => Err("a part of an answer that nobody asked for".to_owned()),
            // It may be that an answer names coordinators that were not asked for; it is refused with no place to say so.
            Some(Reason::NoAnswer { key: ApiKey::FIND_COORDINATOR }) => Ok(()),
            Some(reason) if self.calm => Err(format!("closed without a reason: {reason}")),
            Some(Reason::AnswerCut | Reason::Stalled) => Ok(()),
            Some(_) if part => Err("the connection was closed in the middle of an answer".to_owned()),
            Some(Reason::NoAnswer { .. } | Reason::Unacknowledged | Reason::Unreachable) => Ok(()),
            Some(reason) if reason.label() == "no_memory" => Ok(()),
            Some(reason) => Err(format!("closed without a reason: {reason}")),
            // A coordinator that clients cannot reach is refused, whatever else is well.
            None if self.calm && self.client.last_refused.is_some_and(|key| key != ApiKey::FIND_COORDINATOR) => {
                Err(format!("{:?} was refused, and nothing was wrong", self.client.last_refused))
            }
            None => Ok(()),
        }
    }

    pub(crate) fn count(&self, tally: &mut Tally) {
        tally.seeds += 1;
        tally.steps += self.steps;
        tally.calls += self.calls;
        tally.answers += self.client.answers;
        tally.refused += self.client.refused;
        tally.renewed += self.tally_renewals;
        match &self.closed {
            None => tally.whole += 1,
            Some(reason) => {
                tally.closed += 1;
                *tally.reasons.entry(reason.label()).or_default() += 1;
            }
        }
    }
}

/// When a simulated world begins: any moment will do, and none is ever read again.
#[expect(clippy::disallowed_methods, reason = "an Instant cannot be made otherwise; time then goes on by steps")]
fn begins() -> Instant {
    Instant::now()
}
