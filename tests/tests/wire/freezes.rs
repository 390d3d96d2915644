//! Somebody freezes: a metric and a line of the log say so, and the others go on.
//!
//! How much the others notice is a figure, not an assertion: `SKEIN_FIGURES=1` prints it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use skein_tests::apis::{FETCH, FIND_COORDINATOR};
use skein_tests::batch::Batch;
use skein_tests::fake::{Action, Stored};
use skein_tests::process;
use skein_tests::raw::request::{self, Coordinated, Place, Session};
use skein_tests::raw::{Raw, Request};

use crate::stage::{HANG, SOON, Stage};

/// Deadlines that a test can wait for.
const LIMITS: &str = "\n[virtual-clusters.main.limits]\nanswer-margin = \"1s\"\nframe-arrival = \"1s\"\n";

/// Requests of somebody else before and during a freeze, each timed.
const OTHERS: usize = 300;

/// Does something while another client goes on, which must not fail; prints what that one noticed if figures are wanted.
fn beside_others(stage: &Stage, what: &str, freeze: impl FnOnce() -> Result<()>) -> Result<()> {
    let before = asked(stage, |count| count < OTHERS)?;
    let over = AtomicBool::new(false);
    let (frozen, during) = thread::scope(|scope| {
        let other = scope.spawn(|| asked(stage, |count| count < OTHERS || !over.load(Ordering::Relaxed)));
        let frozen = freeze();
        over.store(true, Ordering::Relaxed);
        (frozen, other.join().unwrap_or_else(|_| panic!("the other client failed")))
    });
    frozen.with_context(|| what.to_owned())?;
    let during = during.with_context(|| format!("another client, while {what}"))?;
    if std::env::var_os("SKEIN_FIGURES").is_some() {
        let at = |times: &[Duration], part: usize| times.get(times.len() * part / 100).copied().unwrap_or_default();
        let line = |times: &[Duration]| format!("median {:?}, p99 {:?}", at(times, 50), at(times, 99));
        println!("{what}: others before: {}; during: {} ({} requests)", line(&before), line(&during), during.len());
    }
    Ok(())
}

/// Asks a broker again and again, on one connection; the times, sorted.
fn asked(stage: &Stage, goes_on: impl Fn(usize) -> bool) -> Result<Vec<Duration>> {
    let (mut raw, mut times) = (stage.node(7)?, Vec::new());
    while goes_on(times.len()) {
        let begun = Instant::now();
        raw.call(12, &request::metadata(12, Some(&["t"])))?;
        times.push(begun.elapsed());
    }
    times.sort_unstable();
    Ok(times)
}

fn says(stage: &Stage, line: &str) -> Result<()> {
    process::until(line, SOON, || Ok(stage.skein.log().lines().any(|said| said.contains(line)).then_some(())))
}

