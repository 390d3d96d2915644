//! Readiness and memory of a contender, each in a process that was started for it.

use crate::contender::{Contender, Launcher, Process};
use crate::loader::{self, Case, Entry, Greeted, Kind};
use crate::meter;
use anyhow::{Context, Result, anyhow};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// Bytes of the record batch in the one large answer.
pub const LARGE: usize = 100_000_000;
/// How long a process is left alone before its memory is read.
const REST: Duration = Duration::from_secs(3);
/// Time between two looks at the memory while the large answer passes.
const LOOK: Duration = Duration::from_micros(500);

/// How much is done.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Starts that are timed.
    pub starts: usize,
    /// Idle connections on the bootstrap address, and as many on the node's.
    pub connections: usize,
}

/// What was found.
#[derive(Clone, Debug)]
pub struct Footprint {
    /// Whose.
    pub contender: Contender,
    /// Milliseconds from before the start to the first accepted connection, one for each start.
    pub accepts: Vec<f64>,
    /// Milliseconds from before the start to the first Metadata answer, one for each start.
    pub serves: Vec<f64>,
    /// KiB resident when idle, after one client has come and gone.
    pub idle: u64,
    /// KiB for each idle connection on the bootstrap address.
    pub per_bootstrap: f64,
    /// KiB for each idle connection on the node's address.
    pub per_node: f64,
    /// KiB resident before the large answer, and the growth to the peak while it passed.
    pub large: (u64, u64),
}

/// Measures `contender`.
///
/// # Errors
/// If a process does not start or a client is not served.
pub fn measure(launcher: &Launcher, contender: Contender, plan: Plan) -> Result<Footprint> {
    let start = || launcher.start(contender)?.context("has no process");
    let (mut accepts, mut serves) = (Vec::new(), Vec::new());
    for _ in 0..plan.starts {
        let process = start()?;
        accepts.push(process.accepts_after.as_secs_f64() * 1e3);
        serves.push(process.serves_after.as_secs_f64() * 1e3);
    }
    let process = start()?;
    thread::sleep(REST);
    let idle = meter::resident(process.pid())?;
    let (per_bootstrap, per_node) = connections(&process, &launcher.bootstrap(Some(&process)), plan.connections)?;
    drop(process);
    let process = start()?;
    thread::sleep(REST);
    let large = large(&process, &launcher.bootstrap(Some(&process)))?;
    Ok(Footprint { contender, accepts, serves, idle, per_bootstrap, per_node, large })
}

/// KiB for each of `count` idle connections on the bootstrap address, then on the node's.
fn connections(process: &Process, bootstrap: &Entry, count: usize) -> Result<(f64, f64)> {
    let node = Entry { address: loader::greet(bootstrap)?.learnt.leader, tls: bootstrap.tls.clone() };
    let before = meter::resident(process.pid())?;
    let at_bootstrap = open(bootstrap, count)?;
    thread::sleep(REST);
    let between = meter::resident(process.pid())?;
    let at_node = open(&node, count)?;
    thread::sleep(REST);
    let after = meter::resident(process.pid())?;
    drop((at_bootstrap, at_node));
    let each = |from: u64, to: u64| (to as f64 - from as f64) / count as f64;
    Ok((each(before, between), each(between, after)))
}

fn open(entry: &Entry, count: usize) -> Result<Vec<Greeted>> {
    let one = |index| loader::greet(entry).with_context(|| format!("idle connection {index}"));
    (1..=count).map(one).collect()
}

/// KiB resident before one answer of `LARGE` bytes, and the growth to the peak while it passed.
fn large(process: &Process, bootstrap: &Entry) -> Result<(u64, u64)> {
    let pid = process.pid();
    let case = Case { name: "large", kind: Kind::Fetch, records: LARGE, connections: 1, depth: 1, bytes: LARGE };
    let prepared = loader::prepare(bootstrap, &case)?;
    let before = meter::resident(pid)?;
    let over = Arc::new(AtomicBool::new(false));
    let watch = {
        let over = Arc::clone(&over);
        thread::spawn(move || {
            let mut peak = 0;
            while !over.load(Ordering::Relaxed) {
                peak = meter::resident_now(pid).unwrap_or(0).max(peak);
                thread::sleep(LOOK);
            }
            peak
        })
    };
    let ran = prepared.run(|| meter::resident_peak(pid));
    over.store(true, Ordering::Relaxed);
    let seen = watch.join().map_err(|_| anyhow!("the watching thread panicked"))?;
    let (_, peak) = ran.context("one answer of 100 MB")?;
    Ok((before, peak.max(seen).saturating_sub(before)))
}
