//! The `skein` command.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::{CommandFactory, Parser, Subcommand, ValueEnum};
use miette::IntoDiagnostic;
use miette::WrapErr;
use skein_config::Blueprint;
use skein_routing::kind::Registry;
use tokio::signal::unix::{SignalKind, signal};

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
    /// Runs the proxy that a file describes, until SIGTERM or SIGINT.
    Run {
        /// The configuration, TOML.
        file: PathBuf,
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

/// Runs the command with the kinds of router in `kinds`.
///
/// # Errors
/// What is wrong with the file, or what could not be bound.
pub fn main(kinds: &Registry) -> miette::Result<()> {
    match Arguments::parse().command {
        Command::Check { file, live } => {
            let blueprint = read(&file, kinds)?;
            print(&format!("{} is sound\n", file.display()))?;
            if live { check_live(&blueprint) } else { Ok(()) }
        }
        Command::Graph { file, format } => {
            let picture = Picture::of(&read(&file, kinds)?);
            print(&match format {
                Drawing::Mermaid => picture.mermaid(),
                Drawing::Svg => picture.svg(),
            })
        }
        Command::Explain { file, api, virtual_cluster, api_version, node, topic } => {
            let question = Question { virtual_cluster, api, version: api_version, node, topic };
            print(&explain(&read(&file, kinds)?, &question)?)
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
        Command::Run { file } => {
            let blueprint = read(&file, kinds)?;
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

/// Reads and compiles a configuration.
fn read(file: &Path, kinds: &Registry) -> miette::Result<Blueprint> {
    let name = file.display().to_string();
    let text = std::fs::read_to_string(file).into_diagnostic().wrap_err_with(|| format!("{name} cannot be read"))?;
    Ok(skein_config::load(&name, &text, kinds)?)
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
