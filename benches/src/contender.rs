//! The processes that are measured: relays and Skein.

use crate::broker::Broker;
use crate::loader::{self, Entry};
use crate::tls::Identity;
use anyhow::{Context, Result, bail, ensure};
use std::fs;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// How long a process may take until it accepts.
const PATIENCE: Duration = Duration::from_secs(10);
/// How often it is tried until then.
const POLL: Duration = Duration::from_micros(200);
/// Starts before it is given up: a port that was free may have been taken meanwhile.
const ATTEMPTS: usize = 3;

/// What stands between the loader and the broker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contender {
    /// Nothing.
    Direct,
    /// The plain relay, the yardstick.
    Relay,
    /// A second plain relay: what the yardstick says of its like.
    Control,
    /// Skein.
    Skein,
    /// The plain relay, with TLS towards the loader.
    RelayTls,
    /// Skein, with TLS towards the loader.
    SkeinTls,
}

impl Contender {
    /// What the results call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::Relay => "relay",
            Self::Control => "control",
            Self::Skein => "Skein",
            Self::RelayTls => "relay TLS",
            Self::SkeinTls => "Skein TLS",
        }
    }

    /// Whether the loader is to speak TLS to it.
    pub fn has_tls(self) -> bool {
        matches!(self, Self::RelayTls | Self::SkeinTls)
    }
}

/// Where processes may run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pinning {
    /// Wherever the system puts them.
    Free,
    /// Every contender on the last CPU, the driver on the others: steadier, and no contender finds in its cache what the
    /// loader or the broker has just left there. Needs `taskset`.
    Apart,
}

impl Pinning {
    /// Keeps the driver to its CPUs: to be called before it has other threads.
    ///
    /// # Errors
    /// If there is one CPU only, or `taskset` fails.
    pub fn confine_driver(self) -> Result<()> {
        if self == Self::Free {
            return Ok(());
        }
        ensure!(cpus() > 1, "pinning needs at least two CPUs");
        let (others, own) = (format!("0-{}", cpus() - 2), std::process::id().to_string());
        let status = Command::new("taskset").args(["-pc", &others, &own]).stdout(Stdio::null()).status();
        ensure!(status.context("pinning needs taskset")?.success(), "taskset failed");
        Ok(())
    }

    fn command(self, binary: &Path) -> Command {
        match self {
            Self::Free => Command::new(binary),
            Self::Apart => {
                let mut command = Command::new("taskset"); // it becomes the contender: the process id stays
                command.arg("-c").arg((cpus() - 1).to_string()).arg(binary);
                command
            }
        }
    }
}

/// CPUs of the machine.
fn cpus() -> usize {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    text.lines().filter(|line| line.starts_with("processor")).count()
}

/// Starts contenders.
#[derive(Debug)]
pub struct Launcher {
    broker: Broker,
    /// The broker's listener that shows its own address.
    own: SocketAddr,
    relay: PathBuf,
    skein: PathBuf,
    pinning: Pinning,
    identity: Identity,
    /// For configurations and logs; removed at the end.
    directory: PathBuf,
}

impl Launcher {
    /// Starts the broker.
    ///
    /// # Errors
    /// If a binary is missing or the broker cannot listen.
    pub fn new(relay: PathBuf, skein: PathBuf, wanted: &[Contender], pinning: Pinning) -> Result<Self> {
        ensure!(relay.is_file(), "the relay is not at {}: build the package skein-benches", relay.display());
        let of_skein = |contender: &Contender| matches!(contender, Contender::Skein | Contender::SkeinTls);
        let missing = wanted.iter().any(of_skein) && !skein.is_file();
        ensure!(!missing, "Skein is not at {}: build it in the same profile, or use --skein", skein.display());
        let directory = std::env::temp_dir().join(format!("skein-compare-{}", std::process::id()));
        fs::create_dir_all(&directory)?;
        let (broker, identity) = (Broker::new(), Identity::new(&directory)?);
        Ok(Self { own: broker.listen(None)?, broker, relay, skein, pinning, identity, directory })
    }

    /// Starts a process and waits until it accepts at its bootstrap address. `None` for `Direct`.
    ///
    /// # Errors
    /// If it ends, or does not accept in 10 s, in three attempts; the message has the end of its log.
    pub fn start(&self, contender: Contender) -> Result<Option<Process>> {
        for _ in 1..ATTEMPTS {
            if let Ok(process) = self.attempt(contender) {
                return Ok(process);
            }
        }
        self.attempt(contender)
    }

    /// Where a client of `process` bootstraps; of the broker itself if there is none.
    pub fn bootstrap(&self, process: Option<&Process>) -> Entry {
        process.map_or(Entry { address: self.own, tls: None }, |process| process.bootstrap.clone())
    }

