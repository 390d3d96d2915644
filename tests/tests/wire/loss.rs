//! A link is lost: who hears of it, and what.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use kafka_protocol::messages::{FetchRequest, ProduceRequest};
use skein_tests::apis::{FETCH, FIND_COORDINATOR, PRODUCE};
use skein_tests::batch::Batch;
use skein_tests::fake::{Action, Fake, Gate};
use skein_tests::process;
use skein_tests::raw::request::{self, Coordinated, Place, Session};
use skein_tests::raw::{Raw, Request};

use crate::stage::{HANG, REAL_CLUSTER, SOON, Stage, produced};

/// The request was never sent: ask Metadata, try again.
const NOT_LEADER: i16 = 6;
/// It was sent, and what became of it is unknown.
const TIMED_OUT: i16 = 7;

fn produce(raw: &mut Raw, version: i16, place: &Place) -> Result<i16> {
    let asked = Request::of(version, &request::produce(version, place, -1, Batch::small(1).build()))?;
    raw.send(&asked)?;
    let answer = raw.receive(HANG)?;
    ensure!(answer.correlation_id == asked.correlation_id);
    Ok(produced(&answer.decode::<ProduceRequest>(version)?))
}

#[test]
fn a_produce_that_was_never_sent_is_answered_with_6() -> Result<()> {
    let mut stage = Stage::new()?;
    let place = stage.place(0)?;
    let mut linked = stage.node(1)?;
    assert_eq!(produce(&mut linked, 9, &place)?, 0);
    stage.fake.kill(1)?;
    for version in 3..=13 {
        assert_eq!(produce(&mut stage.node(1)?, version, &place)?, NOT_LEADER, "v{version}, a new connection");
    }
    // Its link is gone since the kill.
    std::thread::sleep(Duration::from_millis(200));
    assert_eq!(produce(&mut linked, 9, &place)?, NOT_LEADER);
    Ok(())
}

#[test]
fn a_produce_whose_outcome_is_unknown_is_answered_with_7() -> Result<()> {
    let stage = Stage::new()?;
    let place = stage.place(0)?;
    let mut raw = stage.node(1)?;
    for version in 3..=13 {
        for action in [Action::Close, Action::Reset] {
            stage.fake.on_next(PRODUCE, action);
            assert_eq!(produce(&mut raw, version, &place)?, TIMED_OUT, "v{version}");
            // The next one goes over a new link.
            assert_eq!(produce(&mut raw, version, &place)?, 0, "v{version}");
        }
    }
    Ok(())
}

#[test]
fn a_produce_answer_that_breaks_off_is_an_unknown_outcome() -> Result<()> {
    let stage = Stage::new()?;
    let place = stage.place(0)?;
    for bytes in [1, 4, 8, 12, 30] {
        stage.fake.on_next(PRODUCE, Action::CloseAfter(bytes));
        assert_eq!(produce(&mut stage.node(1)?, 9, &place)?, TIMED_OUT, "after {bytes} bytes");
    }
    Ok(())
}

#[test]
fn all_that_waits_on_a_lost_link_is_answered_in_order() -> Result<()> {
    let stage = Stage::new()?;
    let place = stage.place(0)?;
    stage.fake.on_next(PRODUCE, [Action::Delay(Duration::from_millis(300)), Action::Close]);
    let one = Request::of(9, &request::produce(9, &place, -1, Batch::small(1).build()))?;
    let fetch = Request::of(12, &request::fetch(12, Session::None, &[place]))?;
    let mut raw = stage.node(1)?;
    raw.send_all(&[one.clone().id(1), one.clone().id(2), fetch.id(3), one.id(4)])?;
    let answers = raw.receive_all(4, HANG)?;
    let ids: Vec<_> = answers.iter().map(|answer| answer.correlation_id).collect();
    assert_eq!(ids, [1, 2, 3, 4]);
    assert_eq!(produced(&answers[0].decode::<ProduceRequest>(9)?), TIMED_OUT);
    Ok(())
}

#[test]
fn a_full_fetch_on_a_lost_link_is_answered_with_6() -> Result<()> {
    let stage = Stage::new()?;
    let places = [stage.place(0)?, stage.place(1)?];
    for version in 4..=18 {
        stage.fake.on_next(FETCH, Action::Close);
        let asked = request::fetch(version, Session::New, &places);
        let answer = stage.node(1)?.call::<FetchRequest>(version, &asked)?;
        let codes: Vec<_> =
            answer.responses.iter().flat_map(|topic| &topic.partitions).map(|part| part.error_code).collect();
        assert_eq!((answer.error_code, codes), (0, vec![NOT_LEADER; 2]), "v{version}");
    }
    Ok(())
}

