//! A virtual cluster that is served: the unit that a change of the file replaces.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use skein_config::blueprint::VirtualCluster;
use skein_link::Asker;
use skein_protocol::ids::VirtualNodeId;
use skein_routing::engine::Need;
use skein_routing::graph::{Door, Limits, LoginMode};
use skein_routing::topology::ClusterIndex;

use crate::events::Unlisted;
use crate::house::House;
use crate::listen::Entrance;
use crate::roll::Roll;

/// What the connections of one virtual cluster share.
pub(crate) struct Tenant {
    pub(crate) name: Arc<str>,
    /// Of the clusters that it leads to; their places are those of the file that it was compiled from.
    askers: Vec<(ClusterIndex, Arc<Asker>)>,
    pub(crate) roll: Arc<Roll>,
    /// Nodes that have been reported as left out.
    reported: Mutex<BTreeSet<VirtualNodeId>>,
}

impl Tenant {
    /// A tenant and its entrances, by address. `askers`: one for each cluster of the file.
    pub(crate) fn compiled(
        cluster: VirtualCluster, askers: &[Arc<Asker>], house: &Arc<House>,
    ) -> (Arc<Self>, Vec<(SocketAddr, Arc<Entrance>)>) {
        let clusters = cluster.target.clusters();
        let known = clusters.iter().filter_map(|index| Some((*index, Arc::clone(askers.get(usize::from(index.0))?))));
        let tenant = Arc::new(Self {
            name: cluster.name,
            askers: known.collect(),
            roll: Arc::default(),
            reported: Mutex::default(),
        });
        let mut entrances = Vec::new();
        for listener in cluster.listeners {
            if listener.login == LoginMode::None {
                // The first client need not wait for what can be known before it comes.
                tenant.askers.iter().for_each(|(_, asker)| asker.ask(Need::Identity));
            }
            let door = Arc::new(Door {
                face: listener.face,
                target: cluster.target.clone(),
                clusters: clusters.clone(),
                login: listener.login,
                limits: Limits::default(),
                requests: Arc::clone(&house.requests),
                answers: Arc::clone(&house.answers),
            });
            for (address, at) in listener.binds {
                let entrance = Entrance {
                    tenant: Arc::clone(&tenant),
                    listener: Arc::clone(&listener.name),
                    door: Arc::clone(&door),
                    at,
                    house: Arc::clone(house),
                };
                entrances.push((address, Arc::new(entrance)));
            }
        }
        (tenant, entrances)
    }

    /// The clusters that it leads to.
    pub(crate) fn askers(&self) -> impl Iterator<Item = &(ClusterIndex, Arc<Asker>)> {
        self.askers.iter()
    }

    /// Who asks a cluster.
    pub(crate) fn asker(&self, cluster: ClusterIndex) -> Option<&Arc<Asker>> {
        self.askers.iter().find_map(|(index, asker)| (*index == cluster).then_some(asker))
    }

    /// Reports a node that was left out of answers, once.
    pub(crate) fn unlisted(&self, node: VirtualNodeId) {
        if self.reported.lock().is_ok_and(|mut reported| reported.insert(node)) {
            Unlisted { virtual_cluster: &self.name, node }.emit();
        }
    }
}
