//! Sends spoilt and random frames to engines, before a login and after, and spoilt answers on their lanes: nothing panics,
//! the invariants hold, and no byte is looked at more often than there is reason for. A failure says the round that makes
//! it again.
//!
//! ```text
//! cargo run --release -p skein-routing --all-features --example hostile -- --frames 20000000 --seed 1
//! ```

#![expect(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "what fails here is to be seen, with its round"
)]

#[path = "../tests/simulation/graphs.rs"]
mod graphs;
#[path = "../tests/simulation/peer.rs"]
#[expect(dead_code, reason = "the simulation has wires too")]
mod peer;
#[path = "hostile/spoilt.rs"]
mod spoilt;

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use peer::Peer;
use skein_filters::Client;
use skein_protocol::Meaning;
use skein_protocol::ids::{ApiKey, Direction, VirtualNodeId};
use skein_protocol::sample::{self, Dice, Recipe, SampleValue};
use skein_protocol::table::{Fact, Table};
use skein_protocol::varint::wide;
use skein_routing::apis::api_versions;
use skein_routing::engine::{Asked, Effect, Engine, LaneId, Move, Out, Reason, Verdict};
use skein_routing::graph::LoginMode;
use skein_routing::topology::{ClusterIndex, Offer, Topology};
use spoilt::{disturb, with_length};

/// Calls of an engine for each byte that it was shown, and so many more for each frame.
const CALLS: (u64, u64) = (4, 64);
/// Frames that one engine is sent, at most.
const FRAMES: u32 = 24;

/// What has been counted.
#[derive(Debug, Default)]
struct Tally {
    frames: u64,
    /// Frames of clients that had not logged in, and had to.
    before_login: u64,
    /// Frames of clients that had.
    after_login: u64,
    answers: u64,
    bytes: u64,
    calls: u64,
    engines: u64,
    closed: u64,
    hung_up: u64,
}

/// A broker's end of a lane: what it was sent, and the heads that it has read.
struct Lane {
    peer: Peer,
    sent: Vec<u8>,
    asked: VecDeque<(ApiKey, i16, [u8; 4])>,
}

/// How far the login of a client has come.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// There is none.
    Open,
    Stranger,
    LoggedIn,
}

/// An engine, and what a shell holds beside it.
struct Run<'a> {
    engine: Engine,
    client: Peer,
    lanes: Vec<Option<Lane>>,
    now: Instant,
    stage: Stage,
    /// How many frames in 256 are as they should be: some peers are mad, some are nearly sound and get further.
    sound: u8,
    closed: bool,
    calls: u64,
    bytes: u64,
    tally: &'a mut Tally,
}

fn topology(cluster: ClusterIndex) -> Arc<Topology> {
    let apis = Table::get().apis().map(|api| (api.key, api.request.versions)).collect();
    Arc::new(Topology {
        cluster_id: Some(Arc::from(format!("cluster-{}", cluster.0))),
        offer: Some(Arc::new(Offer { apis, epoch: -1, ..Offer::default() })),
        ..Topology::default()
    })
}

impl<'a> Run<'a> {
    fn new(dice: &mut Dice, tally: &'a mut Tally) -> Self {
        let mut door = graphs::door(dice);
        let mut stage = Stage::Open;
        if dice.chance(128) {
            (door.login, stage) = (LoginMode::Here, Stage::Stranger);
        } else if door.clusters.len() == 1 && dice.chance(224) {
            (door.login, stage) = (LoginMode::Relay, Stage::Stranger);
        }
        let sound = dice.one_of(&[128, 240, 250, 254], 128);
        let who = Client::arrived(Arc::from("hostile"), ([127, 0, 0, 1], 1).into());
        let at = dice.chance(128).then_some(VirtualNodeId(0));
        let known: Vec<_> = door.clusters.iter().map(|cluster| (*cluster, topology(*cluster))).collect();
        let engine = Engine::new(Arc::new(door), who, at, &known);
        tally.engines += 1;
        let now = Instant::now();
        let (client, lanes, closed, calls, bytes) = (Peer::new(), Vec::new(), false, 0, 0);
        Self { engine, client, lanes, now, stage, sound, closed, calls, bytes, tally }
    }

