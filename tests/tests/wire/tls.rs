//! TLS towards clients and towards brokers.

mod brokers;

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use kafka_protocol::messages::{FetchRequest, MetadataRequest};
use skein_tests::apis::FETCH;
use skein_tests::batch::Batch;
use skein_tests::fake::model::topic_id;
use skein_tests::fake::{Fake, Stored};
use skein_tests::pki::{Authority, Identity, Leaf};
use skein_tests::raw::request::{self, Place, Session};
use skein_tests::raw::{Raw, Request};
use skein_tests::skein::{self, Skein};
use skein_tests::tls::{Dialer, Tunnel, before};
use skein_tests::{ports, process, workplace};

use crate::stage::{HANG, REAL_CLUSTER, SOON, produced};

/// One cluster behind one listener with TLS.
struct Secured {
    skein: Skein,
    fake: Fake,
    authority: Authority,
    server: Identity,
    bind: SocketAddr,
}

/// `tls`: more keys of the listener's table.
fn secured(tls: impl Fn(&Authority) -> Result<String>) -> Result<Secured> {
    let fake = Fake::start(REAL_CLUSTER, &[1, 7])?.topic("t", &[1, 7]);
    let authority = Authority::new(&workplace::run_dir("pki")?, "Tests")?;
    let server = authority.issue("server", &Leaf::server(&["localhost", "127.0.0.1"]))?;
    let first = ports::block(4)?;
    let bind = SocketAddr::from((Ipv4Addr::LOCALHOST, first));
    let text = file(&fake, first, "", &format!("{}{}", shown(&server), tls(&authority)?));
    Ok(Secured { skein: Skein::start(&text)?, fake, authority, server, bind })
}

/// `cluster`, `listener`: more lines of their tables.
fn file(fake: &Fake, first: u16, cluster: &str, listener: &str) -> String {
    let bootstrap: Vec<_> = fake.bootstrap().iter().map(|address| format!("\"{address}\"")).collect();
    format!(
        r#"[clusters.one]
bootstrap = [{}]
nodes = "1, 7"
{cluster}
[virtual-clusters.main]
id = "main-1"
target.cluster = "one"

[virtual-clusters.main.listeners.main]
bind = "127.0.0.1:{first}"
advertise = "127.0.0.1"
ports = "{}-{}"
{listener}
"#,
        bootstrap.join(", "),
        first + 1,
        first + 3
    )
}

fn shown(identity: &Identity) -> String {
    format!("tls.certificate = {:?}\ntls.key = {:?}\n", identity.certificate, identity.key)
}

impl Secured {
    fn dialer(&self) -> Result<Dialer> {
        Dialer::new("localhost", &self.authority.certificate(), None)
    }

    fn node(&self, node: u16) -> SocketAddr {
        SocketAddr::from((Ipv4Addr::LOCALHOST, self.bind.port() + node))
    }

    fn logs(&self, what: &str) -> Result<()> {
        process::until(what, SOON, || Ok(self.skein.log().contains(what).then_some(())))
            .with_context(|| self.skein.log())
    }
}

fn place(partition: i32) -> Place {
    Place { topic: "t".to_owned(), id: topic_id("t"), partition }
}

fn asks(tunnel: &Tunnel) -> Result<()> {
    let answer = Raw::connect(tunnel.address)?.call::<MetadataRequest>(12, &request::metadata(12, Some(&["t"])))?;
    ensure!(answer.brokers.len() == 2);
    Ok(())
}

#[test]
fn what_goes_through_without_tls_goes_through_with_it() -> Result<()> {
    let stage = secured(|_| Ok(String::new()))?;
    let tunnel = stage.dialer()?.tunnel(stage.node(1), b"")?;
    let mut raw = Raw::connect(tunnel.address)?;
    for _ in 0..20 {
        let answer = raw.call(12, &request::produce(12, &place(0), -1, Batch::small(3).build()))?;
        assert_eq!(produced(&answer), 0);
    }
    // Many in one write, so that one record of TLS has several, and several records are there at once.
    let batch = Batch::small(1).build();
    let many: Vec<_> = (0..2000)
        .map(|id| Ok(Request::of(12, &request::produce(12, &place(0), -1, batch.clone()))?.id(id)))
        .collect::<Result<_>>()?;
    raw.send_all(&many)?;
    let answers = raw.receive_all(many.len(), SOON)?;
    assert!(answers.iter().zip(0..).all(|(answer, id)| answer.correlation_id == id));
    Ok(())
}

