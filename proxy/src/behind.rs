//! A cluster that is served: who asks it, and as whom its clients are spoken for.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use skein_config::blueprint::Cluster;
use skein_config::login::{Clients, Credentials};
use skein_link::tls::ClientTls;
use skein_link::{Asker, Known, Speaker};
use skein_login::Credential;
use tokio::sync::{Semaphore, watch};

use crate::events::ClusterAsked;
use crate::meters::{BrokerMeters, Kept, Meters, labels};

/// How long what a cluster has found to be right is not asked again: whoever connects a hundred times at once costs it one login.
const PROVEN: Duration = Duration::from_secs(30);

/// A cluster that is served.
pub(crate) struct Behind {
    /// Asks as Skein itself, or as nobody.
    pub(crate) asker: Arc<Asker>,
    pub(crate) meters: Arc<BrokerMeters>,
    /// Those who ask by an entry of `map`, by principal, as long as a connection of that principal is there.
    mapped: Mutex<BTreeMap<Arc<str>, Weak<Asker>>>,
    /// Those who ask with what clients have shown, as long as a connection that showed it is there.
    passed: Mutex<Vec<Passed>>,
    /// What clients show is judged so often at once: strangers must not make a cluster busy.
    judging: Semaphore,
    _series: Kept,
}

/// One who asks with what a client has shown. It is not shared by principal: two may have one name here, and be two at the
/// cluster.
struct Passed {
    asker: Weak<Asker>,
    shown: Credential,
    /// When the cluster found it to be right.
    when: Instant,
}

/// What clients show is judged by a cluster so often at once.
const JUDGED_AT_ONCE: usize = 16;

/// Why nobody can be spoken for.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unspoken {
    /// The map does not have the principal.
    #[error("`map` of cluster `{0}` has no login for this principal")]
    Unmapped(Arc<str>),
    /// It has shown nothing that could be shown to the cluster.
    #[error("it has shown nothing that could be passed on to cluster `{0}`")]
    NothingToPass(Arc<str>),
    /// The cluster does not take it.
    #[error("cluster `{0}` does not take it: {1}")]
    Refused(Arc<str>, String),
    /// The cluster could not be asked.
    #[error("cluster `{0}` could not be asked: {1}")]
    Unreached(Arc<str>, String),
}

impl Behind {
    /// Begins to ask the cluster what there is to know.
    pub(crate) fn new(cluster: Cluster, tls: Option<Arc<ClientTls>>, meters: &Arc<Meters>) -> Self {
        let series = meters.keep(labels([("cluster", &cluster.name)]));
        let asker = Asker::start(cluster, tls);
        let this = Self {
            meters: Arc::new(BrokerMeters::new(meters, &asker.cluster().name)),
            asker,
            mapped: Mutex::default(),
            passed: Mutex::default(),
            judging: Semaphore::new(JUDGED_AT_ONCE),
            _series: series,
        };
        tokio::spawn(tell_of_failures(this.name(), this.asker.watch(), Arc::clone(meters)));
        this
    }

    fn name(&self) -> Arc<str> {
        Arc::clone(&self.asker.cluster().name)
    }

    /// Whether Skein can ask for itself who is there.
    pub(crate) fn asks_for_itself(&self) -> bool {
        self.asker.cluster().login.as_ref().is_none_or(|login| login.service.is_some())
    }

    /// Who asks for a principal, and whose links it gets. `own`: what it showed of itself.
    ///
    /// # Errors
    /// [`Unspoken`]: it is to be refused, or could not be judged.
    pub(crate) async fn speaking_for(
        &self, principal: &Arc<str>, own: Option<&Credential>,
    ) -> Result<Arc<Asker>, Unspoken> {
        let Some(login) = &self.asker.cluster().login else { return Ok(Arc::clone(&self.asker)) };
        let mapped = login.map.get(&**principal);
        match (login.clients, mapped) {
            (Clients::Service, _) | (Clients::MapOrService, None) => Ok(Arc::clone(&self.asker)),
            (Clients::Map, None) => Err(Unspoken::Unmapped(self.name())),
            (Clients::Map | Clients::MapOrService, Some(mapped)) => Ok(self.mapped_to(principal, mapped)),
            (Clients::PassOn, _) => match own {
                Some(own) => self.passed_on(own).await,
                None => Err(Unspoken::NothingToPass(self.name())),
            },
        }
    }

