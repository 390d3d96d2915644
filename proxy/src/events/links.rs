//! What happens to links to brokers.

use skein_routing::engine::Fault;

use super::Connection;
use crate::meters::Meters;

/// The node's id, or `any`.
fn named(node: Option<i32>) -> String {
    node.map_or_else(|| "any".to_owned(), |node| node.to_string())
}

/// A link to a broker is up.
pub(crate) struct LinkOpened<'a> {
    pub(crate) connection: &'a Connection,
    pub(crate) cluster: &'a str,
    pub(crate) node: Option<i32>,
}

impl LinkOpened<'_> {
    pub(crate) fn emit(&self, meters: &Meters) {
        let Connection { number, virtual_cluster, .. } = self.connection;
        let (cluster, real_node) = (self.cluster, self.node);
        meters.links_opened.count([("cluster", cluster), ("node", &*named(real_node))]);
        tracing::trace!(connection = number, %virtual_cluster, cluster, real_node, "link opened");
    }
}

/// Why a link to a broker was lost.
pub(crate) enum LinkLoss<'a> {
    /// It could not be dialled.
    Unreached(&'a skein_link::Unreached),
    /// Skein's login on it was not made again.
    NotRenewed(&'a skein_link::Failure),
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
    pub(crate) loss: &'a LinkLoss<'a>,
}

impl LinkLost<'_> {
    pub(crate) fn emit(&self, meters: &Meters) {
        let Connection { number, virtual_cluster, .. } = self.connection;
        let (cluster, real_node) = (self.cluster, self.node);
        let node = named(real_node);
        let because = |reason| [("cluster", cluster), ("node", &*node), ("reason", reason)];
        let lost = |reason| meters.links_lost.count(because(reason));
        match self.loss {
            LinkLoss::Unreached(error) => match error.reason() {
                Some(reason) => {
                    meters.dials_failed.count(because(reason));
                    tracing::warn!(connection = number, %virtual_cluster, cluster, real_node, reason, %error, "broker not reached");
                }
                // Others have found out, and told, how the broker is; that is nothing new.
                None => {
                    tracing::debug!(connection = number, %virtual_cluster, cluster, real_node, %error, "broker not dialled");
                }
            },
            LinkLoss::NotRenewed(error) => {
                lost("login");
                tracing::warn!(connection = number, %virtual_cluster, cluster, real_node, %error, "link not logged in again");
            }
            LinkLoss::Broken(error) => {
                lost("broken");
                let error = error.map(tracing::field::display);
                tracing::debug!(connection = number, %virtual_cluster, cluster, real_node, error, "link lost");
            }
            LinkLoss::Fault(error) => {
                lost(word(*error));
                tracing::warn!(connection = number, %virtual_cluster, cluster, real_node, %error, "link closed");
            }
        }
    }
}

/// A cluster cannot be asked any more, or can be again. Told when that changes.
pub(crate) struct ClusterAsked<'a> {
    pub(crate) cluster: &'a str,
    /// Why not.
    pub(crate) failure: Option<&'a str>,
}

impl ClusterAsked<'_> {
    pub(crate) fn emit(&self, meters: &Meters) {
        let cluster = self.cluster;
        match self.failure {
            Some(error) => {
                meters.clusters_lost.count([("cluster", cluster)]);
                tracing::warn!(cluster, error, "cluster not reached");
            }
            None => {
                tracing::info!(cluster, "cluster reached again");
            }
        }
    }
}

/// The word for a fault in metrics.
fn word(fault: Fault) -> &'static str {
    match fault {
        Fault::Malformed(_) => "malformed",
        Fault::Correlation { .. } => "correlation",
        Fault::TooLarge { .. } => "too_large",
        Fault::Early => "early",
        Fault::Late => "late",
        Fault::Unread => "unread",
    }
}