#[test]
fn an_incremental_fetch_on_a_lost_link_closes_the_connection() -> Result<()> {
    let stage = Stage::new()?;
    let places = [stage.place(0)?];
    for version in [7, 11, 12, 13, 18] {
        let mut raw = stage.node(1)?;
        let opened = raw.call::<FetchRequest>(version, &request::fetch(version, Session::New, &places))?;
        assert_ne!(opened.session_id, 0);
        stage.fake.on_next(FETCH, Action::Close);
        let go = Session::Go { id: opened.session_id, epoch: 1 };
        raw.send(&Request::of(version, &request::fetch(version, go, &[]))?)?;
        raw.closed(SOON)?;
    }
    stage.serves_others()
}

#[test]
fn a_fetch_session_passes_to_its_broker() -> Result<()> {
    let stage = Stage::new()?;
    let mut raw = stage.node(1)?;
    let opened = raw.call::<FetchRequest>(12, &request::fetch(12, Session::New, &[stage.place(0)?]))?;
    for epoch in 1..=3 {
        stage.fake.forget();
        let go = Session::Go { id: opened.session_id, epoch };
        assert_eq!(raw.call::<FetchRequest>(12, &request::fetch(12, go, &[]))?.session_id, opened.session_id);
        let received: FetchRequest = stage.fake.wait_for(|request| request.key == FETCH, SOON)?.decode()?;
        assert_eq!((received.session_id, received.session_epoch), (opened.session_id, epoch));
    }
    Ok(())
}

#[test]
fn other_connections_do_not_notice_a_lost_link() -> Result<()> {
    let stage = Stage::new()?;
    let place = stage.place(0)?;
    let gate = Gate::new();
    stage.fake.on_next(FETCH, Action::Hold(gate.clone()));
    let mut waiting = stage.node(1)?;
    waiting.send(&Request::of(12, &request::fetch(12, Session::None, std::slice::from_ref(&place)))?)?;
    stage.fake.wait_for_count(FETCH, 1, SOON)?;
    let mut elsewhere = stage.node(7)?;
    assert_eq!(produce(&mut elsewhere, 9, &stage.place(1)?)?, 0);
    for _ in 0..20 {
        stage.fake.on_next(PRODUCE, Action::Reset);
        assert_eq!(produce(&mut stage.node(1)?, 9, &place)?, TIMED_OUT);
    }
    assert_eq!(produce(&mut elsewhere, 9, &stage.place(1)?)?, 0);
    waiting.silent(Duration::from_millis(50))?;
    gate.open();
    waiting.receive(SOON)?;
    Ok(())
}

#[test]
fn a_killed_broker_is_used_again_when_it_is_back() -> Result<()> {
    let mut stage = Stage::new()?;
    let place = stage.place(0)?;
    let mut raw = stage.node(1)?;
    assert_eq!(produce(&mut raw, 9, &place)?, 0);
    stage.fake.kill(1)?;
    std::thread::sleep(Duration::from_millis(200));
    assert_eq!(produce(&mut raw, 9, &place)?, NOT_LEADER);
    assert_eq!(stage.node(7)?.call(12, &request::metadata(12, None))?.topics.len(), 1, "node 7 is asked instead");
    stage.fake.restart(1)?;
    process::until("an accepted Produce", HANG, || Ok((produce(&mut raw, 9, &place)? == 0).then_some(())))
}

#[test]
fn with_every_broker_dead_nobody_hangs() -> Result<()> {
    let mut stage = Stage::new()?;
    let place = stage.place(0)?;
    stage.fake.kill(1)?;
    stage.fake.kill(7)?;
    assert_eq!(produce(&mut stage.node(1)?, 9, &place)?, NOT_LEADER);
    for (mut raw, version) in [(stage.bootstrap()?, 1), (stage.node(7)?, 13)] {
        raw.send(&Request::of(version, &request::metadata(version, Some(&["t"])))?)?;
        raw.outcome(HANG)?;
        let mut raw = stage.bootstrap()?;
        raw.send(&Request::of(4, &request::init_producer_id(None))?)?;
        raw.outcome(HANG)?;
    }
    let mut raw = stage.bootstrap()?;
    raw.ask(&request::api_versions(3, &request::Introduction::default()))?;
    Ok(())
}

