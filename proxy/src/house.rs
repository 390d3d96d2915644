//! What all connections of the process share.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use skein_routing::budget::Budget;

use crate::pool::Pool;

/// Memory for completed requests of all connections.
const REQUESTS: u64 = 256 << 20;
/// Memory for completed answers of all connections.
const ANSWERS: u64 = 256 << 20;
/// Idle read buffers that are kept: 4 MiB.
const BUFFERS: usize = 16;

/// What all connections share.
#[derive(Debug)]
pub(crate) struct House {
    pub(crate) pool: Pool,
    pub(crate) requests: Arc<Budget>,
    pub(crate) answers: Arc<Budget>,
    connections: AtomicU64,
}

impl House {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            pool: Pool::new(BUFFERS),
            requests: Budget::new(REQUESTS),
            answers: Budget::new(ANSWERS),
            connections: AtomicU64::new(1),
        })
    }

    /// The number of the next connection.
    pub(crate) fn next_connection(&self) -> u64 {
        self.connections.fetch_add(1, Ordering::Relaxed)
    }
}
