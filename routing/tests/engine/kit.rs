//! A connection to one cluster, told by hand.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use skein_filters::authorize::Authorize;
use skein_filters::authorize::grants::Rule;
use skein_filters::{Address, Client, Face, Filters, Prepared};
use skein_protocol::Meaning;
use skein_protocol::ids::{ApiKey, Direction, VirtualNodeId};
use skein_protocol::sample::{self, Dice, Recipe, SampleValue};
use skein_protocol::table::{Fact, Table};
use skein_protocol::varint::{narrow, wide};
use skein_routing::budget::Budget;
use skein_routing::disguise::{Disguise, Settings};
use skein_routing::engine::{Effect, Engine, LaneId, Move, Out, Verdict};
use skein_routing::graph::{Door, Level, Limits, LoginMode, Target};
use skein_routing::router::RouteId;
use skein_routing::topology::{ClusterIndex, Offer, Topology};

pub(crate) const CLUSTER: ClusterIndex = ClusterIndex(0);
/// The first lane that is dialled, and the second.
pub(crate) const LANE: LaneId = LaneId(0);
pub(crate) const OTHER: LaneId = LaneId(1);

/// A connection to node 1.
pub(crate) struct Story {
    pub(crate) engine: Engine,
    pub(crate) now: Instant,
    pub(crate) requests: Arc<Budget>,
    pub(crate) answers: Arc<Budget>,
    /// What the client has got, and each lane.
    pub(crate) client: Vec<u8>,
    pub(crate) lanes: BTreeMap<LaneId, Vec<u8>>,
    /// What was told besides, but for what only sends.
    pub(crate) told: Vec<Effect>,
    /// Bytes of the client and of a lane that are to pass, or to be thrown away, when they come.
    ahead: BTreeMap<Option<LaneId>, (usize, Option<Out>)>,
}

/// What is known of the cluster before any login.
pub(crate) fn offer() -> Topology {
    let apis = Table::get().apis().map(|api| (api.key, api.request.versions)).collect();
    Topology { offer: Some(Arc::new(Offer { apis, epoch: -1, ..Offer::default() })), ..Topology::default() }
}

/// A target behind a router that renames everything.
pub(crate) fn disguised() -> Target {
    let settings = Settings { stride: 1, prefix: "a.".to_owned(), generation: 0 };
    let router = Disguise::new(settings, &[RouteId(0)]).unwrap();
    let routes = [(RouteId(0), "only", Target::Cluster(CLUSTER))];
    Target::Router(Arc::new(Level::new(("mask", "disguise"), Box::new(router), routes)))
}

#[expect(clippy::disallowed_methods, reason = "a time to begin with; only differences matter")]
fn begins() -> Instant {
    Instant::now()
}

impl Story {
    /// A connection to a cluster of which all is known, without a login.
    pub(crate) fn new() -> Self {
        Self::to(Target::Cluster(CLUSTER), LoginMode::None)
    }

    pub(crate) fn to(target: Target, login: LoginMode) -> Self {
        Self::through(target, login, Arc::from([]))
    }

    /// One that is judged by rules, whose lane to the broker is up.
    pub(crate) fn under(rules: Vec<(&str, Rule)>, target: Target) -> Self {
        let filter: Arc<dyn Prepared> = Arc::new(Authorize::new(rules));
        let mut story = Self::through(target, LoginMode::None, Arc::from([filter]));
        story.says(&mut request(ApiKey::DESCRIBE_CLUSTER, 1));
        story.is_up(LANE);
        story
    }

    fn through(target: Target, login: LoginMode, filters: Filters) -> Self {
        let mut known = offer();
        if login == LoginMode::None {
            known.cluster_id = Some(Arc::from("cluster"));
        }
        let address = Address { host: Arc::from("story"), port: 9092 };
        let (requests, answers) = (Budget::new(8 << 20), Budget::new(8 << 20));
        let door = Door {
            filters,
            face: Arc::new(Face::new("story", BTreeMap::from([(VirtualNodeId(1), address)]))),
            target,
            clusters: vec![CLUSTER],
            book: None,
            login,
            limits: Limits::default(),
            requests: Arc::clone(&requests),
            answers: Arc::clone(&answers),
        };
        let client = Client::arrived(Arc::from("story"), ([127, 0, 0, 1], 1).into());
        let engine = Engine::new(Arc::new(door), client, Some(VirtualNodeId(1)), &[(CLUSTER, Arc::new(known))]);
        let (client, lanes, told, ahead) = Default::default();
        Self { engine, now: begins(), requests, answers, client, lanes, told, ahead }
    }

