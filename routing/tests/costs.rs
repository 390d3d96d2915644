//! What a request costs the engine in allocations and moves: counts, which do not wobble as times do.

#![expect(clippy::unwrap_used, reason = "a test that fails panics")]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use allocation_counter::measure;
use skein_filters::authorize::Authorize;
use skein_filters::authorize::grants::Rule;
use skein_filters::authorize::operation::{Operation, Resource};
use skein_filters::{Address, Client, Face, Filters, Prepared};
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
    judged_by(Arc::from([]))
}

/// One with rules of which a few are about whom is there, and many are not.
fn judged() -> Engine {
    let every = || Operation::ALL.map(|(_, operation)| operation);
    let others = (0..1000).map(|number| (format!("user-{number}"), format!("topic-{number}*")));
    let others: Vec<_> = others.collect();
    let others = others.iter().map(|(who, topics)| (who.as_str(), Rule::allow(every(), Resource::Topic, topics)));
    let all = ("ANONYMOUS", Rule::allow([Operation::Read, Operation::Write], Resource::Topic, "*"));
    let secret = ("*", Rule::deny(every(), Resource::Topic, "secret-*"));
    let filter: Arc<dyn Prepared> = Arc::new(Authorize::new(others.chain([all, secret])));
    judged_by(Arc::from([filter]))
}

