//! Rounds of questions: one at a time for all who ask, and with pauses that grow while they fail.

use std::sync::Weak;

use skein_routing::engine::Need;
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::{Asker, BETWEEN};
use crate::inspect::Depth;
use crate::patience::{LONGEST, rest};

/// How much is to be asked for what is needed.
fn depth(need: Need) -> Depth {
    match need {
        Need::Offer => Depth::Offer,
        Need::Identity | Need::Again => Depth::Identity,
        Need::Topics => Depth::Topics,
    }
}

/// Rounds that were asked for because a broker was not where it was said to be.
struct Again {
    in_a_row: u32,
    until: Instant,
}

impl Again {
    fn note(&mut self) {
        let now = Instant::now();
        let is_over = self.until + LONGEST < now;
        self.in_a_row = if is_over { 1 } else { self.in_a_row.saturating_add(1) };
        self.until = now + rest(self.in_a_row);
    }
}

/// Rounds of questions, as long as somebody may ask.
pub(super) async fn run(asker: Weak<Asker>, mut waiting: mpsc::Receiver<Need>) {
    let mut failures = 0;
    let mut again = Again { in_a_row: 0, until: Instant::now() };
    while let Some(first) = waiting.recv().await {
        let mut wanted = depth(first);
        let mut needs = first;
        while needs == Need::Again && Instant::now() < again.until {
            // Brokers that are gone do not come back by being asked for at once; who asks for something else need not wait.
            match tokio::time::timeout_at(again.until, waiting.recv()).await {
                Ok(None) => return,
                Ok(Some(next)) => needs = next,
                Err(_) => break,
            }
            wanted = wanted.max(depth(needs));
        }
        while let Ok(more) = waiting.try_recv() {
            wanted = wanted.max(depth(more));
        }
        if first == Need::Again {
            again.note();
        }
        let Some(asker) = asker.upgrade() else { return };
        let outcome = asker.round(wanted).await;
        let pause = if outcome.is_ok() {
            failures = 0;
            BETWEEN
        } else {
            failures = u32::saturating_add(failures, 1);
            rest(failures).max(BETWEEN)
        };
        asker.ended(wanted, outcome);
        drop(asker);
        tokio::time::sleep(pause).await;
    }
}
