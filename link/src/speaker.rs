//! As whom Skein speaks to a cluster: where what a login is made with comes from, each time anew.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use skein_config::login::{Credentials, TokenFrom};
use skein_login::{Credential, Hash, Mechanism};
use skein_settings::{Secret, SecretSource};

use crate::tokens::Grants;

/// One who speaks to a cluster.
#[derive(Debug)]
pub enum Speaker {
    /// One that the file declares.
    Declared(Declared),
    /// A client, with what it logged in with last.
    Client(Mutex<Credential>),
}

/// One that the file declares.
#[derive(Debug)]
pub struct Declared {
    credentials: Credentials,
    /// Set where tokens are granted.
    grants: Option<Grants>,
}

impl Speaker {
    /// One that the file declares.
    pub fn declared(credentials: Credentials) -> Self {
        let grants = match &credentials {
            Credentials::Token(TokenFrom::Endpoint(endpoint)) => Some(Grants::new(endpoint.clone())),
            Credentials::Token(TokenFrom::Secret(_)) | Credentials::Password { .. } => None,
        };
        Self::Declared(Declared { credentials, grants })
    }

    /// A client that logged in with this.
    pub fn client(credential: Credential) -> Self {
        Self::Client(Mutex::new(credential))
    }

    /// A client has logged in again, perhaps with something newer.
    pub fn renew(&self, with: Credential) {
        if let Self::Client(credential) = self {
            *credential.lock().unwrap_or_else(PoisonError::into_inner) = with;
        }
    }

    /// What to log in with now. Files are read each time, so that a change of one holds for the next login.
    ///
    /// # Errors
    /// What could not be had, in words without secrets.
    pub async fn credential(&self) -> Result<Credential, String> {
        let declared = match self {
            Self::Client(credential) => return Ok(credential.lock().unwrap_or_else(PoisonError::into_inner).clone()),
            Self::Declared(declared) => declared,
        };
        match (&declared.credentials, &declared.grants) {
            (Credentials::Password { mechanism, username, password }, _) => {
                Ok(with_password(*mechanism, username.clone(), read(password.clone()).await?))
            }
            (Credentials::Token(TokenFrom::Secret(token)), _) => Ok(with_token(read(token.clone()).await?)),
            (Credentials::Token(TokenFrom::Endpoint(_)), Some(grants)) => Ok(with_token(grants.token().await?)),
            (Credentials::Token(TokenFrom::Endpoint(_)), None) => Err("no token is granted".to_owned()),
        }
    }
}

fn with_password(mechanism: Mechanism, user: String, password: Secret) -> Credential {
    match mechanism {
        Mechanism::ScramSha256 => Credential::Scram { hash: Hash::Sha256, user, password },
        Mechanism::ScramSha512 => Credential::Scram { hash: Hash::Sha512, user, password },
        // The other has tokens, and no passwords.
        Mechanism::Plain | Mechanism::OAuthBearer => Credential::Plain { user, password },
    }
}

fn with_token(token: Secret) -> Credential {
    Credential::Bearer { token, extensions: Vec::new() }
}

/// Reads a secret without holding anybody up.
async fn read(source: SecretSource) -> Result<Secret, String> {
    if let SecretSource::Text(secret) = source {
        return Ok(secret);
    }
    let reading = tokio::task::spawn_blocking(move || source.read(&|path, most| file(path, most)));
    reading.await.map_err(|_| "the file was not read to its end".to_owned())?
}

/// At most so many bytes of a plain file: what is none could keep its reader for ever.
///
/// # Errors
/// It cannot be read, or is no plain file.
pub fn file(path: &Path, most: usize) -> io::Result<Vec<u8>> {
    if !std::fs::metadata(path)?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no plain file"));
    }
    let mut bytes = Vec::new();
    File::open(path)?.take(u64::try_from(most).unwrap_or(u64::MAX)).read_to_end(&mut bytes)?;
    Ok(bytes)
}
