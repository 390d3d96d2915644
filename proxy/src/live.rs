//! A configuration against the clusters as they are: who is there, who is not declared, what they have in common.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use skein_config::blueprint::Cluster;
use skein_config::{Blueprint, visible};
use skein_filters::Address;
use skein_link::inspect::{Depth, Inspected, inspect};
use skein_link::tls::{ClientTls, Material};
use skein_link::{Failure, Speaker};
use skein_protocol::ids::{ApiKey, RealNodeId};
use skein_protocol::table::Versions;
use skein_routing::apis::api_versions;
use skein_routing::graph::LoginMode;
use skein_routing::topology::{ClusterIndex, Offer};
use tokio::task::JoinSet;

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Weight {
    /// As it should be.
    Good,
    /// It works, and someone should know.
    Warning,
    /// Clients will notice.
    Fault,
}

/// One thing that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// How bad it is.
    pub weight: Weight,
    /// The cluster that it is about.
    pub cluster: Arc<str>,
    /// What was found, and what would be right.
    pub what: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let weight = match self.weight {
            Weight::Good => "good",
            Weight::Warning => "warning",
            Weight::Fault => "fault",
        };
        // Brokers call themselves what they like.
        write!(f, "{weight:<7} cluster `{}`: {}", visible(&self.cluster), visible(&self.what))
    }
}

/// Connects to every cluster and compares.
pub async fn check(blueprint: &Blueprint, tls: &Material) -> Vec<Finding> {
    let mut all = Vec::new();
    let mut ids: BTreeMap<Arc<str>, Arc<str>> = BTreeMap::new();
    for (index, cluster) in blueprint.clusters.iter().enumerate() {
        let index = ClusterIndex(u16::try_from(index).unwrap_or(u16::MAX));
        let service = cluster.login.as_ref().and_then(|login| login.service.clone());
        let speaker = service.map(|service| Arc::new(Speaker::declared(service)));
        let mut look = Look {
            cluster,
            tls: tls.clusters.get(&cluster.name).map(Arc::clone),
            speaker,
            findings: Vec::new(),
            offers: BTreeMap::new(),
        };
        if let Some(id) = look.at(depth(blueprint, index)).await
            && let Some(other) = ids.insert(Arc::clone(&id), Arc::clone(&cluster.name))
        {
            look.find(Weight::Warning, format!("it is the same as cluster `{other}`: both have the id {id}"));
        }
        all.append(&mut look.findings);
    }
    all
}

/// Where clients log in by themselves, and Skein has no login of its own, it cannot ask for more.
fn depth(blueprint: &Blueprint, index: ClusterIndex) -> Depth {
    let login = blueprint.clusters.get(usize::from(index.0)).and_then(|cluster| cluster.login.as_ref());
    if let Some(login) = login {
        return if login.service.is_some() { Depth::Identity } else { Depth::Offer };
    }
    let leads = blueprint.virtual_clusters.iter().filter(|cluster| cluster.target.clusters().contains(&index));
    let mut listeners = leads.flat_map(|cluster| &cluster.listeners);
    if listeners.any(|listener| listener.mode() == LoginMode::Relay) { Depth::Offer } else { Depth::Identity }
}

/// A look at one cluster.
struct Look<'a> {
    cluster: &'a Cluster,
    /// How its brokers are spoken to.
    tls: Option<Arc<ClientTls>>,
    /// As whom it looks.
    speaker: Option<Arc<Speaker>>,
    findings: Vec<Finding>,
    /// What each broker offers, by its address.
    offers: BTreeMap<String, Offer>,
}

