//! TLS between the loader and the contenders: one certificate, one version, one suite for all of them.
//!
//! The loader offers nothing else, so a relay and Skein, which both choose from what is offered, cannot differ.

use crate::stream::Stream;
use anyhow::{Context, Result};
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::version::TLS13;
use rustls::{ClientConfig, ClientConnection, RootCertStore};
use std::fs;
use std::io::BufReader;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What is spoken, for the page.
pub const SPOKEN: &str = "TLS 1.3, TLS_AES_128_GCM_SHA256, an ECDSA P-256 certificate; rustls with aws-lc-rs";
/// Whom the certificate is for: where all contenders listen.
const HOST: &str = "127.0.0.1";
/// Bytes that a client's session holds before it has to write.
const UNSENT: usize = 1 << 20;
/// Bytes of one read of a client.
const READ: usize = 256 << 10;

/// A certificate with its key, in files, and what a client needs to believe it.
#[derive(Debug)]
pub struct Identity {
    /// The certificate, PEM.
    pub certificate: PathBuf,
    /// Its key, PEM.
    pub key: PathBuf,
    trusted: CertificateDer<'static>,
}

impl Identity {
    /// Makes one, with its files in `directory`.
    ///
    /// # Errors
    /// If the files cannot be written.
    pub fn new(directory: &Path) -> Result<Self> {
        let made = rcgen::generate_simple_self_signed([HOST.to_owned()])?;
        let identity = Self {
            certificate: directory.join("certificate.pem"),
            key: directory.join("key.pem"),
            trusted: made.cert.der().clone(),
        };
        fs::write(&identity.certificate, made.cert.pem())?;
        fs::write(&identity.key, made.signing_key.serialize_pem())?;
        Ok(identity)
    }

    /// A client's side.
    ///
    /// # Errors
    /// If the library does not know what is to be spoken.
    pub fn client(&self) -> Result<Client> {
        let mut roots = RootCertStore::empty();
        roots.add(self.trusted.clone())?;
        let provider = CryptoProvider {
            cipher_suites: vec![aws_lc_rs::cipher_suite::TLS13_AES_128_GCM_SHA256],
            ..aws_lc_rs::default_provider()
        };
        let builder = ClientConfig::builder_with_provider(Arc::new(provider)).with_protocol_versions(&[&TLS13])?;
        Ok(Client(Arc::new(builder.with_root_certificates(roots).with_no_client_auth())))
    }
}

/// A client's side of TLS.
#[derive(Clone, Debug)]
pub struct Client(Arc<ClientConfig>);

impl Client {
    /// Shakes hands over `socket`.
    ///
    /// # Errors
    /// If the other side speaks no TLS, or another one.
    pub fn shake_hands(&self, socket: TcpStream) -> Result<Stream> {
        let mut session = ClientConnection::new(Arc::clone(&self.0), ServerName::try_from(HOST)?)?;
        session.set_buffer_limit(Some(UNSENT));
        let mut socket = BufReader::with_capacity(READ, socket);
        while session.is_handshaking() {
            session.complete_io(&mut crate::stream::Below(&mut socket)).context("no handshake")?;
        }
        Ok(Stream::Tls(Box::new((session, socket))))
    }
}
