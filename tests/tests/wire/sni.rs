//! One port for all nodes of several virtual clusters, told apart by the names in TLS hellos.

use std::net::{Ipv4Addr, SocketAddr};

use anyhow::{Context, Result};
use kafka_protocol::messages::MetadataRequest;
use skein_tests::fake::Fake;
use skein_tests::pki::{Authority, Identity, Leaf};
use skein_tests::raw::Raw;
use skein_tests::raw::request;
use skein_tests::skein::{self, Skein};
use skein_tests::tls::Dialer;
use skein_tests::{ports, process, workplace};

use crate::stage::{REAL_CLUSTER, SOON};

/// Virtual clusters `red` and `blue` at one port.
struct Shared {
    skein: Skein,
    _fake: Fake,
    red: Authority,
    blue: Authority,
    bind: SocketAddr,
    text: String,
}

fn listener(name: &str, bind: SocketAddr, identity: &Identity) -> String {
    format!(
        r#"
[virtual-clusters.{name}]
id = "{name}-1"
target.cluster = "one"

[virtual-clusters.{name}.listeners.tls]
bind = "{bind}"
sni = "Broker-$(node).{name}.example.com"
bootstrap-sni = "{name}.example.com"
advertise-port = 443
tls.certificate = {:?}
tls.key = {:?}
"#,
        identity.certificate, identity.key
    )
}

fn shared() -> Result<Shared> {
    let fake = Fake::start(REAL_CLUSTER, &[1, 7])?.topic("t", &[1, 7]);
    let bind = SocketAddr::from((Ipv4Addr::LOCALHOST, ports::block(1)?));
    let bootstrap: Vec<_> = fake.bootstrap().iter().map(|address| format!("\"{address}\"")).collect();
    let mut text = format!("[clusters.one]\nbootstrap = [{}]\nnodes = \"1, 7\"\n", bootstrap.join(", "));
    let authority = |name: &str, text: &mut String| -> Result<Authority> {
        let authority = Authority::new(&workplace::run_dir(name)?, name)?;
        let names = [format!("{name}.example.com"), format!("*.{name}.example.com")];
        let identity = authority.issue("server", &Leaf::server(&names.each_ref().map(String::as_str)))?;
        *text += &listener(name, bind, &identity);
        Ok(authority)
    };
    let (red, blue) = (authority("red", &mut text)?, authority("blue", &mut text)?);
    Ok(Shared { skein: Skein::start(&text)?, _fake: fake, red, blue, bind, text })
}

impl Shared {
    fn ask(&self, name: &str, of: &Authority) -> Result<Vec<(i32, String, i32)>> {
        let tunnel = Dialer::new(name, &of.certificate(), None)?.tunnel(self.bind, b"")?;
        let answer = Raw::connect(tunnel.address)?.call::<MetadataRequest>(12, &request::metadata(12, Some(&["t"])))?;
        Ok(answer.brokers.iter().map(|broker| (broker.node_id.0, broker.host.to_string(), broker.port)).collect())
    }

    fn logs(&self, what: &str) -> Result<()> {
        process::until(what, SOON, || Ok(self.skein.log().contains(what).then_some(())))
            .with_context(|| self.skein.log())
    }
}

#[test]
fn a_name_leads_to_its_virtual_cluster_and_to_nobody_elses() -> Result<()> {
    let stage = shared()?;
    let of = |name: &str| {
        vec![(1, format!("broker-1.{name}.example.com"), 443), (7, format!("broker-7.{name}.example.com"), 443)]
    };
    for name in ["red.example.com", "broker-1.red.example.com", "BROKER-7.Red.Example.COM"] {
        assert_eq!(stage.ask(name, &stage.red)?, of("red"), "{name}");
    }
    assert_eq!(stage.ask("blue.example.com", &stage.blue)?, of("blue"));
    // Each shows its own certificate only.
    assert!(stage.ask("blue.example.com", &stage.red).is_err());
    Ok(())
}

#[test]
fn a_name_that_nobody_has_and_none_at_all_get_an_alert_and_a_line() -> Result<()> {
    let stage = shared()?;
    let known = "blue.example.com, broker-$(node).blue.example.com, broker-$(node).red.example.com, red.example.com";
    for name in
        ["green.example.com", "broker-2.red.example.com", "broker-01.red.example.com", "x.broker-1.red.example.com"]
    {
        let dialer = Dialer::new(name, &stage.red.certificate(), None)?;
        let error = format!("{:#}", dialer.shake(stage.bind).unwrap_err());
        assert!(error.contains("UnrecognisedName"), "{error}");
        stage.logs(&format!("its TLS hello names `{name}`, and known are {known}"))?;
    }
    let nameless = Dialer::new("red.example.com", &stage.red.certificate(), None)?.nameless();
    let error = format!("{:#}", nameless.shake(stage.bind).unwrap_err());
    assert!(error.contains("UnrecognisedName"), "{error}");
    stage.logs(&format!("its TLS hello has no name, as of a client that connects by IP address, and known are {known}"))
}

#[test]
fn a_change_of_one_virtual_cluster_leaves_the_connections_of_the_other_at_the_same_port() -> Result<()> {
    let mut stage = shared()?;
    let tunnel = Dialer::new("red.example.com", &stage.red.certificate(), None)?.tunnel(stage.bind, b"")?;
    let mut kept = Raw::connect(tunnel.address)?;
    kept.call(12, &request::metadata(12, None))?;
    let begin = stage.text.find("\n[virtual-clusters.blue]").context("no blue")?;
    let only_red = stage.text[..begin].to_owned();
    stage.skein.rewrite(&only_red)?;
    stage.logs("file taken over")?;
    assert!(stage.ask("blue.example.com", &stage.blue).is_err());
    kept.call(12, &request::metadata(12, None))?;
    let both = stage.text.clone();
    stage.skein.rewrite(&both)?;
    process::until("blue again", SOON, || Ok(stage.ask("blue.example.com", &stage.blue).ok()))?;
    kept.call(12, &request::metadata(12, None))?;
    Ok(())
}

#[test]
fn a_pattern_that_the_certificate_does_not_cover_is_a_fault() -> Result<()> {
    let authority = Authority::new(&workplace::run_dir("pki")?, "Tests")?;
    let identity = authority.issue("server", &Leaf::server(&["red.example.com", "broker-1.red.example.com"]))?;
    let bind = SocketAddr::from((Ipv4Addr::LOCALHOST, ports::block(1)?));
    let text =
        format!("[clusters.one]\nbootstrap = [\"kafka:9092\"]\nnodes = \"1, 7\"\n{}", listener("red", bind, &identity));
    let checked = skein::command(&text, "check", &[])?;
    let said = String::from_utf8(checked.stderr)?;
    assert!(said.contains("clients are told `broker-7.red.example.com`") && said.contains("one fault"), "{said}");
    Ok(())
}
