//! Bounds of connections: how many, how silent, how old; and what is left when descriptors run out.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use skein_tests::apis::{FIND_COORDINATOR, METADATA, PRODUCE};
use skein_tests::batch::Batch;
use skein_tests::fake::{Action, Gate};
use skein_tests::process;
use skein_tests::raw::request::{self, Coordinated, Place};
use skein_tests::raw::{Outcome, Raw, Request};
use uuid::Uuid;

use crate::stage::{SOON, Stage};

const OF: &str = r#"{virtual_cluster="main",listener="plain""#;

fn produce(id: i32) -> Result<Request> {
    let place = Place { topic: "t".to_owned(), id: Uuid::nil(), partition: 0 };
    Ok(Request::of(9, &request::produce(9, &place, -1, Batch::small(1).build()))?.id(id))
}

fn closed_for(stage: &Stage, reason: &str, count: f64) -> Result<()> {
    stage.counts(&format!("skein_connections_closed_total{OF},reason=\"{reason}\"}}"), |closed| closed == count)
}

/// Nobody is connected: what looked whether Skein is there has gone.
fn is_empty(stage: &Stage) -> Result<()> {
    stage.counts(&format!("skein_connections_open{OF}}}"), |open| open == 0.0)
}

/// Whether a new connection is served; one that is turned away is closed.
fn is_served(stage: &Stage) -> Result<bool> {
    let mut raw = stage.node(1)?;
    if raw.send(&produce(1)?).is_err() {
        return Ok(false);
    }
    Ok(matches!(raw.outcome(SOON), Ok(Outcome::Answered(_))))
}

#[test]
fn who_is_one_too_many_is_turned_away_until_somebody_leaves() -> Result<()> {
    for (key, reason) in [("most-per-listener", "most_per_listener"), ("most-per-source", "most_per_source")] {
        let stage = Stage::with(&format!("\n[connections]\n{key} = 3\n"))?;
        is_empty(&stage)?;
        let mut raws: Vec<Raw> = (0..3).map(|_| stage.node(1)).collect::<Result<_>>()?;
        for raw in &mut raws {
            raw.ask(&produce(1)?)?;
        }
        for _ in 0..5 {
            ensure!(!is_served(&stage)?);
        }
        let refused = format!("skein_connections_refused_total{OF},reason=\"{reason}\"}}");
        assert_eq!(stage.metric(&refused)?, 5.0);
        assert_eq!(stage.skein.log().matches("connections are refused").count(), 1);
        raws.pop();
        process::until("room", SOON, || Ok(is_served(&stage)?.then_some(())))?;
        for raw in &mut raws {
            raw.ask(&produce(1)?)?;
        }
    }
    Ok(())
}

#[test]
fn a_client_that_asks_nothing_is_closed() -> Result<()> {
    let stage = Stage::with("\n[connections]\nfirst-request-timeout = \"500ms\"\n")?;
    is_empty(&stage)?;
    let begun = Instant::now();
    let (mut silent, mut slow, mut asks) = (stage.node(1)?, stage.node(1)?, stage.node(1)?);
    slow.send_bytes(&produce(1)?.frame()[..10])?;
    asks.ask(&produce(1)?)?;
    silent.closed(SOON)?;
    slow.closed(SOON)?;
    ensure!(begun.elapsed() >= Duration::from_millis(500), "{:?}", begun.elapsed());
    closed_for(&stage, "client_mute", 2.0)?;
    asks.ask(&produce(2)?)?;
    Ok(())
}

#[test]
fn a_first_request_that_has_begun_is_waited_for() -> Result<()> {
    let stage = Stage::with("\n[connections]\nfirst-request-timeout = \"500ms\"\n")?;
    let (mut slow, mut ahead) = (stage.node(1)?, stage.node(1)?);
    let frame = produce(1)?.frame();
    let (begun, rest) = frame.split_at(20);
    slow.send_bytes(begun)?;
    // Its writes never end where a request does.
    ahead.send_bytes(&[&frame, begun].concat())?;
    ahead.receive(SOON)?;
    slow.silent(Duration::from_millis(900))?;
    for mut raw in [slow, ahead] {
        raw.send_bytes(rest)?;
        assert_eq!(raw.receive(SOON)?.correlation_id, 1);
    }
    Ok(())
}

#[test]
fn what_is_only_claimed_is_not_counted() -> Result<()> {
    let stage = Stage::new()?;
    let mut stranger = stage.node(1)?;
    // The first bytes of a TLS hello: as a frame they would be a Fetch of 369 MB.
    stranger.send_bytes(&[0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3, 7])?;
    stranger.closed(SOON)?;
    stage.node(1)?.ask(&produce(1)?)?;
    let produced = format!("skein_requests_total{{{},api=\"Produce\"}}", &OF[1..]);
    stage.counts(&produced, |requests| requests == 1.0)?;
    let fetched = format!("skein_request_bytes_total{{{},api=\"Fetch\"}}", &OF[1..]);
    assert_eq!(stage.metric(&fetched)?, 0.0);
    Ok(())
}

#[test]
fn an_idle_client_is_closed_and_one_that_waits_for_an_answer_is_not() -> Result<()> {
    let stage = Stage::with("\n[connections]\nidle-timeout = \"600ms\"\n")?;
    is_empty(&stage)?;
    let (mut idle, mut waits) = (stage.node(1)?, stage.node(1)?);
    idle.ask(&produce(1)?)?;
    let gate = Gate::new();
    stage.fake.on_next(PRODUCE, Action::Hold(gate.clone()));
    stage.fake.forget();
    waits.send(&produce(2)?)?;
    stage.fake.wait_for_count(PRODUCE, 1, SOON)?;
    idle.closed(SOON)?;
    closed_for(&stage, "idle", 1.0)?;
    waits.silent(Duration::from_millis(900))?;
    gate.open();
    assert_eq!(waits.receive(SOON)?.correlation_id, 2);
    // Its time begins with the answer.
    waits.silent(Duration::from_millis(400))?;
    waits.closed(SOON)?;
    closed_for(&stage, "idle", 2.0)
}

