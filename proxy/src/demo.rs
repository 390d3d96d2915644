//! `skein demo`: Skein at work, with nothing to install.
//!
//! ```text
//!   clients ──────────► Skein ──────────► embedded clusters
//!   (librdkafka)      the same App       (librdkafka's mock)
//!      │  numbers       as `run`              ▲
//!      ▼                                      │ asked through Skein, and a broker taken out
//!   verifier ─► view ─► screen or lines    operator
//! ```
//!
//! Everything is in this process, and each client knows nothing but the bootstrap address of its virtual cluster. The ports
//! are open to the user's own clients while it runs.

mod circuit;
mod clients;
mod embedded;
mod invitation;
mod journal;
mod operator;
mod plain;
mod record;
mod screen;
mod setting;
mod terminal;
mod verifier;
mod view;

use std::io::IsTerminal;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use miette::{IntoDiagnostic, miette};
use skein_routing::kind::Registry;
use tokio::runtime::Runtime;
use tokio::signal::unix::{SignalKind, signal};

use crate::app::App;
use circuit::Circuit;
use embedded::Embedded;
use journal::{Journal, Logs};
use operator::{BROKER, Health, Operator};
use setting::{SETTINGS, Setting};
use view::{Observed, View};

/// How the demo runs.
#[derive(clap::Args, Clone, Copy, Debug)]
pub(crate) struct Options {
    /// Records per second through each virtual cluster, 1 to 20000.
    #[arg(long, default_value_t = 500, value_parser = clap::value_parser!(u32).range(1..=20_000))]
    rate: u32,
    /// Ends when --records went through each virtual cluster: with status 0 if every one arrived once and in order.
    #[arg(long)]
    once: bool,
    /// Records for --once.
    #[arg(long, default_value_t = 3000, value_parser = clap::value_parser!(u64).range(1..))]
    records: u64,
    /// With --once: broker 1 of the first cluster is taken out on the way, and brought back.
    #[arg(long, requires = "once")]
    with_outage: bool,
}

/// Runs the demo until its end, or until `q`, SIGINT or SIGTERM.
///
/// # Errors
/// What could not be started; with `--once`, that a record was lost, doubled or out of order.
pub(crate) fn run(options: &Options, kinds: &Registry) -> miette::Result<()> {
    let on_screen = std::io::stdout().is_terminal() && !options.once;
    let journal = Journal::open(if on_screen { Logs::Kept } else { Logs::Told });
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().into_diagnostic()?;
    let mut demo = Demo::start(options, kinds, journal, &runtime)?;
    let ended = match (on_screen, options.once) {
        (true, _) => terminal::show(&mut demo).and_then(|()| plain::totals(&demo.views())),
        (false, true) => plain::once(&mut demo, options),
        (false, false) => plain::show(&mut demo),
    };
    demo.end();
    ended
}

/// The running demo.
struct Demo {
    began: Instant,
    sides: Vec<Observed>,
    clients: Vec<JoinHandle<()>>,
    journal: Arc<Journal>,
    configuration: String,
    /// Says that a signal has come; `over` remembers.
    signals: Receiver<()>,
    over: bool,
    app: App,
}

impl Demo {
    fn start(options: &Options, kinds: &Registry, journal: Arc<Journal>, runtime: &Runtime) -> miette::Result<Self> {
        let embedded = SETTINGS.iter().map(Setting::start).collect::<miette::Result<Vec<_>>>()?;
        let (settings, configuration, app) = bound(&embedded, kinds, runtime)?;
        let entered = runtime.enter();
        announce(options, &settings, &configuration).into_diagnostic()?;
        let signals = signals(runtime).into_diagnostic()?;
        drop(entered);
        let mut clients = Vec::new();
        let mut sides = Vec::new();
        let run = run_name();
        for (setting, embedded) in settings.into_iter().zip(embedded) {
            let circuit = Arc::new(Circuit::new(setting, &run, options.rate));
            let operator = Operator::start(&circuit, embedded)?;
            clients.extend(clients::start(&circuit)?);
            sides.push(Observed::new(circuit, operator));
        }
        Ok(Self { began: Instant::now(), sides, clients, journal, configuration, signals, over: false, app })
    }

