//! Names in hellos: each leads to its own tenant, whose users are no others', and nothing else leads anywhere.

use anyhow::{Result, ensure};
use skein_tests::process;

use super::site::{ALERT, HANDSHAKE, OF_BLUE, OF_RED, Site, hello};
use crate::stage::SOON;

#[test]
fn a_user_of_one_tenant_is_nobody_at_another() -> Result<()> {
    let site = Site::new()?;
    let (red, blue) = (site.red()?.tunnel(site.bind, b"")?, site.blue()?.tunnel(site.bind, b"")?);
    for (tunnel, user, code) in [(&red, OF_RED, 0), (&red, OF_BLUE, 58), (&blue, OF_BLUE, 0), (&blue, OF_RED, 58)] {
        assert_eq!(site.told(tunnel, user)?, code, "{}", user.0);
    }
    // The name of a node leads to the same door.
    let node = site.red()?.named("broker-7.red.example.com")?.tunnel(site.bind, b"")?;
    assert_eq!((site.told(&node, OF_RED)?, site.told(&node, OF_BLUE)?), (0, 58));
    let refused = |at: &str| {
        let log = site.skein.log();
        log.lines()
            .filter(|line| line.contains("login refused") && line.contains(at) && line.contains("unknown_user"))
            .count()
    };
    process::until("three refusals", SOON, || {
        Ok(((refused("virtual_cluster=red"), refused("virtual_cluster=blue")) == (2, 1)).then_some(()))
    })
}

#[test]
fn names_that_are_none_lead_nowhere_and_steer_no_log() -> Result<()> {
    let site = Site::new()?;
    let long = format!("{}.red.example.com", "a".repeat(300));
    let labels = format!("{}red.example.com", "a.".repeat(120));
    // The dot at the end of a name is none of it.
    for name in ["red.example.com", "RED.Example.COM", "broker-7.RED.example.com", "red.example.com."] {
        let answer = site.answer(&hello(None, name.as_bytes(), 0))?;
        ensure!(answer.first() == Some(&HANDSHAKE), "{name}: {:02x?}", &answer[..answer.len().min(8)]);
    }
    for name in [
        &b""[..],
        b".",
        b"*",
        b"*.red.example.com",
        b"broker-*.red.example.com",
        b"broker-$(node).red.example.com",
        b"broker-2.red.example.com",
        b"broker-07.red.example.com",
        b"broker-+7.red.example.com",
        b"broker--1.red.example.com",
        b"broker-99999999999999999999.red.example.com",
        b"example.com",
        b"red.example.com.blue.example.org",
        b"xred.example.com",
        b"127.0.0.1",
        b"::1",
        b"red.example.com\0",
        b"red.example.com\0.blue.example.com",
        b"red.example.com\r\nWARN all is lost",
        b"\x1b[2Jred.example.com",
        "r\u{e9}d.example.com".as_bytes(),
        "red.example.com\u{3002}".as_bytes(),
        b"\xff\xfe.red.example.com",
        long.as_bytes(),
        labels.as_bytes(),
    ] {
        let shown = String::from_utf8_lossy(&name[..name.len().min(60)]);
        let answer = site.answer(&hello(None, name, 0))?;
        ensure!(answer.first() == Some(&ALERT) && answer.len() == 7, "{shown:?}: {answer:02x?}");
    }
    let log = site.skein.log();
    ensure!(!log.contains('\u{1b}') && !log.lines().any(|line| line.starts_with("WARN")), "{log}");
    site.serves_others()
}
