//! Certificates for tests: an authority, and what it signs, as PEM files in a folder.
//!
//! ```no_run
//! # fn main() -> anyhow::Result<()> {
//! use skein_tests::{pki::{Authority, Leaf}, workplace};
//! let authority = Authority::new(&workplace::run_dir("pki")?, "Tests")?;
//! let server = authority.issue("server", &Leaf::server(&["localhost", "127.0.0.1"]))?;
//! let alice = authority.issue("alice", &Leaf::client("CN=alice,OU=eng,O=Example"))?;
//! # Ok(()) }
//! ```

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa,
    KeyPair, KeyUsagePurpose, SanType, date_time_ymd,
};

/// What signs the certificates of one test or cluster, and the folder with its files.
#[derive(Debug)]
pub struct Authority {
    dir: PathBuf,
    issuer: CertifiedIssuer<'static, KeyPair>,
}

/// The files of one certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The certificate.
    pub certificate: PathBuf,
    /// Its private key, in PKCS#8, without a password.
    pub key: PathBuf,
    /// Both in one file: what Java takes as a key store of the type PEM.
    pub keystore: PathBuf,
}

/// What a certificate is to say.
#[derive(Clone, Debug)]
pub struct Leaf {
    subject: String,
    names: Vec<String>,
    usage: ExtendedKeyUsagePurpose,
    last_year: i32,
}

impl Leaf {
    /// A server's: DNS names, with a `*` or without, and IP addresses.
    pub fn server(names: &[&str]) -> Self {
        let names = names.iter().map(ToString::to_string).collect();
        Self {
            subject: "CN=server,O=Example".to_owned(),
            names,
            usage: ExtendedKeyUsagePurpose::ServerAuth,
            last_year: 2099,
        }
    }

    /// A client's: a subject as RFC 2253 writes it, such as `CN=alice,OU=eng,O=Example`. Commas within a value are not known.
    pub fn client(subject: &str) -> Self {
        let usage = ExtendedKeyUsagePurpose::ClientAuth;
        Self { subject: subject.to_owned(), names: Vec::new(), usage, last_year: 2099 }
    }

    /// With these alternative names of the subject: DNS names, IP addresses, and URIs, which have a `://`.
    #[must_use]
    pub fn named(mut self, names: &[&str]) -> Self {
        self.names.extend(names.iter().map(ToString::to_string));
        self
    }

    /// Valid until years ago.
    #[must_use]
    pub fn expired(mut self) -> Self {
        self.last_year = 2021;
        self
    }

    fn params(&self) -> Result<CertificateParams> {
        let mut params = CertificateParams::default();
        params.not_before = date_time_ymd(2020, 1, 1);
        params.not_after = date_time_ymd(self.last_year, 12, 31);
        params.subject_alt_names = self.names.iter().map(|name| alternative(name)).collect::<Result<_>>()?;
        params.distinguished_name = distinguished(&self.subject)?;
        params.is_ca = IsCa::ExplicitNoCa;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![self.usage.clone()];
        // Python refuses certificates without it.
        params.use_authority_key_identifier_extension = true;
        Ok(params)
    }
}

impl Authority {
    /// A new one with a key of its own. Its files go into `dir`; `name` is its common name.
    pub fn new(dir: &Path, name: &str) -> Result<Self> {
        let mut params = CertificateParams::default();
        params.not_before = date_time_ymd(2020, 1, 1);
        params.not_after = date_time_ymd(2099, 12, 31);
        params.distinguished_name = distinguished(&format!("CN={name}"))?;
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        fs::create_dir_all(dir)?;
        let authority =
            Self { dir: dir.to_owned(), issuer: CertifiedIssuer::self_signed(params, KeyPair::generate()?)? };
        fs::write(authority.certificate(), authority.issuer.pem())?;
        Ok(authority)
    }

    /// The file with its certificate: what those who trust it are given.
    pub fn certificate(&self) -> PathBuf {
        self.dir.join("ca.pem")
    }

    /// Signs a certificate for a new key. Files of the same `name` are replaced one by one, each at once.
    pub fn issue(&self, name: &str, leaf: &Leaf) -> Result<Identity> {
        let key = KeyPair::generate()?;
        let certificate = leaf.params()?.signed_by(&key, &self.issuer)?.pem();
        let file = |kind: &str| self.dir.join(format!("{name}{kind}.pem"));
        let identity = Identity { certificate: file(""), key: file("-key"), keystore: file("-keystore") };
        replace(&identity.key, &key.serialize_pem())?;
        replace(&identity.certificate, &certificate)?;
        replace(&identity.keystore, &(key.serialize_pem() + &certificate))?;
        Ok(identity)
    }
}

/// Whoever reads the file sees all of the old or all of the new text.
fn replace(path: &Path, text: &str) -> Result<()> {
    let aside = path.with_extension("new");
    fs::write(&aside, text)?;
    fs::rename(aside, path).with_context(|| format!("replacing {}", path.display()))
}

fn alternative(name: &str) -> Result<SanType> {
    Ok(match name.parse() {
        Ok(address) => SanType::IpAddress(address),
        Err(_) if name.contains("://") => SanType::URI(name.try_into()?),
        Err(_) => SanType::DnsName(name.try_into()?),
    })
}

/// A name in the order of its certificate, which is the reverse of what RFC 2253 writes.
fn distinguished(subject: &str) -> Result<DistinguishedName> {
    let mut name = DistinguishedName::new();
    for part in subject.rsplit(',') {
        let (kind, value) = part.split_once('=').with_context(|| format!("`{part}` of `{subject}` has no `=`"))?;
        let kind = match kind.trim() {
            "CN" => DnType::CommonName,
            "OU" => DnType::OrganizationalUnitName,
            "O" => DnType::OrganizationName,
            "L" => DnType::LocalityName,
            "ST" => DnType::StateOrProvinceName,
            "C" => DnType::CountryName,
            other => bail!("`{other}` of `{subject}` is none of CN, OU, O, L, ST, C"),
        };
        name.push(kind, value);
    }
    Ok(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workplace;

    #[test]
    fn a_certificate_is_replaced_under_its_name() -> Result<()> {
        let authority = Authority::new(&workplace::run_dir("pki")?, "Tests")?;
        let leaf = Leaf::server(&["*.kafka.example.com", "127.0.0.1"]).named(&["spiffe://example.com/kafka"]);
        let first = authority.issue("server", &leaf)?;
        let before = fs::read_to_string(&first.certificate)?;
        assert_eq!(authority.issue("server", &leaf)?, first);
        let after = fs::read_to_string(&first.certificate)?;
        assert_ne!(before, after);
        let keystore = fs::read_to_string(&first.keystore)?;
        assert_eq!(keystore, fs::read_to_string(&first.key)? + &after);
        Ok(())
    }

    #[test]
    fn a_subject_has_known_attributes_only() {
        assert!(distinguished("CN=alice,OU=eng,O=Example").is_ok());
        assert!(distinguished("alice").is_err() && distinguished("X=alice").is_err());
    }
}
