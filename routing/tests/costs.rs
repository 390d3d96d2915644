//! What a request costs the engine in allocations and moves: counts, which do not wobble as times do.

#![expect(clippy::unwrap_used, reason = "a test that fails panics")]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use allocation_counter::measure;
use skein_filters::{Address, Client, Face};
use skein_protocol::ids::VirtualNodeId;
use skein_protocol::sample::{Dice, usual};
use skein_protocol::table::Table;
use skein_protocol::varint::{narrow, wide};
use skein_routing::budget::Budget;
use skein_routing::engine::{Effect, Engine, LaneId, Move, Out};
use skein_routing::graph::{Door, Limits, LoginMode, Target};
use skein_routing::topology::{ClusterIndex, Offer, Topology};

const LANE: LaneId = LaneId(0);
const CLUSTER: ClusterIndex = ClusterIndex(0);

fn engine() -> Engine {
    let address = Address { host: Arc::from("localhost"), port: 9092 };
    let door = Door {
        filters: Arc::from([]),
        face: Arc::new(Face::new("costs", BTreeMap::from([(VirtualNodeId(1), address)]))),
        target: Target::Cluster(CLUSTER),
        clusters: vec![CLUSTER],
        login: LoginMode::None,
        limits: Limits::default(),
        requests: Budget::new(1 << 20),
        answers: Budget::new(1 << 20),
    };
    let apis = Table::get().apis().map(|api| (api.key, api.request.versions)).collect();
    let topology = Topology {
        cluster_id: Some(Arc::from("a-cluster")),
        offer: Some(Arc::new(Offer { apis, ..Offer::default() })),
        nodes: BTreeMap::new(),
    };
    let client = Client::arrived(Arc::from("costs"), ([127, 0, 0, 1], 1).into());
    Engine::new(Arc::new(door), client, Some(VirtualNodeId(1)), &[(CLUSTER, Arc::new(topology))])
}

#[expect(clippy::disallowed_methods, reason = "a time to begin with; only differences matter")]
fn begins() -> Instant {
    Instant::now()
}

fn framed(frame: &[u8]) -> Vec<u8> {
    [&narrow(frame.len()).to_be_bytes(), frame].concat()
}

/// The answer to a Produce v13 of one partition.
fn produced(correlation: u8) -> Vec<u8> {
    let mut frame = vec![0, 0, 0, correlation, 0, 2];
    frame.extend([7; 16]);
    frame.extend([2, 0, 0, 0, 3, 0, 0]);
    frame.extend([0; 8]);
    frame.extend([0xff; 8]);
    frame.extend([0; 8]);
    // No record errors, no message, no tags; throttle time.
    frame.extend([1, 0, 0, 0, 0, 0, 0, 0, 0]);
    framed(&frame)
}

/// One Produce and its answer: both pass in one move.
fn round(engine: &mut Engine, now: Instant, request: &mut [u8], answer: &mut [u8]) {
    let whole = narrow(request.len());
    assert_eq!(engine.from_client(now, request), Move::Keep(whole, Out::Lane(LANE)));
    assert_eq!(engine.open_requests(), 1);
    let whole = narrow(answer.len());
    assert_eq!(engine.from_lane(now, LANE, answer), Move::Keep(whole, Out::Client));
    assert!(engine.poll().is_none() && engine.is_idle());
    engine.check().unwrap();
}

#[test]
fn a_produce_and_its_answer_pass_without_an_allocation() {
    let (mut engine, now) = (engine(), begins());
    let request = framed(&usual::produce(1024, &mut Dice::new(1)));
    assert!(matches!(engine.from_client(now, &mut request.clone()), Move::Wait | Move::Take(0)));
    assert!(matches!(engine.poll(), Some(Effect::Dial(LANE, _))));
    engine.lane_up(LANE);
    let mut frames: Vec<_> = (0..8).map(|number| (request.clone(), produced(number))).collect();
    let (first, rest) = frames.split_first_mut().unwrap();
    let warm = measure(|| round(&mut engine, now, &mut first.0, &mut first.1));
    assert!(warm.count_total > 0, "nothing is counted");
    let allocated = measure(|| rest.iter_mut().for_each(|(request, answer)| round(&mut engine, now, request, answer)));
    assert_eq!(allocated.count_total, 0, "{allocated:?}");
}

#[test]
fn what_is_pipelined_leaves_in_one_move_without_an_allocation() {
    const DEEP: u8 = 100;
    let (mut engine, now) = (engine(), begins());
    let request = framed(&usual::produce(1024, &mut Dice::new(1)));
    assert!(matches!(engine.from_client(now, &mut request.clone()), Move::Wait | Move::Take(0)));
    assert!(engine.poll().is_some());
    engine.lane_up(LANE);
    for pass in 0..2 {
        let mut requests = request.repeat(usize::from(DEEP));
        let mut answers: Vec<u8> = (0..DEEP).flat_map(|number| produced(number + pass * DEEP)).collect();
        let allocated = measure(|| {
            let whole = narrow(requests.len());
            assert_eq!(engine.from_client(now, &mut requests), Move::Keep(whole, Out::Lane(LANE)));
            let whole = narrow(answers.len());
            assert_eq!(engine.from_lane(now, LANE, &mut answers), Move::Keep(whole, Out::Client));
        });
        engine.check().unwrap();
        assert!(engine.is_idle());
        if pass > 0 {
            assert_eq!(allocated.count_total, 0, "{allocated:?}");
        }
    }
}

#[test]
fn the_body_of_a_large_produce_is_decided_about_before_it_comes() {
    let (mut engine, now) = (engine(), begins());
    let mut request = framed(&usual::produce(20 << 20, &mut Dice::new(1)));
    assert!(matches!(engine.from_client(now, &mut request[..4096]), Move::Wait | Move::Take(0)));
    assert!(engine.poll().is_some());
    engine.lane_up(LANE);
    let Move::Keep(bytes, Out::Lane(LANE)) = engine.from_client(now, &mut request[..4096]) else {
        panic!("it does not pass")
    };
    // What is left are the tags behind the records.
    let rest = request.len() - wide(bytes);
    assert!(rest < 16, "{rest} bytes are left");
    let at = wide(bytes);
    assert_eq!(engine.from_client(now, &mut request[at..]), Move::Keep(narrow(rest), Out::Lane(LANE)));
}
