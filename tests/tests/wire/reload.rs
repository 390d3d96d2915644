//! The file changes: what it declares as before is not touched, what it declares otherwise is drained and begins anew.

use std::fmt::Write;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use kafka_protocol::messages::MetadataRequest;
use skein_tests::apis::PRODUCE;
use skein_tests::batch::Batch;
use skein_tests::fake::{Action, Fake, Gate};
use skein_tests::raw::request::{self, Place};
use skein_tests::raw::{Closing, Outcome, Raw, Request};
use skein_tests::skein::Skein;
use skein_tests::{ports, process};
use uuid::Uuid;

use crate::stage::{HANG, REAL_CLUSTER, SOON};

const TAKEN_OVER: &str = "file taken over";
const NOT_TAKEN_OVER: &str = "file not taken over";
/// Ports of one virtual cluster: the bootstrap address and two nodes.
const PORTS: u16 = 3;

/// A virtual cluster in the file.
#[derive(Clone)]
struct Declared {
    name: &'static str,
    id: String,
    cluster: &'static str,
    port: u16,
}

impl Declared {
    fn address(&self, node: u16) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.port + node).into()
    }

    fn bootstrap(&self) -> Result<Raw> {
        Raw::connect(self.address(0))
    }

    /// A client of the first node.
    fn node(&self) -> Result<Raw> {
        Raw::connect(self.address(1))
    }

    /// The cluster id that clients see.
    fn cluster_id(&self) -> Result<String> {
        let answer = self.bootstrap()?.call::<MetadataRequest>(12, &request::metadata(12, Some(&["t"])))?;
        Ok(answer.cluster_id.context("no cluster id")?.to_string())
    }
}

/// Two names for one cluster, and what stands in front of them.
struct Stage {
    skein: Skein,
    fake: Fake,
    kept: Declared,
    other: Declared,
    /// Behind the ports of both.
    spare: u16,
}

impl Stage {
    fn new() -> Result<Stage> {
        let fake = Fake::start(REAL_CLUSTER, &[1, 7])?.topic("t", &[1, 7]);
        let port = ports::block(3 * PORTS)?;
        let kept = Declared { name: "kept", id: "kept-1".to_owned(), cluster: "one", port };
        let other = Declared { name: "other", id: "other-1".to_owned(), cluster: "two", port: port + PORTS };
        let skein = Skein::start(&file(&fake, "1, 7", &[&kept, &other]))?;
        Ok(Stage { skein, fake, kept, other, spare: port + 2 * PORTS })
    }

    /// Has another file read, and waits for what comes of it.
    fn change(&mut self, text: &str, outcome: &str) -> Result<()> {
        let before = self.skein.log().matches(outcome).count();
        self.skein.rewrite(text)?;
        self.skein.signal("HUP")?;
        process::until(outcome, SOON, || Ok((self.skein.log().matches(outcome).count() > before).then_some(())))
    }

    fn change_to(&mut self, clusters: &[&Declared]) -> Result<()> {
        let text = file(&self.fake, "1, 7", clusters);
        self.change(&text, TAKEN_OVER)
    }
}

/// The file. `nodes`: those of cluster `two`.
fn file(fake: &Fake, nodes: &str, virtual_clusters: &[&Declared]) -> String {
    let bootstrap = format!("{:?}", fake.bootstrap());
    let mut text = format!(
        "[clusters.one]\nbootstrap = {bootstrap}\nnodes = \"1, 7\"\n\
         [clusters.two]\nbootstrap = {bootstrap}\nnodes = \"{nodes}\"\n"
    );
    for Declared { name, id, cluster, port } in virtual_clusters {
        let (from, to) = (port + 1, port + PORTS - 1);
        let _ = write!(
            text,
            "[virtual-clusters.{name}]\nid = \"{id}\"\ntarget.cluster = \"{cluster}\"\n\
             [virtual-clusters.{name}.listeners.plain]\nbind = \"127.0.0.1:{port}\"\n\
             advertise = \"127.0.0.1\"\nports = \"{from}-{to}\"\n"
        );
    }
    text
}

