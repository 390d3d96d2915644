//! Where a client program connects to, and what it shows there. Programs hear of it by their environment, where no list of
//! processes shows a password.

use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::{
    cluster::{Cluster, PASSWORD, Scram, USER},
    issuer::Claims,
    pki::Identity,
};

/// A kind of login by SASL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[expect(missing_docs, reason = "Kafka's words")]
pub enum Mechanism {
    Plain,
    ScramSha256,
    ScramSha512,
    OauthBearer,
}

impl Mechanism {
    /// Its name in every protocol and configuration.
    pub fn name(self) -> &'static str {
        match self {
            Self::Plain => "PLAIN",
            Self::ScramSha256 => "SCRAM-SHA-256",
            Self::ScramSha512 => "SCRAM-SHA-512",
            Self::OauthBearer => "OAUTHBEARER",
        }
    }
}

impl From<Scram> for Mechanism {
    fn from(scram: Scram) -> Self {
        match scram {
            Scram::Sha256 => Self::ScramSha256,
            Scram::Sha512 => Self::ScramSha512,
        }
    }
}

/// What a client trusts, and what it shows. The programs of all families understand all of it.
#[derive(Clone, Debug, Default)]
pub struct Access {
    login: Option<(Mechanism, Login)>,
    /// The certificate of the authority that servers have to have theirs from. `None`: without TLS.
    trusted: Option<PathBuf>,
    shown: Option<Identity>,
}

#[derive(Clone, Debug)]
enum Login {
    Password { user: String, password: String },
    TokenFile(PathBuf),
    TokenEndpoint { url: String, id: String, secret: String },
}

impl Access {
    /// Plaintext, and no login.
    pub fn open() -> Self {
        Self::default()
    }

    /// A login by PLAIN or SCRAM.
    pub fn password(mechanism: Mechanism, user: &str, password: &str) -> Self {
        let login = Login::Password { user: user.to_owned(), password: password.to_owned() };
        Self { login: Some((mechanism, login)), ..Self::default() }
    }

    /// A login by a token that is read from a file whenever the library asks for one.
    pub fn token_file(file: &Path) -> Self {
        Self { login: Some((Mechanism::OauthBearer, Login::TokenFile(file.to_owned()))), ..Self::default() }
    }

    /// A login by tokens that are fetched for a client's secret.
    pub fn token_endpoint(url: &str, id: &str, secret: &str) -> Self {
        let login = Login::TokenEndpoint { url: url.to_owned(), id: id.to_owned(), secret: secret.to_owned() };
        Self { login: Some((Mechanism::OauthBearer, login)), ..Self::default() }
    }

    /// Over TLS, to servers whose certificate is of this authority.
    #[must_use]
    pub fn trusting(mut self, authority: &Path) -> Self {
        self.trusted = Some(authority.to_owned());
        self
    }

    /// Showing a certificate, which is done over TLS only.
    #[must_use]
    pub fn showing(mut self, identity: &Identity) -> Self {
        self.shown = Some(identity.clone());
        self
    }

    /// The environment of a program.
    pub(super) fn environment(&self) -> Vec<(&'static str, String)> {
        let path = |path: &Path| path.display().to_string();
        let protocol = match (&self.login, &self.trusted) {
            (None, None) => return Vec::new(),
            (None, Some(_)) => "SSL",
            (Some(_), None) => "SASL_PLAINTEXT",
            (Some(_), Some(_)) => "SASL_SSL",
        };
        let mut all = vec![("SKEIN_CLIENT_PROTOCOL", protocol.to_owned())];
        all.extend(self.trusted.iter().map(|file| ("SKEIN_CLIENT_CA", path(file))));
        if let Some(identity) = &self.shown {
            all.push(("SKEIN_CLIENT_CERTIFICATE", path(&identity.certificate)));
            all.push(("SKEIN_CLIENT_KEY", path(&identity.key)));
        }
        let Some((mechanism, login)) = &self.login else { return all };
        all.push(("SKEIN_CLIENT_MECHANISM", mechanism.name().to_owned()));
        let mut user = |name: &String, secret: &String| {
            all.push(("SKEIN_CLIENT_USERNAME", name.clone()));
            all.push(("SKEIN_CLIENT_PASSWORD", secret.clone()));
        };
        match login {
            Login::Password { user: name, password } => user(name, password),
            Login::TokenFile(file) => all.push(("SKEIN_CLIENT_TOKEN_FILE", path(file))),
            Login::TokenEndpoint { url, id, secret } => {
                user(id, secret);
                all.push(("SKEIN_CLIENT_TOKEN_ENDPOINT", url.clone()));
            }
        }
        all
    }
}

/// Where a client connects to, and what it shows there.
#[derive(Clone, Debug)]
pub struct Endpoint {
    /// Addresses of brokers, or of a proxy, comma-separated.
    pub bootstrap: String,
    /// What it shows.
    pub access: Access,
}

impl Endpoint {
    /// Somewhere, with this access.
    pub fn new(bootstrap: &str, access: Access) -> Self {
        Self { bootstrap: bootstrap.to_owned(), access }
    }
}

impl From<&str> for Endpoint {
    /// An open one.
    fn from(bootstrap: &str) -> Self {
        Self::new(bootstrap, Access::open())
    }
}

impl From<&String> for Endpoint {
    /// An open one.
    fn from(bootstrap: &String) -> Self {
        Self::from(bootstrap.as_str())
    }
}

/// A way in to a guarded cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Way {
    /// A login by a password.
    Password(Mechanism),
    /// A login by a token from the issuer's endpoint.
    Token,
    /// A certificate.
    Certificate,
}

impl Way {
    /// All there are.
    pub const ALL: [Self; 5] = [
        Self::Password(Mechanism::Plain),
        Self::Password(Mechanism::ScramSha256),
        Self::Password(Mechanism::ScramSha512),
        Self::Token,
        Self::Certificate,
    ];

    /// How alice gets in to a guarded cluster, or to a proxy that trusts what the cluster trusts.
    ///
    /// # Errors
    /// The cluster is not guarded.
    pub fn access(self, cluster: &Cluster) -> Result<Access> {
        let guard = cluster.guard()?;
        let access = match self {
            Self::Password(mechanism) => Access::password(mechanism, USER, PASSWORD),
            Self::Token => Access::token_endpoint(&guard.issuer.token_url(), USER, PASSWORD),
            Self::Certificate => Access::open().showing(&guard.client),
        };
        Ok(access.trusting(&guard.authority.certificate()))
    }

    /// What does not get in this way: alice with a wrong password, with a token for another audience, which is written to
    /// `dir`, or without a certificate.
    ///
    /// # Errors
    /// The cluster is not guarded, or the token could not be written.
    pub fn refused(self, cluster: &Cluster, dir: &Path) -> Result<Access> {
        let guard = cluster.guard()?;
        let access = match self {
            Self::Password(mechanism) => Access::password(mechanism, USER, WRONG_PASSWORD),
            Self::Token => {
                let file = dir.join("token");
                std::fs::write(&file, guard.issuer.mint(&Claims::of(USER).for_audience("others"))?)?;
                Access::token_file(&file)
            }
            Self::Certificate => Access::open(),
        };
        Ok(access.trusting(&guard.authority.certificate()))
    }

    /// Where a guarded cluster lets in who comes this way.
    pub fn bootstrap(self, cluster: &Cluster) -> String {
        if self == Self::Certificate { cluster.mutual_bootstrap() } else { cluster.bootstrap() }
    }
}

/// Nobody's.
pub const WRONG_PASSWORD: &str = "not-the-secret";