    fn called(&mut self) -> Result<(), String> {
        self.calls += 1;
        self.tally.calls += 1;
        self.engine.check()?;
        if self.calls > CALLS.0 * self.bytes + CALLS.1 * u64::from(FRAMES) {
            return Err(format!("{} calls for {} bytes", self.calls, self.bytes));
        }
        Ok(())
    }

    fn push(&mut self, out: Out, bytes: &[u8]) {
        if let Out::Lane(id) = out
            && let Some(Some(lane)) = self.lanes.get_mut(usize::from(id.0))
        {
            lane.sent.extend(bytes);
        }
    }

    fn source(&mut self, side: Out) -> Option<&mut Peer> {
        match side {
            Out::Client => Some(&mut self.client),
            Out::Lane(id) => self.lanes.get_mut(usize::from(id.0))?.as_mut().map(|lane| &mut lane.peer),
        }
    }

    fn pump(&mut self, side: Out) -> Result<(), String> {
        while !self.closed {
            while let Some((bytes, out)) = self.source(side).and_then(Peer::decided) {
                self.push(out, &bytes);
            }
            let Some(source) = self.source(side).filter(|source| source.is_ripe() && !source.is_ahead()) else {
                return Ok(());
            };
            let mut input = std::mem::take(source.input_mut());
            let next = match side {
                Out::Client => self.engine.from_client(self.now, &mut input),
                Out::Lane(id) => self.engine.from_lane(self.now, id, &mut input),
            };
            if let Some(source) = self.source(side) {
                *source.input_mut() = input;
            }
            if next == Move::Close(Reason::Astray) {
                return Err(Reason::Astray.to_string());
            }
            let goes_on = self.carry_out(side, next);
            self.effects();
            self.called()?;
            if !goes_on {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Whether another look is due.
    fn carry_out(&mut self, side: Out, next: Move) -> bool {
        let Some(source) = self.source(side) else { return false };
        match next {
            Move::Need(bytes) => {
                source.need(bytes);
                return false;
            }
            Move::Wait => {
                source.look();
                return false;
            }
            Move::Keep(bytes, out) => {
                let kept = source.keep(bytes, out);
                self.push(out, &kept);
            }
            Move::Put(skip, put, out) => {
                source.skip(skip);
                self.push(out, &put);
            }
            Move::Zeros(count, out) => {
                source.look();
                self.push(out, &vec![0; wide(count)]);
            }
            Move::Take(bytes) => source.skip(bytes),
            Move::Close(_) => self.closed = true,
            Move::Hang(_) => {
                self.tally.hung_up += 1;
                if let Out::Lane(id) = side {
                    self.lose(id);
                }
                return false;
            }
        }
        true
    }

    fn lose(&mut self, id: LaneId) {
        self.forget(id);
        self.engine.lane_lost(self.now, id);
    }

    fn forget(&mut self, id: LaneId) {
        if let Some(lane) = self.lanes.get_mut(usize::from(id.0)) {
            *lane = None;
            self.client.drop_ahead(Out::Lane(id));
        }
    }

    fn effects(&mut self) {
        while let Some(effect) = self.engine.poll() {
            match effect {
                Effect::Send(id, frame) => self.push(Out::Lane(id), &frame),
                Effect::Dial(id, _) => {
                    let index = usize::from(id.0);
                    if self.lanes.len() <= index {
                        self.lanes.resize_with(index + 1, || None);
                    }
                    let lane = Lane { peer: Peer::new(), sent: Vec::new(), asked: VecDeque::new() };
                    self.lanes[index] = Some(lane);
                    self.engine.lane_up(self.now, id);
                }
                Effect::Hang(id, _) => self.forget(id),
                Effect::Ask(cluster, _) => self.engine.learned(cluster, Some(topology(cluster))),
                Effect::Told(cluster, _) => self.engine.learned(cluster, Some(topology(cluster))),
                Effect::Close(_) => self.closed = true,
                Effect::Judge(asked) => self.judge(&asked),
                // These brokers ask for no login.
                Effect::Renew(_) | Effect::Renewing(..) => {}
                Effect::Answer(_) | Effect::Note(_) => {}
            }
        }
    }

    fn judge(&mut self, asked: &Asked) {
        let Some(verdict) = spoilt::verdict(asked, self.calls, self.bytes) else { return };
        if matches!(verdict, Verdict::LoggedIn { .. }) {
            self.stage = Stage::LoggedIn;
        }
        self.engine.judged(self.now, verdict);
    }

    /// The client's side has so many bytes more.
    fn client_sends(&mut self, bytes: &[u8]) -> Result<(), String> {
        self.bytes += u64::try_from(bytes.len()).unwrap_or(0);
        self.client.input_mut().extend(bytes);
        self.tally.frames += 1;
        match self.stage {
            Stage::Open => {}
            Stage::Stranger => self.tally.before_login += 1,
            Stage::LoggedIn => self.tally.after_login += 1,
        }
        self.pump(Out::Client)
    }

    /// Each broker answers what it was asked; some of it spoilt.
    fn brokers_answer(&mut self, dice: &mut Dice, spoilt: &mut Vec<u8>) -> Result<(), String> {
        for index in 0..self.lanes.len() {
            let id = LaneId(u16::try_from(index).unwrap_or(u16::MAX));
            let sound = self.sound;
            while let Some((key, frame)) = self.lanes[index].as_mut().and_then(|lane| answer(lane, sound, dice, spoilt))
            {
                if key == ApiKey::SASL_AUTHENTICATE && self.stage == Stage::Stranger {
                    self.stage = Stage::LoggedIn;
                }
                self.bytes += u64::try_from(frame.len()).unwrap_or(0);
                if let Some(lane) = &mut self.lanes[index] {
                    lane.peer.input_mut().extend(frame);
                }
                self.tally.frames += 1;
                self.tally.answers += 1;
                self.pump(Out::Lane(id))?;
                self.pump(Out::Client)?;
            }
        }
        Ok(())
    }

    /// One engine, until it has closed or been sent enough.
    fn round(
        &mut self, [all, offered]: [&[(ApiKey, i16)]; 2], dice: &mut Dice, bytes: &mut Vec<u8>,
    ) -> Result<(), String> {
        let message = |dice: &mut Dice, sound| {
            let of = if dice.chance(sound) { offered } else { all };
            dice.one_of(of, (ApiKey::PRODUCE, 9))
        };
        let mut number = 0;
        while number < FRAMES && !self.closed {
            let (key, version) = match self.stage {
                Stage::Stranger if dice.chance(240) => {
                    let steps =
                        [(ApiKey::API_VERSIONS, 3), (ApiKey::SASL_HANDSHAKE, 1), (ApiKey::SASL_AUTHENTICATE, 2)];
                    dice.one_of(&steps, (ApiKey::API_VERSIONS, 3))
                }
                Stage::Open | Stage::Stranger | Stage::LoggedIn => message(dice, self.sound),
            };
            let replica = if dice.chance(self.sound) { SampleValue::Int(-1) } else { SampleValue::Any };
            let is_replica = |fact: &Fact| fact.meaning == Meaning::ReplicaId;
            let mut of = |fact: &'static Fact| if is_replica(fact) { replica.clone() } else { SampleValue::Any };
            let made = sample::sample(key, version, Direction::ToBroker, &Recipe::WILD, dice, &mut of);
            let Some(sample) = made else { continue };
            disturb(&sample, self.sound, dice, bytes);
            number += 1;
            self.client_sends(&with_length(bytes, self.sound, dice))?;
            if self.stage == Stage::Stranger || dice.chance(128) {
                self.brokers_answer(dice, &mut Vec::new())?;
            }
            if dice.chance(8) && !self.lanes.is_empty() {
                self.lose(LaneId(u16::try_from(dice.index(self.lanes.len())).unwrap_or(0)));
                self.effects();
                self.called()?;
            }
            if dice.chance(16) {
                self.now += Duration::from_secs(u64::from(dice.below(40)));
                self.engine.tick(self.now);
                self.effects();
                self.called()?;
            }
        }
        self.tally.bytes += self.bytes;
        self.tally.closed += u64::from(self.closed);
        Ok(())
    }
}

/// The next answer on a lane, with its length; most logins go well.
fn answer(lane: &mut Lane, sound: u8, dice: &mut Dice, spoilt: &mut Vec<u8>) -> Option<(ApiKey, Vec<u8>)> {
    while let Some(length) = lane.sent.get(..4).and_then(|bytes| bytes.try_into().ok()).map(u32::from_be_bytes) {
        let whole = 4 + wide(length);
        if lane.sent.len() < whole {
            break;
        }
        if let [_, _, _, _, k0, k1, v0, v1, c0, c1, c2, c3, ..] = lane.sent[..whole] {
            let key = ApiKey(i16::from_be_bytes([k0, k1]));
            lane.asked.push_back((key, i16::from_be_bytes([v0, v1]), [c0, c1, c2, c3]));
        }
        lane.sent.drain(..whole);
    }
    let (key, version, correlation) = lane.asked.pop_front()?;
    let is_login = matches!(key, ApiKey::SASL_HANDSHAKE | ApiKey::SASL_AUTHENTICATE);
    let good = |fact: &Fact| is_login && fact.meaning == Meaning::Error;
    let mut good = |fact: &'static Fact| if good(fact) { SampleValue::Int(0) } else { SampleValue::Any };
    disturb(&sample::sample(key, version, Direction::ToClient, &Recipe::WILD, dice, &mut good)?, sound, dice, spoilt);
    if let Some(place) = spoilt.get_mut(..4) {
        place.copy_from_slice(&correlation);
    }
    Some((key, with_length(spoilt, sound, dice)))
}

fn main() -> ExitCode {
    let (frames, seed) = (sample::argument("--frames", 1_000_000), sample::argument("--seed", 1));
    let requests = sample::messages().filter(|(_, _, direction)| *direction == Direction::ToBroker);
    let messages: Vec<_> = requests.map(|(key, version, _)| (key, version)).collect();
    let offered = topology(ClusterIndex(0)).offer.as_deref().map(api_versions::ranges).unwrap_or_default();
    let is_offered = |(key, version): &(ApiKey, i16)| offered.iter().any(|(of, all)| of == key && all.has(*version));
    let offered: Vec<_> = messages.iter().copied().filter(is_offered).collect();
    let (mut tally, mut bytes) = (Tally::default(), Vec::new());
    let begun = Instant::now();
    let mut round = seed << 32;
    while tally.frames < frames {
        let mut dice = Dice::new(round);
        let run = || Run::new(&mut dice.clone(), &mut tally).round([&messages, &offered], &mut dice, &mut bytes);
        match catch_unwind(AssertUnwindSafe(run)) {
            Ok(Ok(())) => {}
            Ok(Err(what)) => {
                eprintln!("round {round:#x}: {what}");
                return ExitCode::FAILURE;
            }
            Err(_) => {
                eprintln!("round {round:#x}: it panicked");
                return ExitCode::FAILURE;
            }
        }
        round += 1;
    }
    println!("{tally:#?}");
    let per_second = u128::from(tally.frames) * 1000 / begun.elapsed().as_millis().max(1);
    println!("{per_second} frames per second");
    ExitCode::SUCCESS
}
