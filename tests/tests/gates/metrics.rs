//! Every metric and every event is in `docs/metrics.md`.

use std::path::PathBuf;

use anyhow::{Result, ensure};
use skein_proxy::meters::{DESCRIBED, Described};

use crate::{files_of_kind, read};

const PAGE: &str = "docs/metrics.md";

#[test]
fn every_metric_is_in_the_manual() -> Result<()> {
    let text = read(PAGE)?;
    let found: Vec<&str> = text.lines().filter(|line| line.starts_with("| `skein_")).collect();
    let wanted: Vec<String> = DESCRIBED.iter().map(row).collect();
    ensure!(found == wanted, "{PAGE} and the code differ; the code has:\n{}", wanted.join("\n"));
    Ok(())
}

fn row((name, kind, labels, help): &Described) -> String {
    let kind = match *kind {
        "Counter" | "Seconds" => "counter",
        "Gauge" | "Fraction" => "gauge",
        _ => "histogram",
    };
    let labels: Vec<_> = labels.iter().map(|label| format!("`{label}`")).collect();
    format!("| `{name}` | {kind} | {} | {help} |", labels.join(", "))
}

#[test]
fn every_label_is_from_the_closed_list() -> Result<()> {
    const CLOSED: [&str; 7] = ["virtual_cluster", "listener", "cluster", "node", "api", "reason", "side"];
    for (name, _, labels, _) in DESCRIBED {
        ensure!(
            labels.iter().all(|label| CLOSED.contains(label)),
            "{name} has labels {labels:?}; right are {CLOSED:?}"
        );
    }
    Ok(())
}

#[test]
fn every_event_is_in_the_manual() -> Result<()> {
    let page = read(PAGE)?;
    let sources = files_of_kind("rs")?;
    let (mut seen, mut wrong) = (0, Vec::new());
    // What the demo's own clients say is on its screen, and no event of Skein.
    let of_skein = |path: &&PathBuf| {
        (path.starts_with("proxy/src") && !path.starts_with("proxy/src/demo")) || path.starts_with("link/src")
    };
    for path in sources.iter().filter(of_skein) {
        let text = read(path)?;
        let is_events = path.starts_with("proxy/src/events") || path.ends_with("events.rs");
        // What is logged elsewhere would have no metric, and no place in the manual.
        let lines = text.split("tracing::").skip(1).filter_map(|rest| rest.split_once("!("));
        for (level, rest) in lines.filter(|(level, _)| ["error", "warn", "info", "debug", "trace"].contains(level)) {
            let message = rest.split(");").next().and_then(|call| call.rsplit('"').nth(1)).unwrap_or_default();
            if !is_events || !page.contains(&format!("| `{message}` |")) {
                wrong.push(format!("{}: {level} `{message}`", path.display()));
            }
            seen += 1;
        }
    }
    ensure!(seen > 10, "the events are not where they were");
    ensure!(wrong.is_empty(), "logged outside of proxy/src/events, or missing in {PAGE}:\n{}", wrong.join("\n"));
    Ok(())
}
