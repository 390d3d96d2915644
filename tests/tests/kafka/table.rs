//! `docs/clients.md`: which family can do what, and whether it is the same through Skein.
//!
//! It is made of the runs that `scenarios` compares, so it costs nothing after them.

use std::{collections::BTreeMap, env, fmt::Write, fs, path::PathBuf};

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Map, Value};
use skein_tests::{
    client::{FEATURES, Family, Verdict, verdict},
    skein::Form,
    workplace,
};

use crate::{scenarios, stage};

/// What writes the page instead of comparing it, if it is in the environment.
const WRITE: &str = "SKEIN_WRITE_CLIENTS";

const INTRODUCTION: &str = "\
# Clients

What client libraries see through Skein, compared with what they see of the same cluster without it. Each runs the same program
three times: at a cluster of three brokers, at Skein in front of it, and at Skein with two routers that rename and renumber
everything. A test makes this page of these runs and compares; with `SKEIN_WRITE_CLIENTS=1` it writes the page:

```console
$ SKEIN_WRITE_CLIENTS=1 cargo test --workspace --all-features --test kafka -- scenarios table
```

- **same**: all three runs printed the same: records, offsets, errors, descriptions.
- –: the library does not have it. The run without Skein has looked for it; what it found is listed below.

";

/// A family in the table.
struct Column {
    title: String,
    cells: BTreeMap<&'static str, Verdict>,
}

#[test]
fn the_page_of_clients_is_what_the_runs_show() -> Result<()> {
    let columns: Vec<Column> =
        scenarios::ALL.iter().map(|(family, scenarios)| column(*family, scenarios)).collect::<Result<_>>()?;
    for column in &columns {
        let differs = column.cells.iter().filter(|(_, verdict)| **verdict == Verdict::Differs);
        let differs: Vec<_> = differs.map(|(feature, _)| *feature).collect();
        ensure!(differs.is_empty(), "{} differs in {differs:?}: see the tests of its scenarios", column.title);
        ensure!(column.cells.values().any(|verdict| *verdict == Verdict::Same), "{} can do nothing", column.title);
    }
    let page = page(&columns);
    let path = workplace::sources().join("../docs/clients.md");
    if env::var_os(WRITE).is_some() {
        return Ok(fs::write(&path, page)?);
    }
    compare(&path, &page)
}

fn compare(path: &PathBuf, page: &str) -> Result<()> {
    let found = fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))?;
    let wrong = page.lines().filter(|line| !found.lines().any(|other| other == *line)).collect::<Vec<_>>();
    if found != page {
        bail!(
            "docs/clients.md is not what the runs show; run this with {WRITE}=1 to write it. New lines:\n{}",
            wrong.join("\n")
        );
    }
    Ok(())
}

fn column(family: Family, scenarios: &[&'static str]) -> Result<Column> {
    let mut cells = BTreeMap::new();
    for scenario in scenarios {
        let direct = members(stage::direct(family, scenario)?)?;
        let bare = members(stage::through(family, scenario, Form::Bare)?)?;
        let disguised = members(stage::through(family, scenario, Form::Disguised)?)?;
        for (name, value) in &direct {
            let known = FEATURES.iter().find(|(feature, _)| feature == name);
            let (feature, _) = known.with_context(|| format!("{family:?} {scenario}: `{name}` is no feature"))?;
            let through = [bare.get(name).unwrap_or(&Value::Null), disguised.get(name).unwrap_or(&Value::Null)];
            let twice = cells.insert(*feature, verdict(value, &through));
            ensure!(twice.is_none(), "{family:?}: two scenarios are about `{feature}`");
        }
    }
    for (feature, _) in FEATURES {
        ensure!(cells.contains_key(feature), "{family:?}: no scenario is about `{feature}`");
    }
    let version = members(stage::direct(family, "version")?)?;
    let title = version.get("library").and_then(Value::as_str).context("a version without `library`")?.to_owned();
    Ok(Column { title, cells })
}

fn members(result: Value) -> Result<Map<String, Value>> {
    match result {
        Value::Object(members) => Ok(members),
        other => bail!("a result that is no object: {other}"),
    }
}

fn page(columns: &[Column]) -> String {
    let mut page = INTRODUCTION.to_owned();
    let titles: Vec<_> = columns.iter().map(|column| column.title.as_str()).collect();
    let _ = writeln!(page, "| | {} |\n| --- |{}", titles.join(" | "), " --- |".repeat(titles.len()));
    for (feature, title) in FEATURES {
        let _ = write!(page, "| {title} |");
        for column in columns {
            let cell = match column.cells.get(feature) {
                Some(Verdict::Same) => "same",
                Some(Verdict::Differs) => "differs",
                Some(Verdict::Lacks(_)) => "–",
                None => "?",
            };
            let _ = write!(page, " {cell} |");
        }
        page.push('\n');
    }
    page.push_str("\n## What was looked for and not found\n");
    for column in columns {
        let lacks = FEATURES.iter().filter_map(|(feature, title)| match column.cells.get(feature) {
            Some(Verdict::Lacks(found)) => Some((title, found)),
            _ => None,
        });
        let lines: Vec<_> = lacks.map(|(title, found)| format!("- {title}: {found}\n")).collect();
        if !lines.is_empty() {
            let _ = write!(page, "\n### {}\n\n{}", column.title, lines.concat());
        }
    }
    page
}
