//! The `skein` command.

use std::path::PathBuf;

use clap::{Parser, Subcommand};
use miette::IntoDiagnostic;
use miette::WrapErr;
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
    /// Shows Skein at work: clusters in this process, Skein in front of them, and traffic whose every record is checked.
    #[cfg(feature = "demo")]
    Demo(crate::demo::Options),
}

/// Runs the command with the kinds of router in `kinds`.
///
/// # Errors
/// What is wrong with the file, or what could not be bound.
pub fn main(kinds: &Registry) -> miette::Result<()> {
    match Arguments::parse().command {
        #[cfg(feature = "demo")]
        Command::Demo(options) => crate::demo::run(&options, kinds),
        Command::Run { file } => {
            let name = file.display().to_string();
            let text =
                std::fs::read_to_string(&file).into_diagnostic().wrap_err_with(|| format!("{name} cannot be read"))?;
            let blueprint = skein_config::load(&name, &text, kinds)?;
            log_to_stderr();
            let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().into_diagnostic()?;
            runtime.block_on(async {
                let app = App::start(blueprint)?;
                stopped().await.into_diagnostic()?;
                drop(app);
                Ok(())
            })
        }
    }
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