    fn attempt(&self, contender: Contender) -> Result<Option<Process>> {
        let (address, mut command) = match contender {
            Contender::Direct => return Ok(None),
            Contender::Relay | Contender::Control | Contender::RelayTls => self.relay(contender)?,
            Contender::Skein | Contender::SkeinTls => self.skein(contender)?,
        };
        let tls = contender.has_tls().then(|| self.identity.client()).transpose()?;
        let bootstrap = Entry { address, tls };
        let log = self.directory.join(format!("{}.log", contender.name()));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(fs::File::create(&log)?);
        let began = Instant::now();
        let child = command.spawn().with_context(|| format!("cannot start {}", contender.name()))?;
        let mut process = Process { child, bootstrap, accepts_after: Duration::ZERO, serves_after: Duration::ZERO };
        if let Err(error) = process.wait(began, self.own) {
            bail!("{}: {error:#}\n{}", contender.name(), end_of(&log));
        }
        Ok(Some(process))
    }

    fn relay(&self, contender: Contender) -> Result<(SocketAddr, Command)> {
        let listen = SocketAddr::from(([127, 0, 0, 1], free_ports(1)?));
        let target = self.broker.listen(Some(listen))?;
        let mut command = self.pinning.command(&self.relay);
        if contender.has_tls() {
            command.arg("--tls").args([&self.identity.certificate, &self.identity.key]);
        }
        command.arg(format!("{listen}={target}"));
        Ok((listen, command))
    }

    fn skein(&self, contender: Contender) -> Result<(SocketAddr, Command)> {
        let port = free_ports(3)?;
        let file = self.directory.join(format!("{}.toml", contender.name()));
        let tls = contender.has_tls().then_some(&self.identity);
        fs::write(&file, configuration(self.own, port, tls))?;
        let mut command = self.pinning.command(&self.skein);
        command.arg("run").arg(&file);
        Ok((SocketAddr::from(([127, 0, 0, 1], port)), command))
    }
}

impl Drop for Launcher {
    fn drop(&mut self) {
        // What is left in the temporary directory harms nobody.
        let _ = fs::remove_dir_all(&self.directory);
    }
}

/// Skein's configuration: one cluster with one node, one listener on `port` and the two behind it.
fn configuration(broker: SocketAddr, port: u16, tls: Option<&Identity>) -> String {
    let tls =
        tls.map(|Identity { certificate, key, .. }| format!("tls.certificate = {certificate:?}\ntls.key = {key:?}\n"));
    let tls = tls.unwrap_or_default();
    format!(
        r#"[clusters.one]
bootstrap = ["{broker}"]
nodes = "1"

[virtual-clusters.bench]
id = "bench"
target.cluster = "one"

[virtual-clusters.bench.listeners.clients]
bind = "127.0.0.1:{port}"
advertise = "127.0.0.1"
ports = "{}-{}"
login = "none"
{tls}"#,
        port + 1,
        port + 2
    )
}

/// The first of `count` consecutive ports that are free now.
fn free_ports(count: u16) -> Result<u16> {
    for _ in 0..100 {
        let first = TcpListener::bind("127.0.0.1:0")?;
        let port = first.local_addr()?.port();
        let free = |next| TcpListener::bind(("127.0.0.1", next)).is_ok();
        if port.checked_add(count).is_some() && (port + 1..port + count).all(free) {
            return Ok(port);
        }
    }
    bail!("no {count} free ports in a row")
}

fn end_of(log: &Path) -> String {
    let text = fs::read_to_string(log).unwrap_or_default();
    let lines: Vec<_> = text.lines().collect();
    lines[lines.len().saturating_sub(20)..].join("\n")
}

/// A contender's process; it is killed when dropped.
#[derive(Debug)]
pub struct Process {
    child: Child,
    bootstrap: Entry,
    /// From before its start to the first connection that was accepted.
    pub accepts_after: Duration,
    /// From before its start to the first Metadata answer.
    pub serves_after: Duration,
}

impl Process {
    /// The process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits until the process serves, and checks that a client stays on it: were it shown the broker's own address, the
    /// load would go past the contender, which would win without having done anything.
    fn wait(&mut self, began: Instant, broker: SocketAddr) -> Result<()> {
        let address = self.bootstrap.address;
        while let Err(error) = TcpStream::connect(address) {
            self.still_alive()?;
            ensure!(began.elapsed() < PATIENCE, "does not accept at {address}: {error}");
            thread::sleep(POLL);
        }
        self.accepts_after = began.elapsed();
        let greeted = loop {
            match loader::greet(&self.bootstrap) {
                Ok(greeted) => break greeted,
                Err(error) if began.elapsed() > PATIENCE => bail!("does not serve at {address}: {error:#}"),
                Err(_) => self.still_alive()?,
            }
            thread::sleep(POLL);
        };
        self.serves_after = began.elapsed();
        ensure!(greeted.learnt.leader != broker, "shows the broker's own address to clients");
        Ok(())
    }

    fn still_alive(&mut self) -> Result<()> {
        match self.child.try_wait()? {
            Some(status) => bail!("ended: {status}"),
            None => Ok(()),
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
