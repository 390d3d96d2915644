//! Clusters of two releases under one Skein: each is offered as it is, and a broker that is upgraded is noticed.

use std::{collections::BTreeMap, net::SocketAddr, time::Duration};

use anyhow::{Context, Result, ensure};
use kafka_protocol::messages::ApiVersionsRequest;
use skein_tests::{
    apis::{API_VERSIONS, PRODUCE},
    client::{Endpoint, Family},
    cluster::{self, Cluster, Release, Security, Spec},
    ports, process,
    raw::Raw,
    skein::{Front, Skein},
};

use crate::secured::connects;

/// What Skein never offers, whatever the brokers have: `docs/apis.md` says why.
const WITHHELD: [i16; 12] = [27, 55, 71, 72, 80, 81, 83, 84, 85, 86, 87, 94];
/// Those of share groups.
const SHARE: [i16; 4] = [76, 77, 78, 79];
/// An upgraded broker is noticed by then.
const NOTICED: Duration = Duration::from_secs(30);

/// Lowest and highest version by API.
type Offer = BTreeMap<i16, (i16, i16)>;

fn offer(at: SocketAddr) -> Result<Offer> {
    let answer = Raw::connect(at)?.call(0, &ApiVersionsRequest::default())?;
    Ok(answer.api_keys.iter().map(|api| (api.api_key, (api.min_version, api.max_version))).collect())
}

fn node(cluster: &Cluster) -> Result<SocketAddr> {
    cluster.nodes().into_values().next().context("no node")
}

fn highest(offer: &Offer, key: i16) -> Option<i16> {
    offer.get(&key).map(|(_, highest)| *highest)
}

/// What is offered through Skein is what the cluster has, as far as Skein knows it.
fn fits(direct: &Offer, through: &Offer) -> Result<()> {
    // ApiVersions is answered by Skein itself, in any version.
    for (key, (lowest, highest)) in through.iter().filter(|(key, _)| **key != API_VERSIONS) {
        let (from, to) = direct.get(key).with_context(|| format!("{key} is offered, and the cluster has it not"))?;
        ensure!(from <= lowest && highest <= to, "{key} is offered from {lowest} to {highest}, not {from} to {to}");
    }
    let missing: Vec<_> = direct.keys().filter(|key| !through.contains_key(key)).collect();
    ensure!(missing.iter().all(|key| WITHHELD.contains(key)), "{missing:?} are not offered");
    Ok(())
}

/// Skein before a cluster of 3.9 and one of the present release.
struct Both {
    skein: Skein,
    old: Cluster,
    new: &'static Cluster,
    new_at: SocketAddr,
}

impl Both {
    fn start(name: &str) -> Result<Self> {
        let old = Cluster::start(&Spec::new(name, &[1], Security::Open).of(Release::V3_9))?;
        let new = cluster::single()?;
        let first = ports::block(2)?;
        let ids: Vec<_> = new.nodes().keys().map(ToString::to_string).collect();
        let tables = format!(
            r#"
[clusters.two]
bootstrap = ["{}"]
nodes = "{}"

[virtual-clusters.second]
id = "second-1"
target.cluster = "two"

[virtual-clusters.second.listeners.plain]
bind = "127.0.0.1:{first}"
advertise = "127.0.0.1"
ports = "{}-{}"
"#,
            new.bootstrap(),
            ids.join(", "),
            first + 1,
            first + 1
        );
        let skein = Skein::start(&Front::of(&old).tables(&tables).text()?)?;
        Ok(Self { skein, old, new, new_at: ([127, 0, 0, 1], first).into() })
    }

    fn old_at(&self) -> Result<SocketAddr> {
        Ok(self.skein.bootstrap().parse()?)
    }
}

#[test]
fn each_cluster_is_offered_as_it_is_and_an_upgrade_is_noticed() -> Result<()> {
    let both = Both::start("upgraded")?;
    let (old, new) = (offer(both.old_at()?)?, offer(both.new_at)?);
    fits(&offer(node(&both.old)?)?, &old)?;
    fits(&offer(node(both.new)?)?, &new)?;
    ensure!(SHARE.iter().all(|key| !old.contains_key(key) && new.contains_key(key)), "{old:?}, {new:?}");
    ensure!(highest(&old, PRODUCE) == Some(11) && highest(&new, PRODUCE) == Some(13), "{old:?}, {new:?}");
    connects(Family::Librdkafka, Endpoint::from(&both.skein.bootstrap()))?;
    connects(Family::Librdkafka, Endpoint::from(&both.new_at.to_string()))?;
    both.old.stop(1)?;
    both.old.restart_as(1, Release::Current)?;
    // Whoever connects now is offered what the broker has now.
    let at = both.old_at()?;
    let upgraded = process::until("the upgraded broker's offer", NOTICED, || {
        let now = offer(at)?;
        Ok((highest(&now, PRODUCE) == Some(13)).then_some(now))
    })?;
    fits(&offer(node(&both.old)?)?, &upgraded)?;
    connects(Family::Librdkafka, Endpoint::from(&both.skein.bootstrap()))
}
