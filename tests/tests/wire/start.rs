//! What keeps the proxy from starting: it ends with 1, and says why.

use std::net::{Ipv4Addr, TcpListener};
use std::process::Command;

use anyhow::{Result, ensure};
use skein_tests::raw::{Raw, request};
use skein_tests::{fake::Fake, http, ports, process, skein};

use crate::stage::{REAL_CLUSTER, SOON, config};

/// A good file, whose ports are free.
fn good() -> Result<(u16, String)> {
    let port = ports::block(12)?;
    Ok((port, config("main-1", &Fake::start(REAL_CLUSTER, &[1])?, port)?))
}

fn is_refused(file: &str, arguments: &[&str], environment: &[(&str, &str)], why: &str) -> Result<()> {
    let output = skein::command_within(file, "run", arguments, environment)?;
    let said = String::from_utf8_lossy(&output.stderr);
    // Long lines are wrapped.
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    ensure!(!output.status.success(), "it ended well: {said}");
    ensure!(said.contains(why), "{said} has no {why}");
    Ok(())
}

#[test]
fn what_is_to_be_logged_has_to_be_right() -> Result<()> {
    let (_, file) = good()?;
    is_refused(&file, &[], &[("SKEIN_LOG", "skein_proxy=loud")], "SKEIN_LOG is `skein_proxy=loud`")?;
    is_refused(&file, &["--log", "xml"], &[], "invalid value 'xml'")
}

#[test]
fn an_address_that_is_taken_is_named() -> Result<()> {
    let (port, file) = good()?;
    let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
    is_refused(&file, &["--log", "json"], &[], &format!("127.0.0.1:{port} of listener `plain`"))?;
    drop(taken);
    let admin = port + 11;
    let _taken = TcpListener::bind((Ipv4Addr::LOCALHOST, admin))?;
    let file = format!("{file}\n[admin]\nbind = \"127.0.0.1:{admin}\"\n");
    is_refused(&file, &[], &[], &format!("127.0.0.1:{admin} of the admin listener"))
}

#[test]
fn what_the_process_is_told_has_to_be_right() -> Result<()> {
    let (_, file) = good()?;
    for (table, why) in [
        ("[process]\ndrain-timeout = 30", "`drain-timeout` is an integer"),
        ("[process]\ndrain-timeout = \"soon\"", "`soon` is not a time"),
        ("[connections]\nmost-per-source = 0", "`most-per-source` cannot be `0`"),
        ("[connections]\nmost = 7", "`most` is no key of `connections`"),
        ("[admin]\nbind = \"localhost\"", "`localhost` cannot be bound"),
    ] {
        is_refused(&format!("{file}\n{table}\n"), &[], &[], why)?;
    }
    Ok(())
}

/// More lines than a pipe and a queue hold, each of which some stranger has caused.
const STRANGERS: usize = 6000;

#[test]
fn a_log_that_nobody_reads_stops_nobody() -> Result<()> {
    let port = ports::block(12)?;
    let (fake, admin) = (Fake::start(REAL_CLUSTER, &[1])?.topic("t", &[1]), port + 11);
    let file = config("main-1", &fake, port)? + &format!("\n[admin]\nbind = \"127.0.0.1:{admin}\"\n");
    let mut child = skein::unread(&file)?;
    for _ in 0..STRANGERS {
        let mut stranger = Raw::connect((Ipv4Addr::LOCALHOST, port).into())?;
        stranger.send_bytes(&[0xff; 8])?;
        stranger.closed(SOON)?;
    }
    Raw::connect((Ipv4Addr::LOCALHOST, port).into())?.call(12, &request::metadata(12, Some(&["t"])))?;
    let metrics = http::get((Ipv4Addr::LOCALHOST, admin).into(), "/metrics")?.body;
    let dropped = metrics.lines().find_map(|line| line.strip_prefix("skein_log_lines_dropped ")?.parse::<f64>().ok());
    ensure!(dropped.is_some_and(|dropped| dropped > 0.0), "{dropped:?}");
    Command::new("kill").args(["-TERM", &child.id().to_string()]).status()?;
    let ended = process::finish(&mut child, SOON)?;
    ensure!(ended.code() == Some(0), "{ended}");
    Ok(())
}
