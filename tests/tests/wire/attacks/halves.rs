//! Halves, endless ones, and old ones: of hellos, handshakes and headers.

use std::io::Write;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use skein_tests::raw::Raw;
use skein_tests::tls::Tunnel;

use super::site::{ALERT, HANDSHAKE, Site, first_of, hello, records};
use crate::logins::door::is_closed;
use crate::stage::SOON;

const RED: &[u8] = b"red.example.com";

#[test]
fn a_hello_may_come_byte_by_byte() -> Result<()> {
    let site = Site::new()?;
    let mut socket = TcpStream::connect(site.bind)?;
    socket.set_nodelay(true)?;
    for byte in hello(None, RED, 0) {
        socket.write_all(&[byte])?;
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(first_of(&mut socket, SOON)?.first(), Some(&HANDSHAKE));
    Ok(())
}

#[test]
fn who_falls_silent_within_a_handshake_is_closed_and_holds_nobody_up() -> Result<()> {
    let site = Site::new()?;
    let (memory, descriptors) = (site.skein.memory()?, site.skein.descriptors()?);
    let whole = hello(None, RED, 0);
    let mut silent = Vec::new();
    for number in 0..300 {
        let mut socket = TcpStream::connect(site.bind)?;
        // Nothing, a part, and all of a hello: then the answer comes, and nothing to it.
        socket.write_all(&whole[..[0, 1, 5, 40, whole.len()][number % 5]])?;
        silent.push(socket);
    }
    let begun = Instant::now();
    site.serves_others()?;
    ensure!(begun.elapsed() < Duration::from_secs(3), "{:?}", begun.elapsed());
    let more = site.skein.memory()?.saturating_sub(memory);
    ensure!(more < 30 << 10, "{more} KiB more");
    for socket in &mut silent {
        while !first_of(socket, 2 * SOON)?.is_empty() {}
    }
    site.logs("it did not say in time who it is")?;
    skein_tests::process::until("all are gone", SOON, || {
        Ok((site.skein.descriptors()? <= descriptors + 5).then_some(()))
    })
}

#[test]
fn a_hello_without_an_end_or_larger_than_any_is_refused_for_little_memory() -> Result<()> {
    let site = Site::new()?;
    let memory = site.skein.memory()?;
    // 64 KiB and more, in one message; and one that claims to have 16 MiB, of which a part comes, and goes on coming.
    let large = hello(None, RED, 65_000);
    let endless = records(&[&[1, 0xff, 0xff, 0xff][..], &vec![0; 4 << 20]].concat());
    for bytes in [&large, &endless] {
        let answer = site.answer(bytes)?;
        ensure!(answer.first() != Some(&HANDSHAKE) || bytes.len() < 1 << 17, "{:02x?}", answer.first());
    }
    // Empty records without an end.
    let empty = [HANDSHAKE, 3, 1, 0, 0].repeat(100_000);
    ensure!(site.answer(&empty)?.first() != Some(&HANDSHAKE));
    let claims = [HANDSHAKE, 3, 1, 0xff, 0xff];
    ensure!(site.answer(&claims)?.first() != Some(&HANDSHAKE));
    let more = site.skein.memory()?.saturating_sub(memory);
    ensure!(more < 15 << 10, "{more} KiB more");
    site.logs("reason=\"handshake\"")?;
    site.serves_others()
}

#[test]
fn old_tls_is_refused_by_an_alert() -> Result<()> {
    let site = Site::new()?;
    for version in [0x0300, 0x0301, 0x0302] {
        let answer = site.answer(&hello(Some(version), RED, 0))?;
        // protocol_version (RFC 8446, 6.2)
        ensure!(answer.first() == Some(&ALERT) && answer.last() == Some(&70), "{version:x}: {answer:02x?}");
    }
    // As SSL 2 begins.
    ensure!(site.answer(&[0x80, 0x2e, 1, 0, 2, 0, 0x15, 0, 0, 0, 0x10])?.is_empty());
    site.logs("it speaks no TLS, and this listener does")?;
    site.serves_others()
}

#[test]
fn a_frame_inside_tls_that_is_none_is_closed() -> Result<()> {
    let site = Site::new()?;
    let tunnel: Tunnel = site.red()?.tunnel(site.bind, b"")?;
    for bytes in
        [&[0x7f, 0xff, 0xff, 0xff, 0, 18, 0, 0][..], &[0xff; 64], &[0; 64], b"GET / HTTP/1.1\r\n\r\n", b"PROXY TCP4 "]
    {
        let mut raw = Raw::connect(tunnel.address)?;
        raw.send_bytes(bytes)?;
        is_closed(&mut raw)?;
    }
    // TLS within TLS.
    let mut raw = Raw::connect(tunnel.address)?;
    raw.send_bytes(&hello(None, RED, 0))?;
    is_closed(&mut raw)?;
    site.serves_others()
}
