//! As much of HTTP as it takes to ask the admin listener.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use anyhow::{Context, Result};

/// What came back.
#[derive(Clone, Debug)]
pub struct Answer {
    /// Such as 200.
    pub code: u16,
    /// Head lines.
    pub head: String,
    /// What stands behind the head.
    pub body: String,
}

/// Asks for a path by GET.
///
/// # Errors
/// No answer, or none that is HTTP.
pub fn get(address: SocketAddr, path: &str) -> Result<Answer> {
    ask(address, &format!("GET {path} HTTP/1.1\r\nHost: skein\r\n\r\n"))
}

/// Sends these bytes, and reads until the other side closes.
///
/// # Errors
/// No answer, or none that is HTTP.
pub fn ask(address: SocketAddr, request: &str) -> Result<Answer> {
    let limit = Duration::from_secs(20);
    let mut stream = TcpStream::connect_timeout(&address, limit)?;
    stream.set_read_timeout(Some(limit))?;
    stream.write_all(request.as_bytes())?;
    let mut text = String::new();
    stream.read_to_string(&mut text).context("an answer")?;
    let (head, body) = text.split_once("\r\n\r\n").with_context(|| format!("no HTTP: {text:?}"))?;
    let code = head.split(' ').nth(1).and_then(|code| code.parse().ok()).context("no code")?;
    Ok(Answer { code, head: head.to_owned(), body: body.to_owned() })
}
