//! The one who asks a cluster, for all connections: a question of a thousand sessions is one question.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use skein_config::blueprint::Cluster;
use skein_filters::Address;
use skein_protocol::ids::RealNodeId;
use skein_routing::engine::Need;
use skein_routing::topology::{Offer, Topology};
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

use crate::health::{self, Answered, Health};
use crate::patience::{Resting, rest};
use crate::{ask, dial};

/// The shortest time between two rounds of questions.
const BETWEEN: Duration = Duration::from_millis(10);
/// The shortest time before a round that follows one that failed.
const BACK_OFF: Duration = Duration::from_millis(100);
/// The longest time between two rounds while the cluster cannot be reached.
const LONGEST_BACK_OFF: Duration = Duration::from_secs(2);
/// Questions that wait for the next round; those beyond are the same as one of these.
const WAITING: usize = 64;

/// What is known of a cluster, and how many rounds of questions it took.
#[derive(Clone, Debug, Default)]
pub struct Known {
    /// What is known.
    pub topology: Arc<Topology>,
    /// Rounds that have ended, well or not.
    pub rounds: u64,
    /// Why the last round failed; `None` if it did not.
    pub failure: Option<Arc<str>>,
}

/// Asks one cluster.
#[derive(Debug)]
pub struct Asker {
    cluster: Cluster,
    known: watch::Sender<Known>,
    questions: mpsc::Sender<Need>,
    /// What each broker offered when it was last spoken to.
    offers: Mutex<Vec<(Address, Offer)>>,
    /// Where the next round begins, so that the first of a list is not the only one that is tried.
    turn: AtomicUsize,
    /// Whom nobody dials for a while.
    pub(crate) resting: Resting,
    pub(crate) health: Health,
}

impl Asker {
    /// Starts it; its task ends with the last handle to it.
    pub fn start(cluster: Cluster) -> Arc<Self> {
        let (questions, waiting) = mpsc::channel(WAITING);
        let asker = Arc::new(Self {
            cluster,
            known: watch::Sender::default(),
            questions,
            offers: Mutex::default(),
            turn: AtomicUsize::new(0),
            resting: Resting::default(),
            health: Health::default(),
        });
        tokio::spawn(health::watch(Arc::downgrade(&asker)));
        tokio::spawn(rounds(Arc::downgrade(&asker), waiting));
        asker
    }

    /// The cluster that it asks.
    pub fn cluster(&self) -> &Cluster {
        &self.cluster
    }

    /// What is known now.
    pub fn known(&self) -> Arc<Topology> {
        Arc::clone(&self.known.borrow().topology)
    }

    /// What came of the last question to each broker that was asked.
    pub fn health(&self) -> BTreeMap<RealNodeId, Answered> {
        self.health.nodes()
    }

    /// Why the last round of questions failed; `None` if it did not.
    pub fn failure(&self) -> Option<Arc<str>> {
        self.known.borrow().failure.clone()
    }

    /// Sees every change.
    pub fn watch(&self) -> watch::Receiver<Known> {
        self.known.subscribe()
    }

    /// Has something found out. The next round of questions answers it.
    pub fn ask(&self, need: Need) {
        // A full queue holds the same question already: there are three kinds, and a round answers all.
        let _ = self.questions.try_send(need);
    }

    /// Has something found out, and waits for the round to end.
    pub async fn next(&self, need: Need) {
        let mut changes = self.watch();
        let before = changes.borrow_and_update().rounds;
        self.ask(need);
        // An error means that the asker is gone, and with it the process.
        let _ = changes.wait_for(|known| known.rounds > before).await;
    }

    /// What a session found out on its own lane.
    pub fn told(&self, told: Topology) {
        self.publish(|known| merge(known, told));
    }

    /// What a broker said of itself when a lane was dialled.
    pub(crate) fn offered(&self, address: &Address, offer: Offer) {
        let offer = self.common(address, offer);
        let same = self.known.borrow().topology.offer.as_deref() == Some(&offer);
        if !same {
            self.publish(|topology| Topology { offer: Some(Arc::new(offer)), ..topology.clone() });
        }
    }

    /// Brokers that are gone, or are spoken to at another address now, have no say any more in what is offered.
    fn forget_offers_but(&self, is_there: impl Fn(&Address) -> bool) {
        if let Ok(mut offers) = self.offers.lock() {
            offers.retain(|(address, _)| is_there(address));
        }
    }

    /// What all brokers seen so far offer, now that one offers this.
    fn common(&self, address: &Address, offer: Offer) -> Offer {
        let Ok(mut offers) = self.offers.lock() else { return offer };
        offers.retain(|(known, _)| known != address);
        offers.push((address.clone(), offer.clone()));
        offers.iter().fold(offer, |common, (_, other)| common.meet(other))
    }

    fn publish(&self, change: impl FnOnce(&Topology) -> Topology) {
        self.known.send_modify(|known| known.topology = Arc::new(change(&known.topology)));
    }

