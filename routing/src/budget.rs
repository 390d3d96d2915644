//! Memory for frames that are completed before they go on: one bound for the whole process.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;

/// So many bytes may be held by completed frames of all connections together.
#[derive(Debug)]
pub struct Budget {
    all: u64,
    left: AtomicU64,
}

impl Budget {
    /// A budget of so many bytes.
    pub fn new(bytes: u64) -> Arc<Self> {
        Arc::new(Self { all: bytes, left: AtomicU64::new(bytes) })
    }

    /// Takes `bytes` in full, or nothing.
    pub fn reserve(self: &Arc<Self>, bytes: u32) -> Option<Reserved> {
        let take = |left: u64| left.checked_sub(u64::from(bytes));
        self.left.fetch_update(Ordering::AcqRel, Ordering::Acquire, take).ok()?;
        Some(Reserved { budget: Arc::clone(self), bytes })
    }

    /// The longest frame that can ever be completed: it is held twice, as it comes and as it goes.
    pub fn longest(&self) -> u32 {
        u32::try_from(self.all / 2).unwrap_or(u32::MAX)
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

impl Reserved {
    /// Bytes that are held.
    pub fn bytes(&self) -> u32 {
        self.bytes
    }

    /// Holds `bytes` in all, if the difference can be had; whether it could.
    pub fn grow(&mut self, bytes: u32) -> Grown {
        let Some(more) = bytes.checked_sub(self.bytes) else { return Grown::Yes };
        let Some(mut more) = self.budget.reserve(more) else { return Grown::No };
        self.bytes = bytes;
        // What was taken is this one's from now on.
        more.bytes = 0;
        Grown::Yes
    }
}

impl Reserved {
    /// Bytes that hold it: it is given back when the last of them is dropped.
    pub(crate) fn with(self, bytes: Bytes) -> Bytes {
        Bytes::from_owner(Held { bytes, _reserved: self })
    }
}

/// Bytes for which memory is reserved.
struct Held {
    bytes: Bytes,
    _reserved: Reserved,
}

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// Whether more could be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grown {
    /// It is held.
    Yes,
    /// There is not enough left.
    No,
}

impl Drop for Reserved {
    fn drop(&mut self) {
        self.budget.left.fetch_add(u64::from(self.bytes), Ordering::AcqRel);
    }
}
