//! The PROXY protocol: a balancer says who the client is.

use std::net::{Ipv4Addr, SocketAddr};

use anyhow::{Context, Result};
use kafka_protocol::messages::MetadataRequest;
use skein_tests::fake::Fake;
use skein_tests::pki::{Authority, Leaf};
use skein_tests::raw::request;
use skein_tests::raw::{Raw, Request};
use skein_tests::skein::Skein;
use skein_tests::tls::Dialer;
use skein_tests::{ports, process, workplace};

use crate::stage::{REAL_CLUSTER, SOON};

const V1: &[u8] = b"PROXY TCP4 203.0.113.9 10.0.0.1 40000 9092\r\n";
const V2: &[u8] = b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c\xcb\0\x71\x09\x0a\0\0\x01\x9c\x40\x23\x84";
const LOCAL: &[u8] = b"\r\n\r\n\0\r\nQUIT\n\x20\0\0\0";

struct Balanced {
    skein: Skein,
    _fake: Fake,
    authority: Authority,
    bind: SocketAddr,
}

fn balanced(keys: &str, tls: bool) -> Result<Balanced> {
    let fake = Fake::start(REAL_CLUSTER, &[1, 7])?.topic("t", &[1, 7]);
    let authority = Authority::new(&workplace::run_dir("pki")?, "Tests")?;
    let server = authority.issue("server", &Leaf::server(&["127.0.0.1", "localhost"]))?;
    let first = ports::block(4)?;
    let bootstrap: Vec<_> = fake.bootstrap().iter().map(|address| format!("\"{address}\"")).collect();
    let shown = format!("tls.certificate = {:?}\ntls.key = {:?}\n", server.certificate, server.key);
    let text = format!(
        r#"[connections]
most-per-source = 2
[clusters.one]
bootstrap = [{}]
nodes = "1, 7"
[virtual-clusters.main]
id = "main-1"
target.cluster = "one"
[virtual-clusters.main.listeners.main]
bind = "127.0.0.1:{first}"
advertise = "127.0.0.1"
ports = "{}-{}"
{keys}
{}
"#,
        bootstrap.join(", "),
        first + 1,
        first + 3,
        if tls { &shown } else { "" }
    );
    let bind = SocketAddr::from((Ipv4Addr::LOCALHOST, first));
    Ok(Balanced { skein: Skein::start(&text)?, _fake: fake, authority, bind })
}

const TRUSTED: &str = "proxy-from = [\"127.0.0.0/8\"]";
const OTHERS: &str = "proxy-from = [\"10.0.0.0/8\"]";

impl Balanced {
    fn asks(&self, header: &[u8]) -> Result<Raw> {
        let mut raw = Raw::connect(self.bind)?;
        raw.send_bytes(header)?;
        raw.call::<MetadataRequest>(12, &request::metadata(12, Some(&["t"])))?;
        Ok(raw)
    }

    fn refuses(&self, header: &[u8], why: &str) -> Result<()> {
        let mut raw = Raw::connect(self.bind)?;
        let request = Request::of(12, &request::metadata(12, None))?.frame();
        raw.send_bytes(&[header, &request].concat())?;
        raw.closed(SOON)?;
        self.logs(why)
    }

    fn logs(&self, what: &str) -> Result<()> {
        process::until(what, SOON, || Ok(self.skein.log().contains(what).then_some(())))
            .with_context(|| self.skein.log())
    }
}

#[test]
fn a_trusted_balancer_says_who_the_client_is_and_limits_are_the_clients() -> Result<()> {
    let stage = balanced(&format!("proxy-protocol = \"required\"\n{TRUSTED}"), false)?;
    let one = [stage.asks(V1)?, stage.asks(V2)?];
    // Two are there from one client: a third is too many, and one from elsewhere is none too many.
    assert!(stage.asks(V1).is_err());
    stage.logs("peer=203.0.113.9")?;
    stage.asks(b"PROXY TCP4 203.0.113.10 10.0.0.1 40000 9092\r\n")?;
    stage.asks(LOCAL)?;
    drop(one);
    process::until("room again", SOON, || Ok(stage.asks(V2).ok()))?;
    stage.refuses(b"", "it begins without a header of the PROXY protocol, which is required here")?;
    stage.refuses(b"PROXY TCP4 nonsense\r\n", "its header of the PROXY protocol cannot be read")
}

#[test]
fn a_header_is_believed_from_those_only_who_may_send_it() -> Result<()> {
    let allowed = balanced(&format!("proxy-protocol = \"allowed\"\n{OTHERS}"), false)?;
    allowed.asks(b"")?;
    allowed.refuses(V1, "it comes from nobody whose PROXY header is believed")?;
    allowed.refuses(V2, "reason=\"proxy_header_untrusted\"")?;
    let required = balanced(&format!("proxy-protocol = \"required\"\n{OTHERS}"), false)?;
    required.refuses(b"", "it comes from nobody whose PROXY header is believed")?;
    let off = balanced("", false)?;
    off.asks(b"")?;
    off.refuses(V1, "it begins with a header of the PROXY protocol, which is off here")?;
    off.refuses(V2, "reason=\"proxy_header_unasked\"")
}

#[test]
fn a_header_comes_before_tls() -> Result<()> {
    let stage = balanced(&format!("proxy-protocol = \"allowed\"\n{TRUSTED}"), true)?;
    let dialer = Dialer::new("localhost", &stage.authority.certificate(), None)?;
    for header in [V1, V2, LOCAL, b""] {
        let tunnel = dialer.tunnel(stage.bind, header)?;
        Raw::connect(tunnel.address)?.call(12, &request::metadata(12, None))?;
    }
    stage.refuses(V1, "it speaks no TLS, and this listener does")?;
    stage.logs("203.0.113.9")
}
