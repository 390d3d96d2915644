//! Free TCP ports on the loopback interface.
//!
//! They are taken from below the range that Linux uses for outgoing connections (32768 and up): a broker that is killed
//! and brought back needs its port again, and one from that range may meanwhile be the source port of a client, or
//! even of a client's attempt to reach that very broker.

use std::{
    net::{Ipv4Addr, TcpListener, TcpStream},
    sync::{Mutex, PoisonError},
    time::Duration,
};

use anyhow::{Result, bail};

const FIRST: u16 = 20_000;
const END: u16 = 32_000;

/// The first of `count` consecutive ports on which nothing listens at this moment.
///
/// Two calls in one process never give the same port until the range is used up. Another process may still take one:
/// a caller whose bind fails asks again.
pub fn block(count: u16) -> Result<u16> {
    static NEXT: Mutex<Option<u16>> = Mutex::new(None);
    let mut next = NEXT.lock().unwrap_or_else(PoisonError::into_inner);
    let mut from = next.unwrap_or_else(own_start);
    for _ in 0..END - FIRST {
        if from > END - count {
            from = FIRST;
        }
        match (from..from + count).find(|&port| !free(port)) {
            Some(taken) => from = taken + 1,
            None => {
                *next = Some(from + count);
                return Ok(from);
            }
        }
    }
    bail!("no {count} consecutive free ports from {FIRST} to {END}");
}

/// Processes that run at the same time begin at different places.
fn own_start() -> u16 {
    let spread = std::process::id() * 211 % u32::from(END - FIRST);
    FIRST + u16::try_from(spread).unwrap_or(0)
}

fn free(port: u16) -> bool {
    TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok()
}

/// Whether something accepts connections at `port`.
pub fn accepts(port: u16) -> bool {
    TcpStream::connect_timeout(&(Ipv4Addr::LOCALHOST, port).into(), Duration::from_secs(1)).is_ok()
}
