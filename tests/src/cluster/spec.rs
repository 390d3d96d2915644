//! What a cluster is to be, and the server configuration that makes it so.

use std::{collections::BTreeMap, fmt::Write, net::SocketAddr, path::Path};

/// The user that a secured cluster knows, under PLAIN and under both kinds of SCRAM.
pub const USER: &str = "alice";
/// Her password.
pub const PASSWORD: &str = "alice-secret";

/// What clients have to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Security {
    /// Nothing.
    Open,
    /// A login by PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512 without TLS.
    Sasl,
}

/// What a cluster is to be.
#[derive(Clone, Debug)]
pub struct Spec {
    name: String,
    nodes: Vec<i32>,
    security: Security,
    extra: Vec<(String, String)>,
}

impl Spec {
    /// Any cluster: a name for its folder, and its node ids.
    pub fn new(name: &str, nodes: &[i32], security: Security) -> Self {
        Self { name: name.to_owned(), nodes: nodes.to_owned(), security, extra: Vec::new() }
    }

    /// One open broker, 1001.
    pub fn single() -> Self {
        Self::new("single", &[1001], Security::Open)
    }

    /// Three open brokers, 1, 7 and 1001; topics have three replicas, of which two have to be in sync.
    pub fn three() -> Self {
        Self::new("three", &[1, 7, 1001], Security::Open)
    }

    /// One broker, 7, whose clients have to log in.
    pub fn secured() -> Self {
        Self::new("secured", &[7], Security::Sasl)
    }

    /// Adds a line to the configuration of every broker; it wins over what the kit would say.
    #[must_use]
    pub fn with(mut self, key: &str, value: &str) -> Self {
        self.extra.push((key.to_owned(), value.to_owned()));
        self
    }

    /// The name of its folder.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its node ids.
    pub fn nodes(&self) -> &[i32] {
        &self.nodes
    }

    /// What clients have to show.
    pub fn security(&self) -> Security {
        self.security
    }

    /// Sixteen bytes in the base64 that Kafka prints ids in.
    pub(super) fn cluster_id(&self) -> String {
        let letters = self.name.chars().filter(char::is_ascii_alphanumeric);
        letters.chain("SkeinTestsCluster".chars()).take(21).chain(['A']).collect()
    }

    pub(super) fn format_arguments(&self) -> Vec<String> {
        if self.security == Security::Open {
            return Vec::new();
        }
        let add = |kind: &str| ["--add-scram".to_owned(), format!("{kind}=[name={USER},password={PASSWORD}]")];
        [add("SCRAM-SHA-256"), add("SCRAM-SHA-512")].concat()
    }
}

/// The ports of one node.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ports {
    pub(super) client: u16,
    inside: u16,
    controller: u16,
}

impl From<u16> for Ports {
    /// Three ports in a row.
    fn from(first: u16) -> Self {
        Self { client: first, inside: first + 1, controller: first + 2 }
    }
}

impl Ports {
    pub(super) fn client_address(self) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], self.client))
    }
}

/// The server configuration of every node.
pub(super) fn properties(spec: &Spec, nodes: &BTreeMap<i32, Ports>, data: &Path) -> BTreeMap<i32, String> {
    nodes.iter().map(|(&id, &ports)| (id, text(&one_node(spec, nodes, data, id, ports)))).collect()
}

type Properties = BTreeMap<String, String>;

fn text(properties: &Properties) -> String {
    properties.iter().fold(String::new(), |mut text, (key, value)| {
        let _ = writeln!(text, "{key}={value}");
        text
    })
}

