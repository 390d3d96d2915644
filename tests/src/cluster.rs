//! Real Kafka clusters: KRaft brokers, each a Java process of its own.
//!
//! ```no_run
//! # fn main() -> anyhow::Result<()> {
//! use skein_tests::cluster::{self, Cluster, Spec};
//! let shared = cluster::single()?;                   // started at first use, for all tests of the process
//! let mine = Cluster::start(&Spec::three())?;        // this test's own: it may kill brokers
//! mine.kill(7)?;
//! mine.restart(7)?;
//! # Ok(()) }
//! ```
//!
//! A guarded cluster has TLS, every kind of login, and rules. Its `Guard` has its certificates and its issuer of tokens, its
//! `Admin` changes rules and users:
//!
//! ```no_run
//! # fn main() -> anyhow::Result<()> {
//! use skein_tests::cluster::{self, Acl, Operation, Resource, Scram};
//! let cluster = cluster::guarded()?;
//! let admin = cluster.admin()?;
//! admin.add(&[Acl::allow("bob", Operation::Read, Resource::topic("bills"))])?;
//! admin.set_password("bob", Scram::Sha256, "another")?;
//! # Ok(()) }
//! ```

mod admin;
mod guard;
mod spec;

use std::{
    collections::BTreeMap,
    fs::{self, File},
    net::SocketAddr,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{Mutex, MutexGuard, OnceLock, PoisonError},
    time::Duration,
};

use anyhow::{Context, Result, anyhow, bail};

use self::spec::{Ports, local, properties};
pub use self::{
    admin::{Acl, Admin, Operation, Pattern, Permission, Resource, Scram},
    guard::{CERTIFICATE_PRINCIPAL, Guard},
    spec::{PASSWORD, Release, Security, Spec, USER, USERS, password},
};
use crate::{artifacts, ports, process, workplace};

const START_LIMIT: Duration = Duration::from_secs(90);
const STOP_LIMIT: Duration = Duration::from_secs(40);

/// Small and quick to start, not fast: no optimising compiler, one collector thread.
const JVM: [&str; 4] = ["-Xmx768m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData"];

/// A running cluster. Dropping it kills its brokers and removes their data.
#[derive(Debug)]
pub struct Cluster {
    spec: Spec,
    dir: PathBuf,
    guard: Option<Guard>,
    nodes: Mutex<BTreeMap<i32, Node>>,
}

#[derive(Debug)]
struct Node {
    ports: Ports,
    /// `None` after `kill` or `stop`.
    process: Option<Child>,
    /// How often it was started; each start has a log of its own.
    starts: u32,
    /// What it runs.
    release: Release,
}

impl Cluster {
    /// Starts a cluster and waits until every broker serves clients.
    pub fn start(spec: &Spec) -> Result<Self> {
        let tries = 3;
        let mut outcome = Self::try_start(spec);
        for _ in 1..tries {
            // Somebody else may have taken a port between our look and the broker's bind.
            match outcome {
                Err(error) if format!("{error:#}").contains("Address already in use") => {
                    outcome = Self::try_start(spec)
                }
                settled => return settled,
            }
        }
        outcome
    }

    fn try_start(spec: &Spec) -> Result<Self> {
        let dir = workplace::run_dir(spec.name())?;
        let count = u16::try_from(spec.nodes().len())?;
        let first = ports::block(count * Ports::COUNT)?;
        let starts = (first..).step_by(Ports::COUNT.into()).map(Ports::from);
        let nodes: BTreeMap<i32, Ports> = spec.nodes().iter().copied().zip(starts).collect();
        let guard = (spec.security() == Security::Guarded).then(|| Guard::new(&dir)).transpose()?;
        for (id, text) in properties(spec, &nodes, &dir.join("data"), guard.as_ref()) {
            fs::write(dir.join(format!("{id}.properties")), text)?;
        }
        let idle = |(id, ports)| (id, Node { ports, process: None, starts: 0, release: spec.release() });
        let nodes = Mutex::new(nodes.into_iter().map(idle).collect());
        let cluster = Self { spec: spec.clone(), dir, guard, nodes };
        cluster.format()?;
        let mut nodes = cluster.locked();
        for (&id, node) in nodes.iter_mut() {
            cluster.launch(id, node)?;
        }
        for (&id, node) in nodes.iter_mut() {
            cluster.await_service(id, node)?;
        }
        drop(nodes);
        Ok(cluster)
    }

    /// The addresses of all brokers' client listeners, comma-separated.
    pub fn bootstrap(&self) -> String {
        joined(&self.nodes())
    }

