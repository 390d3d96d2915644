//! TLS towards brokers.

use std::io;
use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::ServerName;
use rustls::{AlertDescription, CertificateError, ClientConfig, Error, InvalidMessage, RootCertStore};
use skein_config::tls::{Agreed, ClusterTls, NamedFile};
use skein_settings::Fault;
use tokio::net::TcpStream;
use tokio_rustls::{TlsConnector, TlsStream};

use super::files::{Files, Pem};
use super::kept::{Kept, Look, Renewed};
use super::server::pems;
use super::{provider, versions};
use crate::failure::Failure;
use crate::stream::Stream;

/// TLS towards the brokers of a cluster. Their certificates are always checked.
pub struct ClientTls {
    kept: Kept<Arc<ClientConfig>>,
    server_name: Option<String>,
}

impl ClientTls {
    /// Reads the files of a cluster.
    pub(super) fn load(declared: &ClusterTls, files: &Files) -> Result<Arc<Self>, Vec<Fault>> {
        let identity = declared.identity.iter().flat_map(|(certificate, key)| [certificate, key]);
        let named: Vec<_> = declared.ca.iter().chain(identity).cloned().collect();
        let (mut bytes, mut faults) = (Vec::new(), Vec::new());
        for file in &named {
            match files.read(file) {
                Ok(read) => bytes.push(read),
                Err(fault) => faults.push(fault),
            }
        }
        if !faults.is_empty() {
            return Err(faults);
        }
        let system = if declared.ca.is_none() { Some(Arc::new(system_roots())) } else { None };
        let paths = named.iter().map(|file| files.path(file)).collect();
        let agreed = declared.agreed.clone();
        let make = move |bytes: &[Vec<u8>]| make(&pems(&named, bytes), system.as_ref(), &agreed);
        Ok(Arc::new(Self { kept: Kept::new(paths, bytes, make)?, server_name: declared.server_name.clone() }))
    }

    /// Shakes hands with the broker at a host.
    pub(crate) async fn connect(&self, host: &str, socket: TcpStream) -> Result<Stream, Failure> {
        let name = self.server_name.as_deref().unwrap_or(host);
        let name = ServerName::try_from(name.to_owned()).map_err(|_| Failure::OtherName(name.to_owned()))?;
        let shaken = TlsConnector::from(Arc::clone(&*self.kept.current())).connect(name.clone(), socket).await;
        let stream = shaken.map_err(|error| failure(error, &name.to_str()))?;
        Ok(Stream::from(TlsStream::Client(stream)))
    }
}

/// What trusts the certificates in a file, or the roots of the system: for what is asked besides brokers.
///
/// # Errors
/// The file is missing, or holds something else.
pub fn trusting(ca: Option<&NamedFile>) -> Result<Arc<ClientConfig>, Fault> {
    let agreed = Agreed::default();
    let made = match ca {
        None => make(&[], Some(&Arc::new(system_roots())), &agreed),
        Some(ca) => {
            let bytes = [Files::new(Path::new("")).read(ca)?];
            make(&pems(std::slice::from_ref(ca), &bytes), None, &agreed)
        }
    };
    made.map_err(|faults| {
        let nothing = || Fault::new("TLS cannot be had", ca.map_or(0..0, NamedFile::span), "name another file");
        faults.into_iter().next().unwrap_or_else(nothing)
    })
}

impl std::fmt::Debug for ClientTls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ClientTls").field("files", &self.files()).finish_non_exhaustive()
    }
}

impl Look for ClientTls {
    fn look(&self) -> Option<Renewed> {
        self.kept.look()
    }

    fn files(&self) -> String {
        self.kept.files()
    }
}

/// The roots of the system; those that cannot be used are left out.
fn system_roots() -> RootCertStore {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    roots
}

fn make(
    pems: &[Pem<'_>], system: Option<&Arc<RootCertStore>>, agreed: &Agreed,
) -> Result<Arc<ClientConfig>, Vec<Fault>> {
    let (roots, identity) = match (system, pems) {
        (Some(system), identity) => (Arc::clone(system), identity),
        (None, [ca, identity @ ..]) => (Arc::new(ca.roots().map_err(|fault| vec![fault])?), identity),
        (None, []) => return Err(Vec::new()),
    };
    let builder = ClientConfig::builder_with_provider(provider(agreed)).with_protocol_versions(&versions(agreed));
    // Versions without a suite are left out, and some version is left: the document sees to that.
    let builder = builder.map_err(|_| Vec::new())?.with_root_certificates(roots);
    let [certificate, key] = identity else { return Ok(Arc::new(builder.with_no_client_auth())) };
    let (chain, pair) = match (certificate.certificates(), key.key()) {
        (Ok(chain), Ok(pair)) => (chain, pair),
        (chain, pair) => return Err([chain.err(), pair.err()].into_iter().flatten().collect()),
    };
    let config = builder.with_client_auth_cert(chain, pair).map_err(|error| match error {
        Error::InconsistentKeys(_) => {
            let what = format!("is not the key of the certificate in {}", certificate.path.display());
            vec![key.fault(what, "name a certificate and the key that it was made for")]
        }
        error => vec![certificate.fault(format!("cannot be used: {error}"), "name another one")],
    })?;
    Ok(Arc::new(config))
}

/// What a failure of a handshake, or of the first read after it, says. `name`: the name that was wanted.
pub(crate) fn failure(error: io::Error, name: &str) -> Failure {
    let Some(inner) = error.get_ref().and_then(|inner| inner.downcast_ref::<Error>()) else {
        let is_closed = [io::ErrorKind::UnexpectedEof, io::ErrorKind::ConnectionReset].contains(&error.kind());
        return if is_closed { Failure::Unshaken } else { Failure::Io(error) };
    };
    match inner {
        Error::InvalidCertificate(why) => match why {
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                Failure::OtherName(name.to_owned())
            }
            CertificateError::UnknownIssuer => Failure::UnknownIssuer,
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => Failure::Expired,
            other => Failure::Certificate(other.to_string()),
        },
        Error::AlertReceived(AlertDescription::CertificateRequired | AlertDescription::BadCertificate) => {
            Failure::CertificateWanted
        }
        Error::AlertReceived(alert) => Failure::Alert(format!("{alert:?}")),
        Error::InvalidMessage(InvalidMessage::InvalidContentType) => Failure::NoTls,
        other => Failure::Tls(other.to_string()),
    }
}
