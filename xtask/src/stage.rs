//! Stages: commands that run one after another until one fails, with their times and the sum of their tests.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

/// A command that has to succeed.
pub(crate) struct Stage {
    name: &'static str,
    command: Command,
}

impl Stage {
    /// A run of `program`.
    pub(crate) fn new<S: AsRef<OsStr>>(name: &'static str, program: S, arguments: &[&str]) -> Self {
        let mut command = Command::new(program);
        command.args(arguments);
        Self { name, command }
    }

    /// A run of the cargo that runs this.
    pub(crate) fn cargo(name: &'static str, arguments: &[&str]) -> Self {
        Self::new(name, cargo(), arguments)
    }

    /// Its name.
    pub(crate) fn name(&self) -> &'static str {
        self.name
    }

    /// With a variable in its environment.
    pub(crate) fn with(mut self, key: &str, value: &str) -> Self {
        self.command.env(key, value);
        self
    }
}

/// The cargo that runs this.
pub(crate) fn cargo() -> std::ffi::OsString {
    std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}

/// Runs the stages in `root`, up to the first that fails. The last line is in the words of a test runner, and sums up what
/// all of them said.
pub(crate) fn run(root: &Path, stages: Vec<Stage>) -> Result<ExitCode> {
    let started = Instant::now();
    let mut sum = Sum::default();
    let mut times = Vec::new();
    let count = stages.len();
    let mut failed = None;
    for (index, stage) in stages.into_iter().enumerate() {
        let Stage { name, command } = stage;
        println!("── {}/{count} {name}: {}", index + 1, shown(&command));
        let began = Instant::now();
        let passed = run_one(root, command, &mut sum).with_context(|| format!("stage `{name}`"))?;
        times.push((name, began.elapsed()));
        println!("── {name}: {} in {}", if passed { "good" } else { "FAILED" }, seconds(began.elapsed()));
        if !passed {
            failed = Some(name);
            break;
        }
    }
    println!();
    for (name, time) in &times {
        println!("{:>9}  {name}", seconds(*time));
    }
    if let Some(name) = failed {
        println!("stage `{name}` failed; {} stages were not run", count - times.len());
        sum.failed = sum.failed.max(1);
    }
    let verdict = if failed.is_some() { "FAILED" } else { "ok" };
    let Sum { passed, failed: lost, ignored } = sum;
    println!(
        "\ntest result: {verdict}. {passed} passed; {lost} failed; {ignored} ignored; 0 measured; 0 filtered out; finished in {}",
        seconds(started.elapsed())
    );
    Ok(if failed.is_some() { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Runs one; its lines are passed on, and those of a test runner are counted.
fn run_one(root: &Path, mut command: Command, sum: &mut Sum) -> Result<bool> {
    // A test that fails says what it found; the way there is noise here.
    command.env("RUST_BACKTRACE", "0");
    command.current_dir(root).stdin(Stdio::null()).stdout(Stdio::piped());
    let mut child = command.spawn().with_context(|| format!("starting {:?}", command.get_program()))?;
    let output = child.stdout.take().context("its output is not piped")?;
    for line in BufReader::new(output).split(b'\n') {
        let line = line?;
        let line = String::from_utf8_lossy(&line);
        println!("{line}");
        sum.count(&line);
    }
    Ok(child.wait()?.success())
}

fn shown(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_name().unwrap_or_default().to_string_lossy();
    let arguments = command.get_args().map(OsStr::to_string_lossy);
    std::iter::once(program).chain(arguments).collect::<Vec<_>>().join(" ")
}

fn seconds(time: Duration) -> String {
    format!("{:.1}s", time.as_secs_f64())
}

/// What the test runners have said.
#[derive(Debug, Default, PartialEq, Eq)]
struct Sum {
    passed: u64,
    failed: u64,
    ignored: u64,
}

impl Sum {
    /// Takes down a line such as `test result: ok. 12 passed; 0 failed; 1 ignored; …`.
    fn count(&mut self, line: &str) {
        let Some((_, counts)) = line.strip_prefix("test result: ").and_then(|rest| rest.split_once(". ")) else {
            return;
        };
        for part in counts.split("; ") {
            let Some((number, what)) = part.split_once(' ') else { continue };
            let number = number.parse().unwrap_or(0);
            match what {
                "passed" => self.passed += number,
                "failed" => self.failed += number,
                "ignored" => self.ignored += number,
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_test_runners_say_is_summed_up() {
        let mut sum = Sum::default();
        sum.count("test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 3 filtered out; finished in 0.10s");
        sum.count("test result: FAILED. 2 passed; 4 failed; 0 ignored; 0 measured; 0 filtered out; finished in 1.00s");
        sum.count("test something ... ok");
        assert_eq!(sum, Sum { passed: 14, failed: 4, ignored: 1 });
    }

    #[test]
    fn a_command_that_fails_ends_the_run() {
        let stages = vec![Stage::new("one", "false", &[]), Stage::new("two", "true", &[])];
        let code = run(Path::new("."), stages).unwrap();
        assert_eq!(format!("{code:?}"), format!("{:?}", ExitCode::FAILURE));
    }
}
