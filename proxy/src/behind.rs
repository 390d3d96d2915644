//! A cluster that is served: who asks it, and as whom its clients are spoken for.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use skein_config::blueprint::Cluster;
use skein_config::login::Clients;
use skein_link::tls::ClientTls;
use skein_link::{Asker, Known, Speaker};
use skein_login::Credential;
use tokio::sync::watch;

use crate::events::ClusterAsked;
use crate::meters::{BrokerMeters, Kept, Meters, labels};

/// How long what a cluster has found to be right is not asked again: whoever connects a hundred times at once costs it one login.
const PROVEN: Duration = Duration::from_secs(30);

/// A cluster that is served.
pub(crate) struct Behind {
    /// Asks as Skein itself, or as nobody.
    pub(crate) asker: Arc<Asker>,
    pub(crate) meters: Arc<BrokerMeters>,
    /// Those who ask as somebody else, by principal, as long as a connection of that principal is there.
    others: Mutex<BTreeMap<Arc<str>, Other>>,
    all: Arc<Meters>,
    _series: Kept,
}

/// One who asks as somebody else.
struct Other {
    asker: Weak<Asker>,
    /// What the cluster has found to be right, and when. Set where the cluster judges.
    proven: Option<(Credential, Instant)>,
}

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
            others: Mutex::default(),
            all: Arc::clone(meters),
            _series: series,
        };
        this.watch(&this.asker);
        this
    }

    fn name(&self) -> Arc<str> {
        Arc::clone(&self.asker.cluster().name)
    }

    /// Has it told when a cluster cannot be asked.
    fn watch(&self, asker: &Asker) {
        tokio::spawn(tell_of_failures(self.name(), asker.watch(), Arc::clone(&self.all)));
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
            (Clients::Map | Clients::MapOrService, Some(mapped)) => {
                Ok(self.other(principal, || Speaker::declared(mapped.clone()), None))
            }
            (Clients::PassOn, _) => match own {
                Some(own) => self.passed_on(principal, own).await,
                None => Err(Unspoken::NothingToPass(self.name())),
            },
        }
    }

    /// Who asks for a principal by a login of its own; `proven`: one that the cluster has found to be right.
    fn other(
        &self, principal: &Arc<str>, speaker: impl FnOnce() -> Speaker, proven: Option<&Credential>,
    ) -> Arc<Asker> {
        let mut others = self.others.lock().unwrap_or_else(PoisonError::into_inner);
        others.retain(|_, other| other.asker.strong_count() > 0);
        let known = others.get(principal).and_then(|other| other.asker.upgrade());
        let asker = known.unwrap_or_else(|| {
            let asker = self.asker.speaking_as(Arc::new(speaker()));
            self.watch(&asker);
            asker
        });
        if let (Some(proven), Some(speaker)) = (proven, asker.speaker()) {
            speaker.renew(proven.clone());
        }
        let proven = proven.map(|proven| (proven.clone(), Instant::now()));
        others.insert(Arc::clone(principal), Other { asker: Arc::downgrade(&asker), proven });
        asker
    }

    /// Has the cluster judge what a client showed of itself.
    async fn passed_on(&self, principal: &Arc<str>, own: &Credential) -> Result<Arc<Asker>, Unspoken> {
        if let Some(asker) = self.proven(principal, own) {
            return Ok(asker);
        }
        // By itself: until the cluster has taken it, it stands for nobody.
        let candidate = self.asker.speaking_as(Arc::new(Speaker::client(own.clone())));
        if let Err(why) = candidate.prove().await {
            let (name, words) = (self.name(), why.to_string());
            return Err(if why.is_refusal() {
                Unspoken::Refused(name, words)
            } else {
                Unspoken::Unreached(name, words)
            });
        }
        Ok(self.other(principal, || Speaker::client(own.clone()), Some(own)))
    }

    fn proven(&self, principal: &Arc<str>, own: &Credential) -> Option<Arc<Asker>> {
        let others = self.others.lock().unwrap_or_else(PoisonError::into_inner);
        let other = others.get(principal)?;
        let (proven, when) = other.proven.as_ref()?;
        (proven == own && when.elapsed() < PROVEN).then(|| other.asker.upgrade()).flatten()
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
