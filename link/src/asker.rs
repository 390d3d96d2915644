//! The one who asks a cluster, for all connections: a question of a thousand sessions is one question.

mod rounds;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use skein_config::blueprint::Cluster;
use skein_filters::Address;
use skein_protocol::ids::RealNodeId;
use skein_routing::engine::Need;
use skein_routing::topology::{Offer, Topology};
use tokio::sync::{mpsc, watch};

use crate::dial::{self, Unreached};
use crate::health::{self, Answered, Health};
use crate::inspect::{Depth, Inspected, look};
use crate::patience::Resting;
use crate::speaker::Speaker;
use crate::tls::ClientTls;

/// The shortest time between two rounds of questions.
pub(crate) const BETWEEN: Duration = Duration::from_millis(10);
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

/// Asks one cluster, as one who speaks to it.
#[derive(Debug)]
pub struct Asker {
    cluster: Cluster,
    /// As whom it asks; `None`: without a login.
    speaker: Option<Arc<Speaker>>,
    tls: Option<Arc<ClientTls>>,
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
    /// Starts one that asks with Skein's own login, if there is one; its task ends with the last handle to it.
    ///
    /// `tls`: how its brokers are spoken to; `None`: without TLS.
    pub fn start(cluster: Cluster, tls: Option<Arc<ClientTls>>) -> Arc<Self> {
        let service = cluster.login.as_ref().and_then(|login| login.service.clone());
        let (mut asker, waiting) = Self::new(cluster, service.map(|service| Arc::new(Speaker::declared(service))));
        asker.tls = tls;
        let asker = Arc::new(asker);
        tokio::spawn(health::watch(Arc::downgrade(&asker)));
        tokio::spawn(rounds::run(Arc::downgrade(&asker), waiting));
        asker
    }

    /// Starts one that asks the same cluster as somebody else. It begins with what is known: where brokers are is no secret,
    /// and what each may see there the cluster judges for itself.
    #[must_use]
    pub fn speaking_as(&self, speaker: Arc<Speaker>) -> Arc<Self> {
        let (asker, waiting) = Self::new(self.cluster.clone(), Some(speaker));
        let offers = self.offers.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let asker = Arc::new(Self { offers: Mutex::new(offers), tls: self.tls.clone(), ..asker });
        asker.known.send_modify(|known| known.topology = self.known());
        tokio::spawn(rounds::run(Arc::downgrade(&asker), waiting));
        asker
    }

    fn new(cluster: Cluster, speaker: Option<Arc<Speaker>>) -> (Self, mpsc::Receiver<Need>) {
        let (questions, waiting) = mpsc::channel(WAITING);
        let asker = Self {
            cluster,
            speaker,
            tls: None,
            known: watch::Sender::default(),
            questions,
            offers: Mutex::default(),
            turn: AtomicUsize::new(0),
            resting: Resting::default(),
            health: Health::default(),
        };
        (asker, waiting)
    }

    /// The cluster that it asks.
    pub fn cluster(&self) -> &Cluster {
        &self.cluster
    }

    /// As whom it asks; `None`: without a login.
    pub fn speaker(&self) -> Option<&Arc<Speaker>> {
        self.speaker.as_ref()
    }

