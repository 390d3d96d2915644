//! What happens to connections of clients.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use skein_filters::Client;
use skein_protocol::code::Code;
use skein_protocol::ids::ApiKey;
use skein_routing::engine::Reason;

use super::{First, What};
use crate::meters::{ClientMeters, Meters};

/// Who a connection is, in every line about it.
#[derive(Clone, Debug)]
pub(crate) struct Connection {
    pub(crate) number: u64,
    pub(crate) virtual_cluster: Arc<str>,
    pub(crate) peer: SocketAddr,
}

/// A client was let in.
pub(crate) struct Opened<'a> {
    pub(crate) connection: &'a Connection,
    pub(crate) listener: &'a str,
}

impl Opened<'_> {
    pub(crate) fn emit(&self, meters: &ClientMeters) {
        meters.accepted.inc();
        meters.open.inc();
        let Connection { number, virtual_cluster, peer } = self.connection;
        tracing::trace!(connection = number, %virtual_cluster, listener = self.listener, %peer, "connection opened");
    }
}

/// Why a client was not let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Why {
    /// As many are connected as the listener may have.
    Listener,
    /// As many are connected from its address as may be.
    Source,
    /// What descriptors there are is left for links to brokers.
    Descriptors,
}

/// A client was not let in, since a limit is reached. Logged once, until somebody is let in.
pub(crate) struct TurnedAway<'a> {
    pub(crate) virtual_cluster: &'a str,
    pub(crate) listener: &'a str,
    pub(crate) source: IpAddr,
    pub(crate) why: Why,
    pub(crate) is_first: First,
}

impl TurnedAway<'_> {
    pub(crate) fn emit(&self, meters: &Meters) {
        let Self { virtual_cluster, listener, source, .. } = *self;
        let reason = match self.why {
            Why::Listener => "most_per_listener",
            Why::Source => "most_per_source",
            Why::Descriptors => "descriptors",
        };
        let labels = [("virtual_cluster", virtual_cluster), ("listener", listener), ("reason", reason)];
        meters.connections_refused.count(labels);
        if self.is_first == First::Yes {
            tracing::warn!(virtual_cluster, listener, peer = %source, reason, "connections are refused");
        }
    }
}

/// Clients come faster than they are let in, and wait. Logged once, until one does not wait.
pub(crate) struct HeldBack<'a> {
    pub(crate) virtual_cluster: &'a str,
    pub(crate) listener: &'a str,
    pub(crate) is_first: First,
}

impl HeldBack<'_> {
    pub(crate) fn emit(&self, meters: &Meters) {
        let Self { virtual_cluster, listener, .. } = *self;
        meters.accepts_delayed.count([("virtual_cluster", virtual_cluster), ("listener", listener)]);
        if self.is_first == First::Yes {
            tracing::warn!(virtual_cluster, listener, "connections wait to be accepted");
        }
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
    /// The client's first request did not come in time.
    Mute,
    /// The client did not log in in time.
    NoLogin,
    /// Nothing came from the client for long, and it was owed nothing.
    Idle,
    /// It was as old as a connection may become.
    Old,
    /// Its virtual cluster ended, or Skein did; nothing was open on it.
    Drained,
    /// The same, and something was open on it when the time was over.
    Cut,
    /// What it began with is no Kafka.
    Stranger(What),
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
            Self::Mute => "client_mute",
            Self::NoLogin => "client_no_login",
            Self::Idle => "idle",
            Self::Old => "most_age",
            Self::Drained => "drained",
            Self::Cut => "drain_timeout",
            Self::Stranger(what) => what.label(),
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
    pub(crate) fn emit(&self, meters: &Meters, of: &ClientMeters) {
        let Connection { number, virtual_cluster, peer } = self.connection;
        let (reason, listener, open) = (self.ended.label(), &*self.client.listener, self.open_requests);
        let labels = [("virtual_cluster", &**virtual_cluster), ("listener", listener), ("reason", reason)];
        meters.connections_closed.count(labels);
        of.open.dec();
        let software = self.client.software.as_ref().map(|(name, _)| &**name);
        match self.ended {
            Ended::Left | Ended::Drained | Ended::Idle | Ended::Old => {
                tracing::debug!(connection = number, %virtual_cluster, listener, %peer, software, reason, open, "connection closed");
            }
            Ended::Broken(error) => {
                tracing::debug!(connection = number, %virtual_cluster, listener, %peer, software, reason, open, %error, "connection closed");
            }
            Ended::Deaf | Ended::Mute | Ended::NoLogin | Ended::LeftInside | Ended::Cut => {
                tracing::warn!(connection = number, %virtual_cluster, listener, %peer, software, reason, open, "connection closed");
            }
            Ended::Stranger(what) => {
                let error = what.words(listener);
                tracing::warn!(connection = number, %virtual_cluster, listener, %peer, reason, error, "connection closed");
            }
            Ended::Reason(error) => {
                tracing::warn!(connection = number, %virtual_cluster, listener, %peer, software, reason, open, %error, "connection closed");
            }
        }
    }
}

/// A request was answered with an error of Skein's own.
pub(crate) struct Refused<'a> {
    pub(crate) connection: &'a Connection,
    pub(crate) key: ApiKey,
    pub(crate) code: Code,
}

impl Refused<'_> {
    pub(crate) fn emit(&self, meters: &Meters) {
        let Connection { number, virtual_cluster, .. } = self.connection;
        let (api, error) = (self.key.to_string(), self.code.to_string());
        meters.refusals.count([("virtual_cluster", &**virtual_cluster), ("api", &*api), ("reason", &*error)]);
        tracing::debug!(connection = number, %virtual_cluster, api, error, "answered with an error of Skein's own");
    }
}