    /// Where a broker may be reached, best first; for `None`, where any may be.
    pub fn candidates(&self, node: Option<RealNodeId>) -> Vec<Address> {
        let known = self.known();
        if let Some(node) = node {
            let found = self.cluster.addresses.get(&node).or_else(|| known.nodes.get(&node));
            return found.cloned().into_iter().collect();
        }
        let turn = self.turn.fetch_add(1, Ordering::Relaxed);
        let mut all: Vec<Address> = self.cluster.bootstrap.clone();
        let start = turn.checked_rem(all.len()).unwrap_or(0);
        all.rotate_left(start);
        for address in known.nodes.values() {
            if !all.contains(address) {
                all.push(address.clone());
            }
        }
        all
    }

    /// Every declared broker whose address is known.
    pub(crate) fn places(&self) -> Vec<(RealNodeId, Address)> {
        let known = self.known();
        let place = |node: &RealNodeId| self.cluster.addresses.get(node).or_else(|| known.nodes.get(node)).cloned();
        self.cluster.nodes.iter().filter_map(|node| Some((*node, place(node)?))).collect()
    }

    /// One round of questions: the first broker that answers all of them ends it.
    async fn round(&self, wanted: Wanted) -> Result<Topology, String> {
        let mut last = "no address to ask at".to_owned();
        for address in self.candidates(None) {
            match dial::in_time(self.ask_at(&address, wanted)).await {
                Ok(found) => return Ok(found),
                Err(why) => last = format!("{}:{}: {why}", address.host, address.port),
            }
        }
        Err(last)
    }

    async fn ask_at(&self, address: &Address, wanted: Wanted) -> Result<Topology, String> {
        let mut stream = dial::open(address).await?;
        let offer = ask::offer(&mut stream).await.map_err(|error| error.to_string())?;
        let mut found = match wanted {
            Wanted::Identity => {
                let found = ask::identity(&mut stream, &offer).await.map_err(|error| error.to_string())?;
                self.forget_offers_but(|known| known == address || found.nodes.values().any(|listed| listed == known));
                found
            }
            Wanted::Offer => Topology::default(),
        };
        found.offer = Some(Arc::new(self.common(address, offer)));
        Ok(found)
    }
}

/// What a round asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Wanted {
    /// What the brokers offer: all that can be asked before a login.
    Offer,
    /// That, the cluster id, and where the brokers are.
    Identity,
}

impl Wanted {
    fn of(need: Need) -> Self {
        match need {
            Need::Offer => Self::Offer,
            Need::Identity | Need::Again => Self::Identity,
        }
    }
}

/// What is known, with what was found: nothing is taken back, the newest wins.
fn merge(known: &Topology, found: Topology) -> Topology {
    let mut nodes = known.nodes.clone();
    nodes.extend(found.nodes);
    Topology {
        cluster_id: found.cluster_id.or_else(|| known.cluster_id.clone()),
        offer: found.offer.or_else(|| known.offer.clone()),
        nodes,
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
        let is_over = self.until + LONGEST_BACK_OFF < now;
        self.in_a_row = if is_over { 1 } else { self.in_a_row.saturating_add(1) };
        self.until = now + rest(self.in_a_row);
    }
}

/// Rounds of questions, as long as somebody may ask.
async fn rounds(asker: std::sync::Weak<Asker>, mut waiting: mpsc::Receiver<Need>) {
    let mut back_off = BETWEEN;
    let mut again = Again { in_a_row: 0, until: Instant::now() };
    while let Some(first) = waiting.recv().await {
        let mut wanted = Wanted::of(first);
        let mut needs = first;
        while needs == Need::Again && Instant::now() < again.until {
            // Brokers that are gone do not come back by being asked for at once; who asks for something else need not wait.
            match tokio::time::timeout_at(again.until, waiting.recv()).await {
                Ok(None) => return,
                Ok(Some(next)) => needs = next,
                Err(_) => break,
            }
            wanted = wanted.max(Wanted::of(needs));
        }
        while let Ok(more) = waiting.try_recv() {
            wanted = wanted.max(Wanted::of(more));
        }
        if first == Need::Again {
            again.note();
        }
        let Some(asker) = asker.upgrade() else { return };
        let began = Instant::now();
        let found = asker.round(wanted).await;
        let failure = found.as_ref().err().map(|why| Arc::from(why.as_str()));
        back_off = if failure.is_some() { (back_off * 2).clamp(BACK_OFF, LONGEST_BACK_OFF) } else { BETWEEN };
        asker.known.send_modify(|known| {
            if let Ok(found) = found {
                known.topology = Arc::new(merge(&known.topology, found));
            }
            known.rounds += 1;
            known.failure = failure;
        });
        drop(asker);
        tokio::time::sleep_until(began + back_off).await;
    }
}
