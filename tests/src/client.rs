//! Client programs of several families, each with the same command line and the same kind of result.
//!
//! A program runs one scenario against one bootstrap address and prints one line of JSON in which nothing depends on
//! the run: no address, no cluster id, no clock. So a run against a cluster and a run through a proxy in front of it
//! have to print the same. The line is an object with a member for each feature that the scenario is about.
//!
//! A bootstrap address, and those that a proxy tells, may have names below [`DOMAIN`]: programs find all of them on this machine.

mod access;
mod difference;
mod family;
mod feature;
mod names;

use std::{
    collections::{BTreeMap, HashSet},
    fs::{self, File},
    net::SocketAddr,
    path::{Path, PathBuf},
    process::{Child, Stdio},
    sync::atomic::{AtomicU32, Ordering},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use anyhow::{Context, Result, bail};
use serde_json::Value;

pub use self::{
    access::{Access, Endpoint, Mechanism, WRONG_PASSWORD, Way},
    difference::same,
    family::Family,
    feature::{FEATURES, Verdict, verdict},
    names::DOMAIN,
};
use crate::{cluster::Cluster, process, sockets, workplace};

/// How long a scenario may take on a busy machine.
pub const LIMIT: Duration = Duration::from_secs(180);

/// Client properties, in the family's own words.
pub type Properties = [(&'static str, String)];

/// Runs a scenario to its end and returns what the program printed. A bare bootstrap address is an open endpoint.
///
/// Topics and groups of the run have names of their own, so a cluster can serve many runs at once.
///
/// # Errors
/// The program failed, printed something else than one line of JSON, or was killed after [`LIMIT`]; with what it
/// wrote to its standard error.
pub fn run(family: Family, scenario: &str, endpoint: impl Into<Endpoint>, properties: &Properties) -> Result<Value> {
    Running::start(family, scenario, endpoint, properties, &[])?.result(LIMIT)
}

/// The same through a proxy, which has to be the only one that talks to the cluster.
///
/// # Errors
/// Those of `run`, and a connection of the program to one of the cluster's brokers.
pub fn run_through(
    family: Family, scenario: &str, proxy: impl Into<Endpoint>, cluster: &Cluster, properties: &Properties,
) -> Result<Value> {
    Running::start(family, scenario, proxy, properties, &[])?.avoiding(cluster).result(LIMIT)
}

/// A scenario that runs beside the test.
#[derive(Debug)]
pub struct Running {
    child: Child,
    title: String,
    dir: PathBuf,
    /// Ports of brokers that only a proxy may connect to.
    avoided: HashSet<u16>,
}

impl Running {
    /// Starts a scenario; `arguments` are further ones of the scenario's own.
    pub fn start(
        family: Family, scenario: &str, endpoint: impl Into<Endpoint>, properties: &Properties, arguments: &[&str],
    ) -> Result<Self> {
        let Endpoint { bootstrap, access } = endpoint.into();
        let title = format!("{family:?} {scenario}").to_lowercase();
        let dir = workplace::run_dir(&title.replace(' ', "-"))?;
        let mut command = family.command()?;
        command.args([scenario, "--bootstrap", &bootstrap, "--prefix", &prefix()]);
        for (key, value) in properties {
            command.args(["--property", &format!("{key}={value}")]);
        }
        command.envs(access.environment()).envs(names::environment(&bootstrap)?);
        command.args(arguments).current_dir(&dir).stdin(Stdio::null());
        command.stdout(File::create(dir.join("stdout"))?).stderr(File::create(dir.join("stderr"))?);
        let child = process::spawn(command)?;
        Ok(Self { child, title, dir, avoided: HashSet::new() })
    }

    /// From now on, a connection of the program to one of the cluster's brokers is an error.
    #[must_use]
    pub fn avoiding(mut self, cluster: &Cluster) -> Self {
        let addresses = [cluster.nodes(), cluster.mutual_nodes()];
        self.avoided = addresses.iter().flat_map(BTreeMap::values).map(SocketAddr::port).collect();
        self
    }

    /// Whether the program is still at work.
    pub fn is_running(&mut self) -> Result<bool> {
        if self.child.try_wait()?.is_some() {
            return Ok(false);
        }
        if !self.avoided.is_empty() {
            let ports = sockets::remote_ports(self.child.id());
            if let Some(port) = ports.intersection(&self.avoided).next() {
                bail!("the client got past the proxy: it is connected to the broker at port {port}");
            }
        }
        Ok(true)
    }

    /// The folder with what it has written: `stdout` and `stderr`, and any file of its own.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// What it has written to its standard error: its log.
    pub fn log(&self) -> String {
        fs::read_to_string(self.dir.join("stderr")).unwrap_or_default()
    }

    /// Waits for the end; kills the program after `limit`.
    pub fn result(mut self, limit: Duration) -> Result<Value> {
        let ended = process::until("the client's end", limit, || {
            if self.is_running()? { Ok(None) } else { Ok(self.child.try_wait()?) }
        });
        process::end(&mut self.child);
        let read = |name| fs::read_to_string(self.dir.join(name)).unwrap_or_default();
        let said = || format!("{}; its standard error:\n{}", self.title, read("stderr"));
        let status = ended.with_context(said)?;
        if !status.success() {
            bail!("{status}: {}", said());
        }
        serde_json::from_str(&read("stdout")).with_context(said)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        process::end(&mut self.child);
    }
}

/// A prefix that no other run has, in this process or another.
fn prefix() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(1);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    format!("t{:x}-{}-{number}-", now.as_secs(), std::process::id())
}
