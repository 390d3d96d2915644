//! What the cluster has seen and said.

use std::collections::BTreeSet;
use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use bytes::Bytes;
use kafka_protocol::protocol::Request as Api;

use super::lock;

/// One request that arrived.
#[derive(Clone, Debug)]
pub struct Received {
    /// At which node.
    pub node: i32,
    /// On which connection: 1, 2, 3, … over all nodes.
    pub connection: usize,
    /// API key.
    pub key: i16,
    /// API version.
    pub version: i16,
    /// As it came.
    pub correlation_id: i32,
    /// `None` is null.
    pub client_id: Option<String>,
    /// What follows the header.
    pub body: Bytes,
    /// When.
    pub at: Instant,
}

impl Received {
    /// The body as an `A`.
    ///
    /// # Errors
    /// It is none.
    pub fn decode<A: Api>(&self) -> Result<A> {
        A::decode(&mut self.body.clone(), self.version)
    }
}

/// One answer that was written, whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    /// On which connection.
    pub connection: usize,
    /// Of the request.
    pub key: i16,
    /// Of what follows the correlation id.
    pub bytes: u64,
    /// CRC-32C of what follows the correlation id.
    pub crc: u32,
}

#[derive(Default)]
struct Pages {
    requests: Vec<Received>,
    sent: Vec<Sent>,
    accepted: usize,
    open: BTreeSet<usize>,
}

/// The book of all nodes, and who waits for an entry.
#[derive(Default)]
pub(super) struct Ledger {
    pages: Mutex<Pages>,
    news: Condvar,
}

impl Ledger {
    pub(super) fn received(&self, request: Received) {
        self.enter(|pages| pages.requests.push(request));
    }

    pub(super) fn answered(&self, sent: Sent) {
        self.enter(|pages| pages.sent.push(sent));
    }

    /// The number of a new connection.
    pub(super) fn opened(&self) -> usize {
        self.enter(|pages| {
            pages.accepted += 1;
            pages.open.insert(pages.accepted);
            pages.accepted
        })
    }

    pub(super) fn closed(&self, connection: usize) {
        self.enter(|pages| pages.open.remove(&connection));
    }

    pub(super) fn forget(&self) {
        self.enter(|pages| {
            pages.requests.clear();
            pages.sent.clear();
        });
    }

    pub(super) fn requests(&self) -> Vec<Received> {
        lock(&self.pages).requests.clone()
    }

    pub(super) fn sent(&self) -> Vec<Sent> {
        lock(&self.pages).sent.clone()
    }

    pub(super) fn connections(&self) -> usize {
        lock(&self.pages).accepted
    }

    pub(super) fn open(&self) -> Vec<usize> {
        lock(&self.pages).open.iter().copied().collect()
    }

    pub(super) fn wait_for(&self, fits: impl Fn(&Received) -> bool, within: Duration) -> Result<Received> {
        let mut seen = 0;
        let found = self.wait(within, |pages| {
            // Forgetting starts the list anew.
            let fresh = pages.requests.get(seen..).unwrap_or(&pages.requests);
            let found = fresh.iter().find(|request| fits(request)).cloned();
            seen = pages.requests.len();
            found
        });
        found.or_else(|_| {
            let seen = self.requests();
            let tail: Vec<_> = seen.iter().rev().take(20).map(|one| (one.node, one.key, one.version)).collect();
            bail!("no such request within {within:?}; the last of {} (node, key, version): {tail:?}", seen.len())
        })
    }

    pub(super) fn wait_for_count(&self, key: i16, count: usize, within: Duration) -> Result<()> {
        let (mut seen, mut fitting) = (0, 0);
        self.wait(within, |pages| {
            if pages.requests.len() < seen {
                (seen, fitting) = (0, 0);
            }
            fitting += pages.requests.iter().skip(seen).filter(|request| request.key == key).count();
            seen = pages.requests.len();
            (fitting >= count).then_some(())
        })
    }

    pub(super) fn wait_for_sent(&self, fits: impl Fn(&Sent) -> bool, within: Duration) -> Result<Sent> {
        self.wait(within, |pages| pages.sent.iter().find(|sent| fits(sent)).copied())
    }

    pub(super) fn wait_closed(&self, connection: usize, within: Duration) -> Result<()> {
        self.wait(within, |pages| (!pages.open.contains(&connection)).then_some(()))
    }

    fn wait<T>(&self, within: Duration, mut look: impl FnMut(&Pages) -> Option<T>) -> Result<T> {
        let deadline = Instant::now() + within;
        let mut pages = lock(&self.pages);
        loop {
            if let Some(found) = look(&pages) {
                return Ok(found);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                bail!("not within {within:?}");
            }
            pages = wait(&self.news, pages, left);
        }
    }

    fn enter<T>(&self, write: impl FnOnce(&mut Pages) -> T) -> T {
        let written = write(&mut lock(&self.pages));
        self.news.notify_all();
        written
    }
}

/// Waits for news, or a time.
pub(super) fn wait<'a, T>(news: &Condvar, guard: MutexGuard<'a, T>, most: Duration) -> MutexGuard<'a, T> {
    news.wait_timeout(guard, most).map_or_else(|poisoned| poisoned.into_inner().0, |(guard, _)| guard)
}
