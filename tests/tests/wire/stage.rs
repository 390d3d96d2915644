//! A fake cluster behind a running Skein, and what every test asks of the two.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use anyhow::{Context, Result};
use bytes::Bytes;
use kafka_protocol::messages::{MetadataRequest, MetadataResponse, ProduceResponse};
use kafka_protocol::protocol::Request as Api;
use skein_tests::fake::Fake;
use skein_tests::raw::request::{self, Place};
use skein_tests::raw::{Answer, Raw, Request};
use skein_tests::skein::Skein;
use skein_tests::{http, ports, process};

/// For what is a matter of milliseconds on an idle machine.
pub const SOON: Duration = Duration::from_secs(10);

/// Longer than any deadline of the proxy in these tests: what takes longer hangs.
pub const HANG: Duration = Duration::from_secs(60);

/// What the brokers call their cluster; no client may ever see it.
pub const REAL_CLUSTER: &str = "real-cluster-of-the-brokers";

/// The nodes declared, in order; 1001 never runs.
pub const DECLARED: [i32; 3] = [1, 7, 1001];

/// One cluster behind one virtual cluster.
pub struct Stage {
    /// First, so that the proxy ends before its brokers do.
    pub skein: Skein,
    /// Nodes 1 and 7, topic `t` with partition 0 on node 1 and 1 on node 7, unless the test brought its own.
    pub fake: Fake,
    first_port: u16,
}

impl Stage {
    /// Nodes 1 and 7, topic `t` on both.
    pub fn new() -> Result<Stage> {
        Stage::before(Fake::start(REAL_CLUSTER, &[1, 7])?.topic("t", &[1, 7]))
    }

    /// Skein in front of this cluster, under the id `main-1`.
    pub fn before(fake: Fake) -> Result<Stage> {
        Stage::called("main-1", fake)
    }

    /// Skein in front of this cluster, under a declared id.
    pub fn called(id: &str, fake: Fake) -> Result<Stage> {
        Stage::set(id, "", fake)
    }

    /// Nodes 1 and 7, topic `t` on both, and more tables in the file.
    pub fn with(tables: &str) -> Result<Stage> {
        Stage::set("main-1", tables, Fake::start(REAL_CLUSTER, &[1, 7])?.topic("t", &[1, 7]))
    }

    /// The same, with at most so many file descriptors for the proxy.
    pub fn with_descriptors(descriptors: u32) -> Result<Stage> {
        Stage::run("main-1", "", Fake::start(REAL_CLUSTER, &[1, 7])?.topic("t", &[1, 7]), Some(descriptors))
    }

    /// Nodes 1 and 7, topic `t` on both; clients log in as the inline table `login` says. It logs all that it can.
    pub fn with_login(login: &str, tables: &str) -> Result<Stage> {
        let fake = Fake::start(REAL_CLUSTER, &[1, 7])?.topic("t", &[1, 7]);
        let first_port = ports::block(12)?;
        let text = file_of("main-1", &fake, first_port, tables)?.replace(NO_LOGIN, &format!("login = {login}"));
        Ok(Stage { skein: Skein::start_saying(&text, "trace")?, fake, first_port })
    }

    fn set(id: &str, tables: &str, fake: Fake) -> Result<Stage> {
        Stage::run(id, tables, fake, None)
    }

    fn run(id: &str, tables: &str, fake: Fake, descriptors: Option<u32>) -> Result<Stage> {
        let first_port = ports::block(12)?;
        let skein = Skein::start_with(&file_of(id, &fake, first_port, tables)?, descriptors)?;
        Ok(Stage { skein, fake, first_port })
    }

    /// The file, without its admin listener.
    pub fn file(&self) -> Result<String> {
        config("main-1", &self.fake, self.first_port)
    }

