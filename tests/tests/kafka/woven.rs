//! One catalogue over two clusters whose node ids and topic names collide: clients see the same as at one cluster, and records
//! are where their topic is at home.
//!
//! CI has a sample of the scenarios; with `SKEIN_WOVEN=all` it is every one, and with `SKEIN_WOVEN="Java classic"`, say, one.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail, ensure};
use kafka_protocol::messages::create_topics_request::CreatableTopic;
use kafka_protocol::messages::delete_topics_request::DeleteTopicState;
use kafka_protocol::messages::offset_commit_request::{OffsetCommitRequestPartition, OffsetCommitRequestTopic};
use kafka_protocol::messages::{
    ApiVersionsRequest, CreateTopicsRequest, DeleteTopicsRequest, OffsetCommitRequest, TopicName,
};
use kafka_protocol::protocol::StrBytes;
use skein_tests::{
    batch::{Batch, Record},
    client::{self, Family},
    cluster::{self, Cluster},
    ports, process,
    raw::{
        Raw,
        request::{self, Coordinated, Place, Session},
    },
    skein::Skein,
};
use uuid::Uuid;

use crate::scenarios;
use crate::stage;

/// What every change has to show.
const SAMPLE: [(Family, &str); 5] = [
    (Family::Java, "classic"),
    (Family::Librdkafka, "produce"),
    (Family::FranzGo, "transactions"),
    (Family::KafkaPython, "seek"),
    (Family::KafkaJs, "produce"),
];

/// What is another thing at several clusters, on purpose: there are more nodes, access rules and quotas are of one cluster,
/// and patterns are not matched by a broker, nor are Kafka Streams' own groups offered.
fn differs(family: Family, scenario: &str) -> bool {
    let has_patterns = [Family::Java, Family::Librdkafka, Family::FranzGo].contains(&family);
    matches!(scenario, "admin" | "streams") || scenario == "kip848" && has_patterns
}

fn cases() -> Vec<(Family, &'static str)> {
    let Ok(wanted) = std::env::var("SKEIN_WOVEN") else { return SAMPLE.to_vec() };
    let all = scenarios::ALL.iter().flat_map(|(family, names)| names.iter().map(|name| (*family, *name)));
    let all = all.filter(|(family, name)| !differs(*family, name));
    all.filter(|(family, name)| wanted == "all" || format!("{family:?} {name}").starts_with(&wanted)).collect()
}

/// A cluster as a file declares it.
fn declared(name: &str, cluster: &Cluster) -> String {
    let nodes = cluster.nodes();
    let addresses: Vec<_> = nodes.values().map(|address| format!("\"{address}\"")).collect();
    let ids: Vec<_> = nodes.keys().map(ToString::to_string).collect();
    format!("[clusters.{name}]\nbootstrap = [{}]\nnodes = \"{}\"\n", addresses.join(", "), ids.join(", "))
}

/// Skein before two clusters, the routes of which have these rules; `one` is home.
fn weave(one: (&Cluster, &str), two: (&Cluster, &str)) -> Result<Skein> {
    woven((declared("one", one.0), one.1), (declared("two", two.0), two.1))
}

/// The same, of clusters as a file declares them.
fn woven(one: (String, &str), two: (String, &str)) -> Result<Skein> {
    let first = ports::block(17)?;
    let text = format!(
        r#"{}
{}
[routers.world]
kind = "weave-topics"
home = "one"

[routers.world.routes.one]
id = 3
target.cluster = "one"
{}

[routers.world.routes.two]
id = 0
target.cluster = "two"
{}

[virtual-clusters.main]
id = "main-1"
target.router = "world"

[virtual-clusters.main.listeners.plain]
bind = "127.0.0.1:{first}"
advertise = "127.0.0.1"
ports = "{}-{}"
"#,
        one.0,
        two.0,
        one.1,
        two.1,
        first + 1,
        first + 16
    );
    Skein::start(&text)
}

/// The proxy before the three brokers, whose topics have other names there, and one more cluster.
fn proxy() -> Result<String> {
    static PROXY: OnceLock<Result<Arc<Skein>, String>> = OnceLock::new();
    let made = PROXY.get_or_init(|| {
        let start = || {
            let one = (cluster::three()?, "topics = [\"*\"]\nstrip = \"woven.\"");
            weave(one, (cluster::single()?, "prefix = \"two.\""))
        };
        start().map(Arc::new).map_err(|error| format!("{error:#}"))
    });
    Ok(made.as_ref().map_err(|error| anyhow!(error.clone()))?.bootstrap())
}

