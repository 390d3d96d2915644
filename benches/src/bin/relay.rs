//! `relay [--tls CERTIFICATE KEY] LISTEN=TARGET…`: a plain layer-4 relay, the yardstick of the comparison.
//!
//! Bytes are copied both ways through 256 KiB buffers and never looked at. With `--tls` clients speak TLS, by the same library
//! as Skein's, used as its documentation shows.

use anyhow::{Context, Result};
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncWrite, copy_bidirectional_with_sizes};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// Bytes of each direction's buffer.
const BUFFER: usize = 256 * 1024;
const USAGE: &str = "usage: relay [--tls CERTIFICATE KEY] LISTEN=TARGET...";

#[tokio::main]
async fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1).peekable();
    let mut tls = None;
    if arguments.next_if(|first| first == "--tls").is_some() {
        tls = Some(acceptor(&arguments.next().context(USAGE)?, &arguments.next().context(USAGE)?)?);
    }
    let mut listeners = JoinSet::new();
    for pair in arguments {
        let (listen, target) = pair.split_once('=').context(USAGE)?;
        let listener = TcpListener::bind(listen).await.with_context(|| format!("cannot listen on {listen}"))?;
        listeners.spawn(accept(listener, tls.clone(), target.to_owned()));
    }
    while let Some(ended) = listeners.join_next().await {
        ended??;
    }
    Ok(())
}

fn acceptor(certificate: &str, key: &str) -> Result<TlsAcceptor> {
    let certificate = CertificateDer::from_pem_file(certificate).context("no certificate")?;
    let key = PrivateKeyDer::from_pem_file(key).context("no key")?;
    let builder = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()));
    let builder = builder.with_safe_default_protocol_versions()?.with_no_client_auth();
    Ok(TlsAcceptor::from(Arc::new(builder.with_single_cert(vec![certificate], key)?)))
}

/// Takes connections until the listener fails; each is a task of its own.
async fn accept(listener: TcpListener, tls: Option<TlsAcceptor>, target: String) -> Result<()> {
    loop {
        let (client, _) = listener.accept().await?;
        let (tls, target) = (tls.clone(), target.clone());
        tokio::spawn(async move {
            if let Err(error) = serve(client, tls, &target).await {
                eprintln!("relay to {target}: {error}");
            }
        });
    }
}

async fn serve(client: TcpStream, tls: Option<TlsAcceptor>, target: &str) -> std::io::Result<()> {
    client.set_nodelay(true)?;
    match tls {
        Some(tls) => relay(tls.accept(client).await?, target).await,
        None => relay(client, target).await,
    }
}

/// Copies both ways until both sides have closed.
async fn relay(mut client: impl AsyncRead + AsyncWrite + Unpin, target: &str) -> std::io::Result<()> {
    let mut server = TcpStream::connect(target).await?;
    server.set_nodelay(true)?;
    copy_bidirectional_with_sizes(&mut client, &mut server, BUFFER, BUFFER).await?;
    Ok(())
}
