//! Sessions of TLS that are taken up again: never with another tenant, and never instead of a certificate.

use anyhow::{Result, ensure};
use rustls::HandshakeKind;
use rustls::version::{TLS12, TLS13};
use skein_tests::pki::{Authority, Leaf};
use skein_tests::tls::Dialer;
use skein_tests::workplace;

use super::site::{OF_RED, Site};

#[test]
fn a_session_is_of_one_tenant_and_none_stands_for_a_certificate() -> Result<()> {
    let site = Site::new()?;
    let ca = site.authority.certificate();
    let bob = site.authority.issue("bob", &Leaf::client("CN=bob"))?;
    for version in [&TLS13, &TLS12] {
        let red = Dialer::under(&[version], "red.example.com", &ca, None)?.shameless();
        ensure!(red.kind(site.bind)? != HandshakeKind::Resumed);
        // It can be done, so what follows is not for lack of a session.
        ensure!(red.kind(site.bind)? == HandshakeKind::Resumed, "{version:?}");
        let other = red.named("broker-1.red.example.com")?;
        ensure!(other.kind(site.bind)? != HandshakeKind::Resumed, "of another name, {version:?}");
        // With red's session at blue, which wants a certificate: the handshake is done in full, and fails.
        red.kind(site.bind)?;
        ensure!(red.named("blue.example.com")?.kind(site.bind).is_err(), "{version:?}");
        let blue = Dialer::under(&[version], "blue.example.com", &ca, Some(&bob))?.shameless();
        for _ in 0..3 {
            ensure!(blue.kind(site.bind)? != HandshakeKind::Resumed, "who shows a certificate shows it each time");
        }
        let red = blue.named("red.example.com")?;
        ensure!(red.kind(site.bind)? != HandshakeKind::Resumed, "{version:?}");
    }
    site.serves_others()
}

#[test]
fn who_was_let_in_by_an_authority_that_is_gone_is_not_let_in_again() -> Result<()> {
    let site = Site::new()?;
    let ca = site.authority.certificate();
    let bob = site.authority.issue("bob", &Leaf::client("CN=bob"))?;
    let dialers =
        [&TLS13, &TLS12].map(|version| Ok(Dialer::under(&[version], "blue.example.com", &ca, Some(&bob))?.shameless()));
    let dialers = dialers.into_iter().collect::<Result<Vec<_>>>()?;
    for dialer in &dialers {
        dialer.kind(site.bind)?;
    }
    let others = Authority::new(&workplace::run_dir("others")?, "Others")?;
    std::fs::copy(others.certificate(), &site.client_ca)?;
    site.logs("changed file taken over")?;
    for dialer in &dialers {
        ensure!(dialer.kind(site.bind).is_err(), "a session outlives the authority that it is of");
    }
    let carol = others.issue("carol", &Leaf::client("CN=carol"))?;
    Dialer::new("blue.example.com", &ca, Some(&carol))?.kind(site.bind)?;
    let tunnel = site.red()?.tunnel(site.bind, b"")?;
    assert_eq!(site.told(&tunnel, OF_RED)?, 0);
    Ok(())
}
