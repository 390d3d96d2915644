//! Memory for frames that are completed before they go on: one bound for the whole process.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// So many bytes may be held by completed frames of all connections together.
#[derive(Debug)]
pub struct Budget {
    left: AtomicU64,
}

impl Budget {
    /// A budget of so many bytes.
    pub fn new(bytes: u64) -> Arc<Self> {
        Arc::new(Self { left: AtomicU64::new(bytes) })
    }

    /// Takes `bytes` in full, or nothing.
    pub fn reserve(self: &Arc<Self>, bytes: u32) -> Option<Reserved> {
        let take = |left: u64| left.checked_sub(u64::from(bytes));
        self.left.fetch_update(Ordering::AcqRel, Ordering::Acquire, take).ok()?;
        Some(Reserved { budget: Arc::clone(self), bytes })
    }

    /// Bytes that nobody has taken.
    pub fn left(&self) -> u64 {
        self.left.load(Ordering::Acquire)
    }
}

/// A part of a budget, given back when it is dropped.
#[derive(Debug)]
pub struct Reserved {
    budget: Arc<Budget>,
    bytes: u32,
}

impl Drop for Reserved {
    fn drop(&mut self) {
        self.budget.left.fetch_add(u64::from(self.bytes), Ordering::AcqRel);
    }
}
