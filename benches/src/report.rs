//! The results as a Markdown page.

use crate::contender::Contender;
use crate::footprint::{Footprint, LARGE};
use crate::loader::Kind;
use crate::rounds::{Outcome, Sample};
use crate::tls;
use std::fmt::Write;
use std::fs;
use std::process::Command;

/// Contenders that are compared with the relay.
const COMPARED: [Contender; 2] = [Contender::Skein, Contender::Control];
/// Seconds of CPU in a round of the relay below which the page warns.
const TOO_SHORT: f64 = 0.05;

/// Five numbers that describe a list.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// The smallest.
    pub min: f64,
    /// A quarter is below it.
    pub lower: f64,
    /// Half is below it.
    pub median: f64,
    /// Three quarters are below it.
    pub upper: f64,
    /// The largest.
    pub max: f64,
}

impl Spread {
    /// The spread of `values`, interpolated between neighbours; `None` if there are none.
    pub fn of(mut values: Vec<f64>) -> Option<Self> {
        values.sort_by(f64::total_cmp);
        let last = values.len().checked_sub(1)?;
        let at = |part: f64| {
            let place = part * last as f64;
            let (below, above) = (values[place.floor() as usize], values[place.ceil() as usize]);
            below + (above - below) * place.fract()
        };
        Some(Self { min: at(0.0), lower: at(0.25), median: at(0.5), upper: at(0.75), max: at(1.0) })
    }
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    Spread::of(values.collect()).map_or(f64::NAN, |spread| spread.median)
}

/// Everything that a run found.
#[derive(Debug, Default)]
pub struct Report {
    /// What the run was made with; one item each.
    pub conditions: Vec<String>,
    /// The cases.
    pub outcomes: Vec<Outcome>,
    /// Readiness and memory.
    pub footprints: Vec<Footprint>,
}

impl Report {
    /// The page.
    pub fn page(&self) -> String {
        let mut page = String::from(
            "# Results of the comparison\n\nWritten by `compare`; `src/lib.rs` says what is measured.\n\n",
        );
        for condition in &self.conditions {
            line(&mut page, format_args!("- {condition}"));
        }
        if !self.outcomes.is_empty() {
            self.ratios(&mut page);
            self.tls(&mut page);
            self.costs(&mut page);
            self.warnings(&mut page);
        }
        if !self.footprints.is_empty() {
            self.footprint(&mut page);
        }
        page
    }

    fn ratios(&self, page: &mut String) {
        page.push_str("\n## CPU per GB, as a ratio to the relay\n\n");
        page.push_str("Of each round: CPU per GB ÷ the relay's CPU per GB. `control` is a second relay: its spread is the noise.\n\n");
        page.push_str("| case | what | rounds | **median** | min | lower quartile | upper quartile | max |\n");
        page.push_str("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |\n");
        for contender in COMPARED {
            for outcome in &self.outcomes {
                let ratios = outcome.ratios(contender);
                let rounds = ratios.len();
                let Some(Spread { min, lower, median, upper, max }) = Spread::of(ratios) else { continue };
                let (case, name) = (outcome.case.name, contender.name());
                line(
                    page,
                    format_args!(
                        "| {case} | {name} ÷ relay | {rounds} | **{median:.3}** | {min:.3} | {lower:.3} | {upper:.3} | {max:.3} |"
                    ),
                );
            }
        }
    }

    fn tls(&self, page: &mut String) {
        if self.outcomes.iter().all(|outcome| outcome.tls_factors().is_empty()) {
            return;
        }
        page.push_str("\n## What TLS towards clients adds\n\n");
        line(
            page,
            format_args!(
                "{}. Of each round: (Skein TLS − Skein) ÷ (relay TLS − relay), in CPU time. Medians of what is added.\n",
                tls::SPOKEN
            ),
        );
        page.push_str("| case | rounds | to the relay, s/GB | to Skein, s/GB | **factor, median** | min | lower quartile | upper quartile | max |\n");
        page.push_str("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n");
        for outcome in &self.outcomes {
            let factors = outcome.tls_factors();
            let rounds = factors.len();
            let Some(Spread { min, lower, median: middle, upper, max }) = Spread::of(factors) else { continue };
            let added = |plain| median(outcome.added(plain)) / outcome.gigabytes;
            let (case, relay, skein) = (outcome.case.name, added(Contender::Relay), added(Contender::Skein));
            line(
                page,
                format_args!(
                    "| {case} | {rounds} | {relay:.3} | {skein:.3} | **{middle:.3}** | {min:.3} | {lower:.3} | {upper:.3} | {max:.3} |"
                ),
            );
        }
    }