    /// The addresses of all brokers' listeners for clients that show a certificate, comma-separated; of a guarded cluster.
    pub fn mutual_bootstrap(&self) -> String {
        joined(&self.mutual_nodes())
    }

    /// Every broker's id and the address of its client listener.
    pub fn nodes(&self) -> BTreeMap<i32, SocketAddr> {
        self.addresses(|ports| ports.client)
    }

    /// Every broker's id and the address of its listener for clients that show a certificate; of a guarded cluster.
    pub fn mutual_nodes(&self) -> BTreeMap<i32, SocketAddr> {
        self.addresses(|ports| ports.mutual)
    }

    fn addresses(&self, port: impl Fn(Ports) -> u16) -> BTreeMap<i32, SocketAddr> {
        self.locked().iter().map(|(&id, node)| (id, local(port(node.ports)))).collect()
    }

    /// What a guarded cluster trusts.
    ///
    /// # Errors
    /// The cluster is not guarded.
    pub fn guard(&self) -> Result<&Guard> {
        self.guard.as_ref().with_context(|| format!("{} is not guarded", self.spec.name()))
    }

    /// Who may change its rules and its users: on the listener that brokers have among themselves, which is plaintext.
    ///
    /// # Errors
    /// No broker is up.
    pub fn admin(&self) -> Result<Admin> {
        let nodes = self.locked();
        let up = nodes.values().filter(|node| node.process.is_some());
        Admin::new(up.map(|node| local(node.ports.inside)).collect())
    }

    /// What the cluster was started from.
    pub fn spec(&self) -> &Spec {
        &self.spec
    }

    /// The process id of a broker; `None` while it is down.
    pub fn pid(&self, id: i32) -> Option<u32> {
        self.locked().get(&id)?.process.as_ref().map(Child::id)
    }

    /// Kills a broker (SIGKILL), as a crash would.
    pub fn kill(&self, id: i32) -> Result<()> {
        self.with(id, |node| {
            process::end(node.process.as_mut().context("it is down already")?);
            node.process = None;
            Ok(())
        })
    }

    /// Stops a broker in good order: it hands over its leaderships first.
    pub fn stop(&self, id: i32) -> Result<()> {
        self.with(id, |node| {
            process::stop(node.process.as_mut().context("it is down already")?, STOP_LIMIT)?;
            node.process = None;
            Ok(())
        })
    }

    /// Starts a broker that was killed or stopped, with its data and its ports, and waits until it serves.
    pub fn restart(&self, id: i32) -> Result<()> {
        self.with(id, |node| {
            if node.process.is_some() {
                bail!("it is running");
            }
            self.launch(id, node)?;
            self.await_service(id, node)
        })
    }

    /// The same, of another release: what an upgrade is.
    pub fn restart_as(&self, id: i32, release: Release) -> Result<()> {
        self.with(id, |node| {
            node.release = release;
            Ok(())
        })?;
        self.restart(id)
    }

    fn with<T>(&self, id: i32, act: impl FnOnce(&mut Node) -> Result<T>) -> Result<T> {
        let mut nodes = self.locked();
        let node = nodes.get_mut(&id).with_context(|| format!("{} has no node {id}", self.spec.name()))?;
        act(node).with_context(|| format!("node {id} of {}", self.spec.name()))
    }

    fn locked(&self) -> MutexGuard<'_, BTreeMap<i32, Node>> {
        self.nodes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Formats the storage of all nodes, side by side.
    fn format(&self) -> Result<()> {
        let mut running = Vec::new();
        for id in self.spec.nodes() {
            let log = self.dir.join(format!("{id}-format.log"));
            let mut command = self.java(&log, self.spec.release())?;
            command.arg("kafka.tools.StorageTool");
            command.args(["format", "--cluster-id", &self.spec.cluster_id(), "--config"]);
            command.arg(self.dir.join(format!("{id}.properties"))).args(self.spec.format_arguments());
            running.push((process::spawn(command)?, log));
        }
        for (mut child, log) in running {
            let status = process::finish(&mut child, START_LIMIT)?;
            if !status.success() {
                bail!("formatting storage: {status}\n{}", tail(&log));
            }
        }
        Ok(())
    }

    fn launch(&self, id: i32, node: &mut Node) -> Result<()> {
        node.starts += 1;
        let mut command = self.java(&self.log(id, node), node.release)?;
        command.arg("kafka.Kafka").arg(self.dir.join(format!("{id}.properties")));
        node.process = Some(process::spawn(command)?);
        Ok(())
    }

