//! The `skein` command.

mod file;
mod log;
mod password;
mod signals;
mod status;
mod tools;
mod user;
mod wrong;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand, ValueEnum};
use skein_config::Configuration;
use skein_routing::kind::Registry;

use self::file::File;
use self::signals::{Said, Signals};
use self::wrong::Wrong;
use crate::app::App;
use crate::explain::Question;

/// What the manual page says besides.
const OUTSIDE: &str = "\
Environment: SKEIN_LOG says what `run` logs, `info` unless set: `debug`, `skein_proxy=trace` and the like. NO_COLOR, set to \
anything, keeps colours off a terminal. ${NAME} in a file stands for any variable.

Signals: SIGTERM and SIGINT have `run` drain and end, a second one ends it at once. SIGHUP has it read its file again.

Exit status: 0 when it is done; 1 if something is wrong, which is said on standard error; 2 if the command was not understood.";

/// A Layer-7 Kafka proxy: many clusters, one to its clients.
#[derive(Parser)]
#[command(name = "skein", version, after_long_help = OUTSIDE)]
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
    /// Prints the JSON Schema of a configuration, for editors.
    Schema,
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
        #[command(flatten)]
        question: Question,
    },
    /// Says how a running Skein is: connections, clusters, brokers and their health.
    Status {
        /// Its admin listener, as `[admin]` binds it.
        #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:9644")]
        admin: String,
        /// As what it is printed.
        #[arg(long, value_enum, default_value_t = Report::Text)]
        format: Report,
    },
    /// Keeps a file of users, for listeners that log clients in: salted credentials, never passwords.
    User {
        #[command(subcommand)]
        change: user::Change,
    },
    /// Prints completions for a shell.
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
    /// Prints the manual page of the command, in roff: `skein man | man -l -`.
    Man,
    /// Shows Skein at work: clusters in this process, Skein in front of them, and traffic whose every record is checked.
    #[cfg(feature = "demo")]
    Demo(crate::demo::Options),
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

/// Formats of a report.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Report {
    /// For people.
    Text,
    /// For programs.
    Json,
}

/// How log lines look.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Log {
    /// For people.
    Text,
    /// One JSON object each.
    Json,
}

/// Runs the command with the kinds of router in `kinds`. What is wrong is said on standard error.
///
/// Exits with 0 when it is done, `run` after a drain; with 1 if the file has a fault, something could not be bound, or a second
/// signal cut a drain short; with 2 if the command was not understood.
pub fn main(kinds: &Registry) -> ExitCode {
    execute(Arguments::parse().command, kinds).unwrap_or_else(|wrong| {
        wrong.say();
        ExitCode::FAILURE
    })
}

fn execute(command: Command, kinds: &Registry) -> Result<ExitCode, Wrong> {
    match command {
        Command::Check { file, live: false } => tools::check(file, kinds),
        Command::Check { file, live: true } => tools::check_live(file, kinds),
        Command::Schema => tools::schema(kinds),
        Command::Graph { file, format } => tools::graph(file, format, kinds),
        Command::Explain { file, question } => tools::explain(file, &question, kinds),
        #[cfg(feature = "demo")]
        Command::Demo(options) => crate::demo::run(&options, kinds)
            .map(|()| ExitCode::SUCCESS)
            .map_err(|report| Wrong::new(format!("{report:?}"))),
        Command::Status { admin, format } => tools::status(&admin, format),
        Command::User { change } => user::change(change),
        Command::Completions { shell } => tools::completions(shell, &mut Arguments::command()),
        Command::Man => tools::man(Arguments::command()),
        Command::Run { file, log } => {
            let (file, configuration) = File::read(file, kinds)?;
            let _written_to_its_end = log::to_stderr(log)?;
            serve(file, configuration, kinds)
        }
    }
}

/// Runs the proxy to its end.
fn serve(file: File, configuration: Configuration, kinds: &Registry) -> Result<ExitCode, Wrong> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Wrong::new(format!("no thread can be started: {error}")))?;
    let ended = runtime.block_on(async {
        let mut signals = Signals::new().map_err(|error| Wrong::new(format!("signals cannot be heard: {error}")))?;
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
            () = file.is_due() => Said::Reload,
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