    /// The address of the admin listener.
    pub fn admin(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.first_port + 11).into()
    }

    /// The value of a series, by the beginning of its line; 0 if there is none.
    pub fn metric(&self, series: &str) -> Result<f64> {
        let text = http::get(self.admin(), "/metrics")?.body;
        let values = text.lines().filter_map(|line| line.strip_prefix(series)?.trim().parse::<f64>().ok());
        Ok(values.sum())
    }

    /// Waits until a series has a value that fits.
    pub fn counts(&self, series: &str, fits: impl Fn(f64) -> bool) -> Result<()> {
        process::until(series, SOON, || Ok(fits(self.metric(series)?).then_some(())))
    }

    /// The address that clients bootstrap to.
    pub fn bootstrap_address(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.first_port).into()
    }

    /// The address of a declared node.
    pub fn address(&self, node: i32) -> Result<SocketAddr> {
        let position = DECLARED.iter().position(|&id| id == node).context("not declared")?;
        Ok((Ipv4Addr::LOCALHOST, self.first_port + 1 + u16::try_from(position)?).into())
    }

    /// A client of the bootstrap address.
    pub fn bootstrap(&self) -> Result<Raw> {
        Raw::connect(self.bootstrap_address())
    }

    /// A client of a node.
    pub fn node(&self, node: i32) -> Result<Raw> {
        Raw::connect(self.address(node)?)
    }

    /// Metadata of everything, as the newest clients ask.
    pub fn metadata(&self) -> Result<MetadataResponse> {
        self.bootstrap()?.call(13, &request::metadata(13, None))
    }

    /// A partition of `t`, with the topic id that clients see.
    pub fn place(&self, partition: i32) -> Result<Place> {
        let described = self.bootstrap()?.call::<MetadataRequest>(12, &request::metadata(12, Some(&["t"])))?;
        let id = described.topics.first().context("no topic in the answer")?.topic_id;
        Ok(Place { topic: "t".to_owned(), id, partition })
    }

    /// Whether an answer holds the id of the real cluster or the port of a real broker.
    pub fn leaks(&self, answer: &Answer) -> Result<bool> {
        let real_ports = self.fake.change(|model| model.nodes.values().map(SocketAddr::port).collect::<Vec<_>>());
        let holds = |port: u16| answer.contains(&u32::from(port).to_be_bytes());
        Ok(answer.contains(REAL_CLUSTER.as_bytes()) || real_ports.into_iter().any(holds))
    }

    /// Asks, looks for leaks, decodes.
    pub fn ask_without_leak<A: Api>(&self, raw: &mut Raw, version: i16, asked: &A) -> Result<A::Response> {
        let answer = raw.ask(&Request::of(version, asked)?)?;
        assert!(!self.leaks(&answer)?, "{} v{version} shows the real cluster: {:?}", A::KEY, answer.rest);
        answer.decode::<A>(version)
    }

    /// Sees that another connection is served as if nothing had happened.
    pub fn serves_others(&self) -> Result<()> {
        let answer = self.node(1)?.call(12, &request::metadata(12, Some(&["t"]))).context("another connection")?;
        assert_eq!(answer.topics[0].error_code, 0);
        Ok(())
    }
}

/// The line of the file by which nobody logs in.
const NO_LOGIN: &str = "login = \"none\"";

/// The file with more tables, and with the admin listener at the last port.
fn file_of(id: &str, fake: &Fake, first_port: u16, tables: &str) -> Result<String> {
    let admin = first_port + 11;
    Ok(config(id, fake, first_port)? + tables + &format!("\n[admin]\nbind = \"127.0.0.1:{admin}\"\n"))
}

/// The file: `fake` behind the virtual cluster `main`, on twelve ports from the first on, the last of which stays free.
pub fn config(id: &str, fake: &Fake, first_port: u16) -> Result<String> {
    let bootstrap = serialized(&fake.bootstrap());
    let (nodes, end) = (first_port + 1, first_port + 10);
    Ok(format!(
        r#"[clusters.one]
bootstrap = {bootstrap}
nodes = "1, 7, 1001"

[virtual-clusters.main]
id = "{id}"
target.cluster = "one"

[virtual-clusters.main.listeners.plain]
bind = "127.0.0.1:{first_port}"
advertise = "127.0.0.1"
ports = "{nodes}-{end}"
{NO_LOGIN}
"#
    ))
}

fn serialized(addresses: &[String]) -> String {
    let quoted: Vec<_> = addresses.iter().map(|address| format!("\"{address}\"")).collect();
    format!("[{}]", quoted.join(", "))
}

/// The error code of the only partition in a Produce answer.
pub fn produced(answer: &ProduceResponse) -> i16 {
    answer.responses[0].partition_responses[0].error_code
}

/// Nothing, as a body.
pub fn empty() -> Bytes {
    Bytes::new()
}