fn produce(id: i32) -> Result<Request> {
    let place = Place { topic: "t".to_owned(), id: Uuid::nil(), partition: 0 };
    Ok(Request::of(9, &request::produce(9, &place, -1, Batch::small(1).build()))?.id(id))
}

#[test]
fn a_change_drains_what_changed_and_nothing_else() -> Result<()> {
    let mut stage = Stage::new()?;
    let (mut kept, mut idle) = (stage.kept.node()?, stage.other.node()?);
    for raw in [&mut kept, &mut idle] {
        raw.ask(&produce(1)?)?;
    }
    let gate = Gate::new();
    stage.fake.forget();
    stage.fake.on_next(PRODUCE, Action::Hold(gate.clone()));
    let mut open = stage.other.node()?;
    open.send(&produce(2)?)?;
    stage.fake.wait_for_count(PRODUCE, 1, SOON)?;
    let old = (stage.kept.cluster_id()?, stage.other.cluster_id()?);

    let changed = Declared { id: "other-2".to_owned(), ..stage.other.clone() };
    stage.change_to(&[&stage.kept.clone(), &changed])?;
    assert_eq!(idle.closed(SOON)?, Closing::Clean);
    open.silent(Duration::from_millis(50))?;
    kept.ask(&produce(3)?)?;
    let new = (stage.kept.cluster_id()?, stage.other.cluster_id()?);
    assert_eq!(old.0, new.0);
    assert_ne!(old.1, new.1, "the new form answers at once, while the old one is drained");
    gate.open();
    let (answers, _) = open.until_closed(SOON)?;
    assert_eq!(answers.len(), 1);
    kept.ask(&produce(4)?)?;
    Ok(())
}

#[test]
fn a_file_that_declares_the_same_touches_nobody() -> Result<()> {
    let mut stage = Stage::new()?;
    let mut raws = [stage.kept.node()?, stage.other.node()?];
    let text = file(&stage.fake, "1, 7", &[&stage.other, &stage.kept]);
    stage.change(&format!("# A word.\n\n{text}"), TAKEN_OVER)?;
    for raw in &mut raws {
        raw.ask(&produce(1)?)?;
    }
    Ok(())
}

#[test]
fn a_cluster_that_changes_changes_whatever_leads_to_it() -> Result<()> {
    let mut stage = Stage::new()?;
    let (mut kept, mut other) = (stage.kept.node()?, stage.other.node()?);
    let text = file(&stage.fake, "7, 1", &[&stage.kept, &stage.other]);
    stage.change(&text, TAKEN_OVER)?;
    assert_eq!(other.closed(SOON)?, Closing::Clean);
    kept.ask(&produce(1)?)?;
    stage.other.node()?.call(12, &request::metadata(12, None))?;
    Ok(())
}

#[test]
fn a_faulty_file_changes_nothing_and_says_so() -> Result<()> {
    let mut stage = Stage::new()?;
    let mut raws = [stage.kept.node()?, stage.other.node()?];
    let taken = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, stage.spare))?;
    let elsewhere = Declared { port: stage.spare, ..stage.other.clone() };
    let good = file(&stage.fake, "1, 7", &[&stage.kept, &stage.other]);
    let unbound = file(&stage.fake, "1, 7", &[&stage.kept, &elsewhere]);
    for text in ["", "[", &good.replace("\"two\"", "\"three\""), &unbound] {
        stage.change(text, NOT_TAKEN_OVER)?;
    }
    for raw in &mut raws {
        raw.ask(&produce(1)?)?;
    }
    let log = stage.skein.log();
    for why in ["cluster `three` is not defined (line", "cannot be bound"] {
        ensure!(log.contains(why), "{why}: {log}");
    }
    drop(taken);
    stage.change(&unbound, TAKEN_OVER)?;
    elsewhere.node()?.ask(&produce(1)?)?;
    Ok(())
}