    /// `java` with Kafka's jars; what it logs and what it prints goes to `log`.
    fn java(&self, log: &Path, release: Release) -> Result<Command> {
        let output = File::options().create(true).append(true).open(log)?;
        let jars = match release {
            Release::Current => artifacts::kafka()?,
            Release::V3_9 => artifacts::kafka_3_9()?,
        };
        let mut command = process::tethered("java");
        command.args(JVM).arg("-cp").arg(jars.join("libs/*"));
        command.arg("-Dorg.slf4j.simpleLogger.defaultLogLevel=warn");
        // Says "Kafka Server started".
        command.arg("-Dorg.slf4j.simpleLogger.log.kafka.server.KafkaRaftServer=info");
        command.arg("-Dorg.slf4j.simpleLogger.showDateTime=true");
        command.arg("-Dorg.slf4j.simpleLogger.dateTimeFormat=HH:mm:ss.SSS");
        command.args(self.guard.iter().map(Guard::jvm_argument));
        command.stdin(Stdio::null()).stdout(output.try_clone()?).stderr(output);
        Ok(command)
    }

    fn log(&self, id: i32, node: &Node) -> PathBuf {
        self.dir.join(format!("{id}-start-{}.log", node.starts))
    }

    fn await_service(&self, id: i32, node: &mut Node) -> Result<()> {
        let log = self.log(id, node);
        let child = node.process.as_mut().context("it was not launched")?;
        let up = process::until("the broker", START_LIMIT, || {
            if let Some(status) = child.try_wait()? {
                bail!("it ended: {status}");
            }
            let said = fs::read_to_string(&log).unwrap_or_default();
            let serves = said.contains("Kafka Server started") && ports::accepts(node.ports.client);
            Ok(serves.then_some(()))
        });
        up.with_context(|| format!("starting node {id} of {}; its log:\n{}", self.spec.name(), tail(&log)))
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        for node in self.locked().values_mut() {
            node.process.as_mut().map(process::end);
        }
        // What stays is removed when the process ends.
        let _ = fs::remove_dir_all(self.dir.join("data"));
    }
}

/// One broker, for all tests of this process.
pub fn single() -> Result<&'static Cluster> {
    static CLUSTER: OnceLock<Result<Cluster, String>> = OnceLock::new();
    standing(&CLUSTER, || Cluster::start(&Spec::single()))
}

/// Three brokers, for all tests of this process.
pub fn three() -> Result<&'static Cluster> {
    static CLUSTER: OnceLock<Result<Cluster, String>> = OnceLock::new();
    standing(&CLUSTER, || Cluster::start(&Spec::three()))
}

/// One broker whose clients have to log in, for all tests of this process.
pub fn secured() -> Result<&'static Cluster> {
    static CLUSTER: OnceLock<Result<Cluster, String>> = OnceLock::new();
    standing(&CLUSTER, || Cluster::start(&Spec::secured()))
}

/// One guarded broker, for all tests of this process. Alice, by whatever she logs in with, may do everything with topics,
/// groups and transactional ids whose names begin with `t`, as those of client programs do; nobody else may do anything.
pub fn guarded() -> Result<&'static Cluster> {
    static CLUSTER: OnceLock<Result<Cluster, String>> = OnceLock::new();
    standing(&CLUSTER, || {
        let cluster = Cluster::start(&Spec::guarded())?;
        let names = [Resource::topic("t"), Resource::group("t"), Resource::transactional_id("t")].map(Resource::prefix);
        let rules = |principal| names.iter().map(move |name| Acl::allow(principal, Operation::All, name.clone()));
        let rules: Vec<_> = [USER, CERTIFICATE_PRINCIPAL].into_iter().flat_map(rules).collect();
        cluster.admin()?.add(&rules)?;
        Ok(cluster)
    })
}

fn standing(
    cluster: &'static OnceLock<Result<Cluster, String>>, start: fn() -> Result<Cluster>,
) -> Result<&'static Cluster> {
    let started = cluster.get_or_init(|| start().map_err(|error| format!("{error:#}")));
    started.as_ref().map_err(|error| anyhow!(error.clone()))
}

fn joined(addresses: &BTreeMap<i32, SocketAddr>) -> String {
    let addresses: Vec<_> = addresses.values().map(ToString::to_string).collect();
    addresses.join(",")
}

/// The last lines of a log.
fn tail(log: &Path) -> String {
    let text = fs::read_to_string(log).unwrap_or_default();
    let lines: Vec<_> = text.lines().collect();
    lines[lines.len().saturating_sub(30)..].join("\n")
}