impl Look<'_> {
    fn find(&mut self, weight: Weight, what: impl Into<String>) {
        self.findings.push(Finding { weight, cluster: Arc::clone(&self.cluster.name), what: what.into() });
    }

    /// Looks at all of it; its id, if it could be found out.
    async fn at(&mut self, depth: Depth) -> Option<Arc<str>> {
        let seen = self.bootstrap(depth).await;
        let id = self.same_id(&seen);
        let mut nodes = BTreeMap::new();
        for (_, inspected) in &seen {
            nodes.extend(inspected.topology.nodes.clone());
        }
        match depth {
            Depth::Identity | Depth::Topics if !seen.is_empty() => self.nodes(&nodes).await,
            Depth::Identity | Depth::Topics => {}
            Depth::Offer => self.find(Weight::Good, "logins are relayed, so only what its brokers offer was asked for"),
        }
        self.versions();
        id
    }

    async fn bootstrap(&mut self, depth: Depth) -> Vec<(Address, Inspected)> {
        let (mut seen, mut missed) = (Vec::new(), Vec::new());
        for (address, found) in self.ask_all(self.cluster.bootstrap.clone(), depth, self.speaker.as_ref()).await {
            match found {
                Ok(inspected) => seen.push((address, inspected)),
                Err(why) => missed.push(format!("{} cannot be reached: {why}", shown(&address))),
            }
        }
        for missed in missed {
            let weight = if seen.is_empty() { Weight::Fault } else { Weight::Warning };
            self.find(weight, format!("bootstrap address {missed}"));
        }
        for (address, inspected) in &seen {
            self.find(Weight::Good, format!("bootstrap address {} answers", shown(address)));
            self.offers.insert(shown(address), inspected.offer.clone());
        }
        seen
    }

    fn same_id(&mut self, seen: &[(Address, Inspected)]) -> Option<Arc<str>> {
        let (first, id) = seen.iter().find_map(|(at, seen)| Some((at, seen.topology.cluster_id.clone()?)))?;
        for (address, inspected) in seen {
            if let Some(other) = inspected.topology.cluster_id.as_ref().filter(|other| **other != id) {
                let what = format!("{} belongs to cluster {other}, and {} to {id}", shown(address), shown(first));
                self.find(Weight::Fault, what);
            }
        }
        Some(id)
    }

    /// Compares the declared nodes with the real ones, and connects to those that are both.
    async fn nodes(&mut self, real: &BTreeMap<RealNodeId, Address>) {
        let cluster = self.cluster;
        for (node, address) in real.iter().filter(|(node, _)| !cluster.nodes.contains(node)) {
            let what = format!("node {node} at {} is not declared: clients cannot reach it", shown(address));
            self.find(Weight::Fault, format!("{what}. Add {node} at the end of `nodes`"));
        }
        for node in cluster.nodes.iter().filter(|node| !real.contains_key(node)) {
            self.find(Weight::Warning, format!("node {node} is declared, and is not there now"));
        }
        for (node, address) in &cluster.addresses {
            if let Some((other, _)) = real.iter().find(|(other, real)| *other != node && *real == address) {
                let what = format!(
                    "node {node} is declared at {}, where the cluster says that node {other} is",
                    shown(address)
                );
                self.find(Weight::Fault, what);
            }
        }
        let there = cluster.nodes.iter().filter(|node| real.contains_key(node));
        let address = |node: &RealNodeId| cluster.addresses.get(node).or_else(|| real.get(node)).cloned();
        let there: Vec<(RealNodeId, Address)> = there.filter_map(|node| Some((*node, address(node)?))).collect();
        let addresses = there.iter().map(|(_, address)| address.clone()).collect();
        for (address, found) in self.ask_all(addresses, Depth::Offer, None).await {
            let nodes: Vec<_> =
                there.iter().filter(|(_, at)| *at == address).map(|(node, _)| node.to_string()).collect();
            let node = format!("node {} at {}", nodes.join(", "), shown(&address));
            match found {
                Ok(inspected) => {
                    self.find(Weight::Good, format!("{node} answers"));
                    self.offers.insert(shown(&address), inspected.offer);
                }
                Err(why) => {
                    let is_declared = cluster.addresses.values().any(|declared| *declared == address);
                    let hint = if is_declared { "`addresses` says so" } else { "`addresses` can say where it is" };
                    self.find(Weight::Fault, format!("{node} cannot be reached from here: {why} ({hint})"));
                }
            }
        }
    }

    /// Asks at each address once, at [`AT_ONCE`] of them together.
    async fn ask_all(
        &self, mut addresses: Vec<Address>, depth: Depth, speaker: Option<&Arc<Speaker>>,
    ) -> Vec<(Address, Result<Inspected, Failure>)> {
        addresses.dedup();
        let mut all = Vec::new();
        for some in addresses.chunks(AT_ONCE) {
            let mut asked = JoinSet::new();
            for address in some.iter().cloned() {
                let (tls, speaker) = (self.tls.clone(), speaker.map(Arc::clone));
                asked.spawn(async move {
                    let found = inspect(&address, tls.as_deref(), depth, speaker.as_deref()).await;
                    (address, found)
                });
            }
            all.extend(asked.join_all().await);
        }
        all.sort_by_key(|(address, _)| addresses.iter().position(|asked| asked == address));
        all
    }

    /// What its brokers offer alike, and what only some of them have.
    fn versions(&mut self) {
        let mut offers = self.offers.values().cloned();
        let Some(first) = offers.next() else { return };
        let common = api_versions::ranges(&offers.fold(first, |common, other| common.meet(&other)));
        let mut less: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (address, offer) in &self.offers {
            for (key, versions) in api_versions::ranges(offer) {
                let shared = common.iter().find(|(common, _)| *common == key).map(|(_, versions)| *versions);
                if let Some(more) = beyond(key, versions, shared) {
                    less.entry(more).or_default().push(address.clone());
                }
            }
        }
        self.find(Weight::Good, format!("{} APIs are offered to clients", common.len()));
        for (more, addresses) in less {
            let whose = addresses.join(", ");
            self.find(Weight::Warning, format!("{more} is not offered: only {whose} of its brokers can do that"));
        }
    }
}

/// What one broker has of an API beyond what all have.
fn beyond(key: ApiKey, versions: Versions, shared: Option<Versions>) -> Option<String> {
    match shared {
        None => Some(key.to_string()),
        Some(shared) if shared.to < versions.to => Some(format!("{key} above version {}", shared.to)),
        Some(_) => None,
    }
}

/// Brokers that are asked at the same time.
const AT_ONCE: usize = 64;

fn shown(address: &Address) -> String {
    format!("{}:{}", address.host, address.port)
}
