//! Whether brokers answer: each is asked what it offers now and then, on a connection of its own, as a client would.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use skein_filters::Address;
use skein_protocol::ids::RealNodeId;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::asker::Asker;
use crate::inspect::{Depth, inspect};

/// How often each broker is asked; give or take a half, so that many instances do not ask at once.
const PERIOD: Duration = Duration::from_secs(10);
/// Brokers of a cluster that are asked at the same time.
const AT_ONCE: usize = 16;
/// The shortest time between two questions to one cluster, however many brokers it has.
const BETWEEN: Duration = Duration::from_millis(50);

/// What came of the last question to a broker.
#[derive(Clone, Debug)]
pub struct Answered {
    /// How long the answer took, the connecting included; or why there is none.
    pub outcome: Result<Duration, Arc<str>>,
}

/// The health of a cluster's brokers.
#[derive(Debug, Default)]
pub(crate) struct Health {
    nodes: Mutex<BTreeMap<RealNodeId, Answered>>,
}

impl Health {
    /// What came of the last question to each broker that was asked.
    pub(crate) fn nodes(&self) -> BTreeMap<RealNodeId, Answered> {
        self.nodes.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn note(&self, node: RealNodeId, outcome: Result<Duration, Arc<str>>) {
        self.nodes.lock().unwrap_or_else(PoisonError::into_inner).insert(node, Answered { outcome });
    }

    /// Forgets whom nobody knows any more.
    fn keep(&self, known: &[(RealNodeId, Address)]) {
        let mut nodes = self.nodes.lock().unwrap_or_else(PoisonError::into_inner);
        nodes.retain(|node, _| known.iter().any(|(known, _)| known == node));
    }
}

/// A period, give or take a half.
fn about(period: Duration) -> Duration {
    period.mul_f64(0.5 + fastrand::f64())
}

/// Asks all brokers, a moment apart, as long as the asker is there.
pub(crate) async fn watch(asker: Weak<Asker>) {
    // Whoever starts has better things to do.
    let mut pause = PERIOD;
    loop {
        tokio::time::sleep(about(pause)).await;
        let Some(asker_now) = asker.upgrade() else { return };
        let nodes = asker_now.places();
        asker_now.health.keep(&nodes);
        drop(asker_now);
        let is_unknown = nodes.is_empty();
        let count = u32::try_from(nodes.len()).unwrap_or(u32::MAX).max(1);
        let between = (PERIOD / count).max(BETWEEN);
        // One that is silent does not keep the others waiting.
        let mut asked = JoinSet::new();
        for (node, address) in nodes {
            if asked.len() >= AT_ONCE {
                asked.join_next().await;
            }
            let Some(asker) = asker.upgrade() else { return };
            asked.spawn(async move { asker.health.note(node, round_trip(&asker, &address).await) });
            tokio::time::sleep(about(between)).await;
        }
        while asked.join_next().await.is_some() {}
        pause = if is_unknown { PERIOD } else { BETWEEN };
    }
}

/// Asks a broker what it offers.
async fn round_trip(asker: &Asker, address: &Address) -> Result<Duration, Arc<str>> {
    let begun = Instant::now();
    let seen = inspect(address, asker.tls(), Depth::Offer, None).await.map_err(|failure| failure.to_string())?;
    asker.offered(address, seen.offer);
    Ok(begun.elapsed())
}
