//! TLS for what speaks none: tunnels, so that the raw client and the fake brokers can be at one end of it.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::server::WebPkiClientVerifier;
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;
use tokio_rustls::{TlsAcceptor, TlsConnector};

use crate::pki::Identity;

/// Forwards connections from a port of its own until it is dropped.
pub struct Tunnel {
    /// Where it listens.
    pub address: SocketAddr,
    _runtime: Runtime,
}

/// How a client speaks TLS.
#[derive(Clone)]
pub struct Dialer {
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
}

impl Dialer {
    /// One that trusts an authority and means a server by name; `identity`: what it shows of itself.
    ///
    /// # Errors
    /// A file cannot be read, or the name is none.
    pub fn new(name: &str, ca: &Path, identity: Option<&Identity>) -> Result<Self> {
        let builder = ClientConfig::builder().with_root_certificates(roots(ca)?);
        let config = match identity {
            None => builder.with_no_client_auth(),
            Some(identity) => builder.with_client_auth_cert(chain(identity)?, key(identity)?)?,
        };
        Ok(Self { config: Arc::new(config), name: ServerName::try_from(name.to_owned())? })
    }

    /// The same without the name in its hello.
    #[must_use]
    pub fn nameless(mut self) -> Self {
        Arc::make_mut(&mut self.config).enable_sni = false;
        self
    }

    /// Shakes hands once; the certificate that it was shown.
    ///
    /// # Errors
    /// What the handshake ended with, such as an alert.
    pub fn shake(&self, address: SocketAddr) -> Result<CertificateDer<'static>> {
        runtime()?.block_on(async {
            let socket = TcpStream::connect(address).await?;
            let stream = TlsConnector::from(Arc::clone(&self.config)).connect(self.name.clone(), socket).await?;
            let shown = stream.get_ref().1.peer_certificates().and_then(<[_]>::first);
            Ok(shown.context("no certificate")?.clone().into_owned())
        })
    }

    /// A port without TLS that leads to a server with TLS. `first`: bytes that go before the handshake.
    ///
    /// # Errors
    /// No port is free.
    pub fn tunnel(&self, to: SocketAddr, first: &'static [u8]) -> Result<Tunnel> {
        let (runtime, this) = (runtime()?, self.clone());
        let (listener, address) = listener(&runtime)?;
        runtime.spawn(async move {
            while let Ok((mut inner, _)) = listener.accept().await {
                let this = this.clone();
                tokio::spawn(async move {
                    let mut socket = TcpStream::connect(to).await?;
                    socket.set_nodelay(true)?;
                    tokio::io::AsyncWriteExt::write_all(&mut socket, first).await?;
                    let mut outer = TlsConnector::from(this.config).connect(this.name, socket).await?;
                    copy_bidirectional(&mut inner, &mut outer).await
                });
            }
        });
        Ok(Tunnel { address, _runtime: runtime })
    }
}

/// A port with TLS that leads to a server without. `clients`: who signs the certificates that clients have to show.
///
/// # Errors
/// A file cannot be read, or no port is free.
pub fn before(to: SocketAddr, identity: &Identity, clients: Option<&Path>) -> Result<Tunnel> {
    let builder = match clients {
        None => ServerConfig::builder().with_no_client_auth(),
        Some(ca) => {
            let verifier = WebPkiClientVerifier::builder(Arc::new(roots(ca)?)).build()?;
            ServerConfig::builder().with_client_cert_verifier(verifier)
        }
    };
    let config = Arc::new(builder.with_single_cert(chain(identity)?, key(identity)?)?);
    let runtime = runtime()?;
    let (listener, address) = listener(&runtime)?;
    runtime.spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            let config = Arc::clone(&config);
            tokio::spawn(async move {
                let mut outer = TlsAcceptor::from(config).accept(socket).await?;
                let mut inner = TcpStream::connect(to).await?;
                inner.set_nodelay(true)?;
                copy_bidirectional(&mut outer, &mut inner).await
            });
        }
    });
    Ok(Tunnel { address, _runtime: runtime })
}

fn runtime() -> Result<Runtime> {
    Ok(tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?)
}

fn listener(runtime: &Runtime) -> Result<(TcpListener, SocketAddr)> {
    let listener = runtime.block_on(TcpListener::bind((Ipv4Addr::LOCALHOST, 0)))?;
    let address = listener.local_addr()?;
    Ok((listener, address))
}

fn roots(ca: &Path) -> Result<RootCertStore> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(ca)?)?;
    Ok(roots)
}

fn chain(identity: &Identity) -> Result<Vec<CertificateDer<'static>>> {
    Ok(CertificateDer::pem_file_iter(&identity.certificate)?.collect::<Result<_, _>>()?)
}

fn key(identity: &Identity) -> Result<PrivateKeyDer<'static>> {
    Ok(PrivateKeyDer::from_pem_file(&identity.key)?)
}
