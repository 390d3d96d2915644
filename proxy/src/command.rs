//! The `skein` command.

mod file;
mod signals;

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand, ValueEnum};
use miette::{IntoDiagnostic, WrapErr};
use skein_config::Blueprint;
use skein_routing::kind::Registry;
use tracing_subscriber::EnvFilter;

use self::file::File;
use self::signals::{Said, Signals};
use crate::app::App;
use crate::explain::{Question, explain};
use crate::live::{self, Weight};
use crate::picture::Picture;

/// A Layer-7 Kafka proxy: many clusters, one to its clients.
#[derive(Parser)]
#[command(version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Runs the proxy that a file describes, until SIGTERM or SIGINT. It is read again when it changes, and on SIGHUP.
    Run {
        /// The configuration, TOML.
        file: PathBuf,
        /// How log lines look.
        #[arg(long, value_enum, default_value_t = Log::Text)]
        log: Log,
    },
    /// Says what is wrong with a file; with `--live`, also where it and the clusters disagree.
    Check {
        /// The configuration, TOML.
        file: PathBuf,
        /// Connects to the clusters and compares: nodes, addresses, versions.
        #[arg(long)]
        live: bool,
    },
    /// Draws the graph that a file describes: virtual clusters, routers, clusters.
    Graph {
        /// The configuration, TOML.
        file: PathBuf,
        /// As what it is printed.
        #[arg(long, value_enum, default_value_t)]
        format: Drawing,
    },
    /// Says where a request goes, and why.
    Explain {
        /// The configuration, TOML.
        file: PathBuf,
        /// The API, by its name in Kafka or by its key.
        #[arg(long)]
        api: String,
        /// The virtual cluster; may be left out where there is only one.
        #[arg(long)]
        virtual_cluster: Option<String>,
        /// The API's version; the highest that Skein knows unless given.
        #[arg(long)]
        api_version: Option<i16>,
        /// The node that it is sent to, as clients see it; the bootstrap address unless given.
        #[arg(long)]
        node: Option<i32>,
        /// A topic, as clients see it.
        #[arg(long)]
        topic: Option<String>,
    },
    /// Prints completions for a shell.
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
    /// Prints the manual page of the command, in roff: `skein man | man -l -`.
    Man,
}

/// Formats of a drawing.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
enum Drawing {
    /// A Mermaid flowchart, for Markdown.
    #[default]
    Mermaid,
    /// An SVG document.
    Svg,
}

/// How log lines look.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Log {
    /// For people.
    Text,
    /// One JSON object each.
    Json,
}

/// Runs the command with the kinds of router in `kinds`. 0 after a drain, 1 if a second signal cut it short.
///
/// # Errors
/// What is wrong with the file or with `SKEIN_LOG`, or what could not be bound.
pub fn main(kinds: &Registry) -> miette::Result<ExitCode> {
    let done = match Arguments::parse().command {
        Command::Check { file, live } => {
            let name = file.display().to_string();
            let blueprint = read(file, kinds)?;
            print(&format!("{name} is sound\n"))?;
            if live { check_live(&blueprint) } else { Ok(()) }
        }
        Command::Graph { file, format } => {
            let picture = Picture::of(&read(file, kinds)?);
            print(&match format {
                Drawing::Mermaid => picture.mermaid(),
                Drawing::Svg => picture.svg(),
            })
        }
        Command::Explain { file, api, virtual_cluster, api_version, node, topic } => {
            let question = Question { virtual_cluster, api, version: api_version, node, topic };
            print(&explain(&read(file, kinds)?, &question)?)
        }
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Arguments::command(), "skein", &mut script);
            print(&String::from_utf8_lossy(&script))
        }
        Command::Man => {
            let mut page = Vec::new();
            clap_mangen::Man::new(Arguments::command()).render(&mut page).into_diagnostic()?;
            print(&String::from_utf8_lossy(&page))
        }
        Command::Run { file, log } => return serve(file, log, kinds),
    };
    done.map(|()| ExitCode::SUCCESS)
}

/// Runs the proxy.
fn serve(file: PathBuf, log: Log, kinds: &Registry) -> miette::Result<ExitCode> {
    let (file, configuration) = File::read(file, kinds)?;
    log_to_stderr(log)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().into_diagnostic()?;
    let ended = runtime.block_on(async {
        let mut signals = Signals::new().into_diagnostic()?;
        let app = App::start(configuration).await?;
        Ok(run(app, file, &mut signals, kinds).await)
    });
    // A look-up of a name that hangs would keep the process.
    runtime.shutdown_background();
    ended
}

/// Serves until it is told to stop, and drains.
async fn run(mut app: App, mut file: File, signals: &mut Signals, kinds: &Registry) -> ExitCode {
    loop {
        let said = tokio::select! {
            said = signals.next() => said,
            () = file.changed() => Said::Reload,
        };
        match said {
            Said::Reload => file.reload(&mut app, kinds).await,
            Said::Stop => break,
        }
    }
    let again = async { while signals.next().await != Said::Stop {} };
    tokio::select! {
        () = app.drain() => ExitCode::SUCCESS,
        () = again => ExitCode::FAILURE,
    }
}

/// Reads and compiles a configuration.
fn read(file: PathBuf, kinds: &Registry) -> miette::Result<Blueprint> {
    let (_, configuration) = File::read(file, kinds)?;
    Ok(configuration.blueprint)
}

/// Compares a blueprint with the clusters, and prints each finding.
fn check_live(blueprint: &Blueprint) -> miette::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().into_diagnostic()?;
    let findings = runtime.block_on(live::check(blueprint));
    for finding in &findings {
        print(&format!("{finding}\n"))?;
    }
    match findings.iter().filter(|finding| finding.weight == Weight::Fault).count() {
        0 => Ok(()),
        faults => Err(miette::miette!("{faults} of these would be noticed by clients")),
    }
}

/// Prints a text; a reader that has had enough of it is no error.
fn print(text: &str) -> miette::Result<()> {
    match std::io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        written => written.into_diagnostic().wrap_err("standard output cannot be written"),
    }
}

/// One line per event; `SKEIN_LOG` takes directives such as `debug` or `skein_proxy=trace`.
fn log_to_stderr(log: Log) -> miette::Result<()> {
    let directives = std::env::var("SKEIN_LOG").unwrap_or_else(|_| "info".to_owned());
    let filter = EnvFilter::try_new(&directives).into_diagnostic();
    let filter =
        filter.wrap_err_with(|| format!("SKEIN_LOG is `{directives}`; write `debug`, `skein_proxy=trace`, …"))?;
    let lines = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    match log {
        Log::Text => lines.init(),
        Log::Json => lines.json().init(),
    }
    Ok(())
}