    /// One whose lane to the broker is up.
    pub(crate) fn connected() -> Self {
        let mut story = Self::new();
        story.says(&mut request(ApiKey::HEARTBEAT, 4));
        story.is_up(LANE);
        story
    }

    pub(crate) fn is_up(&mut self, lane: LaneId) {
        self.engine.lane_up(self.now, lane);
        self.effects();
    }

    pub(crate) fn is_lost(&mut self, lane: LaneId) {
        self.lanes.remove(&lane);
        if let Some((_, out)) = self.ahead.get_mut(&None).filter(|(_, out)| *out == Some(Out::Lane(lane))) {
            *out = None;
        }
        self.engine.lane_lost(self.now, lane);
        self.effects();
    }

    /// A step of a login has been judged.
    pub(crate) fn judged(&mut self, verdict: Verdict) {
        self.engine.judged(self.now, verdict);
        self.effects();
    }

    /// Time passes.
    pub(crate) fn passes(&mut self, time: Duration) {
        self.now += time;
        self.engine.tick(self.now);
        self.effects();
    }

    fn effects(&mut self) {
        while let Some(effect) = self.engine.poll() {
            match effect {
                Effect::Send(lane, frame) => self.lanes.entry(lane).or_default().extend(frame),
                Effect::Answer(frame) => self.client.extend(frame),
                other => self.told.push(other),
            }
        }
        self.engine.check().unwrap();
    }

    /// The client has sent this; what was not taken of it is left. The last move.
    pub(crate) fn says(&mut self, input: &mut Vec<u8>) -> Move {
        self.show(None, input)
    }

    /// A broker has sent this.
    pub(crate) fn answers(&mut self, lane: LaneId, input: &mut Vec<u8>) -> Move {
        self.show(Some(lane), input)
    }

    fn show(&mut self, side: Option<LaneId>, input: &mut Vec<u8>) -> Move {
        let (ahead, out) = self.ahead.remove(&side).unwrap_or_default();
        self.take(side, input, ahead, out);
        while !self.ahead.contains_key(&side) {
            let next = match side {
                None => self.engine.from_client(self.now, input),
                Some(lane) => self.engine.from_lane(self.now, lane, input),
            };
            match next {
                Move::Keep(bytes, out) => self.take(side, input, wide(bytes), Some(out)),
                Move::Put(skip, put, out) => {
                    self.take(side, input, wide(skip), None);
                    self.out(out).extend(put);
                }
                Move::Zeros(bytes, out) => {
                    let end = self.out(out).len() + wide(bytes);
                    self.out(out).resize(end, 0);
                }
                Move::Take(bytes) => self.take(side, input, wide(bytes), None),
                last @ (Move::Need(_) | Move::Wait | Move::Close(_) | Move::Hang(_)) => {
                    self.effects();
                    return last;
                }
            }
            self.effects();
        }
        Move::Take(0)
    }

    fn out(&mut self, out: Out) -> &mut Vec<u8> {
        match out {
            Out::Client => &mut self.client,
            Out::Lane(lane) => self.lanes.entry(lane).or_default(),
        }
    }

    fn take(&mut self, side: Option<LaneId>, input: &mut Vec<u8>, bytes: usize, out: Option<Out>) {
        let here = bytes.min(input.len());
        let taken: Vec<u8> = input.drain(..here).collect();
        if let Some(out) = out {
            self.out(out).extend(taken);
        }
        if bytes > here {
            self.ahead.insert(side, (bytes - here, out));
        }
    }