#[test]
fn a_large_fetch_streams_and_small_ones_after_a_rest_are_answered() -> Result<()> {
    let stage = secured(|_| Ok(String::new()))?;
    stage.fake.change(|model| model.partition("t", 0).stored = Stored::about(100 << 20));
    let tunnel = stage.dialer()?.tunnel(stage.node(1), b"")?;
    let mut raw = Raw::connect(tunnel.address)?;
    raw.call(12, &request::metadata(12, Some(&["t"])))?;
    let before = stage.skein.memory()?;
    raw.send(&Request::of(12, &request::fetch(12, Session::None, &[place(0)]))?)?;
    let (mut crc, mut seen) = (0, 0);
    let length = raw.receive_through(SOON, |piece| {
        let skip = 4_usize.saturating_sub(seen).min(piece.len());
        crc = crc32c::crc32c_append(crc, &piece[skip..]);
        seen += piece.len();
    })?;
    let sent = stage.fake.wait_for_sent(|sent| sent.key == FETCH, SOON)?;
    assert_eq!((sent.bytes, sent.crc), (length - 4, crc));
    let more = stage.skein.memory()?.saturating_sub(before);
    assert!(more < 40 << 10, "{more} KiB more after a fetch of 100 MB");
    stage.fake.change(|model| model.partition("t", 0).stored = Stored::Given(Batch::small(2).build()));
    for _ in 0..10 {
        std::thread::sleep(Duration::from_millis(5));
        let answer = raw.call::<FetchRequest>(12, &request::fetch(12, Session::None, &[place(0)]))?;
        assert_eq!(answer.responses[0].partitions[0].error_code, 0);
    }
    Ok(())
}

#[test]
fn an_idle_connection_holds_little() -> Result<()> {
    const MANY: usize = 200;
    let stage = secured(|_| Ok(String::new()))?;
    let tunnel = stage.dialer()?.tunnel(stage.node(1), b"")?;
    let open = |count: usize| -> Result<Vec<Raw>> {
        let open = || {
            let mut raw = Raw::connect(tunnel.address)?;
            raw.call(12, &request::metadata(12, Some(&["t"])))?;
            Ok(raw)
        };
        (0..count).map(|_| open()).collect()
    };
    let _some = open(20)?;
    let before = stage.skein.memory()?;
    let _many = open(MANY)?;
    let each = stage.skein.memory()?.saturating_sub(before) / u64::try_from(MANY)?;
    println!("{each} KiB for each idle connection and its link");
    assert!(each < 80, "{each} KiB");
    Ok(())
}

#[test]
fn a_hello_on_a_listener_without_tls_and_plain_text_on_one_with_it_are_named_and_closed_soon() -> Result<()> {
    let stage = secured(|_| Ok(String::new()))?;
    let begun = Instant::now();
    let mut raw = Raw::connect(stage.bind)?;
    raw.send(&Request::of(12, &request::metadata(12, None))?)?;
    raw.closed(SOON)?;
    assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
    stage.logs("it speaks no TLS, and this listener does")?;
    let plain = crate::stage::Stage::new()?;
    let begun = Instant::now();
    stage.dialer()?.shake(plain.bootstrap_address()).unwrap_err();
    assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
    let named = "it speaks TLS, and this listener does not";
    process::until(named, SOON, || Ok(plain.skein.log().contains(named).then_some(())))?;
    plain.counts(
        "skein_connections_closed_total{virtual_cluster=\"main\",listener=\"plain\",reason=\"tls_hello\"}",
        |count| count == 1.0,
    )
}

#[test]
fn half_handshakes_hold_up_nobody_and_end() -> Result<()> {
    let stage = secured(|_| Ok(String::new()))?;
    let mut mute: Vec<TcpStream> = (0..300).map(|_| TcpStream::connect(stage.bind)).collect::<Result<_, _>>()?;
    for half in mute.iter_mut().skip(100) {
        half.write_all(&[0x16, 3, 1, 2, 0, 1, 0])?;
    }
    let begun = Instant::now();
    asks(&stage.dialer()?.tunnel(stage.bind, b"")?)?;
    assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
    for half in &mut mute {
        half.set_read_timeout(Some(HANG))?;
        // The end, or a reset.
        assert!(half.read(&mut [0]).map_or(true, |read| read == 0));
    }
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    stage.logs("it did not say in time who it is")
}

#[test]
fn garbage_in_and_after_a_handshake_ends_one_connection_and_no_other() -> Result<()> {
    let stage = secured(|_| Ok(String::new()))?;
    let good = stage.dialer()?.tunnel(stage.bind, b"")?;
    let mut kept = Raw::connect(good.address)?;
    kept.call(12, &request::metadata(12, None))?;
    for garbage in
        [&[0x16, 3, 1, 0xff, 0xff][..], &[0x16; 20_000], &[0x16, 3, 3, 0, 4, 1, 0, 0, 0], &[0x15, 3, 3, 0, 2, 2, 40]]
    {
        let mut socket = TcpStream::connect(stage.bind)?;
        socket.write_all(garbage)?;
        socket.shutdown(std::net::Shutdown::Write)?;
        socket.set_read_timeout(Some(SOON))?;
        let mut rest = Vec::new();
        let _ = socket.read_to_end(&mut rest);
    }
    kept.call(12, &request::metadata(12, None))?;
    asks(&good)
}

