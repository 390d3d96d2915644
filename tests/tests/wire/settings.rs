//! Each setting has its effect on a live proxy: those that a reload takes over for who comes next, and those of `[limits]`.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use skein_tests::apis::{API_VERSIONS, FIND_COORDINATOR, PRODUCE};
use skein_tests::batch::Batch;
use skein_tests::fake::{Action, Fake, Gate};
use skein_tests::raw::request::{self, Coordinated, Place};
use skein_tests::raw::{Outcome, Raw, Request};
use skein_tests::skein::Skein;
use skein_tests::{ports, process};
use uuid::Uuid;

use crate::stage::{REAL_CLUSTER, SOON, Stage, config};

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

fn limits(limits: &str) -> String {
    format!("\n[virtual-clusters.main.limits]\n{limits}\n")
}

fn find() -> Result<Request> {
    Request::of(3, &request::find_coordinator(3, "g", Coordinated::Group))
}

/// Waits until the log says that a connection has ended for this reason.
fn ended(skein: &Skein, reason: &str) -> Result<()> {
    let said = format!("reason=\"{reason}\"");
    process::until(&said, SOON, || Ok(skein.log().contains(&said).then_some(())))
}

/// Skein before a cluster, with these limits and another kind of login; the address of node 1.
fn before(fake: &Fake, tables: &str, login: &str) -> Result<(Skein, SocketAddr)> {
    let port = ports::block(12)?;
    let file = config("main-1", fake, port)?.replace("login = \"none\"", &format!("login = \"{login}\"")) + tables;
    Ok((Skein::start(&file)?, (Ipv4Addr::LOCALHOST, port + 1).into()))
}

#[test]
fn no_more_requests_are_passed_on_than_open_requests() -> Result<()> {
    for most in [2, 3] {
        let stage = Stage::with(&limits(&format!("open-requests = {most}")))?;
        // Unlike one that waits, a broker that keeps silent reads on.
        stage.fake.on_every(FIND_COORDINATOR, Action::Drop);
        let mut raw = stage.node(1)?;
        raw.send_all(&vec![find()?; 10])?;
        stage.fake.wait_for_count(FIND_COORDINATOR, most, SOON)?;
        raw.silent(Duration::from_millis(100))?;
        assert_eq!(stage.fake.requests_of(FIND_COORDINATOR).len(), most);
    }
    Ok(())
}

#[test]
fn before_login_a_frame_is_at_most_frame_before_login_long() -> Result<()> {
    let fake = Fake::start(REAL_CLUSTER, &[1])?;
    let (skein, node) = before(&fake, &limits("frame-before-login = \"4KiB\""), "relay")?;
    // Heads of ApiVersions requests.
    let begun = |length: u32| [&length.to_be_bytes()[..], &[0, 18, 0, 0, 0, 0, 0, 1, 0xff, 0xff]].concat();
    let (mut within, mut beyond) = (Raw::connect(node)?, Raw::connect(node)?);
    within.send_bytes(&begun(4 << 10))?;
    beyond.send_bytes(&begun((4 << 10) + 1))?;
    beyond.closed(SOON)?;
    within.silent(Duration::from_millis(50))?;
    ended(&skein, "malformed")
}

#[test]
fn an_answer_longer_than_completed_answer_closes_its_link() -> Result<()> {
    let stage = Stage::with(&limits("completed-answer = \"1MiB\""))?;
    let mut raw = stage.node(1)?;
    raw.ask(&find()?)?;
    stage.fake.on_next(FIND_COORDINATOR, Action::Length((1 << 20) + 1));
    raw.ask(&find()?)?;
    assert_eq!(stage.metric(r#"skein_links_lost_total{cluster="one",node="1",reason="too_large"}"#)?, 1.0);
    stage.serves_others()
}

#[test]
fn a_client_waits_for_what_must_be_known_as_long_as_patience() -> Result<()> {
    let fake = Fake::start(REAL_CLUSTER, &[1])?;
    fake.on_every(API_VERSIONS, Action::Drop);
    let (skein, node) = before(&fake, &limits("patience = \"1s\""), "none")?;
    let mut raw = Raw::connect(node)?;
    let begun = Instant::now();
    raw.send(&produce(1)?)?;
    raw.closed(SOON)?;
    // Less than dials are given (ONE_ADDRESS), and than patience unless it is set.
    let took = begun.elapsed();
    ensure!((Duration::from_millis(900)..Duration::from_millis(3500)).contains(&took), "{took:?}");
    ended(&skein, "unreachable")
}
