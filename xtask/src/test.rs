//! `test`: everything that must hold, in the order in which a fault is found soonest, and all the set-up that it needs.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context, Result};
use serde_json::Value;

use crate::stage::{self, Stage};

/// Runs all stages, or those from one on, up to the first that fails.
///
/// # Errors
/// A command that could not be started, or no stage of that name.
pub fn run(root: &Path, from: Option<&str>) -> Result<ExitCode> {
    let mut stages = stages(root)?;
    if let Some(from) = from {
        let names: Vec<_> = stages.iter().map(Stage::name).collect();
        let first = names.iter().position(|name| *name == from);
        stages.drain(..first.with_context(|| format!("no stage `{from}`; there are {}", names.join(", ")))?);
    }
    stage::run(root, stages)
}

/// The integration tests that have stages of their own.
const BY_THEMSELVES: [&str; 4] = ["gates", "demo", "wire", "kafka"];

/// Every `cargo test` is of the whole workspace with all features: so nothing is built twice.
fn stages(root: &Path) -> Result<Vec<Stage>> {
    let test = |what: &[&'static str]| [&["test", "--workspace", "--all-features"], what].concat();
    let others = integration_tests(root)?;
    let others =
        others.iter().filter(|name| !BY_THEMSELVES.contains(&name.as_str())).flat_map(|name| ["--test", name.as_str()]);
    let units: Vec<&str> = test(&["--lib", "--bins"]).into_iter().chain(others).collect();
    let mut stages = vec![
        Stage::cargo("format", &["fmt", "--all", "--check"]),
        Stage::cargo("lints", &["clippy", "--workspace", "--all-features", "--all-targets", "--", "-D", "warnings"]),
    ];
    // Advisories change from day to day and come from elsewhere: `just advisories` looks at them.
    stages.extend(installed("dependencies", "cargo-deny", &["--all-features", "check", "bans", "licenses", "sources"]));
    stages.extend(installed("unused", "cargo-machete", &[]));
    stages.extend([
        Stage::cargo("build", &test(&["--no-run"])),
        Stage::new("set-up", built("set_up")?, &[]),
        Stage::cargo("units", &units),
        Stage::cargo("gates", &test(&["--test", "gates"])),
        Stage::cargo("doc tests", &test(&["--doc"])),
        Stage::cargo("docs", &["doc", "--workspace", "--all-features", "--no-deps"])
            .with("RUSTDOCFLAGS", "-D warnings"),
        Stage::cargo("demo", &test(&["--test", "demo"])),
        Stage::cargo("wire", &test(&["--test", "wire"])),
        // They wait more than they compute: for brokers to start, for groups to settle.
        Stage::cargo("kafka", &test(&["--test", "kafka", "--", "--test-threads", "3"])),
    ]);
    Ok(stages)
}

/// An example of this package, which the build of the tests has made beside this program.
fn built(example: &str) -> Result<PathBuf> {
    let program = std::env::current_exe()?;
    let folder = program.parent().context("this program is in no folder")?;
    Ok(folder.join("examples").join(example))
}

/// A run of a program that not every machine has; without it the stage is left out, and that is said.
fn installed(name: &'static str, program: &str, arguments: &[&str]) -> Option<Stage> {
    let mut probe = Command::new(program);
    let found = probe.arg("--version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    if found.is_err() {
        println!("── {name}: left out, since {program} is not installed");
        return None;
    }
    Some(Stage::new(name, program, arguments))
}

/// The names of all integration tests of the workspace.
fn integration_tests(root: &Path) -> Result<Vec<String>> {
    let mut cargo = Command::new(stage::cargo());
    cargo.args(["metadata", "--format-version", "1", "--no-deps"]).current_dir(root).stderr(Stdio::inherit());
    let metadata: Value = serde_json::from_slice(&cargo.output().context("starting cargo metadata")?.stdout)?;
    let list = |value: &Value, key: &str| value.get(key).and_then(Value::as_array).cloned().unwrap_or_default();
    let targets = list(&metadata, "packages").iter().flat_map(|package| list(package, "targets")).collect::<Vec<_>>();
    let tests = targets.iter().filter(|target| list(target, "kind").contains(&Value::from("test")));
    Ok(tests.filter_map(|target| target.get("name")?.as_str().map(str::to_owned)).collect())
}
