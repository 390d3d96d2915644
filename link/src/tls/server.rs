//! TLS towards clients.

use std::ops::Range;
use std::sync::Arc;
use std::time::SystemTime;

use rustls::ServerConfig;
use rustls::client::verify_server_name;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::server::{NoServerSessionStorage, ParsedCertificate, WebPkiClientVerifier};
use skein_config::tls::{Agreed, ClientCertificate, ListenerTls, NamedFile};
use skein_login::Mapping;
use skein_settings::{Fault, quoted};

use super::certificate::{Lifetime, names};
use super::files::{Files, Pem};
use super::kept::{Kept, Look, Renewed};
use super::{provider, versions};

/// Hosts that clients are told, and where they stand in the file.
type Hosts = Vec<(Arc<str>, Range<usize>)>;

/// TLS of a listener.
pub struct ServerTls {
    kept: Kept<Made>,
    principal: Mapping,
}

/// Who a client is by its certificate.
#[derive(Clone, Debug)]
pub struct Shown {
    /// The subject, as Kafka writes it.
    pub subject: Arc<str>,
    /// What the rules make of the certificate; `None`: no rule fits.
    pub principal: Option<Arc<str>>,
}

struct Made {
    config: Arc<ServerConfig>,
    lifetime: Lifetime,
}

impl ServerTls {
    /// Reads the files of a listener. `hosts`: what its certificate has to cover.
    pub(super) fn load(declared: &ListenerTls, hosts: &Hosts, files: &Files) -> Result<Arc<Self>, Vec<Fault>> {
        let named: Vec<_> =
            [&declared.certificate, &declared.key].into_iter().chain(&declared.client_ca).cloned().collect();
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
        let paths = named.iter().map(|file| files.path(file)).collect();
        let (agreed, clients, hosts) = (declared.agreed.clone(), declared.client_certificate, hosts.clone());
        let make = move |bytes: &[Vec<u8>]| make(&pems(&named, bytes), &agreed, clients, &hosts);
        Ok(Arc::new(Self { kept: Kept::new(paths, bytes, make)?, principal: declared.principal.clone() }))
    }

    /// What the next handshake is to use.
    pub fn config(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.kept.current().config)
    }

    /// Who a client is whose certificate was found to be good; `None`: it has no names that could be read.
    pub fn shown(&self, certificate: &CertificateDer<'_>) -> Option<Shown> {
        let names = names(certificate)?;
        Some(Shown { principal: self.principal.principal(&names), subject: Arc::from(names.subject) })
    }

    /// What is wrong with the time of its certificate, if something is.
    pub fn warning(&self) -> Option<String> {
        self.kept.current().lifetime.warning(SystemTime::now())
    }
}

impl Look for ServerTls {
    fn look(&self) -> Option<Renewed> {
        self.kept.look()
    }

    fn files(&self) -> String {
        self.kept.files()
    }
}

pub(super) fn pems<'b>(named: &'b [NamedFile], bytes: &'b [Vec<u8>]) -> Vec<Pem<'b>> {
    let pem = |(file, bytes): (&'b NamedFile, &'b Vec<u8>)| Pem { path: file.get_ref(), at: file.span(), bytes };
    named.iter().zip(bytes).map(pem).collect()
}

#[expect(clippy::wildcard_enum_match_arm, reason = "the library may add kinds, and has one answer for all others")]
fn make(pems: &[Pem<'_>], agreed: &Agreed, clients: ClientCertificate, hosts: &Hosts) -> Result<Made, Vec<Fault>> {
    let [certificate, key, ca @ ..] = pems else { return Err(Vec::new()) };
    let (chain, key_pem) = (certificate.certificates(), key.key());
    let roots = ca.first().map(Pem::roots).transpose();
    let (chain, key_pem, roots) = match (chain, key_pem, roots) {
        (Ok(chain), Ok(key), Ok(roots)) => (chain, key, roots),
        (chain, key, roots) => return Err([chain.err(), key.err(), roots.err()].into_iter().flatten().collect()),
    };
    let first = chain.first().cloned().unwrap_or_else(|| CertificateDer::from(Vec::new()));
    let lifetime = Lifetime::of(&first);
    let provider = provider(agreed);
    let broken =
        |error: &rustls::Error| vec![certificate.fault(format!("cannot be used: {error}"), "name another one")];
    let verifier = match (roots, clients) {
        (Some(roots), ClientCertificate::Requested | ClientCertificate::Required) => {
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider));
            let verifier =
                if clients == ClientCertificate::Requested { verifier.allow_unauthenticated() } else { verifier };
            let built = verifier.build().map_err(|error| {
                let right = "name a PEM file with the certificates of those who sign those of clients";
                ca.first().map(|ca| ca.fault(format!("cannot be used: {error}"), right)).into_iter().collect::<Vec<_>>()
            });
            Some(built?)
        }
        _ => None,
    };
    let builder = ServerConfig::builder_with_provider(provider).with_protocol_versions(&versions(agreed));
    let builder = builder.map_err(|error| broken(&error))?;
    let builder = match verifier {
        Some(verifier) => builder.with_client_cert_verifier(verifier),
        None => builder.with_no_client_auth(),
    };
    let mut config = builder.with_single_cert(chain, key_pem).map_err(|error| match error {
        rustls::Error::InconsistentKeys(_) => {
            let what = format!("is not the key of the certificate in {}", certificate.path.display());
            vec![key.fault(what, "name a certificate and the key that it was made for")]
        }
        error => broken(&error),
    })?;
    if clients != ClientCertificate::None {
        // A session that is taken up again shows no certificate: it would be that of the first time, expired or not.
        config.session_storage = Arc::new(NoServerSessionStorage {});
        config.send_tls13_tickets = 0;
    }
    uncovered(&first, certificate, hosts)?;
    Ok(Made { config: Arc::new(config), lifetime })
}

/// A host that clients are told, and would not believe: one fault for each place in the file.
fn uncovered(first: &CertificateDer<'_>, certificate: &Pem<'_>, hosts: &Hosts) -> Result<(), Vec<Fault>> {
    let parsed = ParsedCertificate::try_from(first)
        .map_err(|error| vec![certificate.fault(format!("cannot be used: {error}"), "name another one")])?;
    let mut faults: Vec<Fault> = Vec::new();
    for (host, at) in hosts {
        let is_covered = ServerName::try_from(&**host).is_ok_and(|name| verify_server_name(&parsed, &name).is_ok());
        if !is_covered && !faults.iter().any(|fault| fault.from == at.start) {
            let what = format!(
                "clients are told {}, which the certificate in {} is not for",
                quoted(host),
                certificate.path.display()
            );
            let right = "tell clients a name that the certificate has among its subject alternative names, or have one made \
                         for this name";
            faults.push(Fault::new(what, at.clone(), right));
        }
    }
    if faults.is_empty() { Ok(()) } else { Err(faults) }
}
