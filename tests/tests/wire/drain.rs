//! SIGTERM: nothing new is taken, what is open is answered in order, and the process ends with 0.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use skein_tests::apis::{FETCH, PRODUCE};
use skein_tests::batch::Batch;
use skein_tests::fake::{Action, Gate};
use skein_tests::process;
use skein_tests::raw::request::{self, Place, Session};
use skein_tests::raw::{Closing, Outcome, Raw, Request};

use crate::stage::{SOON, Stage};

fn produce(place: &Place, id: i32) -> Result<Request> {
    Ok(Request::of(9, &request::produce(9, place, -1, Batch::small(1).build()))?.id(id))
}

fn ids(answers: &[skein_tests::raw::Answer]) -> Vec<i32> {
    answers.iter().map(|answer| answer.correlation_id).collect()
}

/// Waits until nobody is let in any more.
fn is_shut(stage: &Stage) -> Result<()> {
    let address = stage.bootstrap_address();
    process::until("a refused connection", SOON, || Ok(std::net::TcpStream::connect(address).is_err().then_some(())))
}

#[test]
fn an_idle_connection_ends_at_once_and_the_process_with_0() -> Result<()> {
    let mut stage = Stage::new()?;
    let mut used = stage.node(1)?;
    used.ask(&produce(&stage.place(0)?, 1)?)?;
    let mut fresh = stage.bootstrap()?;
    let begun = Instant::now();
    stage.skein.signal("TERM")?;
    assert_eq!((used.closed(SOON)?, fresh.closed(SOON)?), (Closing::Clean, Closing::Clean));
    drop((used, fresh));
    assert_eq!(stage.skein.ended(SOON)?.code(), Some(0));
    ensure!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    Ok(())
}

#[test]
fn what_was_written_is_answered_in_order_before_the_close() -> Result<()> {
    let mut stage = Stage::new()?;
    let place = stage.place(0)?;
    let gate = Gate::new();
    stage.fake.on_next(PRODUCE, Action::Hold(gate.clone()));
    let mut raw = stage.node(1)?;
    let fetch = Request::of(12, &request::fetch(12, Session::None, std::slice::from_ref(&place)))?.id(3);
    raw.send_all(&[produce(&place, 1)?, produce(&place, 2)?, fetch, produce(&place, 4)?])?;
    stage.fake.wait_for_count(PRODUCE, 1, SOON)?;
    stage.skein.signal("INT")?;
    is_shut(&stage)?;
    raw.silent(Duration::from_millis(50))?;
    gate.open();
    let (answers, closing) = raw.until_closed(SOON)?;
    assert_eq!((ids(&answers), closing), (vec![1, 2, 3, 4], Closing::Clean));
    assert_eq!((stage.fake.requests_of(PRODUCE).len(), stage.fake.requests_of(FETCH).len()), (3, 1));
    assert_eq!(stage.skein.ended(SOON)?.code(), Some(0));
    Ok(())
}

#[test]
fn a_request_of_which_a_part_has_come_is_still_answered() -> Result<()> {
    let mut stage = Stage::new()?;
    let frame = produce(&stage.place(0)?, 5)?.frame();
    for cut in [2, 10, 40] {
        let mut raw = stage.node(1)?;
        raw.send_bytes(&frame[..cut])?;
        // A second connection that is answered shows that the first one's bytes have been seen, too.
        stage.serves_others()?;
        stage.skein.signal("TERM")?;
        is_shut(&stage)?;
        raw.send_bytes(&frame[cut..])?;
        let (answers, _) = raw.until_closed(SOON)?;
        assert_eq!(ids(&answers), [5], "cut at {cut}");
        assert_eq!(stage.skein.ended(SOON)?.code(), Some(0));
        stage.skein.restart()?;
    }
    Ok(())
}