#[test]
fn a_failing_client_costs_the_broker_a_bounded_number_of_dials() -> Result<()> {
    let stage = Stage::new()?;
    let place = stage.place(0)?;
    let mut raw = stage.node(1)?;
    produce(&mut raw, 9, &place)?;
    let before = stage.fake.connections();
    stage.fake.on_every(PRODUCE, Action::Reset);
    let begun = std::time::Instant::now();
    for _ in 0..100 {
        let code = produce(&mut raw, 9, &place)?;
        assert!([NOT_LEADER, TIMED_OUT].contains(&code), "{code}");
    }
    let allowed = 20 + 20 * usize::try_from(begun.elapsed().as_secs())?;
    let dials = stage.fake.connections() - before;
    assert!(dials <= allowed, "{dials} dials in {:?}", begun.elapsed());
    Ok(())
}

#[test]
fn a_client_that_leaves_takes_its_link_with_it() -> Result<()> {
    let stage = Stage::new()?;
    let place = stage.place(0)?;
    let before = stage.fake.open_connections();
    let mut raw = stage.node(1)?;
    produce(&mut raw, 9, &place)?;
    let link = stage.fake.requests_of(PRODUCE).pop().map_or(0, |request| request.connection);
    assert!(!before.contains(&link), "a client has a link of its own");
    drop(raw);
    stage.fake.wait_closed(link, SOON)
}

#[test]
fn it_starts_and_serves_with_only_the_last_bootstrap_address_alive() -> Result<()> {
    let mut fake = Fake::start(REAL_CLUSTER, &[1, 7, 1001])?.topic("t", &[1001]);
    for node in [1, 7] {
        fake.kill(node)?;
    }
    let stage = Stage::before(fake)?;
    let place = stage.place(0)?;
    assert_eq!(produce(&mut stage.node(1001)?, 9, &place)?, 0);
    // The address of a node that is gone still serves as bootstrap.
    stage.serves_others()
}

#[test]
fn brokers_that_are_mute_delay_the_first_clients_by_a_moment() -> Result<()> {
    let fake = Fake::start(REAL_CLUSTER, &[1, 7])?.topic("t", &[1, 7]).behind_mute(3)?;
    let stage = Stage::before(fake)?;
    let begun = Instant::now();
    // Both learn of the cluster, and the first is led to any broker.
    let place = stage.place(0)?;
    assert_eq!(produce(&mut stage.node(1)?, 9, &place)?, 0);
    // One mute address alone would be given longer, if the others waited for it.
    ensure!(begun.elapsed() < Duration::from_secs(4), "{:?}", begun.elapsed());
    Ok(())
}

#[test]
fn what_a_broker_had_answered_before_its_link_broke_is_passed_on() -> Result<()> {
    let mut stage = Stage::new()?;
    let place = stage.place(0)?;
    stage.fake.kill(1)?;
    let gate = Gate::new();
    stage.fake.on_next_at(7, FIND_COORDINATOR, Action::Hold(gate.clone()));
    let mut raw = stage.node(1)?;
    // It is answered by another broker, and everything behind it waits for its turn.
    let group = request::find_coordinator(3, "g", Coordinated::Group);
    raw.send(&Request::of(3, &group)?.id(0))?;
    stage.fake.wait_for_count(FIND_COORDINATOR, 1, SOON)?;
    stage.fake.restart(1)?;
    stage.fake.on_next_at(1, PRODUCE, Action::CloseAfter(1 << 20));
    let asked = Request::of(9, &request::produce(9, &place, -1, Batch::small(1).build()))?;
    let mut sent = 0;
    let mut send = |raw: &mut Raw| -> Result<i32> {
        sent += 1;
        raw.send(&asked.clone().id(sent))?;
        Ok(sent)
    };
    process::until("a Produce that its broker answers", SOON, || {
        send(&mut raw)?;
        Ok((!stage.fake.requests_of(PRODUCE).is_empty()).then_some(()))
    })?;
    stage.fake.wait_closed(stage.fake.wait_for(|received| received.key == PRODUCE, SOON)?.connection, SOON)?;
    // The broker has closed; these are written to a socket that refuses the second of them at the latest.
    let last = process::until("writes that fail", SOON, || Ok(Some(send(&mut raw)?).filter(|last| *last > 8)))?;
    gate.open();
    raw.receive(SOON)?;
    let answers = raw.receive_all(usize::try_from(last)?, HANG)?;
    let codes: Vec<_> =
        answers.iter().map(|answer| Ok(produced(&answer.decode::<ProduceRequest>(9)?))).collect::<Result<_>>()?;
    assert_eq!(codes.iter().filter(|code| **code == 0).count(), 1, "{codes:?}");
    Ok(())
}