    /// How its brokers are spoken to; `None`: without TLS.
    pub(crate) fn tls(&self) -> Option<&ClientTls> {
        self.tls.as_deref()
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

    /// Has a broker say now whether it takes the login.
    ///
    /// # Errors
    /// [`Unreached`]: it does not, or none could be asked.
    pub async fn prove(&self) -> Result<(), Unreached> {
        // A refusal is an answer: the next broker is not asked whether it takes what this one does not.
        let judge = |stream| async move {
            match look(stream, Depth::Identity, self.speaker.as_deref()).await {
                Err(why) if why.is_refusal() => Ok(Err(why)),
                judged => judged.map(Ok),
            }
        };
        let (address, judged) = dial::at_any(self.candidates(None), self.tls(), judge).await?;
        let inspected = match judged {
            Ok(inspected) => inspected,
            Err(why) => return Err(Unreached::Address { address, why }),
        };
        match other(&self.known(), &inspected.topology) {
            None => Ok(()),
            Some((known, found)) => Err(Unreached::Elsewhere { address, found, known }),
        }
    }

    /// What a session found out on its own lane.
    pub fn told(&self, told: Topology) {
        self.known.send_modify(|known| {
            if other(&known.topology, &told).is_none() {
                known.topology = Arc::new(merge(&known.topology, told));
            }
        });
    }

    /// What a broker said of itself when it was connected to.
    pub(crate) fn offered(&self, address: &Address, offer: Offer) {
        let mut offers = self.offers.lock().unwrap_or_else(PoisonError::into_inner);
        let common = common(&mut offers, address, offer);
        // Still locked: what was worked out first must not be published last.
        self.known.send_if_modified(|known| {
            let is_new = known.topology.offer.as_deref() != Some(&common);
            if is_new {
                let offer = Some(Arc::new(common));
                known.topology = Arc::new(Topology { offer, ..Topology::clone(&known.topology) });
            }
            is_new
        });
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
    async fn round(&self, depth: Depth) -> Result<(Address, Inspected), Unreached> {
        let look = |stream| look(stream, depth, self.speaker.as_deref());
        dial::at_any(self.candidates(None), self.tls(), look).await
    }

    /// A round has ended, and so it went.
    fn ended(&self, depth: Depth, outcome: Result<(Address, Inspected), Unreached>) {
        let mut offers = self.offers.lock().unwrap_or_else(PoisonError::into_inner);
        let outcome = outcome.and_then(|(address, inspected)| match other(&self.known(), &inspected.topology) {
            None => Ok((address, inspected)),
            Some((known, found)) => Err(Unreached::Elsewhere { address, found, known }),
        });
        let outcome = outcome.map(|(address, Inspected { offer, topology: found })| {
            if depth != Depth::Offer {
                // Brokers that are gone, or are spoken to at another address now, have no say any more in what is offered.
                offers.retain(|(known, _)| self.is_place_of_one(known, &found));
            }
            Topology { offer: Some(Arc::new(common(&mut offers, &address, offer))), ..found }
        });
        self.known.send_modify(|known| {
            known.rounds += 1;
            known.failure = outcome.as_ref().err().map(|why| Arc::from(why.to_string()));
            if let Ok(found) = outcome {
                known.topology = Arc::new(merge(&known.topology, found));
            }
        });
    }

    /// Whether one of these brokers is at this address, by its own word or by the file's.
    fn is_place_of_one(&self, address: &Address, found: &Topology) -> bool {
        found.nodes.iter().any(|(node, listed)| listed == address || self.cluster.addresses.get(node) == Some(address))
    }
}

/// What all brokers seen so far offer, now that one offers this.
fn common(offers: &mut Vec<(Address, Offer)>, address: &Address, offer: Offer) -> Offer {
    offers.retain(|(known, _)| known != address);
    offers.push((address.clone(), offer.clone()));
    offers.iter().fold(offer, |common, (_, other)| common.meet(other))
}

/// The id of the cluster that is known, and another one that a broker has said. Once learnt it stays, as long as the file
/// declares the same: records of clients must not go elsewhere because an address does.
fn other(known: &Topology, found: &Topology) -> Option<(Arc<str>, Arc<str>)> {
    let (known, found) = (known.cluster_id.as_ref()?, found.cluster_id.as_ref()?);
    (known != found).then(|| (Arc::clone(known), Arc::clone(found)))
}

/// What is known, with what was found: nothing is taken back, the newest wins.
fn merge(known: &Topology, found: Topology) -> Topology {
    let mut nodes = known.nodes.clone();
    nodes.extend(found.nodes);
    Topology {
        cluster_id: found.cluster_id.or_else(|| known.cluster_id.clone()),
        offer: found.offer.or_else(|| known.offer.clone()),
        nodes,
        topics: found.topics.or_else(|| known.topics.clone()),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use skein_protocol::ids::ApiKey;
    use skein_protocol::table::Versions;

    use tokio::time::Instant;

    use super::*;

    fn address(port: u16) -> Address {
        Address { host: Arc::from("127.0.0.1"), port }
    }

    /// Of one API, the versions up to this.
    fn up_to(to: i16) -> Offer {
        Offer { apis: BTreeMap::from([(ApiKey(0), Versions { from: 0, to })]), ..Offer::default() }
    }

    fn cluster(addresses: BTreeMap<RealNodeId, Address>) -> Cluster {
        let name = Arc::from("one");
        Cluster { name, bootstrap: Vec::new(), nodes: Vec::new(), addresses, login: None, tls: None }
    }

    fn offers(asker: &Asker) -> Option<Offer> {
        asker.known().offer.as_deref().cloned()
    }

    #[test]
    fn what_brokers_say_at_the_same_time_is_offered_as_far_as_all_can_do_it() {
        let (asker, _) = Asker::new(cluster(BTreeMap::new()), None);
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for port in 3..6 {
                let (asker, is_over) = (&asker, &is_over);
                scope.spawn(move || {
                    while !is_over.load(Ordering::Relaxed) {
                        asker.offered(&address(port), up_to(i16::MAX));
                    }
                });
            }
            let wrong = (0..20_000).rev().find(|to| {
                asker.offered(&address(2), up_to(*to));
                offers(&asker) != Some(up_to(*to))
            });
            is_over.store(true, Ordering::Relaxed);
            assert_eq!(wrong, None);
        });
    }

    #[test]
    fn a_broker_that_is_gone_has_no_say_in_what_is_offered_and_one_at_its_declared_address_has() {
        let (asker, _) = Asker::new(cluster(BTreeMap::from([(RealNodeId(7), address(70))])), None);
        for (port, to) in [(1, 9), (8, 3), (70, 5)] {
            asker.offered(&address(port), up_to(to));
        }
        assert_eq!(offers(&asker), Some(up_to(3)));
        let nodes = BTreeMap::from([(RealNodeId(1), address(1)), (RealNodeId(7), address(7))]);
        let answer = Inspected { offer: up_to(9), topology: Topology { nodes, ..Topology::default() } };
        asker.ended(Depth::Offer, Ok((address(1), answer.clone())));
        assert_eq!(offers(&asker), Some(up_to(3)), "who is gone was not asked for");
        asker.ended(Depth::Identity, Ok((address(1), answer)));
        assert_eq!(offers(&asker), Some(up_to(5)));
    }

    #[tokio::test(start_paused = true)]
    async fn the_pauses_after_rounds_that_failed_grow_and_are_never_alike() {
        // It has no address, so its rounds fail at once.
        let asker = Asker::start(cluster(BTreeMap::new()), None);
        asker.next(Need::Identity).await;
        let mut pauses = Vec::new();
        for _ in 0..40 {
            let begun = Instant::now();
            asker.next(Need::Identity).await;
            pauses.push(begun.elapsed());
        }
        assert!(asker.failure().is_some());
        let most = Duration::from_millis(101);
        assert!(pauses[0] <= most && pauses.iter().all(|pause| *pause >= BETWEEN), "{pauses:?}");
        let full = Duration::from_secs(1);
        assert!(pauses.iter().any(|pause| *pause > full) && pauses[10..].iter().any(|pause| *pause < full));
    }

    #[test]
    fn a_broker_of_another_cluster_changes_nothing_that_is_known() {
        let (asker, _) = Asker::new(cluster(BTreeMap::new()), None);
        let said = |id: &str, port| {
            let nodes = BTreeMap::from([(RealNodeId(1), address(port))]);
            let topology = Topology { cluster_id: Some(Arc::from(id)), nodes, ..Topology::default() };
            Inspected { offer: up_to(9), topology }
        };
        asker.ended(Depth::Identity, Ok((address(1), said("ours", 1))));
        let known = asker.known();
        asker.ended(Depth::Identity, Ok((address(2), said("theirs", 2))));
        asker.told(said("theirs", 2).topology);
        assert_eq!(asker.known(), known);
        let failure = asker.failure().unwrap();
        assert!(failure.contains("127.0.0.1:2 belongs to cluster theirs"), "{failure}");
        asker.ended(Depth::Identity, Ok((address(1), said("ours", 1))));
        assert_eq!(asker.failure(), None);
    }
}