    /// Who asks for a principal by its entry of `map`.
    fn mapped_to(&self, principal: &Arc<str>, login: &Credentials) -> Arc<Asker> {
        let mut mapped = self.mapped.lock().unwrap_or_else(PoisonError::into_inner);
        mapped.retain(|_, asker| asker.strong_count() > 0);
        if let Some(asker) = mapped.get(principal).and_then(Weak::upgrade) {
            return asker;
        }
        let asker = self.asker.speaking_as(Arc::new(Speaker::declared(login.clone())));
        mapped.insert(Arc::clone(principal), Arc::downgrade(&asker));
        asker
    }

    /// Has the cluster judge what a client showed of itself.
    async fn passed_on(&self, own: &Credential) -> Result<Arc<Asker>, Unspoken> {
        if let Some(asker) = self.proven(own) {
            return Ok(asker);
        }
        let asker = self.asker.speaking_as(Arc::new(Speaker::Client(own.clone())));
        let turn = self.judging.acquire().await;
        let judged = asker.prove().await;
        drop(turn);
        if let Err(why) = judged {
            let (name, words) = (self.name(), why.to_string());
            let refused = why.is_refusal();
            return Err(if refused { Unspoken::Refused(name, words) } else { Unspoken::Unreached(name, words) });
        }
        let mut passed = self.passed.lock().unwrap_or_else(PoisonError::into_inner);
        passed.retain(|passed| passed.asker.strong_count() > 0);
        passed.push(Passed { asker: Arc::downgrade(&asker), shown: own.clone(), when: Instant::now() });
        Ok(asker)
    }

    fn proven(&self, own: &Credential) -> Option<Arc<Asker>> {
        let passed = self.passed.lock().unwrap_or_else(PoisonError::into_inner);
        let fresh = passed.iter().filter(|passed| passed.when.elapsed() < PROVEN);
        fresh.filter(|passed| passed.shown == *own).find_map(|passed| passed.asker.upgrade())
    }

    /// Puts the health of its brokers into the metrics.
    pub(crate) fn show(&self, meters: &Meters) {
        let cluster = &*self.asker.cluster().name;
        for (node, answered) in self.asker.health() {
            let labels = labels([("cluster", cluster), ("node", &node.to_string())]);
            meters.node_up.get(&labels).set(i64::from(answered.outcome.is_ok()));
            if let Ok(took) = answered.outcome {
                meters.node_round_trip.get(&labels).set(took.as_secs_f64());
            }
        }
    }
}

/// Tells when a cluster cannot be asked any more, and when it can again, as long as somebody asks.
async fn tell_of_failures(cluster: Arc<str>, mut known: watch::Receiver<Known>, meters: Arc<Meters>) {
    let mut failing = false;
    while known.changed().await.is_ok() {
        let failure = known.borrow_and_update().failure.clone();
        if failing != failure.is_some() {
            failing = failure.is_some();
            ClusterAsked { cluster: &cluster, failure: failure.as_deref() }.emit(&meters);
        }
    }
}

#[cfg(test)]
mod tests {
    use skein_config::login::ClusterLogin;
    use skein_settings::Secret;

    use super::*;

    #[tokio::test]
    async fn two_clients_of_one_principal_do_not_share_what_they_have_shown() {
        let login = ClusterLogin { service: None, clients: Clients::PassOn, map: BTreeMap::new() };
        let cluster = Cluster {
            name: Arc::from("kafka"),
            bootstrap: Vec::new(),
            nodes: Vec::new(),
            addresses: BTreeMap::new(),
            login: Some(login),
            tls: None,
        };
        let behind = Behind::new(cluster, None, &Arc::default());
        let shown = |password: &str| Credential::Plain { user: "alice".to_owned(), password: Secret::new(password) };
        let (one, other) = (shown("one"), shown("other"));
        // The cluster has taken what one has shown.
        let asker = behind.asker.speaking_as(Arc::new(Speaker::Client(one.clone())));
        let passed = Passed { asker: Arc::downgrade(&asker), shown: one.clone(), when: Instant::now() };
        behind.passed.lock().unwrap().push(passed);
        let alice = Arc::from("alice");
        let again = behind.speaking_for(&alice, Some(&one)).await.unwrap();
        assert!(Arc::ptr_eq(&again, &asker), "it is not asked again");
        let told = behind.speaking_for(&alice, Some(&other)).await;
        assert!(matches!(told, Err(Unspoken::Unreached(..))), "the cluster is to judge it, and is not there");
        let told = behind.speaking_for(&alice, None).await;
        assert!(matches!(told, Err(Unspoken::NothingToPass(_))));
    }
}
