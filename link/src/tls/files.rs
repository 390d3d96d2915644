//! PEM files.

use std::fs::File;
use std::io::Read;
use std::ops::Range;
use std::path::{Path, PathBuf};

use rustls::RootCertStore;
use rustls::pki_types::pem::{Error, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use skein_config::tls::NamedFile;
use skein_settings::Fault;

/// Bytes of a PEM file: more than all the roots of a system.
const MOST: u64 = 4 << 20;

/// Where relative paths begin.
#[derive(Clone, Debug)]
pub struct Files {
    folder: PathBuf,
}

/// A file as it was read.
pub(super) struct Pem<'b> {
    /// What the configuration calls it.
    pub(super) path: &'b Path,
    /// Where it is named.
    pub(super) at: Range<usize>,
    pub(super) bytes: &'b [u8],
}

impl Files {
    /// Relative paths begin there.
    pub fn new(folder: &Path) -> Self {
        Self { folder: folder.to_owned() }
    }

    /// Where a named file is.
    pub(super) fn path(&self, file: &NamedFile) -> PathBuf {
        self.folder.join(file.get_ref())
    }

    /// Its bytes.
    pub(super) fn read(&self, file: &NamedFile) -> Result<Vec<u8>, Fault> {
        read(&self.path(file)).map_err(|error| {
            let what = format!("{} cannot be read: {error}", file.get_ref().display());
            let begins =
                if file.get_ref().is_relative() { "; a relative path begins at the folder of this file" } else { "" };
            Fault::new(what, file.span(), format!("name a PEM file that Skein may read{begins}"))
        })
    }
}

/// The bytes of a file. What is no plain file could keep its reader for ever.
pub(super) fn read(path: &Path) -> std::io::Result<Vec<u8>> {
    if !std::fs::metadata(path)?.is_file() {
        return Err(std::io::Error::other("it is no plain file"));
    }
    let mut bytes = Vec::new();
    let read = File::open(path)?.take(MOST + 1).read_to_end(&mut bytes)?;
    let is_long = u64::try_from(read).is_ok_and(|read| read > MOST);
    if is_long { Err(std::io::Error::other("it is longer than 4 MiB")) } else { Ok(bytes) }
}

impl Pem<'_> {
    pub(super) fn fault(&self, what: impl AsRef<str>, right: &str) -> Fault {
        Fault::new(format!("{} {}", self.path.display(), what.as_ref()), self.at.clone(), right)
    }

    /// All certificates in it, at least one.
    pub(super) fn certificates(&self) -> Result<Vec<CertificateDer<'static>>, Fault> {
        let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(self.bytes).collect();
        let right = "name a PEM file with a part that begins with -----BEGIN CERTIFICATE-----";
        match found {
            Ok(found) if found.is_empty() => Err(self.fault("has no certificate in it", right)),
            Ok(found) => Ok(found),
            Err(error) => Err(self.fault(format!("is no PEM file: {}", said(&error)), right)),
        }
    }

    /// The first key in it.
    pub(super) fn key(&self) -> Result<PrivateKeyDer<'static>, Fault> {
        PrivateKeyDer::from_pem_slice(self.bytes).map_err(|error| match error {
            Error::NoItemsFound if self.holds("ENCRYPTED PRIVATE KEY") => self.fault(
                "has a key that is encrypted",
                "name a file with a key that is not: Skein has no place for a password of a key; guard the file instead",
            ),
            Error::NoItemsFound => self.fault("has no private key in it", KEY),
            error => self.fault(format!("is no PEM file: {}", said(&error)), KEY),
        })
    }

    fn holds(&self, kind: &str) -> bool {
        let begins = format!("-----BEGIN {kind}-----");
        self.bytes.windows(begins.len()).any(|part| part == begins.as_bytes())
    }

    /// The certificates in it as those of whom to trust.
    pub(super) fn roots(&self) -> Result<RootCertStore, Fault> {
        let mut roots = RootCertStore::empty();
        for certificate in self.certificates()? {
            roots.add(certificate).map_err(|error| {
                let right = "name a PEM file with the certificates of authorities";
                self.fault(format!("has a certificate that nobody can be trusted by: {error}"), right)
            })?;
        }
        Ok(roots)
    }
}

const KEY: &str = "name a PEM file with a part that begins with -----BEGIN PRIVATE KEY-----, or RSA or EC in it";

/// What is wrong with a PEM file, without a byte of it: it may be a key.
fn said(error: &Error) -> &'static str {
    match error {
        Error::MissingSectionEnd { .. } => "a part of it has no end",
        Error::IllegalSectionStart { .. } => "a part of it begins in no right way",
        Error::Base64Decode(_) => "a part of it is no Base64",
        Error::Io(_) | Error::NoItemsFound | Error::SectionTooLarge | _ => "it cannot be read",
    }
}