fn lost(stage: &Stage, reason: &str) -> Result<()> {
    let series = format!(r#"skein_links_lost_total{{cluster="one",node="1",reason="{reason}"}}"#);
    process::until(&series, HANG, || Ok((stage.metric(&series)? >= 1.0).then_some(())))
}

fn coordinator() -> Result<Request> {
    Request::of(3, &request::find_coordinator(3, "g", Coordinated::Group))
}

fn large(place: &Place) -> Result<Request> {
    Request::of(9, &request::produce(9, place, -1, Batch::large(1 << 20).build()))
}

#[test]
fn a_broker_that_is_killed() -> Result<()> {
    let mut stage = Stage::with(LIMITS)?;
    let mut raw = stage.node(1)?;
    raw.ask(&coordinator()?)?;
    stage.fake.kill(1)?;
    beside_others(&stage, "a broker is killed", || {
        lost(&stage, "broken")?;
        for _ in 0..3 {
            raw.ask(&coordinator()?)?;
        }
        stage.counts(r#"skein_dials_failed_total{cluster="one",node="1",reason="refused"}"#, |dials| dials >= 1.0)?;
        says(&stage, "broker not reached")
    })
}

#[test]
fn a_broker_that_stops_answering() -> Result<()> {
    let stage = Stage::with(LIMITS)?;
    stage.fake.on_next(FIND_COORDINATOR, Action::Drop);
    beside_others(&stage, "a broker stops answering", || {
        let mut raw = stage.node(1)?;
        raw.send(&coordinator()?)?;
        raw.receive(HANG)?;
        lost(&stage, "late")?;
        says(&stage, "link closed")
    })
}

#[test]
fn a_broker_that_stops_reading() -> Result<()> {
    let stage = Stage::with(LIMITS)?;
    let place = stage.place(0)?;
    stage.fake.on_next(FIND_COORDINATOR, Action::StopReading);
    beside_others(&stage, "a broker stops reading", || {
        let mut raw = stage.node(1)?;
        let frames = [coordinator()?.frame(), large(&place)?.frame().repeat(32).into()].concat();
        let taken = raw.offer(&frames, Duration::from_millis(800))?;
        ensure!(taken < frames.len(), "all of it was taken");
        lost(&stage, "late")?;
        stage.counts(r#"skein_broker_blocked_seconds_total{cluster="one"}"#, |seconds| seconds > 0.1)?;
        says(&stage, "link closed")
    })
}

#[test]
fn a_broker_that_trickles() -> Result<()> {
    let stage = Stage::with(LIMITS)?;
    let place = stage.place(0)?;
    stage.fake.change(|model| model.partition("t", 0).stored = Stored::about(1 << 20));
    stage.fake.on_next(FETCH, Action::Trickle(1000, Duration::from_millis(100)));
    beside_others(&stage, "a broker trickles", || {
        let mut raw = stage.node(1)?;
        raw.send(&Request::of(12, &request::fetch(12, Session::None, &[place]))?)?;
        raw.outcome(HANG)?;
        lost(&stage, "late")?;
        says(&stage, "link closed")
    })
}

fn closed(stage: &Stage, reason: &str) -> Result<()> {
    let series =
        format!(r#"skein_connections_closed_total{{virtual_cluster="main",listener="plain",reason="{reason}"}}"#);
    process::until(&series, HANG, || Ok((stage.metric(&series)? >= 1.0).then_some(())))?;
    says(stage, &format!("reason=\"{reason}\""))
}

#[test]
fn a_client_that_trickles() -> Result<()> {
    let stage = Stage::with(LIMITS)?;
    let place = stage.place(0)?;
    beside_others(&stage, "a client trickles", || {
        let mut raw = stage.node(1)?;
        raw.send_bytes(large(&place)?.frame().get(..4000).context("a frame of 1 MiB")?)?;
        closed(&stage, "stalled")
    })
}

#[test]
fn a_client_that_stops_reading() -> Result<()> {
    let stage = Stage::with(LIMITS)?;
    let place = stage.place(0)?;
    stage.fake.change(|model| model.partition("t", 0).stored = Stored::about(8 << 20));
    beside_others(&stage, "a client stops reading", || {
        let mut raw = stage.node(1)?;
        raw.send(&Request::of(12, &request::fetch(12, Session::None, &[place]))?)?;
        let blocked = r#"skein_client_blocked_seconds_total{virtual_cluster="main",listener="plain"}"#;
        process::until(blocked, HANG, || Ok((stage.metric(blocked)? > 0.5).then_some(())))?;
        closed_at_last(&stage, raw)
    })
}

/// A minute is longer than others want to wait for a test.
fn closed_at_last(stage: &Stage, raw: Raw) -> Result<()> {
    if std::env::var_os("SKEIN_SOAK").is_some() {
        let deaf = r#"skein_connections_closed_total{virtual_cluster="main",listener="plain",reason="client_deaf"}"#;
        process::until(deaf, Duration::from_secs(90), || Ok((stage.metric(deaf)? >= 1.0).then_some(())))?;
        says(stage, "reason=\"client_deaf\"")?;
    }
    drop(raw);
    Ok(())
}

#[test]
fn a_full_accept_queue() -> Result<()> {
    let stage = Stage::with("\n[connections]\naccepts-per-second = 5\n")?;
    beside_others(&stage, "a listening port has a full queue", || {
        // Who is in the queue is connected, as far as the operating system is concerned.
        let queued: Vec<_> = (0..200).filter_map(|_| stage.bootstrap().ok()).collect();
        stage.counts(r#"skein_accepts_delayed_total{virtual_cluster="main",listener="plain"}"#, |held| held >= 1.0)?;
        says(&stage, "connections wait to be accepted")?;
        drop(queued);
        Ok(())
    })
}