    /// Since the start.
    fn uptime(&self) -> Duration {
        self.began.elapsed()
    }

    fn views(&mut self) -> Vec<View> {
        self.sides.iter_mut().map(Observed::view).collect()
    }

    /// Whether a signal has come.
    fn is_over(&mut self) -> bool {
        self.over |= self.signals.try_recv() != Err(TryRecvError::Empty);
        self.over
    }

    /// Waits, but not beyond a signal.
    fn wait(&mut self, time: Duration) {
        self.over |= self.signals.recv_timeout(time) != Err(RecvTimeoutError::Timeout);
    }

    /// Takes the broker of the first cluster out, or brings it back.
    fn toggle_broker(&self) {
        if let Some(first) = self.sides.first() {
            first.operator().toggle();
        }
    }

    /// Whether that broker is listed, through Skein.
    fn broker_is_listed(&self) -> bool {
        let health = self.sides.first().map(|first| first.operator().watch().now().0);
        matches!(health, Some(Health::Answers(nodes, _)) if nodes.contains(&BROKER))
    }

    fn stop_sending(&self) {
        self.sides.iter().for_each(|side| side.circuit().stop_sending());
    }

    /// Whether the fate of all that was sent is known, and all that was acknowledged has been read.
    fn has_arrived(&self) -> bool {
        self.sides.iter().all(|side| {
            let ledger = &side.circuit().ledger;
            ledger.settled(&ledger.numbered()) && ledger.tally().on_the_way == 0
        })
    }

    /// Ends all of it: clients first, so that none is surprised.
    fn end(self) {
        self.sides.iter().for_each(|side| side.circuit().stop());
        // A thread that has panicked has said why; there is nothing to add.
        self.clients.into_iter().for_each(|client| drop(client.join()));
        drop(self.app);
        self.sides.into_iter().for_each(Observed::end);
    }
}

/// Skein in front of the clusters, its configuration, and the ports that it has.
fn bound(embedded: &[Embedded], kinds: &Registry, runtime: &Runtime) -> miette::Result<([Setting; 2], String, App)> {
    let mut refused = miette!("no ports are free on {}", setting::HOST);
    for settings in setting::on_free_ports() {
        let configuration = setting::toml(settings.iter().zip(embedded));
        match runtime.block_on(App::start(setting::loaded(&configuration, kinds)?)) {
            Ok(app) => return Ok((settings, configuration, app)),
            // Somebody else was quicker: the next ports may be free.
            Err(error) => refused = error.into(),
        }
    }
    Err(refused)
}

/// What is said before the screen comes, and stays when it has gone.
fn announce(options: &Options, settings: &[Setting], configuration: &str) -> std::io::Result<()> {
    plain::say(&format!("Skein runs with this configuration:\n\n{configuration}"))?;
    if *settings != SETTINGS {
        plain::say("The usual ports are taken, so others are used.")?;
    }
    for setting in settings {
        let Setting { name, cluster, brokers, .. } = setting;
        plain::say(&format!(
            "{name}: {}, in front of {cluster}, which has brokers 1 to {brokers}",
            setting.bootstrap()
        ))?;
    }
    if options.with_outage {
        plain::say(&plain::outage())?;
    }
    plain::say("\nTo try while it runs:")?;
    invitation::commands(settings).iter().try_for_each(|line| plain::say(line))
}

/// Tells of SIGINT and SIGTERM from now on.
fn signals(runtime: &Runtime) -> std::io::Result<Receiver<()>> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let (told, signals) = channel();
    runtime.spawn(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
        // An error means that the demo has ended already.
        let _ = told.send(());
    });
    Ok(signals)
}

/// Differs from run to run.
fn run_name() -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    format!("{:x}", now.as_millis())
}