fn judged_by(filters: Filters) -> Engine {
    let address = Address { host: Arc::from("localhost"), port: 9092 };
    let door = Door {
        filters,
        face: Arc::new(Face::new("costs", BTreeMap::from([(VirtualNodeId(1), address)]))),
        target: Target::Cluster(CLUSTER),
        clusters: vec![CLUSTER],
        book: None,
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
        topics: None,
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
    engine.lane_up(now, LANE);
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
    engine.lane_up(now, LANE);
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
    engine.lane_up(now, LANE);
    let Move::Keep(bytes, Out::Lane(LANE)) = engine.from_client(now, &mut request[..4096]) else {
        panic!("it does not pass")
    };
    // What is left are the tags behind the records.
    let rest = request.len() - wide(bytes);
    assert!(rest < 16, "{rest} bytes are left");
    let at = wide(bytes);
    assert_eq!(engine.from_client(now, &mut request[at..]), Move::Keep(narrow(rest), Out::Lane(LANE)));
}

/// A Fetch v12 of one topic with so many partitions.
fn fetch(partitions: u8) -> Vec<u8> {
    fetch_of("topic", partitions)
}

fn fetch_of(topic: &str, partitions: u8) -> Vec<u8> {
    let mut frame = vec![0, 1, 0, 12, 0, 0, 0, 7, 0xff, 0xff, 0];
    // No replica; half a second, one byte, 1 MiB, no transactions; no session.
    frame.extend([0xff; 4]);
    frame.extend([0, 0, 1, 0xf4, 0, 0, 0, 1, 0, 16, 0, 0, 0]);
    frame.extend([0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff]);
    frame.extend(named(topic));
    frame.push(partitions + 1);
    for index in 0..partitions {
        frame.extend([0, 0, 0, index]);
        frame.extend([0xff; 4]);
        frame.extend([0; 8]);
        frame.extend([0xff; 4]);
        frame.extend([0xff; 8]);
        frame.extend([0, 16, 0, 0, 0]);
    }
    // No tags; nothing forgotten; no rack.
    frame.extend([0, 1, 1, 0]);
    framed(&frame)
}

/// A list of one topic, up to its partitions.
fn named(topic: &str) -> Vec<u8> {
    [&[2, u8::try_from(topic.len()).unwrap() + 1], topic.as_bytes()].concat()
}

/// A Produce v9 to one topic, of so many partitions without records.
fn produce(partitions: u8) -> Vec<u8> {
    produce_to("topic", partitions)
}

fn produce_to(topic: &str, partitions: u8) -> Vec<u8> {
    let mut frame = vec![0, 0, 0, 9, 0, 0, 0, 7, 0xff, 0xff, 0];
    // No transactional id, acks, timeout.
    frame.extend([0, 0xff, 0xff, 0, 0, 0x75, 0x30]);
    frame.extend(named(topic));
    frame.push(partitions + 1);
    for index in 0..partitions {
        frame.extend([0, 0, 0, index, 1, 0]);
    }
    frame.extend([0, 0]);
    framed(&frame)
}

/// What a request costs on its way: allocations, and the move that it makes.
fn cost(engine: &mut Engine, request: &[u8]) -> (u64, Move) {
    let now = begins();
    let (mut request, mut moved) = (request.to_vec(), Move::Wait);
    let allocated = measure(|| moved = engine.from_client(now, &mut request));
    engine.check().unwrap();
    (allocated.count_total, moved)
}

/// Has the lane dialled that a request needs.
fn up(engine: &mut Engine, request: &[u8]) {
    assert!(matches!(engine.from_client(begins(), &mut request.to_vec()), Move::Wait | Move::Take(0)));
    assert!(matches!(engine.poll(), Some(Effect::Dial(LANE, _))));
    engine.lane_up(begins(), LANE);
}

#[test]
fn what_is_allowed_is_judged_without_an_allocation_and_passes_as_ever() {
    for request in [produce(1), produce(100), fetch(1), fetch(100)] {
        let costs = [engine(), judged()].map(|mut engine| {
            up(&mut engine, &request);
            // Queues and what else lives on are made for the first ones.
            (0..8).for_each(|_| drop(cost(&mut engine, &request)));
            cost(&mut engine, &request)
        });
        let [plain, judged] = costs;
        assert_eq!(plain.1, Move::Keep(narrow(request.len()), Out::Lane(LANE)));
        assert_eq!(plain, judged);
    }
}

/// What a request costs from its first byte to its last, what it has done included: allocations, and the bytes that go on.
fn whole_cost(mut engine: Engine, request: &[u8]) -> (u64, usize) {
    let now = begins();
    up(&mut engine, request);
    let costs = (0..12).map(|_| {
        let (mut request, mut at, mut passed) = (request.to_vec(), 0, 0);
        let allocated = measure(|| {
            while at < request.len() {
                let moved = engine.from_client(now, request.get_mut(at..).unwrap());
                assert!(matches!(moved, Move::Keep(_, Out::Lane(LANE)) | Move::Take(_)), "{moved:?}");
                if let Move::Keep(bytes, _) | Move::Take(bytes) = moved {
                    at += wide(bytes);
                }
                passed += if let Move::Keep(bytes, _) = moved { wide(bytes) } else { 0 };
                while engine.poll().is_some() {}
            }
        });
        engine.check().unwrap();
        (allocated.count_total, passed)
    });
    // Queues and what else lives on are made for the first ones.
    costs.last().unwrap()
}

#[test]
fn a_further_partition_costs_what_it_costs_without_rules() {
    let requests: [fn(u8) -> Vec<u8>; 3] = [produce, |partitions| produce_to("secret-1", partitions), fetch];
    for request in requests {
        let costs = [1, 2, 64].map(|partitions| {
            let request = request(partitions);
            let judged = whole_cost(judged(), &request);
            // What a Produce may not write is spoilt where it stands.
            assert_eq!(judged, whole_cost(engine(), &request));
            assert_eq!(judged.1, request.len());
            judged.0
        });
        // What is remembered to answer in a broker's stead is a vector that doubles.
        assert!(costs[2] <= costs[0] + 6, "{costs:?}");
    }
}

#[test]
fn a_partition_of_a_fetch_that_is_refused_costs_one_allocation_at_most() {
    let refused = |partitions| {
        let (allocated, passed) = whole_cost(judged(), &fetch_of("secret-1", partitions));
        assert_eq!(passed, 0);
        allocated
    };
    let one = refused(1);
    // Each has a place in the answer, which is made here; buffers double.
    for (partitions, doublings) in [(2, 1), (16, 4), (100, 7)] {
        let all = refused(partitions);
        assert!(all <= one + u64::from(partitions) + 3 * doublings, "{partitions}: {all}, and {one} for one");
    }
}

/// The answer to a Produce v9 of so many partitions.
fn written(correlation: u8, partitions: u8) -> Vec<u8> {
    let mut frame = vec![0, 0, 0, correlation, 0];
    frame.extend(named("topic"));
    frame.push(partitions + 1);
    for index in 0..partitions {
        // No error, an offset, a time, where the log starts; no record errors, no message, no tags.
        frame.extend([0, 0, 0, index, 0, 0]);
        frame.extend([0; 24]);
        frame.extend([1, 0, 0]);
    }
    frame.extend([0, 0, 0, 0, 0, 0]);
    framed(&frame)
}

#[test]
fn the_answer_to_what_was_judged_passes_without_an_allocation() {
    for partitions in [1, 100] {
        let (mut engine, now) = (judged(), begins());
        up(&mut engine, &produce(partitions));
        for pass in 0..2 {
            cost(&mut engine, &produce(partitions));
            let (mut answer, mut moved) = (written(pass, partitions), Move::Wait);
            let allocated = measure(|| moved = engine.from_lane(now, LANE, &mut answer));
            assert_eq!(moved, Move::Keep(narrow(answer.len()), Out::Client));
            assert!(pass == 0 || allocated.count_total == 0, "{allocated:?}");
        }
    }
}