#[test]
fn who_keeps_to_the_topics_of_one_cluster_sees_no_difference() -> Result<()> {
    let mut wrong = Vec::new();
    for (family, scenario) in cases() {
        let outcome = || {
            let through = client::run_through(family, scenario, proxy()?.as_str(), cluster::three()?, &[])?;
            client::same(&stage::direct(family, scenario)?, &through)
        };
        if let Err(error) = outcome() {
            wrong.push(format!("{family:?} {scenario}: {error:#}"));
        }
    }
    if wrong.is_empty() { Ok(()) } else { Err(anyhow!("{}", wrong.join("\n\n"))) }
}

/// Two clusters of which each has a topic of this name, and the addresses of the nodes that lead the two.
struct Twins {
    skein: Skein,
    name: &'static str,
    seen: &'static str,
}

impl Twins {
    fn start(name: &'static str, seen: &'static str) -> Result<Self> {
        let two = format!("rename = {{ \"{seen}\" = \"{name}\" }}");
        let skein = weave((cluster::three()?, &format!("topics = [\"{name}\"]")), (cluster::single()?, &two))?;
        Ok(Self { skein, name, seen })
    }

    fn at(&self) -> Result<Raw> {
        Raw::connect(self.skein.bootstrap().parse()?)
    }

    /// Creates both through the proxy, in one request.
    fn create(&self) -> Result<()> {
        let topic = |name: &'static str| {
            CreatableTopic::default().with_name(named(name)).with_num_partitions(1).with_replication_factor(1)
        };
        let both = [self.name, self.seen].map(topic).to_vec();
        let request = CreateTopicsRequest::default().with_topics(both).with_timeout_ms(20_000);
        let answer = self.at()?.call(7, &request)?;
        let told: Vec<_> = answer.topics.iter().map(|topic| (topic.name.to_string(), topic.error_code)).collect();
        ensure!(told == [(self.name.to_owned(), 0), (self.seen.to_owned(), 0)], "{told:?}");
        Ok(())
    }

    /// The topics as clients see them: id, and address of the leader.
    fn leaders(&self) -> Result<BTreeMap<String, (Uuid, SocketAddr)>> {
        process::until("both have a leader", Duration::from_secs(20), || {
            let answer = self.at()?.call(12, &request::metadata(12, Some(&[self.name, self.seen])))?;
            let brokers: BTreeMap<_, _> = answer.brokers.iter().map(|broker| (broker.node_id, broker)).collect();
            ensure!(brokers.len() == cluster::three()?.nodes().len() + 1, "{brokers:?}");
            let mut found = BTreeMap::new();
            for topic in &answer.topics {
                let leader = topic.partitions.first().and_then(|partition| brokers.get(&partition.leader_id));
                let Some(leader) = leader else { return Ok(None) };
                let address = format!("{}:{}", &*leader.host, leader.port).parse()?;
                let name = topic.name.as_ref().map(|name| name.to_string()).unwrap_or_default();
                found.insert(name, (topic.topic_id, address));
            }
            Ok((found.len() == 2).then_some(found))
        })
    }
}

fn named(name: &'static str) -> TopicName {
    TopicName(StrBytes::from_static_str(name))
}

/// What the topic of a cluster holds, as the cluster itself tells.
fn holds(cluster: &Cluster, name: &str) -> Result<Vec<u8>> {
    for address in cluster.nodes().into_values() {
        let fetch = request::fetch(4, Session::None, &[place(name, Uuid::nil())]);
        let answer = Raw::connect(address)?.call(4, &fetch)?;
        let partition = answer.responses.first().and_then(|topic| topic.partitions.first()).context("no partition")?;
        if partition.error_code == 0 {
            return Ok(partition.records.clone().unwrap_or_default().to_vec());
        }
    }
    bail!("nobody leads {name}")
}

fn place(name: &str, id: Uuid) -> Place {
    Place { topic: name.to_owned(), id, partition: 0 }
}

