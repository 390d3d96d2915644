//! Things worth telling. Each event is a type: the one place where its log line is made and its metric is counted.
//!
//! Levels by what an operator must do: `error` act now, `warn` act if it goes on, `info` life cycle, `debug` per connection.
//! Never a password, token, key or record value. `docs/metrics.md` lists them all.

mod arrivals;
mod clients;
mod links;
mod logins;

use std::net::SocketAddr;
use std::time::Duration;

use skein_protocol::ids::VirtualNodeId;

pub(crate) use self::arrivals::{OutOfDate, Unwelcome, What};
pub(crate) use self::clients::{Closed, Connection, Ended, HeldBack, Opened, Refused, TurnedAway, Why};
pub(crate) use self::links::{ClusterAsked, LinkLoss, LinkLost, LinkOpened};
pub(crate) use self::logins::{LoginEnded, NoDecoys, Outcome};
use crate::app::Changes;
use crate::meters::Meters;

/// All listeners are bound.
pub(crate) struct Ready {
    pub(crate) virtual_clusters: usize,
    pub(crate) ports: usize,
}

impl Ready {
    pub(crate) fn emit(&self) {
        tracing::info!(virtual_clusters = self.virtual_clusters, ports = self.ports, "ready");
    }
}

/// Skein stops.
pub(crate) struct Draining {
    pub(crate) connections: usize,
    pub(crate) timeout: Duration,
}

impl Draining {
    pub(crate) fn emit(&self) {
        let timeout = self.timeout.as_secs_f64();
        tracing::info!(connections = self.connections, timeout_seconds = timeout, "draining");
    }
}

/// No connection is left.
pub(crate) struct Drained {
    pub(crate) connections: usize,
    pub(crate) took: Duration,
}

impl Drained {
    pub(crate) fn emit(&self) {
        let seconds = format_args!("{:.3}", self.took.as_secs_f64());
        tracing::info!(connections = self.connections, %seconds, "drained");
    }
}

/// A connection could not be accepted: descriptors have run out, as a rule. Logged once, until one can be.
pub(crate) struct NotAccepted<'a> {
    pub(crate) address: SocketAddr,
    /// `descriptors` or `other`.
    pub(crate) reason: &'static str,
    pub(crate) error: &'a std::io::Error,
    pub(crate) again: Duration,
    pub(crate) is_first: First,
}

/// Whether something has just begun, or goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum First {
    /// It has just begun.
    Yes,
    /// It goes on.
    No,
}

impl NotAccepted<'_> {
    pub(crate) fn emit(&self, meters: &Meters) {
        let (reason, again) = (self.reason, self.again.as_millis());
        meters.accepts_failed.count([("reason", reason)]);
        if self.is_first == First::Yes {
            tracing::error!(address = %self.address, reason, error = %self.error, again_ms = again, "connection not accepted");
        }
    }
}

/// A broker was left out of answers, since no port is declared for it. Told once per node.
pub(crate) struct Unlisted<'a> {
    pub(crate) virtual_cluster: &'a str,
    pub(crate) node: VirtualNodeId,
}

impl Unlisted<'_> {
    pub(crate) fn emit(&self, meters: &Meters) {
        let (virtual_cluster, node) = (self.virtual_cluster, self.node.0);
        meters.nodes_left_out.count([("virtual_cluster", virtual_cluster)]);
        tracing::warn!(virtual_cluster, node, "a broker is left out of answers: declare it under `nodes`, at the end");
    }
}

/// A changed file is served.
pub(crate) struct Reloaded<'a> {
    pub(crate) file: &'a str,
    pub(crate) changes: Changes,
}

impl Reloaded<'_> {
    pub(crate) fn emit(&self, meters: &Meters) {
        let Changes { kept, begun, ended } = self.changes;
        meters.reloads.count([("reason", "taken_over")]);
        tracing::info!(file = self.file, kept, begun, ended, "file taken over");
    }
}

/// A file that the configuration names was read anew, or could not be.
pub(crate) struct FileRead<'a> {
    pub(crate) file: &'a str,
    /// What is wrong with it. What it held before holds still.
    pub(crate) failure: Option<&'a str>,
}

impl FileRead<'_> {
    pub(crate) fn emit(&self, meters: &Meters) {
        let file = self.file;
        match self.failure {
            None => {
                meters.files_read.count([("reason", "taken_over")]);
                tracing::info!(file, "changed file taken over");
            }
            Some(error) => {
                meters.files_read.count([("reason", "faulty")]);
                tracing::error!(file, error, "changed file not taken over: what it held before holds still");
            }
        }
    }
}

/// A changed file says something of what is read at the start only.
pub(crate) struct WantsRestart<'a> {
    pub(crate) tables: &'a str,
}

impl WantsRestart<'_> {
    pub(crate) fn emit(&self) {
        tracing::warn!(tables = self.tables, "a restart is needed for what the file says now of these tables");
    }
}

/// A changed file has a fault, or an address in it cannot be bound: what was served before still is.
pub(crate) struct Unloaded<'a> {
    pub(crate) file: &'a str,
    pub(crate) why: &'a str,
}

impl Unloaded<'_> {
    pub(crate) fn emit(&self, meters: &Meters) {
        meters.reloads.count([("reason", "faulty")]);
        tracing::error!(file = self.file, error = self.why, "file not taken over: what was served before still is");
    }
}
