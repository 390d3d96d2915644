//! A virtual cluster that is served: the unit that a change of the file replaces.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use skein_config::blueprint::{Cluster, VirtualCluster};
use skein_link::{Asker, Known};
use skein_protocol::ids::VirtualNodeId;
use skein_routing::engine::Need;
use skein_routing::graph::{Door, LoginMode};
use skein_routing::topology::ClusterIndex;
use tokio::sync::watch;

use crate::admission::{GuestBook, Guests};
use crate::events::{ClusterAsked, Unlisted};
use crate::house::House;
use crate::listen::Entrance;
use crate::meters::{BrokerMeters, ClientMeters, Kept, Meters, labels};
use crate::roll::Roll;

/// A listener: its name, what it binds, who is connected.
pub(crate) type Listening = (Arc<str>, Vec<SocketAddr>, Arc<Guests>);

/// A cluster that is served.
pub(crate) struct Behind {
    pub(crate) asker: Arc<Asker>,
    pub(crate) meters: Arc<BrokerMeters>,
    _series: Kept,
}

impl Behind {
    /// Begins to ask the cluster what there is to know.
    pub(crate) fn new(cluster: Cluster, meters: &Arc<Meters>) -> Self {
        let series = meters.keep(labels([("cluster", &cluster.name)]));
        let name = Arc::clone(&cluster.name);
        let asker = Asker::start(cluster);
        tokio::spawn(tell_of_failures(name, asker.watch(), Arc::clone(meters)));
        let meters = Arc::new(BrokerMeters::new(meters, &asker.cluster().name));
        Self { asker, meters, _series: series }
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

/// What the connections of one virtual cluster share.
pub(crate) struct Tenant {
    pub(crate) name: Arc<str>,
    /// The clusters that it leads to; their places are those of the file that it was compiled from.
    behind: Vec<(ClusterIndex, Arc<Behind>)>,
    pub(crate) listeners: Vec<Listening>,
    meters: Arc<Meters>,
    pub(crate) roll: Arc<Roll>,
    /// Its own, and those of its listeners: kept until its last connection, which holds the tenant, has ended.
    _series: Vec<Kept>,
    /// Nodes that have been reported as left out.
    reported: Mutex<BTreeSet<VirtualNodeId>>,
}

impl Tenant {
    /// A tenant and its entrances, by address. `served`: the clusters of the file; `guests`: whom former forms let in.
    pub(crate) fn compiled(
        cluster: VirtualCluster, served: &[Arc<Behind>], house: &Arc<House>, guests: &mut GuestBook,
    ) -> (Arc<Self>, Vec<(SocketAddr, Arc<Entrance>)>) {
        let clusters = cluster.target.clusters();
        let known = clusters.iter().filter_map(|index| Some((*index, Arc::clone(served.get(usize::from(index.0))?))));
        let listeners: Vec<Listening> = cluster
            .listeners
            .iter()
            .map(|listener| {
                let addresses = listener.binds.iter().map(|(address, _)| *address).collect();
                (Arc::clone(&listener.name), addresses, guests.of(&cluster.name, &listener.name))
            })
            .collect();
        let named = ("virtual_cluster", &*cluster.name);
        let of_listeners =
            listeners.iter().map(|(listener, ..)| house.meters.keep(labels([named, ("listener", listener)])));
        let series = of_listeners.chain([house.meters.keep(labels([named]))]).collect();
        let tenant = Arc::new(Self {
            name: cluster.name,
            behind: known.collect(),
            listeners,
            meters: Arc::clone(&house.meters),
            roll: Arc::default(),
            _series: series,
            reported: Mutex::default(),
        });
        let mut entrances = Vec::new();
        for (listener, (.., guests)) in cluster.listeners.into_iter().zip(&tenant.listeners) {
            if listener.login == LoginMode::None {
                // The first client need not wait for what can be known before it comes.
                tenant.behind.iter().for_each(|(_, cluster)| cluster.asker.ask(Need::Identity));
            }
            let door = Arc::new(Door {
                filters: Arc::clone(&cluster.filters),
                face: listener.face,
                target: cluster.target.clone(),
                clusters: clusters.clone(),
                login: listener.login,
                limits: cluster.limits.clone(),
                requests: Arc::clone(&house.requests),
                answers: Arc::clone(&house.answers),
            });
            let meters = Arc::new(ClientMeters::new(&house.meters, &tenant.name, &listener.name));
            for (address, at) in listener.binds {
                let entrance = Entrance {
                    tenant: Arc::clone(&tenant),
                    listener: Arc::clone(&listener.name),
                    door: Arc::clone(&door),
                    at,
                    house: Arc::clone(house),
                    meters: Arc::clone(&meters),
                    guests: Arc::clone(guests),
                };
                entrances.push((address, Arc::new(entrance)));
            }
        }
        (tenant, entrances)
    }

    /// The clusters that it leads to.
    pub(crate) fn clusters(&self) -> impl Iterator<Item = &(ClusterIndex, Arc<Behind>)> {
        self.behind.iter()
    }

    /// A cluster that it leads to.
    pub(crate) fn cluster(&self, cluster: ClusterIndex) -> Option<&Arc<Behind>> {
        self.behind.iter().find_map(|(index, behind)| (*index == cluster).then_some(behind))
    }

    /// Reports a node that was left out of answers, once.
    pub(crate) fn unlisted(&self, node: VirtualNodeId) {
        if self.reported.lock().is_ok_and(|mut reported| reported.insert(node)) {
            Unlisted { virtual_cluster: &self.name, node }.emit(&self.meters);
        }
    }
}
