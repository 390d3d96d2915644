//! `relay LISTEN=TARGET…`: a plain layer-4 relay, the yardstick of the comparison.
//!
//! Bytes are copied both ways through 256 KiB buffers and never looked at.

use anyhow::{Context, Result};
use tokio::io::copy_bidirectional_with_sizes;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// Bytes of each direction's buffer.
const BUFFER: usize = 256 * 1024;

#[tokio::main]
async fn main() -> Result<()> {
    let mut listeners = JoinSet::new();
    for pair in std::env::args().skip(1) {
        let (listen, target) = pair.split_once('=').context("usage: relay LISTEN=TARGET...")?;
        let listener = TcpListener::bind(listen).await.with_context(|| format!("cannot listen on {listen}"))?;
        listeners.spawn(accept(listener, target.to_owned()));
    }
    while let Some(ended) = listeners.join_next().await {
        ended??;
    }
    Ok(())
}

/// Takes connections until the listener fails; each is a task of its own.
async fn accept(listener: TcpListener, target: String) -> Result<()> {
    loop {
        let (client, _) = listener.accept().await?;
        let target = target.clone();
        tokio::spawn(async move {
            if let Err(error) = relay(client, &target).await {
                eprintln!("relay to {target}: {error}");
            }
        });
    }
}

/// Copies both ways until both sides have closed.
async fn relay(mut client: TcpStream, target: &str) -> std::io::Result<()> {
    let mut server = TcpStream::connect(target).await?;
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    copy_bidirectional_with_sizes(&mut client, &mut server, BUFFER, BUFFER).await?;
    Ok(())
}
