//! The demo without a screen: a line per second, and a verdict.

use std::io::{self, Write};
use std::time::{Duration, Instant};

use miette::{IntoDiagnostic, ensure};

use super::operator::{BROKER, Health};
use super::view::{View, grouped, milliseconds};
use super::{Demo, Options};

/// Between two looks.
const LOOK: Duration = Duration::from_millis(100);
/// Between two lines.
const LINE: Duration = Duration::from_secs(1);
/// How long a run with an end may take besides the time that its rate gives it.
const PATIENCE: Duration = Duration::from_secs(120);
/// How long the last records have to arrive.
const LAST: Duration = Duration::from_secs(60);

/// A line per second, until somebody ends it.
///
/// # Errors
/// Standard output is gone.
pub(super) fn show(demo: &mut Demo) -> miette::Result<()> {
    watch(demo, |_| Ok(false))
}

/// Runs until so many records went through each virtual cluster, and says whether they arrived.
///
/// # Errors
/// Something was lost, doubled or out of order; or it took too long.
pub(super) fn once(demo: &mut Demo, options: &Options) -> miette::Result<()> {
    let mut act = if options.with_outage { Act::Before } else { Act::Over };
    let limit = Duration::from_secs(options.records / u64::from(options.rate)) + PATIENCE;
    watch(demo, |demo| {
        ensure!(demo.uptime() < limit, "not done after {} s", limit.as_secs());
        let fewest = demo.views().iter().map(|view| view.tally.arrived).min().unwrap_or_default();
        act = act.next(demo, fewest, options.records);
        Ok(act == Act::Over && fewest >= options.records)
    })?;
    ensure!(!demo.is_over(), "ended by a signal before it was done");
    demo.stop_sending();
    let since = Instant::now();
    watch(demo, |demo| Ok(demo.has_arrived() || since.elapsed() > LAST))?;
    verdict(&demo.views())
}

/// How far an outage is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Act {
    /// The broker is there, and has records to serve first.
    Before,
    /// It was taken out, and the others serve.
    Out,
    /// It is out, and Skein says so; it returns when so many have arrived.
    Missed(u64),
    /// It was brought back.
    Back,
    /// It is there again.
    Over,
}

impl Act {
    /// What comes now that at least so many records have arrived in each virtual cluster, of those that are to.
    fn next(self, demo: &Demo, arrived: u64, records: u64) -> Self {
        let part = records / 3;
        let is_listed = demo.broker_is_listed();
        match self {
            Self::Before if arrived >= part => {
                demo.toggle_broker();
                Self::Out
            }
            Self::Out if !is_listed => Self::Missed(arrived + part),
            Self::Missed(enough) if arrived >= enough => {
                demo.toggle_broker();
                Self::Back
            }
            Self::Back if is_listed => Self::Over,
            Self::Before | Self::Out | Self::Missed(_) | Self::Back | Self::Over => self,
        }
    }
}

/// A line per second until it is done or somebody ends it.
fn watch(demo: &mut Demo, mut is_done: impl FnMut(&mut Demo) -> miette::Result<bool>) -> miette::Result<()> {
    let mut next = Instant::now();
    while !demo.is_over() && !is_done(demo)? {
        if Instant::now() >= next {
            next += LINE;
            let line = line(demo.uptime(), &demo.views());
            say(&line).into_diagnostic()?;
        }
        demo.wait(LOOK);
    }
    Ok(())
}

/// A line at once, though standard output may be a pipe.
pub(super) fn say(line: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{line}")?;
    out.flush()
}

fn line(uptime: Duration, views: &[View]) -> String {
    let parts: Vec<_> = views.iter().map(part).collect();
    format!("{:>4} s  {}", uptime.as_secs(), parts.join("  |  "))
}

fn part(view: &View) -> String {
    let tally = &view.tally;
    let nodes = match &view.health {
        Health::Unknown => "not asked".to_owned(),
        Health::Answers(nodes, _) => format!("{} of {} nodes", nodes.len(), view.setting.brokers),
        Health::Silent(_) => "silent".to_owned(),
    };
    let latency = view.latency.map_or_else(String::new, |(median, _)| format!(", {}", milliseconds(median)));
    format!(
        "{}: {nodes}, {}/s{latency}; acknowledged {}, arrived {}, lost {}, twice {}, out of order {}",
        view.setting.name,
        grouped(view.rates.arrived),
        grouped(tally.acknowledged),
        grouped(tally.arrived),
        tally.lost,
        tally.twice,
        tally.out_of_order,
    )
}

/// What went through each virtual cluster, at the end.
pub(super) fn totals(views: &[View]) -> miette::Result<()> {
    views.iter().try_for_each(|view| say(&format!("{}: {}", view.setting.name, summary(view)))).into_diagnostic()
}

fn verdict(views: &[View]) -> miette::Result<()> {
    totals(views)?;
    ensure!(views.iter().all(is_good), "not every acknowledged record arrived once and in order");
    Ok(())
}

fn is_good(view: &View) -> bool {
    // None is on the way any more: what has not arrived by now is lost.
    view.tally.is_clean() && view.tally.on_the_way == 0 && view.tally.given_up == 0
}

fn summary(view: &View) -> String {
    let tally = &view.tally;
    let latency = view.latency.map_or_else(String::new, |(median, worst)| {
        format!("; produce {}, p99 {}", milliseconds(median), milliseconds(worst))
    });
    format!(
        "{} records acknowledged, {} arrived; lost {}, twice {}, out of order {}, given up {}{latency}",
        grouped(tally.acknowledged),
        grouped(tally.arrived),
        tally.lost + tally.on_the_way,
        tally.twice,
        tally.out_of_order,
        tally.given_up,
    )
}

/// What an outage does, for the line that announces it.
pub(super) fn outage() -> String {
    format!("Broker {BROKER} of the first cluster is taken out on the way, and brought back.")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::operator::Broker;
    use super::super::setting::SETTINGS;
    use super::super::verifier::Tally;
    use super::super::view::Rates;
    use super::*;

    fn view(tally: Tally) -> View {
        View {
            setting: SETTINGS[0],
            tally,
            rates: Rates { arrived: 1234, ..Rates::default() },
            latency: Some((Duration::from_micros(1500), Duration::from_millis(4))),
            health: Health::Answers(BTreeSet::from([2, 3]), Duration::from_millis(1)),
            broker: Broker::Down,
        }
    }

    const GOOD: Tally = Tally {
        acknowledged: 5000,
        arrived: 5000,
        on_the_way: 0,
        lost: 0,
        twice: 0,
        out_of_order: 0,
        given_up: 0,
        foreign: 2,
    };

    #[test]
    fn a_line_has_what_counts() {
        let seen = line(Duration::from_secs(7), &[view(GOOD)]);
        let wanted = "   7 s  orders: 2 of 3 nodes, 1,234/s, 1.5 ms; acknowledged 5,000, arrived 5,000, lost 0, twice 0, \
                      out of order 0";
        assert_eq!(seen, wanted);
    }

    #[test]
    fn only_a_clean_run_is_good() {
        assert!(is_good(&view(GOOD)));
        for bad in [
            Tally { lost: 1, ..GOOD },
            Tally { twice: 1, ..GOOD },
            Tally { out_of_order: 1, ..GOOD },
            Tally { on_the_way: 1, ..GOOD },
            Tally { given_up: 1, ..GOOD },
        ] {
            assert!(!is_good(&view(bad)), "{bad:?}");
        }
    }
}
