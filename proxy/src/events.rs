//! Things worth telling. Each event is a type: the one place where its log line is made.
//!
//! Levels by what an operator must do: `error` act now, `warn` act if it goes on, `info` life cycle, `debug` per connection.
//! Never a password, token, key or record value.

use std::net::SocketAddr;
use std::time::Duration;

use skein_filters::Client;
use skein_protocol::code::Code;
use skein_protocol::ids::{ApiKey, VirtualNodeId};
use skein_routing::engine::{Fault, Reason};

use crate::app::Changes;

/// Who a connection is, in every line about it.
#[derive(Clone, Debug)]
pub(crate) struct Connection {
    pub(crate) number: u64,
    pub(crate) virtual_cluster: std::sync::Arc<str>,
    pub(crate) peer: SocketAddr,
}

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
        tracing::info!(connections = self.connections, seconds = self.took.as_secs_f64(), "drained");
    }
}

/// A connection could not be accepted: descriptors have run out, as a rule.
pub(crate) struct NotAccepted<'a> {
    pub(crate) address: SocketAddr,
    pub(crate) error: &'a std::io::Error,
    pub(crate) again: Duration,
}

impl NotAccepted<'_> {
    pub(crate) fn emit(&self) {
        let again = self.again.as_millis();
        tracing::error!(address = %self.address, error = %self.error, again_ms = again, "connection not accepted");
    }
}

/// How a connection ended.
#[derive(Debug)]
pub(crate) enum Ended {
    /// The client closed it.
    Left,
    /// The client closed it in the middle of a request.
    LeftInside,
    /// The client's socket failed.
    Broken(std::io::Error),
    /// The client did not take what was sent in time.
    Deaf,
    /// Its virtual cluster ended, or Skein did; nothing was open on it.
    Drained,
    /// The same, and something was open on it when the time was over.
    Cut,
    /// Skein ended it.
    Reason(Reason),
}

impl Ended {
    pub(crate) fn label(&self) -> &'static str {
        match self {
            Self::Left => "client_left",
            Self::LeftInside => "client_left_inside_request",
            Self::Broken(_) => "client_broken",
            Self::Deaf => "client_deaf",
            Self::Drained => "drained",
            Self::Cut => "drain_timeout",
            Self::Reason(reason) => reason.label(),
        }
    }
}

/// A client's connection has ended: one line each, with its reason.
pub(crate) struct Closed<'a> {
    pub(crate) connection: &'a Connection,
    pub(crate) client: &'a Client,
    pub(crate) ended: &'a Ended,
    pub(crate) open_requests: usize,
}

impl Closed<'_> {
    pub(crate) fn emit(&self) {
        let Connection { number, virtual_cluster, peer } = self.connection;
        let (reason, listener, open) = (self.ended.label(), &*self.client.listener, self.open_requests);
        let software = self.client.software.as_ref().map_or("", |(name, _)| &**name);
        match self.ended {
            Ended::Left | Ended::Drained => {
                tracing::debug!(connection = number, %virtual_cluster, listener, %peer, software, reason, open, "connection closed");
            }
            Ended::Broken(error) => {
                tracing::debug!(connection = number, %virtual_cluster, listener, %peer, software, reason, open, %error, "connection closed");
            }
            Ended::Deaf | Ended::LeftInside | Ended::Cut => {
                tracing::warn!(connection = number, %virtual_cluster, listener, %peer, software, reason, open, "connection closed");
            }
            Ended::Reason(error) => {
                tracing::warn!(connection = number, %virtual_cluster, listener, %peer, software, reason, open, %error, "connection closed");
            }
        }
    }
}

/// Why a link to a broker was lost.
pub(crate) enum LinkLoss<'a> {
    /// It could not be dialled.
    Unreached(&'a skein_link::Unreached),
    /// Its socket failed or was closed by the broker.
    Broken(Option<&'a std::io::Error>),
    /// The broker did what no broker does, or was late.
    Fault(Fault),
}

/// A link to a broker is lost.
pub(crate) struct LinkLost<'a> {
    pub(crate) connection: &'a Connection,
    pub(crate) cluster: &'a str,
    pub(crate) node: Option<i32>,
    pub(crate) loss: LinkLoss<'a>,
}

impl LinkLost<'_> {
    pub(crate) fn emit(&self) {
        let Connection { number, virtual_cluster, .. } = self.connection;
        let (cluster, real_node) = (self.cluster, self.node);
        match &self.loss {
            LinkLoss::Unreached(error) => {
                tracing::warn!(connection = number, %virtual_cluster, cluster, real_node, %error, "broker not reached");
            }
            LinkLoss::Broken(error) => {
                let error = error.map(tracing::field::display);
                tracing::debug!(connection = number, %virtual_cluster, cluster, real_node, error, "link lost");
            }
            LinkLoss::Fault(error) => {
                tracing::warn!(connection = number, %virtual_cluster, cluster, real_node, %error, "link closed");
            }
        }
    }
}

/// A broker was left out of answers, since no port is declared for it. Told once per node.
pub(crate) struct Unlisted<'a> {
    pub(crate) virtual_cluster: &'a str,
    pub(crate) node: VirtualNodeId,
}

impl Unlisted<'_> {
    pub(crate) fn emit(&self) {
        let (virtual_cluster, node) = (self.virtual_cluster, self.node.0);
        tracing::warn!(virtual_cluster, node, "a broker is left out of answers: declare it under `nodes`, at the end");
    }
}

/// A request was answered with an error of Skein's own, since its broker was lost.
pub(crate) struct Refused<'a> {
    pub(crate) connection: &'a Connection,
    pub(crate) key: ApiKey,
    pub(crate) code: Code,
}

impl Refused<'_> {
    pub(crate) fn emit(&self) {
        let Connection { number, virtual_cluster, .. } = self.connection;
        tracing::debug!(connection = number, %virtual_cluster, api = %self.key, error = %self.code, "answered for a lost broker");
    }
}

/// A changed file is served.
pub(crate) struct Reloaded<'a> {
    pub(crate) file: &'a str,
    pub(crate) changes: Changes,
}

impl Reloaded<'_> {
    pub(crate) fn emit(&self) {
        let Changes { kept, begun, ended } = self.changes;
        tracing::info!(file = self.file, kept, begun, ended, "file taken over");
    }
}

/// A changed file has a fault, or an address in it cannot be bound: what was served before still is.
pub(crate) struct Unloaded<'a> {
    pub(crate) file: &'a str,
    pub(crate) why: &'a str,
}

impl Unloaded<'_> {
    pub(crate) fn emit(&self) {
        tracing::error!(file = self.file, error = self.why, "file not taken over: what was served before still is");
    }
}