/// A batch of one record, the `n`th of a producer.
fn said(word: &'static str, producer: i64, n: i32) -> bytes::Bytes {
    Batch::of(vec![Record::of(word)]).by(producer, 0, n).build()
}

#[test]
fn what_is_written_is_where_its_topic_is_at_home_under_its_own_name() -> Result<()> {
    let twins = Twins::start("twin", "far-twin")?;
    twins.create()?;
    let leaders = twins.leaders()?;
    let ((near_id, near), (far_id, far)) = (leaders["twin"], leaders["far-twin"]);
    ensure!(near != far && near_id != far_id, "{leaders:?}");
    // One producer, both clusters in turn, by name and by id.
    let producer = Raw::connect(near)?.call(4, &request::init_producer_id(None))?.producer_id.0;
    let (mut near, mut far) = (Raw::connect(near)?, Raw::connect(far)?);
    for n in 0..4 {
        let version = if n % 2 == 0 { 9 } else { 13 };
        for (raw, name, id, word) in [(&mut near, "twin", near_id, "near"), (&mut far, "far-twin", far_id, "far")] {
            let produce = request::produce(version, &place(name, id), -1, said(word, producer, n));
            let answer = raw.call(version, &produce)?;
            let told = &answer.responses.first().and_then(|topic| topic.partition_responses.first());
            let told = told.map(|told| (told.error_code, told.base_offset));
            ensure!(told == Some((0, n.into())), "{name} v{version}: {told:?}");
        }
    }
    for (cluster, word, other) in [(cluster::three()?, "near", "far"), (cluster::single()?, "far", "near")] {
        let held = holds(cluster, "twin")?;
        let has = |word: &str| held.windows(word.len()).filter(|window| *window == word.as_bytes()).count();
        ensure!(has(word) == 4 && has(other) == 0, "{word}: {} of it, {} of the other", has(word), has(other));
    }
    let topics = ["twin", "far-twin"].map(|name| DeleteTopicState::default().with_name(Some(named(name)))).to_vec();
    let answer = twins.at()?.call(6, &DeleteTopicsRequest::default().with_topics(topics).with_timeout_ms(20_000))?;
    ensure!(answer.responses.iter().all(|topic| topic.error_code == 0), "{answer:?}");
    Ok(())
}

#[test]
fn what_is_elsewhere_is_refused_and_the_rest_is_done() -> Result<()> {
    let twins = Twins::start("here", "there")?;
    twins.create()?;
    let leaders = twins.leaders()?;
    let ((here_id, _), (there_id, there)) = (leaders["here"], leaders["there"]);
    let mut raw = Raw::connect(there)?;
    for version in [7, 9, 13] {
        // Both topics, and one that nobody has, in one request to the leader of one of them.
        let mut both = request::produce(version, &place("there", there_id), -1, said("a", -1, -1));
        let others = [("here", here_id), ("nowhere", Uuid::from_u128(77))];
        for (name, id) in others {
            both.topic_data.extend(request::produce(version, &place(name, id), -1, said("b", -1, -1)).topic_data);
        }
        let answer = raw.call(version, &both).with_context(|| format!("v{version}: {}", twins.skein.log()))?;
        let told: BTreeMap<_, _> = answer
            .responses
            .iter()
            .map(|topic| {
                let name = if version >= 13 { topic.topic_id.to_string() } else { topic.name.to_string() };
                let told =
                    topic.partition_responses.iter().map(|told| (told.index, told.error_code)).collect::<Vec<_>>();
                (name, told)
            })
            .collect();
        let name = |name: &str, id: Uuid| if version >= 13 { id.to_string() } else { name.to_owned() };
        let unknown = if version >= 13 { 100 } else { 3 };
        let wanted = BTreeMap::from([
            (name("there", there_id), vec![(0, 0)]),
            (name("here", here_id), vec![(0, 6)]),
            (name("nowhere", Uuid::from_u128(77)), vec![(0, unknown)]),
        ]);
        ensure!(told == wanted, "v{version}: {told:?}");
    }
    ensure!(!holds(cluster::three()?, "here")?.contains(&b'b'), "what was refused is there");
    let fetch = request::fetch(12, Session::None, &[place("there", there_id), place("here", here_id)]);
    let answer = raw.call(12, &fetch)?;
    let told: BTreeMap<_, _> = answer
        .responses
        .iter()
        .flat_map(|topic| topic.partitions.iter().map(|told| (topic.topic.to_string(), told.error_code)))
        .collect();
    ensure!(told == BTreeMap::from([("there".to_owned(), 0), ("here".to_owned(), 6)]), "{told:?}");
    Ok(())
}

