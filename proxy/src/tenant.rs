//! A virtual cluster that is served: the unit that a change of the file replaces.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use skein_config::blueprint::{Names, VirtualCluster};
use skein_link::Asker;
use skein_link::tls::Material;
use skein_login::Credential;
use skein_protocol::ids::VirtualNodeId;
use skein_routing::book::Book;
use skein_routing::engine::Need;
use skein_routing::graph::{Door, LoginMode};
use skein_routing::topology::ClusterIndex;

use crate::admission::{GuestBook, Guests};
use crate::arrival::Named;
use crate::behind::{Behind, Unspoken};
use crate::events::Unlisted;
use crate::gate::Gates;
use crate::house::House;
use crate::listen::Entrance;
use crate::meters::{ClientMeters, Kept, Meters, labels};
use crate::roll::Roll;

/// A listener: its name, what it binds, the names that lead to it there if others share the address, who is connected.
pub(crate) type Listening = (Arc<str>, Vec<SocketAddr>, Vec<Arc<str>>, Arc<Guests>);

/// Who asks each cluster.
pub(crate) type Askers = Vec<(ClusterIndex, Arc<Asker>)>;

/// An entrance: the address that it is at, and the name that leads to it there, if there are several.
pub(crate) type Entered = (SocketAddr, Option<Named>, Arc<Entrance>);

/// Where the entrances of a listener are, and the nodes that they are for.
fn places(
    binds: Vec<(SocketAddr, Option<VirtualNodeId>)>, names: Option<Names>,
) -> Vec<(SocketAddr, Option<Named>, Option<VirtualNodeId>)> {
    let by_port = |binds: Vec<(SocketAddr, _)>| binds.into_iter().map(|(address, at)| (address, None, at)).collect();
    let Some(Names { all, shown }) = names else { return by_port(binds) };
    let [bootstrap, nodes] = shown;
    let Some((address, _)) = binds.first().copied() else { return Vec::new() };
    let place = |(name, at): (Arc<str>, Option<VirtualNodeId>)| {
        let pattern = Arc::clone(if at.is_none() { &bootstrap } else { &nodes });
        (address, Some(Named { name, pattern }), at)
    };
    all.into_iter().map(place).collect()
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
        (cluster, gates, tls): (VirtualCluster, Gates, &Material), served: &[Arc<Behind>], house: &Arc<House>,
        guests: &mut GuestBook,
    ) -> (Arc<Self>, Vec<Entered>) {
        let clusters = cluster.target.clusters();
        let known = clusters.iter().filter_map(|index| Some((*index, Arc::clone(served.get(usize::from(index.0))?))));
        let listeners: Vec<Listening> = cluster
            .listeners
            .iter()
            .map(|listener| {
                let addresses = listener.binds.iter().map(|(address, _)| *address).collect();
                let names = listener.names.iter().flat_map(|names| names.shown.iter().map(Arc::clone)).collect();
                (Arc::clone(&listener.name), addresses, names, guests.of(&cluster.name, &listener.name))
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
        let book = cluster.target.weaves().then(|| Arc::new(Book::new(&cluster.id, cluster.target.clone())));
        let mut entrances = Vec::new();
        let gates = gates.into_iter().chain(std::iter::repeat(None));
        for ((listener, (.., guests)), gate) in cluster.listeners.into_iter().zip(&tenant.listeners).zip(gates) {
            let login = listener.mode();
            tenant.ask_first(login);
            let door = Arc::new(Door {
                filters: Arc::clone(&cluster.filters),
                face: listener.face,
                target: cluster.target.clone(),
                clusters: clusters.clone(),
                book: book.clone(),
                login,
                limits: cluster.limits.clone(),
                requests: Arc::clone(&house.requests),
                answers: Arc::clone(&house.answers),
            });
            let meters = Arc::new(ClientMeters::new(&house.meters, &tenant.name, &listener.name));
            let tls = tls.listeners.get(&(Arc::clone(&tenant.name), Arc::clone(&listener.name)));
            for (address, named, at) in places(listener.binds, listener.names) {
                let entrance = Entrance {
                    tenant: Arc::clone(&tenant),
                    listener: Arc::clone(&listener.name),
                    door: Arc::clone(&door),
                    at,
                    gate: gate.clone(),
                    tls: tls.map(Arc::clone),
                    proxy: listener.proxy.clone(),
                    house: Arc::clone(house),
                    meters: Arc::clone(&meters),
                    guests: Arc::clone(guests),
                };
                entrances.push((address, named, Arc::new(entrance)));
            }
        }
        (tenant, entrances)
    }

    /// Asks what can be known before anyone comes, so that the first client need not wait for it.
    fn ask_first(&self, login: LoginMode) {
        let is_asked = |cluster: &Behind| match login {
            LoginMode::Relay => cluster.asker.speaker().is_some(),
            LoginMode::None | LoginMode::Here => cluster.asks_for_itself(),
        };
        let asked = self.behind.iter().filter(|(_, cluster)| is_asked(cluster));
        asked.for_each(|(_, cluster)| cluster.asker.ask(Need::Identity));
    }

    /// The clusters that it leads to.
    pub(crate) fn clusters(&self) -> impl Iterator<Item = &(ClusterIndex, Arc<Behind>)> {
        self.behind.iter()
    }

    /// A cluster that it leads to.
    pub(crate) fn cluster(&self, cluster: ClusterIndex) -> Option<&Arc<Behind>> {
        self.behind.iter().find_map(|(index, behind)| (*index == cluster).then_some(behind))
    }

    /// Who asks each cluster for those who are not known yet.
    pub(crate) fn askers(&self) -> Askers {
        self.behind.iter().map(|(index, behind)| (*index, Arc::clone(&behind.asker))).collect()
    }

    /// Who asks each cluster for a principal; see [`Behind::speaking_for`].
    pub(crate) async fn speaking_for(
        &self, principal: &Arc<str>, own: Option<&Credential>,
    ) -> Result<Askers, Unspoken> {
        let mut askers = Vec::new();
        for (index, behind) in &self.behind {
            askers.push((*index, behind.speaking_for(principal, own).await?));
        }
        Ok(askers)
    }

    /// Reports a node that was left out of answers, once.
    pub(crate) fn unlisted(&self, node: VirtualNodeId) {
        if self.reported.lock().is_ok_and(|mut reported| reported.insert(node)) {
            Unlisted { virtual_cluster: &self.name, node }.emit(&self.meters);
        }
    }
}
