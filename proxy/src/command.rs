//! The `skein` command.

use std::fs::File;
use std::io::{self, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use miette::IntoDiagnostic;
use skein_config::{Blueprint, Colours};
use skein_routing::kind::Registry;
use tokio::signal::unix::{SignalKind, signal};

use crate::app::App;

/// A Layer-7 Kafka proxy: many clusters, one to its clients.
#[derive(Parser)]
#[command(version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Runs the proxy that a file describes, until SIGTERM or SIGINT.
    Run {
        /// The configuration, TOML.
        file: PathBuf,
    },
    /// Says everything that is wrong with a file, and starts nothing. Exits with 0 if nothing is, with 1 otherwise.
    Check {
        /// The configuration, TOML.
        file: PathBuf,
    },
    /// Prints the JSON Schema of a configuration, for editors.
    Schema,
}

/// Runs the command with the kinds of router in `kinds`. What is wrong is said on standard error.
///
/// Exits with 1 if the file has a fault or something could not be bound, with 2 if the command was not understood.
pub fn main(kinds: &Registry) -> ExitCode {
    let done = match Arguments::parse().command {
        Command::Run { file } => run(&file, kinds),
        Command::Check { file } => read(&file, kinds).and_then(|_| say(&format!("{} has no fault", file.display()))),
        Command::Schema => say(&format!("{:#}", skein_config::schema(kinds))),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(wrong) => {
            // Whoever has closed standard error learns it from the status.
            let _ = writeln!(io::stderr(), "{}", wrong.trim_end());
            ExitCode::FAILURE
        }
    }
}

/// Reads a configuration; an error is what the operator is to see.
fn read(file: &Path, kinds: &Registry) -> Result<Blueprint, String> {
    let name = file.display().to_string();
    let mut bytes = Vec::new();
    // One byte more than there may be is enough to say that there are too many.
    let most = u64::try_from(skein_config::MOST_BYTES).unwrap_or(u64::MAX).saturating_add(1);
    let opened = File::open(file).and_then(|file| file.take(most).read_to_end(&mut bytes));
    opened.map_err(|error| format!("{name} cannot be read: {error}"))?;
    let environment = |name: &str| std::env::var(name);
    skein_config::load(&name, &bytes, kinds, &environment).map_err(|faults| faults.report(colours()))
}

/// Colours are for terminals, and for who has not set `NO_COLOR`.
fn colours() -> Colours {
    let are_unwanted = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    if io::stderr().is_terminal() && !are_unwanted { Colours::Yes } else { Colours::No }
}

fn say(text: &str) -> Result<(), String> {
    writeln!(io::stdout(), "{text}").map_err(|error| format!("standard output: {error}"))
}

fn run(file: &Path, kinds: &Registry) -> Result<(), String> {
    let blueprint = read(file, kinds)?;
    log_to_stderr();
    serve(blueprint).map_err(|report| format!("{report:?}"))
}

fn serve(blueprint: Blueprint) -> miette::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().into_diagnostic()?;
    runtime.block_on(async {
        let app = App::start(blueprint)?;
        stopped().await.into_diagnostic()?;
        drop(app);
        Ok(())
    })
}

/// One line per event; `SKEIN_LOG` takes directives such as `debug` or `skein_proxy=trace`.
fn log_to_stderr() {
    let filter = tracing_subscriber::EnvFilter::try_from_env("SKEIN_LOG");
    let filter = filter.unwrap_or_else(|_| tracing_subscriber::EnvFilter::new("info"));
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).init();
}

async fn stopped() -> std::io::Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    Ok(())
}