#[test]
fn a_group_keeps_to_its_home() -> Result<()> {
    let twins = Twins::start("home", "abroad")?;
    twins.create()?;
    twins.leaders()?;
    let mut raw = twins.at()?;
    let coordinator = process::until("a coordinator", Duration::from_secs(20), || {
        let answer = raw.call(4, &request::find_coordinator(4, "woven-group", Coordinated::Group))?;
        Ok(answer.coordinators.first().filter(|told| told.error_code == 0).cloned())
    })?;
    let brokers = cluster::three()?.nodes();
    ensure!(brokers.keys().any(|id| 16 * id + 3 == coordinator.node_id.0), "{coordinator:?}");
    let topic = |name: &'static str| {
        let partition = OffsetCommitRequestPartition::default().with_committed_offset(1);
        OffsetCommitRequestTopic::default().with_name(named(name)).with_partitions(vec![partition])
    };
    let group = StrBytes::from_static_str("woven-group");
    let commit = OffsetCommitRequest::default()
        .with_group_id(group.into())
        .with_generation_id_or_member_epoch(-1)
        .with_topics(["home", "abroad"].map(topic).to_vec());
    let mut at = Raw::connect(format!("{}:{}", &*coordinator.host, coordinator.port).parse()?)?;
    let told = process::until("the group's offsets", Duration::from_secs(20), || {
        let answer = at.call(8, &commit)?;
        let told: BTreeMap<_, _> = answer
            .topics
            .iter()
            .flat_map(|topic| topic.partitions.iter().map(|told| (topic.name.to_string(), told.error_code)))
            .collect();
        Ok((told.get("home") == Some(&0)).then_some(told))
    })?;
    ensure!(told.get("abroad") == Some(&29), "{told:?}");
    Ok(())
}

#[test]
fn a_cluster_that_nobody_reaches_keeps_no_client_of_the_others_waiting() -> Result<()> {
    let nobody = format!("[clusters.two]\nbootstrap = [\"127.0.0.1:{}\"]\nnodes = \"1\"\n", ports::block(1)?);
    let skein = woven((declared("one", cluster::three()?), "topics = [\"alone\"]"), (nobody, "prefix = \"two.\""))?;
    let mut raw = Raw::connect(skein.bootstrap().parse()?)?;
    let offer = raw.call(0, &ApiVersionsRequest::default())?;
    ensure!(
        offer.error_code == 0 && offer.api_keys.iter().any(|api| api.api_key == 0 && api.max_version == 11),
        "{offer:?}"
    );
    let topic = CreatableTopic::default().with_name(named("alone")).with_num_partitions(1).with_replication_factor(1);
    raw.call(7, &CreateTopicsRequest::default().with_topics(vec![topic]).with_timeout_ms(20_000))?;
    let leader = process::until("a leader", Duration::from_secs(20), || {
        let answer = raw.call(12, &request::metadata(12, Some(&["alone"])))?;
        let partition = answer.topics.first().and_then(|topic| topic.partitions.first());
        let leader =
            answer.brokers.iter().find(|broker| partition.is_some_and(|told| told.leader_id == broker.node_id));
        Ok(leader.map(|leader| format!("{}:{}", &*leader.host, leader.port)))
    })?;
    let produce = request::produce(9, &place("alone", Uuid::nil()), -1, said("word", -1, -1));
    let answer = Raw::connect(leader.parse()?)?.call(9, &produce)?;
    let told = answer.responses.first().and_then(|topic| topic.partition_responses.first()).map(|told| told.error_code);
    ensure!(told == Some(0), "{answer:?}");
    // What is asked for by its name at a cluster that is away is told as that, and not as what is not there.
    let answer = raw.call(12, &request::metadata(12, Some(&["two.lost"])))?;
    ensure!(answer.topics.iter().map(|topic| topic.error_code).eq([5]), "{answer:?}");
    Ok(())
}
