//! How many clients may be on their way in.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};

/// Clients that are on their way in at a time: each holds what a handshake needs, some tens of kilobytes.
const MOST: usize = 1024;
/// How long each of them has its seat, whoever else wants it.
const GRANTED: Duration = Duration::from_secs(1);

/// Seats of those who are on their way in. Once all are taken, who comes waits until one leaves, or until whoever has sat
/// longest has had its time, and goes: so those that never say a word keep nobody out for long.
#[derive(Debug)]
pub(crate) struct Seats {
    most: usize,
    taken: Mutex<Taken>,
    /// Rung when one leaves.
    left: Notify,
}

#[derive(Debug, Default)]
struct Taken {
    next: u64,
    /// Since when, and what is rung when it has to go; in the order in which they came.
    by: BTreeMap<u64, (Instant, Arc<Notify>)>,
}

impl Seats {
    pub(crate) fn new() -> Arc<Self> {
        Self::of(MOST)
    }

    fn of(most: usize) -> Arc<Self> {
        Arc::new(Self { most, taken: Mutex::default(), left: Notify::new() })
    }

    /// Takes a seat, as soon as there is one.
    pub(crate) async fn take(self: &Arc<Self>) -> Seat {
        loop {
            let left = self.left.notified();
            match self.try_take() {
                Ok(seat) => return seat,
                // Whichever comes first, there may be a seat.
                Err(due) => drop(timeout_at(due, left).await),
            }
        }
    }

    /// A seat, or when one will be free at the latest.
    fn try_take(self: &Arc<Self>) -> Result<Seat, Instant> {
        let now = Instant::now();
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        if taken.by.len() >= self.most
            && let Some(first) = taken.by.first_entry()
        {
            let due = first.get().0 + GRANTED;
            if due > now {
                return Err(due);
            }
            first.remove().1.notify_one();
        }
        let (number, rung) = (taken.next, Arc::new(Notify::new()));
        taken.next += 1;
        taken.by.insert(number, (now, Arc::clone(&rung)));
        Ok(Seat { seats: Arc::clone(self), number, rung })
    }
}

/// A seat of one who is on its way in.
#[derive(Debug)]
pub(crate) struct Seat {
    seats: Arc<Seats>,
    number: u64,
    rung: Arc<Notify>,
}

impl Seat {
    /// Waits until somebody else has it.
    pub(crate) async fn is_taken(&self) {
        self.rung.notified().await;
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.seats.taken.lock().unwrap_or_else(PoisonError::into_inner).by.remove(&self.number);
        self.seats.left.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn who_never_says_a_word_keeps_nobody_out_for_long() {
        let seats = Seats::of(2);
        let begun = Instant::now();
        let (mute, _other) = (seats.take().await, seats.take().await);
        let third = seats.take().await;
        assert_eq!(begun.elapsed().as_secs(), 1);
        mute.is_taken().await;
        drop(mute);
        let leaves = tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(100)).await;
            drop(third);
        });
        // The other has had its time, and goes at once; then the third leaves by itself.
        let _fourth = seats.take().await;
        assert_eq!(begun.elapsed().as_secs(), 1);
        let before = Instant::now();
        let _fifth = seats.take().await;
        assert_eq!(before.elapsed().as_millis(), 100);
        leaves.await.unwrap();
    }
}