#[test]
fn a_produce_without_an_answer_has_left_before_the_close() -> Result<()> {
    let mut stage = Stage::new()?;
    let place = stage.place(0)?;
    let mut raw = stage.node(1)?;
    raw.ask(&produce(&place, 1)?)?;
    stage.fake.forget();
    let silent = Request::of(9, &request::produce(9, &place, 0, Batch::large(3 << 20).build()))?;
    raw.send(&silent)?;
    stage.skein.signal("TERM")?;
    raw.closed(SOON)?;
    assert_eq!(stage.fake.wait_for(|received| received.key == PRODUCE, SOON)?.body.len(), silent.body.len());
    assert_eq!(stage.skein.ended(SOON)?.code(), Some(0));
    Ok(())
}

#[test]
fn what_is_not_answered_in_time_is_cut() -> Result<()> {
    let mut stage = Stage::with("\n[process]\ndrain-timeout = \"700ms\"\n")?;
    stage.fake.on_next(PRODUCE, Action::Drop);
    let mut raw = stage.node(1)?;
    raw.send(&produce(&stage.place(0)?, 1)?)?;
    stage.fake.wait_for_count(PRODUCE, 1, SOON)?;
    let begun = Instant::now();
    stage.skein.signal("TERM")?;
    assert!(matches!(raw.outcome(SOON)?, Outcome::Closed(_)));
    assert_eq!(stage.skein.ended(SOON)?.code(), Some(0));
    let took = begun.elapsed();
    ensure!((Duration::from_millis(600)..Duration::from_secs(4)).contains(&took), "{took:?}");
    ensure!(stage.skein.log().contains("drain_timeout"), "{}", stage.skein.log());
    Ok(())
}

#[test]
fn a_second_signal_ends_it_at_once() -> Result<()> {
    let mut stage = Stage::new()?;
    stage.fake.on_next(PRODUCE, Action::Drop);
    let mut raw = stage.node(1)?;
    raw.send(&produce(&stage.place(0)?, 1)?)?;
    stage.fake.wait_for_count(PRODUCE, 1, SOON)?;
    stage.skein.signal("TERM")?;
    is_shut(&stage)?;
    ensure!(!stage.skein.has_ended()?, "it did not wait");
    stage.skein.signal("TERM")?;
    assert_eq!(stage.skein.ended(SOON)?.code(), Some(1));
    Ok(())
}

/// Sends without a pause, five requests ahead, until the connection ends; how many were answered.
fn saturate(stage: &Stage, place: &Place, begun: &AtomicUsize, stop: &AtomicBool) -> Result<usize> {
    let mut raw: Raw = stage.node(1)?;
    let (mut sent, mut answered) = (0, 0);
    loop {
        while sent < answered + 5 && !stop.load(Ordering::Relaxed) {
            if raw.send(&produce(place, sent)?).is_err() {
                stop.store(true, Ordering::Relaxed);
            }
            sent += 1;
        }
        match raw.outcome(SOON).context("a saturating producer")? {
            Outcome::Answered(answer) => {
                ensure!(answer.correlation_id == answered, "{} where {answered} was due", answer.correlation_id);
                answered += 1;
                begun.fetch_add(usize::from(answered == 50), Ordering::Relaxed);
            }
            Outcome::Closed(_) => return Ok(usize::try_from(answered)?),
            Outcome::Cut(_) => anyhow::bail!("an answer was cut"),
        }
    }
}

#[test]
fn under_load_every_request_that_reached_a_broker_is_answered() -> Result<()> {
    let mut stage = Stage::new()?;
    let place = stage.place(0)?;
    let (begun, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
    let answered = std::thread::scope(|scope| -> Result<usize> {
        let load = || scope.spawn(|| saturate(&stage, &place, &begun, &stop));
        let loads: Vec<_> = (0..4).map(|_| load()).collect();
        process::until("load", SOON, || Ok((begun.load(Ordering::Relaxed) == 4).then_some(())))?;
        stage.skein.signal("TERM")?;
        loads.into_iter().map(|load| load.join().unwrap_or_else(|_| panic!("a load failed"))).sum()
    })?;
    assert_eq!(stage.fake.requests_of(PRODUCE).len(), answered);
    assert_eq!(stage.skein.ended(SOON)?.code(), Some(0));
    Ok(())
}
