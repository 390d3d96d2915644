//! Stories of one connection, told move by move: what an engine must do when something goes wrong.

#![expect(clippy::unwrap_used, reason = "a test that fails panics")]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use skein_filters::{Client, Face};
use skein_protocol::frame;
use skein_protocol::ids::{ApiKey, Direction};
use skein_protocol::sample::{self, Dice, Recipe, SampleValue};
use skein_protocol::table::Table;
use skein_protocol::varint::{narrow, wide};
use skein_routing::budget::Budget;
use skein_routing::disguise::{Disguise, Settings};
use skein_routing::engine::{Effect, Engine, LaneId, Move, Reason};
use skein_routing::graph::{Door, Level, Limits, LoginMode, Target};
use skein_routing::router::RouteId;
use skein_routing::topology::{ClusterIndex, Offer, Topology};

const CLUSTER: ClusterIndex = ClusterIndex(0);
const LANE: LaneId = LaneId(0);

fn engine(target: Target) -> Engine {
    let apis = Table::get().apis().map(|api| (api.key, api.request.versions)).collect();
    let known = Topology {
        cluster_id: Some(Arc::from("cluster")),
        offer: Some(Arc::new(Offer { apis, epoch: -1, ..Offer::default() })),
        ..Topology::default()
    };
    let door = Door {
        filters: Arc::from([]),
        face: Arc::new(Face::new("story", BTreeMap::new())),
        target,
        clusters: vec![CLUSTER],
        book: None,
        login: LoginMode::None,
        limits: Limits::default(),
        requests: Budget::new(1 << 20),
        answers: Budget::new(1 << 20),
    };
    let client = Client::arrived(Arc::from("story"), ([127, 0, 0, 1], 1).into());
    Engine::new(Arc::new(door), client, None, &[(CLUSTER, Arc::new(known))])
}

fn disguised() -> Target {
    let settings = Settings { stride: 2, prefix: "a.".to_owned(), generation: 0 };
    let router = Disguise::new(settings, &[RouteId(0)]).unwrap();
    let routes = [(RouteId(0), "only", Target::Cluster(CLUSTER))];
    Target::Router(Arc::new(Level::new(("mask", "disguise"), Box::new(router), routes)))
}

/// A request with its length; a Produce wants an answer.
fn request(key: ApiKey, version: i16) -> Vec<u8> {
    let recipe = Recipe { nulls: 0, elements: 1, ..Recipe::PLAIN };
    let mut marker = |_: &'static _| SampleValue::Int(-1);
    let sample = sample::sample(key, version, Direction::ToBroker, &recipe, &mut Dice::new(1), &mut marker).unwrap();
    [&narrow(sample.frame.len()).to_be_bytes(), &*sample.frame].concat()
}

fn effects(engine: &mut Engine) -> Vec<Effect> {
    let effects = std::iter::from_fn(|| engine.poll()).collect();
    engine.check().unwrap();
    effects
}

/// Shows `input` until nothing more comes of it; says the last move, and leaves what was not taken.
fn show(engine: &mut Engine, now: Instant, input: &mut Vec<u8>) -> Move {
    loop {
        let next = engine.from_client(now, input);
        for effect in effects(engine) {
            if let Effect::Dial(lane, _) = effect {
                engine.lane_up(now, lane);
            }
        }
        match next {
            Move::Keep(bytes, _) | Move::Take(bytes) | Move::Put(bytes, ..) => {
                input.drain(..wide(bytes));
            }
            Move::Zeros(..) => {}
            last @ (Move::Need(_) | Move::Wait | Move::Close(_) | Move::Hang(_)) => return last,
        }
    }
}

#[test]
fn nothing_follows_the_close_for_a_request_that_has_no_answer() {
    let (mut engine, now) = (engine(Target::Cluster(CLUSTER)), begins());
    // No error code says of a Metadata that its broker is lost; of a ListOffsets one does.
    let mut input = [request(ApiKey::METADATA, 12), request(ApiKey::LIST_OFFSETS, 7)].concat();
    assert!(matches!(show(&mut engine, now, &mut input), Move::Need(_)));
    assert_eq!(engine.open_requests(), 2);
    engine.lane_lost(now, LANE);
    let effects = effects(&mut engine);
    let last = effects.last();
    assert!(matches!(last, Some(Effect::Close(Reason::NoAnswer { key: ApiKey::METADATA }))), "{effects:?}");
    engine.tick(now);
    assert!(engine.poll().is_none());
}

#[test]
fn nothing_follows_the_close_for_an_answer_that_was_cut() {
    let (mut engine, now) = (engine(Target::Cluster(CLUSTER)), begins());
    let mut input = [request(ApiKey::FETCH, 18), request(ApiKey::FETCH, 18)].concat();
    show(&mut engine, now, &mut input);
    // An answer of 64 KiB begins to pass, and its lane is lost.
    let mut answer = [0, 1, 0, 0, 0, 0, 0, 0, 0];
    assert!(matches!(engine.from_lane(now, LANE, &mut answer), Move::Keep(..)));
    engine.lane_lost(now, LANE);
    let effects = effects(&mut engine);
    assert!(matches!(effects.last(), Some(Effect::Close(Reason::AnswerCut))), "{effects:?}");
    assert!(!effects.iter().any(|effect| matches!(effect, Effect::Answer(_))), "{effects:?}");
}

#[test]
fn a_refused_request_of_which_a_part_has_come_has_a_deadline() {
    let (mut engine, now) = (engine(Target::Cluster(CLUSTER)), begins());
    let mut part = request(ApiKey::SASL_HANDSHAKE, 1);
    part.truncate(frame::HEAD);
    assert!(matches!(show(&mut engine, now, &mut part), Move::Need(_)));
    let due = engine.next_deadline().unwrap();
    engine.tick(due);
    assert!(matches!(effects(&mut engine).as_slice(), [Effect::Close(Reason::Stalled)]));
}

#[test]
fn a_request_whose_names_have_not_come_has_a_deadline() {
    let (mut engine, now) = (engine(disguised()), begins());
    let mut part = request(ApiKey::PRODUCE, 9);
    part.truncate(frame::HEAD);
    assert!(matches!(show(&mut engine, now, &mut part), Move::Need(_)));
    assert!(engine.next_deadline().is_some());
}

#[test]
fn a_request_that_waits_for_a_lane_is_not_late() {
    let (mut engine, now) = (engine(Target::Cluster(CLUSTER)), begins());
    let mut input = request(ApiKey::HEARTBEAT, 4);
    assert!(matches!(engine.from_client(now, input.get_mut(..5).unwrap()), Move::Need(_)));
    assert!(engine.next_deadline().is_some());
    assert_eq!(engine.from_client(now, &mut input), Move::Take(0));
    assert!(matches!(effects(&mut engine).as_slice(), [Effect::Dial(LANE, _)]));
    assert_eq!(engine.from_client(now, &mut input), Move::Wait);
    assert_eq!(engine.next_deadline(), None);
}

/// When a story begins: any moment will do.
#[expect(clippy::disallowed_methods, reason = "an Instant cannot be made otherwise; time then goes on by steps")]
fn begins() -> Instant {
    Instant::now()
}