fn one_node(spec: &Spec, nodes: &BTreeMap<i32, Ports>, data: &Path, id: i32, ports: Ports) -> Properties {
    let mut properties = Properties::new();
    let mut set = |key: &str, value: String| properties.insert(key.to_owned(), value);
    let voters: Vec<_> = nodes.iter().map(|(id, ports)| format!("{id}@127.0.0.1:{}", ports.controller)).collect();
    set("process.roles", "broker,controller".to_owned());
    set("node.id", id.to_string());
    set("controller.quorum.voters", voters.join(","));
    set("log.dirs", data.join(id.to_string()).display().to_string());
    let client = format!("CLIENT://127.0.0.1:{},INSIDE://127.0.0.1:{}", ports.client, ports.inside);
    set("listeners", format!("{client},CONTROLLER://127.0.0.1:{}", ports.controller));
    set("advertised.listeners", client);
    set("controller.listener.names", "CONTROLLER".to_owned());
    set("inter.broker.listener.name", "INSIDE".to_owned());
    let protocol = match spec.security {
        Security::Open => "PLAINTEXT",
        Security::Sasl => "SASL_PLAINTEXT",
    };
    set("listener.security.protocol.map", format!("CLIENT:{protocol},INSIDE:PLAINTEXT,CONTROLLER:PLAINTEXT"));
    let replicas = nodes.len().min(3);
    for kind in ["offsets.topic", "transaction.state.log", "share.coordinator.state.topic"] {
        set(&format!("{kind}.replication.factor"), replicas.to_string());
        set(&format!("{kind}.num.partitions"), "5".to_owned());
    }
    set("default.replication.factor", replicas.to_string());
    for kind in ["", "transaction.state.log.", "share.coordinator.state.topic."] {
        let key = if kind.is_empty() { "min.insync.replicas".to_owned() } else { format!("{kind}min.isr") };
        set(&key, replicas.div_ceil(2).to_string());
    }
    for (key, value) in SETTINGS {
        set(key, value.to_owned());
    }
    if spec.security == Security::Sasl {
        login(&mut properties);
    }
    properties.extend(spec.extra.iter().cloned());
    properties
}

fn login(properties: &mut Properties) {
    let listener = "listener.name.client";
    let modules = "org.apache.kafka.common.security";
    let plain = format!("{modules}.plain.PlainLoginModule required user_{USER}=\"{PASSWORD}\";");
    let scram = format!("{modules}.scram.ScramLoginModule required;");
    let lines = [
        ("sasl.enabled.mechanisms", "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512".to_owned()),
        ("plain.sasl.jaas.config", plain),
        ("scram-sha-256.sasl.jaas.config", scram.clone()),
        ("scram-sha-512.sasl.jaas.config", scram),
    ];
    properties.extend(lines.map(|(key, value)| (format!("{listener}.{key}"), value)));
}

const SETTINGS: [(&str, &str); 27] = [
    ("auto.create.topics.enable", "false"),
    // Tests write records of any age.
    ("log.retention.ms", "-1"),
    ("log.segment.delete.delay.ms", "1000"),
    // A record of 20 MB, and room around it.
    ("message.max.bytes", "33554432"),
    ("replica.fetch.max.bytes", "33554432"),
    ("replica.fetch.response.max.bytes", "67108864"),
    // Groups settle and coordinators notice at once.
    ("group.initial.rebalance.delay.ms", "0"),
    ("group.consumer.heartbeat.interval.ms", "500"),
    ("group.consumer.min.heartbeat.interval.ms", "500"),
    ("group.share.heartbeat.interval.ms", "500"),
    ("group.share.min.heartbeat.interval.ms", "500"),
    ("group.streams.heartbeat.interval.ms", "500"),
    ("group.streams.min.heartbeat.interval.ms", "500"),
    ("group.streams.initial.rebalance.delay.ms", "0"),
    ("offsets.commit.timeout.ms", "10000"),
    // A killed broker is missed soon.
    ("broker.heartbeat.interval.ms", "1000"),
    ("broker.session.timeout.ms", "6000"),
    ("controller.quorum.election.timeout.ms", "1000"),
    ("controller.quorum.fetch.timeout.ms", "2000"),
    // Small machines.
    ("log.cleaner.dedupe.buffer.size", "4194304"),
    ("log.cleaner.threads", "1"),
    ("num.io.threads", "4"),
    ("num.network.threads", "2"),
    ("num.recovery.threads.per.data.dir", "1"),
    ("background.threads", "2"),
    ("num.replica.fetchers", "1"),
    ("controlled.shutdown.enable", "true"),
];