    /// The frames that the client has got.
    pub(crate) fn got(&mut self) -> Vec<Vec<u8>> {
        frames(&mut self.client)
    }

    /// The frames that a broker has got.
    pub(crate) fn reached(&mut self, lane: LaneId) -> Vec<Vec<u8>> {
        frames(self.lanes.entry(lane).or_default())
    }
}

/// Takes whole frames, without their lengths.
fn frames(bytes: &mut Vec<u8>) -> Vec<Vec<u8>> {
    let mut frames = Vec::new();
    while let Some((length, rest)) = bytes.split_first_chunk::<4>() {
        let Some(frame) = rest.get(..wide(u32::from_be_bytes(*length))) else { break };
        frames.push(frame.to_vec());
        bytes.drain(..4 + frames[frames.len() - 1].len());
    }
    frames
}

pub(crate) fn framed(frame: &[u8]) -> Vec<u8> {
    [&narrow(frame.len()).to_be_bytes(), frame].concat()
}

/// A request that no replica sends, with one element in each array; a Fetch opens a session, or names what has changed.
pub(crate) fn asked(key: ApiKey, version: i16, number: impl Fn(Meaning) -> i64) -> Vec<u8> {
    let recipe = Recipe { nulls: 0, elements: 1, tags: 0, ..Recipe::PLAIN };
    let mut marker = |fact: &'static Fact| match number(fact.meaning) {
        0 => SampleValue::Any,
        number => SampleValue::Int(number),
    };
    // Dice that give each array its one element.
    let made = |seed, marker: &mut dyn FnMut(&'static Fact) -> SampleValue| {
        sample::sample(key, version, Direction::ToBroker, &recipe, &mut Dice::new(seed), marker).unwrap().frame
    };
    let longest = (0..64).max_by_key(|seed| made(*seed, &mut marker).len()).unwrap();
    framed(&made(longest, &mut marker))
}

pub(crate) fn request(key: ApiKey, version: i16) -> Vec<u8> {
    asked(key, version, |meaning| match meaning {
        Meaning::ReplicaId | Meaning::Acks | Meaning::SessionEpoch => -1,
        Meaning::Wait => 500,
        _ => 0,
    })
}

/// An answer to the request with this correlation id on its lane; its error codes are all `error`.
pub(crate) fn answer(key: ApiKey, version: i16, correlation: i32, error: i64) -> Vec<u8> {
    let recipe = Recipe { nulls: 0, tags: 0, ..Recipe::PLAIN };
    let mut marker = |fact: &'static Fact| match fact.meaning {
        Meaning::Error => SampleValue::Int(error),
        Meaning::BrokerId => SampleValue::Int(1),
        _ => SampleValue::Any,
    };
    let sample = sample::sample(key, version, Direction::ToClient, &recipe, &mut Dice::new(1), &mut marker);
    let mut frame = sample.unwrap().frame;
    frame[..4].copy_from_slice(&correlation.to_be_bytes());
    framed(&frame)
}

/// The first value of a meaning in an answer.
pub(crate) fn first(key: ApiKey, version: i16, frame: &[u8], meaning: Meaning) -> Option<i64> {
    struct First(Meaning, Option<i64>);
    impl skein_protocol::passage::Editor for First {
        fn edit(
            &mut self, fact: &'static Fact, value: skein_protocol::passage::Value<'_>,
        ) -> skein_protocol::passage::Edit {
            if let (true, skein_protocol::passage::Value::Int(number)) = (fact.meaning == self.0, value) {
                self.1 = self.1.filter(|found| *found != 0).or(Some(number));
            }
            skein_protocol::passage::Edit::Keep
        }

        fn producer_id(&mut self, _id: i64) -> Option<i64> {
            None
        }
    }
    let layout = Table::get().layout(key, version, Direction::ToClient).unwrap();
    let mut first = First(meaning, None);
    let wants = skein_protocol::Meanings::of(&[meaning]);
    let mut outline = skein_protocol::outline::Outline::off();
    skein_protocol::rewrite::rewrite(layout, wants, &mut frame.to_vec(), &mut first, &mut outline).unwrap();
    first.1
}