#[test]
fn a_file_that_could_not_be_bound_is_taken_over_once_it_can_be() -> Result<()> {
    let mut stage = Stage::new()?;
    let taken = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, stage.spare))?;
    let elsewhere = Declared { port: stage.spare, ..stage.other.clone() };
    let unbound = file(&stage.fake, "1, 7", &[&stage.kept, &elsewhere]);
    stage.change(&unbound, NOT_TAKEN_OVER)?;
    let (mut kept, begun) = (stage.kept.node()?, Instant::now());
    // Longer than the first pause.
    while begun.elapsed() < Duration::from_secs(4) {
        kept.ask(&produce(1)?)?;
    }
    assert_eq!(stage.skein.log().matches(NOT_TAKEN_OVER).count(), 1, "it is said once");
    drop(taken);
    process::until(TAKEN_OVER, HANG, || Ok(stage.skein.log().contains(TAKEN_OVER).then_some(())))?;
    elsewhere.node()?.ask(&produce(1)?)?;
    kept.ask(&produce(2)?)?;
    Ok(())
}

#[test]
fn a_change_is_seen_without_a_signal() -> Result<()> {
    let mut stage = Stage::new()?;
    let mut other = stage.other.node()?;
    let text = file(&stage.fake, "1, 7", &[&stage.kept]);
    stage.skein.rewrite(&text)?;
    assert_eq!(other.closed(HANG)?, Closing::Clean);
    ensure!(Raw::connect(stage.other.address(0)).is_err());
    stage.kept.node()?.ask(&produce(1)?)?;
    Ok(())
}

#[test]
fn addresses_pass_from_one_virtual_cluster_to_another() -> Result<()> {
    let mut stage = Stage::new()?;
    let (kept, other) = (stage.kept.clone(), stage.other.clone());
    let other_id = other.cluster_id()?;
    // The other's address under a new name, and back.
    let renamed = Declared { name: "renamed", ..other.clone() };
    stage.change_to(&[&kept, &renamed])?;
    assert_eq!(renamed.cluster_id()?, other_id);
    stage.change_to(&[&kept])?;
    ensure!(Raw::connect(other.address(0)).is_err(), "a port that nobody declares is closed");
    stage.change_to(&[&kept, &other])?;
    assert_eq!(other.cluster_id()?, other_id);
    // Two swap their addresses.
    let ids = (kept.cluster_id()?, other.cluster_id()?);
    let (one, two) = (Declared { port: other.port, ..kept.clone() }, Declared { port: kept.port, ..other.clone() });
    stage.change_to(&[&one, &two])?;
    assert_eq!((one.cluster_id()?, two.cluster_id()?), ids);
    Ok(())
}

/// Numbers that look random, from a seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }

    /// Something else than the last time, now and then.
    fn change(&mut self, stage: &Stage) -> String {
        let spare = Declared { name: "spare", id: "spare-1".to_owned(), cluster: "one", port: stage.spare };
        let id = format!("other-{}", self.below(4));
        let cluster = if self.below(2) == 0 { "one" } else { "two" };
        let other = Declared { id, cluster, ..stage.other.clone() };
        let nodes = if self.below(2) == 0 { "1, 7" } else { "7, 1" };
        match self.below(4) {
            0 => file(&stage.fake, nodes, &[&stage.kept]),
            1 => file(&stage.fake, nodes, &[&stage.kept, &other, &spare]),
            _ => file(&stage.fake, nodes, &[&stage.kept, &other]),
        }
    }
}

