//! `compare`: direct, relay and Skein side by side; writes the results as a page.

use anyhow::{Context, Result, bail, ensure};
use clap::Parser;
use skein_benches::contender::{Contender, Launcher, Pinning};
use skein_benches::footprint::{self, LARGE, Plan};
use skein_benches::loader::Case;
use skein_benches::report::{self, Report};
use skein_benches::rounds::{self, CASES, Entrant};
use std::path::{Path, PathBuf};

/// Where a full run writes its page, seen from the root of the workspace.
const PAGE: &str = "benches/RESULTS.md";
/// The name of the part that is no case.
const FOOTPRINT: &str = "footprint";

/// CPU per GB, readiness and memory of Skein beside a plain relay.
#[derive(Debug, Parser)]
#[command(after_help = "Cases: produce-64k, produce-1m, fetch-64k, fetch-1m, produce-1k, fetch-1k, footprint.")]
struct Arguments {
    /// Skein's binary [default: `skein` beside this program]
    #[arg(long)]
    skein: Option<PathBuf>,
    /// Only this case (may be repeated)
    #[arg(long, value_name = "NAME")]
    case: Vec<String>,
    /// Rounds of each case [default: 20; quick: 2]
    #[arg(long)]
    rounds: Option<usize>,
    /// Few rounds, few bytes: only to see that all works
    #[arg(long)]
    quick: bool,
    /// Without Skein: only the relay against a second relay, which must come out at about 1
    #[arg(long, conflicts_with_all = ["skein", "no_control"])]
    no_skein: bool,
    /// Without the second relay
    #[arg(long)]
    no_control: bool,
    /// Without TLS towards clients
    #[arg(long)]
    no_tls: bool,
    /// Every contender on the last CPU, loader and broker on the others: steadier (needs taskset)
    #[arg(long)]
    pin: bool,
    /// Where to write the page [default: benches/RESULTS.md for a full run, else nowhere; it is printed in any case]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

impl Arguments {
    fn contenders(&self) -> Vec<Contender> {
        let mut all = vec![Contender::Direct, Contender::Relay, Contender::Control, Contender::Skein];
        all.extend([Contender::RelayTls, Contender::SkeinTls]);
        all.retain(|contender| match contender {
            Contender::Direct | Contender::Relay => true,
            Contender::Control => !self.no_control,
            Contender::Skein => !self.no_skein,
            Contender::RelayTls | Contender::SkeinTls => !self.no_skein && !self.no_tls,
        });
        all
    }

    fn launcher(&self, pinning: Pinning) -> Result<Launcher> {
        let beside = std::env::current_exe()?;
        let skein = self.skein.clone().unwrap_or_else(|| beside.with_file_name("skein"));
        Launcher::new(beside.with_file_name("relay"), skein, &self.contenders(), pinning)
    }

    fn wants(&self, name: &str) -> bool {
        self.case.is_empty() || self.case.iter().any(|wanted| wanted == name)
    }

    fn cases(&self) -> Result<Vec<Case>> {
        if let Some(unknown) =
            self.case.iter().find(|name| *name != FOOTPRINT && !CASES.iter().any(|case| case.name == *name))
        {
            bail!("no case {unknown}; see --help");
        }
        let wanted = CASES.iter().filter(|case| self.wants(case.name));
        Ok(wanted.map(|case| Case { bytes: case.bytes / if self.quick { 8 } else { 1 }, ..*case }).collect())
    }

    /// Whether the run is all of what the page is about.
    fn is_full(&self) -> bool {
        !self.quick && !self.no_skein && !self.no_tls && self.case.is_empty()
    }

    fn page(&self) -> Option<&Path> {
        self.out.as_deref().or_else(|| self.is_full().then_some(Path::new(PAGE)))
    }
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    if let Some(parent) = arguments.page().and_then(Path::parent).filter(|parent| !parent.as_os_str().is_empty()) {
        let parent_name = parent.display();
        ensure!(parent.is_dir(), "no directory {parent_name}: run this from the root of the workspace, or use --out");
    }
    let (load, cases) = (report::load(), arguments.cases()?);
    let mut report = Report { conditions: report::machine(), ..Report::default() };
    if arguments.wants(FOOTPRINT) {
        measure_footprints(&arguments, &mut report)?;
    }
    if !cases.is_empty() {
        run_cases(&arguments, &cases, &mut report)?;
    }
    let after = report::load();
    report.conditions.push(format!("load average: {load} before, {after} after; what else runs here shows as spread"));
    let text = report.page();
    println!("{text}");
    if let Some(page) = arguments.page() {
        std::fs::write(page, text).with_context(|| format!("cannot write {}", page.display()))?;
    }
    Ok(())
}

fn run_cases(arguments: &Arguments, cases: &[Case], report: &mut Report) -> Result<()> {
    let pinning = if arguments.pin { Pinning::Apart } else { Pinning::Free };
    pinning.confine_driver()?;
    let launcher = arguments.launcher(pinning)?;
    let enter = |contender: Contender| Ok(Entrant { contender, process: launcher.start(contender)? });
    let entrants: Vec<_> = arguments.contenders().into_iter().map(enter).collect::<Result<_>>()?;
    let rounds = arguments.rounds.unwrap_or(if arguments.quick { 2 } else { 20 });
    for case in cases {
        report.outcomes.push(rounds::run(&launcher, &entrants, case, rounds)?);
    }
    let place = match pinning {
        Pinning::Free => "all processes wherever the system puts them",
        Pinning::Apart => "contenders on the last CPU, loader and broker on the others",
    };
    report.conditions.extend([
        format!(
            "rounds: {rounds} of each case, interleaved, in changing order; a short one before them is not counted"
        ),
        format!("placement: {place}"),
        "buffers: relay 2 × 256 KiB per connection; loader and broker read 256 KiB".to_owned(),
        "a GB is 10⁹ bytes of record batches".to_owned(),
    ]);
    Ok(())
}

fn measure_footprints(arguments: &Arguments, report: &mut Report) -> Result<()> {
    let plan = match arguments.quick {
        true => Plan { starts: 2, connections: 100 },
        false => Plan { starts: 11, connections: 1_000 },
    };
    let launcher = arguments.launcher(Pinning::Free)?;
    let different = |contender: &Contender| !matches!(contender, Contender::Direct | Contender::Control);
    for contender in arguments.contenders().into_iter().filter(different) {
        eprintln!("{FOOTPRINT} of {}", contender.name());
        report.footprints.push(footprint::measure(&launcher, contender, plan)?);
    }
    let Plan { starts, connections } = plan;
    report.conditions.push(format!(
        "footprint: {starts} starts; {connections} idle connections at each address, after ApiVersions and Metadata; \
         one Fetch answer of {LARGE} bytes"
    ));
    Ok(())
}
