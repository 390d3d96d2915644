//! Where clients of a listener log in: whom it lets in follows the files that it was made from, as they change.

use std::sync::Arc;
use std::time::SystemTime;

use bytes::Bytes;
use skein_login::{Exchange, Judge, Mechanism, Step};
use tokio::sync::{Semaphore, watch};

/// Where clients of a listener log in.
pub(crate) struct Gate {
    judge: watch::Receiver<Arc<Judge>>,
    /// As many passwords are hashed at once as there are processors: a flood of logins waits in turn, and nobody else does.
    turns: Arc<Semaphore>,
}

impl Gate {
    /// The names of what is offered.
    pub(crate) fn offered(&self) -> Vec<Arc<str>> {
        self.judge.borrow().mechanisms.iter().map(|mechanism| Arc::from(mechanism.name())).collect()
    }

    /// Begins with a mechanism; `None`: it is not offered.
    pub(crate) fn begin(&self, mechanism: Mechanism) -> Option<Exchange> {
        let judge = Arc::clone(&self.judge.borrow());
        judge.begin(mechanism)
    }

    /// Judges a step, beside those who must not wait.
    pub(crate) async fn step(&self, exchange: Exchange, token: Bytes) -> Step {
        let step = if exchange.is_costly() {
            let turn = Arc::clone(&self.turns).acquire_owned().await;
            let work = move || {
                let _turn = turn;
                exchange.step(SystemTime::now(), &token)
            };
            // It does not panic; if it did, the login would have failed.
            tokio::task::spawn_blocking(work).await
        } else {
            Ok(exchange.step(SystemTime::now(), &token))
        };
        step
    }
}