#[test]
fn an_old_connection_on_which_nothing_happens_ends_too() -> Result<()> {
    let stage = Stage::with("\n[connections]\nmost-age = \"300ms\"\n")?;
    is_empty(&stage)?;
    let (mut asked, mut silent) = (stage.node(1)?, stage.node(1)?);
    asked.ask(&produce(1)?)?;
    asked.closed(SOON)?;
    silent.closed(SOON)?;
    closed_for(&stage, "most_age", 2.0)
}

#[test]
fn an_old_connection_ends_between_two_requests() -> Result<()> {
    let stage = Stage::with("\n[connections]\nmost-age = \"700ms\"\n")?;
    is_empty(&stage)?;
    let begun = Instant::now();
    let mut raw = stage.node(1)?;
    let (mut sent, mut answered) = (0, 0);
    loop {
        while sent < answered + 5 && raw.send(&produce(sent)?).is_ok() {
            sent += 1;
        }
        match raw.outcome(SOON)? {
            Outcome::Answered(answer) => assert_eq!(answer.correlation_id, answered),
            Outcome::Closed(_) => break,
            Outcome::Cut(_) => anyhow::bail!("an answer was cut"),
        }
        answered += 1;
    }
    let took = begun.elapsed();
    ensure!((Duration::from_millis(600)..Duration::from_secs(3)).contains(&took), "{took:?}");
    assert_eq!(
        stage.fake.requests_of(PRODUCE).len(),
        usize::try_from(answered)?,
        "what reached the broker was answered"
    );
    closed_for(&stage, "most_age", 1.0)
}

#[test]
fn without_descriptors_clients_are_turned_away_and_links_are_still_dialled() -> Result<()> {
    let stage = Stage::with_descriptors(100)?;
    let mut raws: Vec<Raw> = (0..150).map(|_| stage.node(1)).collect::<Result<_>>()?;
    let refused = format!("skein_connections_refused_total{OF},reason=\"descriptors\"}}");
    stage.counts(&refused, |refused| refused > 20.0)?;
    // Three that were let in get links of their own.
    for raw in raws.iter_mut().take(3) {
        raw.ask(&produce(1)?)?;
    }
    assert_eq!(stage.skein.log().matches("connections are refused").count(), 1);
    drop(raws);
    process::until("room", SOON, || Ok(is_served(&stage)?.then_some(())))?;
    stage.serves_others()
}

#[test]
fn a_broker_that_is_gone_is_asked_for_with_growing_pauses() -> Result<()> {
    let mut stage = Stage::new()?;
    let mut raw = stage.node(1)?;
    raw.ask(&produce(0)?)?;
    stage.fake.kill(1)?;
    stage.fake.forget();
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(3) {
        // Each on a connection of its own, which knows of no failure yet.
        let answer = stage.node(1)?.ask(&produce(1)?)?;
        ensure!(!answer.rest.is_empty());
    }
    let asked = stage.fake.requests_of(METADATA).len();
    ensure!(asked < 40, "the cluster was asked {asked} times where its broker is");
    let failed = stage.metric(r#"skein_dials_failed_total{cluster="one",node="1",reason="refused"}"#)?;
    ensure!((1.0..40.0).contains(&failed), "{failed} dials");
    stage.fake.restart(1)?;
    process::until("an accepted Produce", SOON, || {
        stage.node(1)?.ask(&produce(1)?)?;
        Ok((!stage.fake.requests_of(PRODUCE).is_empty()).then_some(()))
    })
}

/// With limits of the virtual cluster.
fn limited(limits: &str) -> Result<Stage> {
    Stage::with(&format!("\n[virtual-clusters.main.limits]\n{limits}\n"))
}

/// The begin of a Produce request that claims to be so long.
fn begun(length: u32) -> Vec<u8> {
    let mut bytes = length.to_be_bytes().to_vec();
    bytes.extend_from_slice(&[0, 0, 0, 9, 0, 0, 0, 1, 0, 0]);
    bytes
}

#[test]
fn a_request_longer_than_frame_is_closed() -> Result<()> {
    let stage = limited("frame = \"1MiB\"")?;
    let mut within = stage.node(1)?;
    within.send_bytes(&begun(1 << 20))?;
    let mut beyond = stage.node(1)?;
    beyond.send_bytes(&begun((1 << 20) + 1))?;
    beyond.closed(SOON)?;
    within.silent(Duration::from_millis(50))?;
    stage.serves_others()
}

#[test]
fn a_request_that_does_not_arrive_within_frame_arrival_is_closed() -> Result<()> {
    let stage = limited("frame-arrival = \"1s\"")?;
    let mut raw = stage.node(1)?;
    raw.send_bytes(&begun(1024))?;
    raw.closed(SOON)?;
    stage.serves_others()
}

#[test]
fn a_broker_that_does_not_answer_is_given_answer_margin() -> Result<()> {
    let stage = limited("answer-margin = \"1s\"")?;
    let mut raw = stage.node(1)?;
    stage.fake.on_next(FIND_COORDINATOR, Action::Drop);
    let asked = Instant::now();
    raw.send(&Request::of(3, &request::find_coordinator(3, "g", Coordinated::Group))?)?;
    raw.receive(SOON)?;
    ensure!(asked.elapsed() >= Duration::from_millis(900), "answered after {:?}", asked.elapsed());
    Ok(())
}