/// Produces five requests ahead until told to stop, connecting anew as often as need be; answers, and connections.
fn load(to: &Declared, stop: &AtomicBool, begun: &AtomicUsize) -> Result<(usize, usize)> {
    let (mut answers, mut connections) = (0, 0);
    while !stop.load(Ordering::Relaxed) {
        let Ok(mut raw) = to.node() else { continue };
        connections += 1;
        let (mut sent, mut answered) = (0, 0);
        loop {
            while sent < answered + 5 && !stop.load(Ordering::Relaxed) && raw.send(&produce(sent)?).is_ok() {
                sent += 1;
            }
            if stop.load(Ordering::Relaxed) && answered == sent {
                break;
            }
            match raw.outcome(SOON)? {
                Outcome::Answered(answer) => {
                    ensure!(answer.correlation_id == answered, "{} where {answered} was due", answer.correlation_id);
                    answered += 1;
                    answers += 1;
                    begun.fetch_add(1, Ordering::Relaxed);
                }
                Outcome::Closed(_) => break,
                Outcome::Cut(_) => anyhow::bail!("an answer was cut"),
            }
        }
    }
    Ok((answers, connections))
}

#[test]
fn generated_changes_under_load_close_nothing_that_is_unchanged_and_lose_nothing() -> Result<()> {
    let reloads = std::env::var("SKEIN_RELOADS").ok().and_then(|text| text.parse().ok()).unwrap_or(30);
    let mut stage = Stage::new()?;
    let (kept, other) = (stage.kept.clone(), stage.other.clone());
    let mut dice = Dice(7);
    let (stop, begun) = (AtomicBool::new(false), AtomicUsize::new(0));
    let mut before = None;
    let (kept, other) = std::thread::scope(|scope| -> Result<_> {
        let loads = [&kept, &kept, &other, &other].map(|to| (to.name, scope.spawn(|| load(to, &stop, &begun))));
        let changed = (0..reloads).try_for_each(|round| -> Result<()> {
            let so_far = begun.load(Ordering::Relaxed);
            process::until("load", SOON, || Ok((begun.load(Ordering::Relaxed) > so_far + 20).then_some(())))?;
            if round == reloads.min(10) - 1 {
                before = Some((stage.skein.descriptors()?, stage.skein.memory()?));
            }
            let text = dice.change(&stage);
            stage.change(&text, TAKEN_OVER)
        });
        stop.store(true, Ordering::Relaxed);
        let (mut kept, mut other) = ((0, 0), (0, 0));
        for (name, load) in loads {
            let (answers, connections) = load.join().unwrap_or_else(|_| panic!("a load failed"))?;
            let sum = if name == "kept" { &mut kept } else { &mut other };
            *sum = (sum.0 + answers, sum.1 + connections);
        }
        changed.map(|()| (kept, other))
    })?;
    assert_eq!(kept.1, 2, "connections of the unchanged virtual cluster");
    ensure!(other.1 > 2, "nothing was drained");
    assert_eq!(stage.fake.requests_of(PRODUCE).len(), kept.0 + other.0, "what reached a broker was answered");
    let (descriptors, memory) = before.context("no measure")?;
    stage.change_to(&[&stage.kept.clone()])?;
    process::until("descriptors given back", SOON, || Ok((stage.skein.descriptors()? <= descriptors).then_some(())))?;
    let now = stage.skein.memory()?;
    ensure!(now < memory + (8 << 10), "{memory} KiB have become {now} KiB");
    Ok(())
}

#[test]
fn a_file_that_is_none_any_more_keeps_nobody_from_stopping() -> Result<()> {
    let mut stage = Stage::new()?;
    let file = stage.skein.file();
    std::fs::remove_file(&file)?;
    ensure!(std::process::Command::new("mkfifo").arg(&file).status()?.success());
    stage.skein.signal("HUP")?;
    let line = "is no plain file";
    process::until(line, SOON, || Ok(stage.skein.log().contains(line).then_some(())))?;
    stage.kept.cluster_id()?;
    stage.skein.signal("TERM")?;
    let ended = stage.skein.ended(SOON)?;
    ensure!(ended.code() == Some(0), "{ended}");
    Ok(())
}
