//! Rounds: the same bytes over every path, one after another; what each contender's process spent meanwhile.

use crate::contender::{Contender, Launcher, Process};
use crate::loader::{self, Case, Kind};
use crate::meter::{Cpu, Spent};
use anyhow::{Context, Result};
use std::thread;
use std::time::Duration;

/// Bytes of records in a request below which TLS takes no part: what a request costs hides there what its bytes cost.
const TLS_FROM: usize = 64 << 10;
/// How long a process is left alone after a round: until it has closed the round's connections.
const SETTLE: Duration = Duration::from_millis(50);

/// The cases, with the bytes of a full run.
pub const CASES: [Case; 6] = [
    case("produce-64k", Kind::Produce, 64 << 10, 8, 2_000_000_000),
    case("produce-1m", Kind::Produce, 1 << 20, 8, 2_000_000_000),
    case("fetch-64k", Kind::Fetch, 64 << 10, 8, 2_000_000_000),
    case("fetch-1m", Kind::Fetch, 1 << 20, 8, 2_000_000_000),
    case("produce-1k", Kind::Produce, 1 << 10, 256, 1_000_000_000),
    case("fetch-1k", Kind::Fetch, 1 << 10, 256, 1_000_000_000),
];

const fn case(name: &'static str, kind: Kind, records: usize, depth: usize, bytes: usize) -> Case {
    Case { name, kind, records, connections: 4, depth, bytes }
}

/// A contender and, but for `Direct`, its process.
#[derive(Debug)]
pub struct Entrant {
    /// What it is.
    pub contender: Contender,
    /// Its process.
    pub process: Option<Process>,
}

/// One round over one path.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// Seconds from the first request to the last answer.
    pub wall: f64,
    /// CPU time of the contender's process; zero for `Direct`.
    pub spent: Spent,
}

/// All rounds of one case.
#[derive(Debug)]
pub struct Outcome {
    /// The case.
    pub case: Case,
    /// GB of record batches in one round.
    pub gigabytes: f64,
    /// A list of samples for each contender, in the order of the rounds.
    pub samples: Vec<(Contender, Vec<Sample>)>,
}

impl Outcome {
    /// The samples of `contender`; none if it did not take part.
    pub fn of(&self, contender: Contender) -> &[Sample] {
        self.samples.iter().find(|(other, _)| *other == contender).map_or(&[], |(_, samples)| samples)
    }

    /// What TLS adds to Skein ÷ what it adds to the relay, in CPU time, round by round; none without them.
    pub fn tls_factors(&self) -> Vec<f64> {
        self.added(Contender::Skein).zip(self.added(Contender::Relay)).map(|(skein, relay)| skein / relay).collect()
    }

    /// What TLS adds to a contender, in seconds of CPU time, round by round.
    pub fn added(&self, plain: Contender) -> impl Iterator<Item = f64> {
        let tls = if plain == Contender::Skein { Contender::SkeinTls } else { Contender::RelayTls };
        self.of(tls).iter().zip(self.of(plain)).map(|(tls, plain)| tls.spent.seconds - plain.spent.seconds)
    }

    /// CPU time of `contender` ÷ CPU time of the relay, round by round.
    pub fn ratios(&self, contender: Contender) -> Vec<f64> {
        let pairs = self.of(contender).iter().zip(self.of(Contender::Relay));
        pairs.map(|(own, relay)| own.spent.seconds / relay.spent.seconds).collect()
    }
}

/// Runs `case`: one short round that does not count, then `rounds` that do.
///
/// # Errors
/// If a load fails; the message says at which contender.
pub fn run(launcher: &Launcher, entrants: &[Entrant], case: &Case, rounds: usize) -> Result<Outcome> {
    let warm = Case { bytes: case.bytes / 8, ..*case };
    let entrants: Vec<_> = entrants.iter().filter(|entrant| takes_part(entrant.contender, case)).collect();
    for entrant in &entrants {
        sample(launcher, entrant, &warm)?;
    }
    let mut samples: Vec<_> = entrants.iter().map(|entrant| (entrant.contender, Vec::new())).collect();
    for round in 0..rounds {
        for index in order(round, entrants.len()) {
            samples[index].1.push(sample(launcher, entrants[index], case)?);
        }
        let last = |(contender, list): &(Contender, Vec<Sample>)| {
            list.last()
                .map(|sample| format!("{} {:.3} s CPU {:.3} s", contender.name(), sample.wall, sample.spent.seconds))
        };
        let line: Vec<_> = samples.iter().filter_map(last).collect();
        eprintln!("{} {}/{rounds}: {}", case.name, round + 1, line.join(", "));
    }
    Ok(Outcome { case: *case, gigabytes: case.moved() as f64 / 1e9, samples })
}

fn takes_part(contender: Contender, case: &Case) -> bool {
    !contender.has_tls() || case.records >= TLS_FROM
}

/// The order of a round: rotated by one each round, and backwards every other time round, so that everyone follows
/// everyone.
fn order(round: usize, count: usize) -> Vec<usize> {
    let mut order: Vec<_> = (0..count).map(|index| (index + round) % count).collect();
    if (round / count) % 2 == 1 {
        order.reverse();
    }
    order
}

fn sample(launcher: &Launcher, entrant: &Entrant, case: &Case) -> Result<Sample> {
    let name = || format!("{} over {}", case.name, entrant.contender.name());
    let pid = entrant.process.as_ref().map(Process::pid);
    let read = || pid.map_or(Ok(Cpu::default()), Cpu::of);
    let prepared = loader::prepare(&launcher.bootstrap(entrant.process.as_ref()), case).with_context(name)?;
    let before = read()?;
    let (wall, after) = prepared.run(read).with_context(name)?;
    thread::sleep(SETTLE);
    Ok(Sample { wall: wall.as_secs_f64(), spent: after.since(&before) })
}
