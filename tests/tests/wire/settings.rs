//! Each setting has its effect on a live proxy: those that a reload takes over for who comes next, and those of `[limits]`.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use skein_tests::apis::PRODUCE;
use skein_tests::batch::Batch;
use skein_tests::fake::{Action, Gate};
use skein_tests::raw::request::{self, Place};
use skein_tests::raw::{Outcome, Raw, Request};
use uuid::Uuid;

use crate::stage::{SOON, Stage};

const OF: &str = r#"{virtual_cluster="main",listener="plain""#;

fn produce(id: i32) -> Result<Request> {
    let place = Place { topic: "t".to_owned(), id: Uuid::nil(), partition: 0 };
    Ok(Request::of(9, &request::produce(9, &place, -1, Batch::small(1).build()))?.id(id))
}

/// Nobody is connected: what looked whether Skein is there has gone.
fn is_empty(stage: &Stage) -> Result<()> {
    stage.counts(&format!("skein_connections_open{OF}}}"), |open| open == 0.0)
}

/// Has a file with these tables read, and waits until it is served.
fn reload(stage: &mut Stage, text: &str) -> Result<()> {
    let taken_over = r#"skein_reloads_total{reason="taken_over"}"#;
    let before = stage.metric(taken_over)?;
    stage.skein.rewrite(text)?;
    stage.skein.signal("HUP")?;
    stage.counts(taken_over, |count| count > before)
}

/// A client that has been answered.
fn served(stage: &Stage) -> Result<Raw> {
    let mut raw = stage.node(1)?;
    raw.ask(&produce(1)?)?;
    Ok(raw)
}

/// Sees that whoever comes now is turned away.
fn is_turned_away(stage: &Stage, reason: &str) -> Result<()> {
    let refused = format!("skein_connections_refused_total{OF},reason=\"{reason}\"}}");
    let before = stage.metric(&refused)?;
    // The request may meet a socket that is closed already.
    let _ = stage.node(1)?.send(&produce(1)?);
    stage.counts(&refused, |count| count == before + 1.0)
}

#[test]
fn bounds_of_a_changed_file_hold_for_who_comes_next() -> Result<()> {
    for (key, reason) in [("most-per-listener", "most_per_listener"), ("most-per-source", "most_per_source")] {
        let mut stage = Stage::new()?;
        is_empty(&stage)?;
        let mut raws = [served(&stage)?, served(&stage)?];
        let file = stage.file()?;
        reload(&mut stage, &format!("{file}\n[connections]\n{key} = 2\n"))?;
        is_turned_away(&stage, reason)?;
        for raw in &mut raws {
            raw.ask(&produce(2)?)?;
        }
        reload(&mut stage, &format!("{file}\n[connections]\n{key} = 3\n"))?;
        served(&stage)?;
    }
    Ok(())
}

#[test]
fn who_came_to_a_former_form_of_a_listener_counts_until_he_has_left() -> Result<()> {
    let bounded = "\n[connections]\nmost-per-listener = 2\n";
    let mut stage = Stage::with(bounded)?;
    is_empty(&stage)?;
    let mut raws = [served(&stage)?, served(&stage)?];
    let gate = Gate::new();
    stage.fake.forget();
    for raw in &mut raws {
        stage.fake.on_next(PRODUCE, Action::Hold(gate.clone()));
        raw.send(&produce(2)?)?;
    }
    stage.fake.wait_for_count(PRODUCE, 2, SOON)?;
    let changed = stage.file()?.replace("main-1", "main-2") + bounded;
    reload(&mut stage, &changed)?;
    is_turned_away(&stage, "most_per_listener")?;
    gate.open();
    for raw in &mut raws {
        let (answers, _) = raw.until_closed(SOON)?;
        assert_eq!(answers.len(), 1);
    }
    is_empty(&stage)?;
    served(&stage).map(drop)
}

#[test]
fn times_of_a_changed_file_hold_for_who_comes_next() -> Result<()> {
    let mut stage = Stage::new()?;
    is_empty(&stage)?;
    let (mut before, file) = (served(&stage)?, stage.file()?);
    let ended = |stage: &Stage, reason: &str| {
        stage.counts(&format!("skein_connections_closed_total{OF},reason=\"{reason}\"}}"), |ended| ended == 1.0)
    };
    reload(&mut stage, &format!("{file}\n[connections]\nfirst-request-timeout = \"500ms\"\n"))?;
    stage.node(1)?.closed(SOON)?;
    ended(&stage, "client_mute")?;
    reload(&mut stage, &format!("{file}\n[connections]\nidle-timeout = \"500ms\"\n"))?;
    served(&stage)?.closed(SOON)?;
    ended(&stage, "idle")?;
    reload(&mut stage, &format!("{file}\n[connections]\nmost-age = \"500ms\"\n"))?;
    let mut raw = stage.node(1)?;
    while raw.send(&produce(1)?).is_ok() && matches!(raw.outcome(SOON)?, Outcome::Answered(_)) {}
    ended(&stage, "most_age")?;
    before.ask(&produce(2)?)?;
    Ok(())
}

#[test]
fn accepts_per_second_of_a_changed_file_holds_for_who_comes_next() -> Result<()> {
    let mut stage = Stage::new()?;
    let file = stage.file()?;
    reload(&mut stage, &format!("{file}\n[connections]\naccepts-per-second = 2\n"))?;
    let begun = Instant::now();
    let mut raws: Vec<Raw> = (0..5).map(|_| stage.node(1)).collect::<Result<_>>()?;
    for raw in &mut raws {
        raw.ask(&produce(1)?)?;
    }
    ensure!(begun.elapsed() >= Duration::from_millis(900), "{:?}", begun.elapsed());
    ensure!(stage.metric(&format!("skein_accepts_delayed_total{OF}}}"))? >= 1.0);
    Ok(())
}

#[test]
fn the_drain_timeout_of_a_changed_file_holds_for_the_next_drain() -> Result<()> {
    let mut stage = Stage::new()?;
    let file = stage.file()?;
    reload(&mut stage, &format!("{file}\n[process]\ndrain-timeout = \"500ms\"\n"))?;
    stage.fake.on_next(PRODUCE, Action::Drop);
    let mut raw = stage.node(1)?;
    raw.send(&produce(1)?)?;
    stage.fake.wait_for_count(PRODUCE, 1, SOON)?;
    let begun = Instant::now();
    stage.skein.signal("TERM")?;
    assert!(matches!(raw.outcome(SOON)?, Outcome::Closed(_)));
    assert_eq!(stage.skein.ended(SOON)?.code(), Some(0));
    ensure!(begun.elapsed() >= Duration::from_millis(400), "{:?}", begun.elapsed());
    ensure!(stage.skein.log().contains("drain_timeout"), "{}", stage.skein.log());
    Ok(())
}
