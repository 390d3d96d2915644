//! The open connections of a virtual cluster, and how they are told that it ends.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::{Context, Waker};
use std::time::Instant;

use tokio::sync::Notify;

/// Who is connected.
#[derive(Debug, Default)]
pub(crate) struct Roll {
    /// When what is still open is cut. Set when the drain begins.
    drained_by: OnceLock<Instant>,
    /// How each connection's task is woken; its number, and `None` until it has run once.
    open: Mutex<BTreeMap<u64, Option<Waker>>>,
    /// Rung when the last one leaves.
    empty: Notify,
}

impl Roll {
    /// Adds a connection, until the place is dropped.
    pub(crate) fn enter(self: &Arc<Self>, number: u64) -> Place {
        self.open().insert(number, None);
        Place { roll: Arc::clone(self), number, waker: None }
    }

    /// Has every connection end between two requests, and at once when `by` has come. The first call counts.
    pub(crate) fn drain(&self, by: Instant) {
        if self.drained_by.set(by).is_ok() {
            self.open().values().flatten().for_each(Waker::wake_by_ref);
        }
    }

    /// Open connections.
    pub(crate) fn len(&self) -> usize {
        self.open().len()
    }

    /// Waits until none is open.
    pub(crate) async fn emptied(&self) {
        loop {
            let rung = self.empty.notified();
            if self.open().is_empty() {
                return;
            }
            rung.await;
        }
    }

    fn open(&self) -> MutexGuard<'_, BTreeMap<u64, Option<Waker>>> {
        // Nothing that is done under the lock can fail half-way.
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A connection's place on the roll.
#[derive(Debug)]
pub(crate) struct Place {
    roll: Arc<Roll>,
    number: u64,
    waker: Option<Waker>,
}

impl Place {
    /// When the connection is cut, if its virtual cluster ends. The task of `cx` is woken when that is said.
    pub(crate) fn drained_by(&mut self, cx: &Context<'_>) -> Option<Instant> {
        // Told once: this runs each time the session does, and a task's waker stays the same.
        if !self.waker.as_ref().is_some_and(|waker| waker.will_wake(cx.waker())) {
            self.waker = Some(cx.waker().clone());
            self.roll.open().insert(self.number, self.waker.clone());
        }
        self.roll.drained_by.get().copied()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut open = self.roll.open();
        open.remove(&self.number);
        if open.is_empty() {
            self.roll.empty.notify_waiters();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn whoever_is_on_the_roll_hears_of_the_end_and_the_last_to_leave_ends_the_wait() {
        let roll = Arc::new(Roll::default());
        let mut places: Vec<_> = (0..3).map(|number| roll.enter(number)).collect();
        let by = Instant::now();
        let told = places.drain(..).map(|mut place| {
            tokio::spawn(async move {
                std::future::poll_fn(|cx| match place.drained_by(cx) {
                    Some(by) => std::task::Poll::Ready(by),
                    None => std::task::Poll::Pending,
                })
                .await
            })
        });
        let told: Vec<_> = told.collect();
        tokio::task::yield_now().await;
        roll.drain(by);
        for task in told {
            assert_eq!(task.await.unwrap(), by);
        }
        roll.emptied().await;
        assert_eq!(roll.len(), 0);
    }
}
