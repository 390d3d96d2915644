//! TLS for what speaks none: tunnels, so that the raw client and the fake brokers can be at one end of it.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use rustls::client::{
    ClientSessionMemoryCache, ClientSessionStore, Resumption, Tls12ClientSessionValue, Tls13ClientSessionValue,
};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::server::WebPkiClientVerifier;
use rustls::{
    ALL_VERSIONS, ClientConfig, HandshakeKind, NamedGroup, RootCertStore, ServerConfig, SupportedProtocolVersion,
};
use tokio::io::{AsyncReadExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;
use tokio_rustls::{TlsAcceptor, TlsConnector};

use crate::pki::Identity;

/// How long tickets are waited for.
const A_MOMENT: Duration = Duration::from_millis(300);

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
        Self::under(ALL_VERSIONS, name, ca, identity)
    }

    /// The same under some versions of TLS only.
    ///
    /// # Errors
    /// As [`Dialer::new`].
    pub fn under(
        versions: &[&'static SupportedProtocolVersion], name: &str, ca: &Path, identity: Option<&Identity>,
    ) -> Result<Self> {
        let builder = ClientConfig::builder_with_protocol_versions(versions).with_root_certificates(roots(ca)?);
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

    /// The same that takes up any session that it has had, whoever it was with.
    #[must_use]
    pub fn shameless(mut self) -> Self {
        let store = Arc::new(AnyName(ClientSessionMemoryCache::new(32)));
        Arc::make_mut(&mut self.config).resumption = Resumption::store(store);
        self
    }

    /// The same, with the same sessions, that means a server of another name.
    ///
    /// # Errors
    /// The name is none.
    pub fn named(&self, name: &str) -> Result<Self> {
        Ok(Self { config: Arc::clone(&self.config), name: ServerName::try_from(name.to_owned())? })
    }

    /// Shakes hands and listens for a moment, as for tickets; whether a session was taken up again.
    ///
    /// # Errors
    /// What the handshake ended with, or an alert behind it: under TLS 1.3 that is how a server refuses a certificate.
    pub fn kind(&self, address: SocketAddr) -> Result<HandshakeKind> {
        runtime()?.block_on(async {
            let socket = TcpStream::connect(address).await?;
            let mut stream = TlsConnector::from(Arc::clone(&self.config)).connect(self.name.clone(), socket).await?;
            let listened = tokio::time::timeout(A_MOMENT, stream.read(&mut [0])).await;
            if let Ok(ended) = listened {
                ensure!(ended? > 0, "it hangs up");
            }
            stream.get_ref().1.handshake_kind().context("no handshake")
        })
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

/// Sessions, whoever they were with.
#[derive(Debug)]
struct AnyName(ClientSessionMemoryCache);

fn anybody() -> ServerName<'static> {
    ServerName::IpAddress(Ipv4Addr::LOCALHOST.into())
}

impl ClientSessionStore for AnyName {
    fn set_kx_hint(&self, _name: ServerName<'static>, group: NamedGroup) {
        self.0.set_kx_hint(anybody(), group);
    }

    fn kx_hint(&self, _name: &ServerName<'_>) -> Option<NamedGroup> {
        self.0.kx_hint(&anybody())
    }

    fn set_tls12_session(&self, _name: ServerName<'static>, value: Tls12ClientSessionValue) {
        self.0.set_tls12_session(anybody(), value);
    }

    fn tls12_session(&self, _name: &ServerName<'_>) -> Option<Tls12ClientSessionValue> {
        self.0.tls12_session(&anybody())
    }

    fn remove_tls12_session(&self, _name: &ServerName<'static>) {
        self.0.remove_tls12_session(&anybody());
    }

    fn insert_tls13_ticket(&self, _name: ServerName<'static>, value: Tls13ClientSessionValue) {
        self.0.insert_tls13_ticket(anybody(), value);
    }

    fn take_tls13_ticket(&self, _name: &ServerName<'static>) -> Option<Tls13ClientSessionValue> {
        self.0.take_tls13_ticket(&anybody())
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
