//! What a cluster is to be, and the server configuration that makes it so.

use std::{collections::BTreeMap, fmt::Write, net::SocketAddr, path::Path, time::Duration};

use super::guard::Guard;

/// The users that a cluster with logins knows, under PLAIN and under both kinds of SCRAM. No rule is about them at first.
pub const USERS: [&str; 4] = [USER, "bob", "carol", "skein"];
/// The user of tests that need but one.
pub const USER: &str = "alice";
/// Her password.
pub const PASSWORD: &str = "alice-secret";

/// The password of a user at first.
pub fn password(user: &str) -> String {
    format!("{user}-secret")
}

/// What clients have to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Security {
    /// Nothing.
    Open,
    /// A login by PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512 without TLS.
    Sasl,
    /// Over TLS: a login by these or by OAUTHBEARER at one port, a certificate at another; and rules decide who may do what.
    Guarded,
}

/// A release of Kafka.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Release {
    /// That of `tests/kafka/pom.xml`.
    Current,
    /// The last one before 4.0.
    V3_9,
}

/// What a cluster is to be.
#[derive(Clone, Debug)]
pub struct Spec {
    name: String,
    nodes: Vec<i32>,
    security: Security,
    release: Release,
    extra: Vec<(String, String)>,
}

impl Spec {
    /// Any cluster: a name for its folder, and its node ids.
    pub fn new(name: &str, nodes: &[i32], security: Security) -> Self {
        Self { name: name.to_owned(), nodes: nodes.to_owned(), security, release: Release::Current, extra: Vec::new() }
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

    /// One broker, 7, over TLS: with every kind of login, and rules.
    pub fn guarded() -> Self {
        Self::new("guarded", &[7], Security::Guarded)
    }

    /// Three such brokers, 1, 7 and 1001.
    pub fn three_guarded() -> Self {
        Self::new("three-guarded", &[1, 7, 1001], Security::Guarded)
    }

    /// Of another release.
    #[must_use]
    pub fn of(mut self, release: Release) -> Self {
        self.release = release;
        self
    }

    /// Logins last so long; then a client has to log in again on its connection (KIP-368), or it is closed.
    #[must_use]
    pub fn logins_last(self, lifetime: Duration) -> Self {
        let milliseconds = lifetime.as_millis().to_string();
        self.with("listener.name.client.connections.max.reauth.ms", &milliseconds)
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

    /// Its release.
    pub fn release(&self) -> Release {
        self.release
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
        let add = |user: &&str| {
            let credential = |kind: &str| format!("{kind}=[name={user},password={}]", password(user));
            ["SCRAM-SHA-256", "SCRAM-SHA-512"].map(credential).map(|one| ["--add-scram".to_owned(), one]).concat()
        };
        USERS.iter().flat_map(add).collect()
    }
}

/// The ports of one node.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ports {
    pub(super) client: u16,
    /// Of a guarded broker only.
    pub(super) mutual: u16,
    pub(super) inside: u16,
    controller: u16,
}

impl From<u16> for Ports {
    /// So many in a row.
    fn from(first: u16) -> Self {
        Self { client: first, inside: first + 1, controller: first + 2, mutual: first + 3 }
    }
}

impl Ports {
    /// How many one node has.
    pub(super) const COUNT: u16 = 4;
}

/// That port of the loopback interface.
pub(super) fn local(port: u16) -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], port))
}

/// The server configuration of every node.
pub(super) fn properties(
    spec: &Spec, nodes: &BTreeMap<i32, Ports>, data: &Path, guard: Option<&Guard>,
) -> BTreeMap<i32, String> {
    let one = |id, ports| {
        let mut properties = one_node(spec, nodes, data, id, ports);
        if let Some(guard) = guard {
            guard.properties(&mut properties);
        }
        properties.extend(spec.extra.iter().cloned());
        text(&properties)
    };
    nodes.iter().map(|(&id, &ports)| (id, one(id, ports))).collect()
}

pub(super) type Properties = BTreeMap<String, String>;

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
    let mut client = format!("CLIENT://{},INSIDE://{}", local(ports.client), local(ports.inside));
    if spec.security == Security::Guarded {
        let _ = write!(client, ",MUTUAL://{}", local(ports.mutual));
    }
    set("listeners", format!("{client},CONTROLLER://127.0.0.1:{}", ports.controller));
    set("advertised.listeners", client);
    set("controller.listener.names", "CONTROLLER".to_owned());
    set("inter.broker.listener.name", "INSIDE".to_owned());
    let protocol = match spec.security {
        Security::Open => "PLAINTEXT",
        Security::Sasl => "SASL_PLAINTEXT",
        Security::Guarded => "SASL_SSL",
    };
    let protocols = format!("CLIENT:{protocol},MUTUAL:SSL,INSIDE:PLAINTEXT,CONTROLLER:PLAINTEXT");
    set("listener.security.protocol.map", protocols);
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
    if spec.security != Security::Open {
        login(&mut properties);
    }
    properties
}

fn login(properties: &mut Properties) {
    let listener = "listener.name.client";
    let modules = "org.apache.kafka.common.security";
    let users = USERS.map(|user| format!("user_{user}=\"{}\"", password(user))).join(" ");
    let plain = format!("{modules}.plain.PlainLoginModule required {users};");
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
