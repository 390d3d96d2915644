//! A running Skein: what all connections share, and the listeners.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use skein_config::Blueprint;
use skein_link::Asker;
use skein_protocol::ids::VirtualNodeId;
use skein_routing::budget::Budget;
use skein_routing::engine::Need;
use skein_routing::graph::{Door, LoginMode};

use crate::events::{Ready, Unlisted};
use crate::listen::{self, Entrance};
use crate::pool::Pool;

/// What all connections share.
pub(crate) struct House {
    pub(crate) askers: Vec<Arc<Asker>>,
    pub(crate) pool: Pool,
    connections: AtomicU64,
    /// Nodes that have been reported as left out.
    reported: Mutex<BTreeSet<(Arc<str>, VirtualNodeId)>>,
}

impl House {
    /// The number of the next connection.
    pub(crate) fn next_connection(&self) -> u64 {
        self.connections.fetch_add(1, Ordering::Relaxed)
    }

    /// Reports a node that was left out of answers, once.
    pub(crate) fn unlisted(&self, virtual_cluster: &Arc<str>, node: VirtualNodeId) {
        let first = self.reported.lock().is_ok_and(|mut reported| reported.insert((Arc::clone(virtual_cluster), node)));
        if first {
            Unlisted { virtual_cluster, node }.emit();
        }
    }
}

/// Why Skein does not start.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
#[error("{address} of listener `{listener}` of virtual cluster `{virtual_cluster}` cannot be bound: {error}")]
#[diagnostic(help("another process may listen there; `bind` and `ports` say what is bound"))]
pub struct NotBound {
    virtual_cluster: Arc<str>,
    listener: Arc<str>,
    address: SocketAddr,
    error: std::io::Error,
}

/// A running Skein. Dropping it stops it from accepting.
pub struct App {
    _listeners: tokio::task::JoinSet<()>,
}

impl App {
    /// Binds every listener and serves. It is ready when this returns.
    ///
    /// # Errors
    /// [`NotBound`]: nothing is served then.
    pub fn start(blueprint: Blueprint) -> Result<Self, NotBound> {
        let memory = blueprint.memory;
        let askers: Vec<_> = blueprint.clusters.into_iter().map(Asker::start).collect();
        let house = Arc::new(House {
            askers,
            pool: Pool::new(memory.idle_buffers),
            connections: AtomicU64::new(1),
            reported: Mutex::default(),
        });
        let (requests, answers) = (Budget::new(memory.requests), Budget::new(memory.answers));
        let mut listeners = tokio::task::JoinSet::new();
        let mut count = 0;
        let virtual_clusters = blueprint.virtual_clusters.len();
        for cluster in blueprint.virtual_clusters {
            let clusters = cluster.target.clusters();
            for listener in cluster.listeners {
                if listener.login == LoginMode::None {
                    // The first client need not wait for what can be known before it comes.
                    let asked = clusters.iter().filter_map(|index| house.askers.get(usize::from(index.0)));
                    asked.for_each(|asker| asker.ask(Need::Identity));
                }
                let door = Arc::new(Door {
                    face: listener.face,
                    target: cluster.target.clone(),
                    clusters: clusters.clone(),
                    login: listener.login,
                    limits: cluster.limits.clone(),
                    requests: Arc::clone(&requests),
                    answers: Arc::clone(&answers),
                });
                for (address, at) in listener.binds {
                    let socket = listen::bind(address).map_err(|error| NotBound {
                        virtual_cluster: Arc::clone(&cluster.name),
                        listener: Arc::clone(&listener.name),
                        address,
                        error,
                    })?;
                    let entrance = Entrance {
                        virtual_cluster: Arc::clone(&cluster.name),
                        listener: Arc::clone(&listener.name),
                        door: Arc::clone(&door),
                        at,
                        house: Arc::clone(&house),
                    };
                    listeners.spawn(listen::accept(socket, address, entrance));
                    count += 1;
                }
            }
        }
        Ready { virtual_clusters, listeners: count }.emit();
        Ok(Self { _listeners: listeners })
    }
}