#[test]
fn clients_show_what_they_have_to_and_are_called_by_it() -> Result<()> {
    let required = |authority: &Authority| {
        let ca = authority.certificate();
        Ok(format!(
            "tls.client-ca = {ca:?}\ntls.client-certificate = \"required\"\ntls.principal = [\"RULE:^CN=([^,]+).*$/$1/U\"]\n"
        ))
    };
    let stage = secured(required)?;
    let alice = stage.authority.issue("alice", &Leaf::client("CN=alice,OU=eng,O=Example"))?;
    let others = Authority::new(&workplace::run_dir("others")?, "Others")?;
    let mallory = others.issue("mallory", &Leaf::client("CN=alice,OU=eng,O=Example"))?;
    let ca = stage.authority.certificate();
    asks(&Dialer::new("localhost", &ca, Some(&alice))?.tunnel(stage.bind, b"")?)?;
    for identity in [None, Some(&mallory)] {
        let tunnel = Dialer::new("localhost", &ca, identity)?.tunnel(stage.bind, b"")?;
        assert!(asks(&tunnel).is_err());
    }
    stage.logs("reason=\"handshake\"")
}

#[test]
fn a_renewed_certificate_is_shown_to_who_comes_and_nobody_who_is_there_is_cut() -> Result<()> {
    let stage = secured(|_| Ok(String::new()))?;
    let dialer = stage.dialer()?;
    let tunnel = dialer.tunnel(stage.bind, b"")?;
    let mut idle = Raw::connect(tunnel.address)?;
    idle.call(12, &request::metadata(12, None))?;
    let old = dialer.shake(stage.bind)?;
    // Half of a new pair, which does not match, is told once and changes nothing.
    let aside = std::fs::read(&stage.server.key)?;
    stage.authority.issue("server", &Leaf::server(&["localhost", "127.0.0.1"]))?;
    std::fs::write(&stage.server.key, aside)?;
    stage.logs("changed file not taken over")?;
    assert_eq!(dialer.shake(stage.bind)?, old);
    stage.authority.issue("server", &Leaf::server(&["localhost", "127.0.0.1"]))?;
    let mut busy = Raw::connect(tunnel.address)?;
    process::until("the new certificate", SOON, || {
        busy.call(12, &request::metadata(12, None))?;
        Ok((dialer.shake(stage.bind)? != old).then_some(()))
    })?;
    stage.logs("changed file taken over")?;
    idle.call(12, &request::metadata(12, None))?;
    busy.call(12, &request::metadata(12, None))?;
    assert_eq!(stage.skein.log().matches("changed file not taken over").count(), 1);
    Ok(())
}

#[test]
fn what_the_files_do_not_hold_up_to_is_a_fault_with_its_place() -> Result<()> {
    let fake = Fake::start(REAL_CLUSTER, &[1, 7])?;
    let authority = Authority::new(&workplace::run_dir("pki")?, "Tests")?;
    let server = authority.issue("server", &Leaf::server(&["localhost", "127.0.0.1"]))?;
    let other = authority.issue("other", &Leaf::server(&["skein.example.com"]))?;
    let first = ports::block(4)?;
    let mixed = Identity { certificate: server.certificate.clone(), ..other.clone() };
    let missing = Identity { certificate: "nowhere.pem".into(), ..server.clone() };
    let swapped = Identity { certificate: server.key.clone(), key: server.certificate.clone(), ..server.clone() };
    for (identity, wanted) in [
        (&other, "clients are told `127.0.0.1`, which the certificate in"),
        (&mixed, "is not the key of the certificate in"),
        (&missing, "nowhere.pem cannot be read"),
        (&swapped, "has no certificate in it"),
    ] {
        let checked = skein::command(&file(&fake, first, "", &shown(identity)), "check", &[])?;
        let said = String::from_utf8(checked.stderr)?;
        assert!(!checked.status.success() && said.contains(wanted) && said.contains("skein.toml:"), "{said}");
    }
    let good = skein::command(&file(&fake, first, "", &shown(&server)), "check", &[])?;
    assert!(good.status.success(), "{}", String::from_utf8(good.stderr)?);
    let expired = authority.issue("expired", &Leaf::server(&["127.0.0.1"]).expired())?;
    let warned = skein::command(&file(&fake, first, "", &shown(&expired)), "check", &[])?;
    let said = String::from_utf8(warned.stdout)?;
    assert!(warned.status.success() && said.contains("has been out of date"), "{said}");
    Ok(())
}
