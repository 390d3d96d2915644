//! What all connections of the process share.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use skein_config::blueprint::Memory;
use skein_config::process::{Connections, Process};
use skein_login::Decoys;
use skein_routing::budget::Budget;
use tokio::sync::Semaphore;

use crate::admission::Descriptors;
use crate::arrival::Seats;
use crate::behind::Behind;
use crate::meters::{Labels, Meters, dropped_log_lines, labels};
use crate::pool::Pool;
use crate::renewals::Renewals;
use crate::roll::Roll;
use crate::tenant::Tenant;
use crate::tries::Tries;

/// What all connections share.
pub(crate) struct House {
    pub(crate) pool: Pool,
    pub(crate) meters: Arc<Meters>,
    pub(crate) requests: Arc<Budget>,
    pub(crate) answers: Arc<Budget>,
    pub(crate) descriptors: Arc<Descriptors>,
    pub(crate) tries: Arc<Tries>,
    /// Seats of clients that are on their way in.
    pub(crate) seats: Arc<Seats>,
    /// What was made of files, and is looked at as long as it is in use.
    pub(crate) renewals: Arc<Renewals>,
    /// What those see who are nobody where the file of users does not say: the same as long as the process lives.
    pub(crate) decoys: Decoys,
    /// As many passwords are hashed at once as there are processors: a flood of logins waits in turn, and nobody else does.
    pub(crate) hashing: Arc<Semaphore>,
    settings: RwLock<Arc<Settings>>,
    board: RwLock<Board>,
    /// Held while metrics are told: those of brokers are written anew each time.
    telling: Mutex<()>,
    connections: AtomicU64,
}

/// What the file says of the process.
#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) process: Process,
    pub(crate) connections: Connections,
}

/// What is served, for those who watch.
#[derive(Default)]
pub(crate) struct Board {
    /// Every listener is bound.
    pub(crate) is_ready: bool,
    /// Nobody is let in any more.
    pub(crate) is_draining: bool,
    pub(crate) tenants: Vec<Arc<Tenant>>,
    pub(crate) clusters: Vec<Arc<Behind>>,
    /// The graph, as a Mermaid flowchart.
    pub(crate) graph: String,
    /// The file, as it is written.
    pub(crate) written: serde_json::Value,
    /// Rolls of what has ended.
    pub(crate) ended: Vec<Arc<Roll>>,
}

impl House {
    /// What the file says of `memory` holds for as long as the process lives.
    pub(crate) fn new(memory: &Memory, settings: Settings, decoys: Decoys) -> Arc<Self> {
        Arc::new(Self {
            pool: Pool::new(memory.idle_buffers),
            meters: Arc::default(),
            requests: Budget::new(memory.requests),
            answers: Budget::new(memory.answers),
            descriptors: Descriptors::new(),
            tries: Arc::default(),
            seats: Seats::new(),
            renewals: Arc::default(),
            decoys,
            hashing: Arc::new(Semaphore::new(std::thread::available_parallelism().map_or(1, NonZeroUsize::get))),
            settings: RwLock::new(Arc::new(settings)),
            board: RwLock::default(),
            telling: Mutex::default(),
            connections: AtomicU64::new(1),
        })
    }

    /// What the file says of the process now.
    pub(crate) fn settings(&self) -> Arc<Settings> {
        Arc::clone(&self.settings.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Takes over what the file says of the process.
    pub(crate) fn set(&self, settings: Settings) {
        *self.settings.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(settings);
    }

    /// Writes on the board.
    pub(crate) fn show(&self, write: impl FnOnce(&mut Board)) {
        write(&mut self.board.write().unwrap_or_else(PoisonError::into_inner));
    }

    /// Reads the board.
    pub(crate) fn shown<T>(&self, read: impl FnOnce(&Board) -> T) -> T {
        read(&self.board.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// All metrics, as text.
    pub(crate) fn metrics(&self) -> String {
        let _telling = self.telling.lock().unwrap_or_else(PoisonError::into_inner);
        let dropped = i64::try_from(dropped_log_lines()).unwrap_or(i64::MAX);
        self.meters.log_lines_dropped.get(&Labels::new()).set(dropped);
        self.meters.descriptors.get(&Labels::new()).set(i64::try_from(self.descriptors.used()).unwrap_or(i64::MAX));
        // Brokers that nobody asks any more are not shown as they once were.
        self.meters.node_up.retain(|_| false);
        self.meters.node_round_trip.retain(|_| false);
        self.shown(|board| board.clusters.iter().for_each(|cluster| cluster.show(&self.meters)));
        for (side, budget) in [("client", &self.requests), ("broker", &self.answers)] {
            let held = i64::try_from(budget.held()).unwrap_or(i64::MAX);
            self.meters.memory_held.get(&labels([("side", side)])).set(held);
        }
        self.meters.text()
    }

    /// The number of the next connection.
    pub(crate) fn next_connection(&self) -> u64 {
        self.connections.fetch_add(1, Ordering::Relaxed)
    }
}