    fn costs(&self, page: &mut String) {
        page.push_str("\n## CPU and throughput\n\nMedians over the rounds. *In the kernel*: part of the CPU time, over all rounds. ");
        page.push_str("*Slices*: how often a thread was put on a CPU.\n\n");
        page.push_str("| case | over | CPU s/GB | in the kernel | slices/GB | GB/s |\n| --- | --- | ---: | ---: | ---: | ---: |\n");
        for outcome in &self.outcomes {
            for (contender, samples) in &outcome.samples {
                let (case, name, size) = (outcome.case.name, contender.name(), outcome.gigabytes);
                let speed = median(samples.iter().map(|sample| size / sample.wall));
                if *contender == Contender::Direct {
                    line(page, format_args!("| {case} | {name} | – | – | – | {speed:.2} |"));
                    continue;
                }
                let cpu = median(samples.iter().map(|sample| sample.spent.seconds / size));
                let slices = median(samples.iter().map(|sample| sample.spent.slices as f64 / size));
                let kernel = kernel_share(samples) * 100.0;
                line(page, format_args!("| {case} | {name} | {cpu:.3} | {kernel:.0} % | {slices:.0} | {speed:.2} |"));
            }
        }
        page.push_str(
            "\n| case | way | bytes of records per request | connections | requests open on each | GB per round |\n",
        );
        page.push_str("| --- | --- | ---: | ---: | ---: | ---: |\n");
        for Outcome { case, gigabytes, .. } in &self.outcomes {
            let way = match case.kind {
                Kind::Produce => "Produce v13, acks −1",
                Kind::Fetch => "Fetch v18, no session",
            };
            let (name, records, connections, depth) = (case.name, case.records, case.connections, case.depth);
            line(page, format_args!("| {name} | {way} | {records} | {connections} | {depth} | {gigabytes:.3} |"));
        }
    }

    /// Says so where a round was too short to be believed.
    fn warnings(&self, page: &mut String) {
        for outcome in &self.outcomes {
            let shortest =
                outcome.of(Contender::Relay).iter().map(|sample| sample.spent.seconds).fold(f64::MAX, f64::min);
            if shortest < TOO_SHORT {
                let name = outcome.case.name;
                line(
                    page,
                    format_args!("\nToo short: the relay spent only {shortest:.3} s of CPU in a round of {name}."),
                );
            }
        }
    }

    fn footprint(&self, page: &mut String) {
        let megabytes = LARGE / 1_000_000;
        page.push_str("\n## Readiness and memory\n\n");
        page.push_str(
            "Resident memory as the kernel counts it; each row in processes started for it. Times are medians.\n\n",
        );
        line(
            page,
            format_args!(
                "| what | start to accepting, ms (max) | start to Metadata answered, ms | idle, MiB | \
                 per idle connection at bootstrap, KiB | at the node, KiB | growth at a Fetch answer of {megabytes} MB, MiB |"
            ),
        );
        page.push_str("| --- | ---: | ---: | ---: | ---: | ---: | ---: |\n");
        for found in &self.footprints {
            let accepts =
                Spread::of(found.accepts.clone()).map_or((f64::NAN, f64::NAN), |spread| (spread.median, spread.max));
            let (name, (usual, worst)) = (found.contender.name(), accepts);
            let serves = median(found.serves.iter().copied());
            let (idle, growth) = (found.idle as f64 / 1024.0, found.large.1 as f64 / 1024.0);
            let (bootstrap, node) = (found.per_bootstrap, found.per_node);
            line(
                page,
                format_args!(
                    "| {name} | {usual:.1} ({worst:.1}) | {serves:.1} | {idle:.1} | {bootstrap:.1} | {node:.1} | {growth:.1} |"
                ),
            );
        }
    }
}

/// The part of the CPU time that was spent in the kernel.
fn kernel_share(samples: &[Sample]) -> f64 {
    let (user, system) =
        samples.iter().fold((0, 0), |(user, system), sample| (user + sample.spent.user, system + sample.spent.system));
    system as f64 / (user + system) as f64
}

fn line(page: &mut String, text: std::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    let _ = writeln!(page, "{text}");
}

/// What the machine is, one item each; what cannot be found out is left out.
pub fn machine() -> Vec<String> {
    let cpu_info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpu_info.lines().find_map(|line| line.strip_prefix("model name")).unwrap_or("unknown");
    let cores = cpu_info.lines().filter(|line| line.starts_with("processor")).count();
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let buffers = |which| {
        let text = fs::read_to_string(format!("/proc/sys/net/ipv4/tcp_{which}")).unwrap_or_default();
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    vec![
        format!("date: {}", output("date", &["-u", "+%F %R UTC"])),
        format!("CPU: {}, {cores} cores", model.trim_start_matches([' ', '\t', ':'])),
        format!("kernel: {}; loopback; tcp_rmem {}; tcp_wmem {}", kernel.trim(), buffers("rmem"), buffers("wmem")),
        format!("compiler: {}", output("rustc", &["--version"])),
    ]
}

/// The load average over the last minute.
pub fn load() -> String {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split_whitespace().next().unwrap_or("unknown").to_owned()
}

fn output(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output().ok().filter(|output| output.status.success());
    output.map_or_else(|| "unknown".to_owned(), |output| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quartiles_lie_between_their_neighbours() {
        let spread = Spread::of(vec![4.0, 1.0, 3.0, 2.0]).unwrap();
        assert_eq!(spread, Spread { min: 1.0, lower: 1.75, median: 2.5, upper: 3.25, max: 4.0 });
        assert_eq!(Spread::of(Vec::new()), None);
    }
}
