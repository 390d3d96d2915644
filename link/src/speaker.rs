//! As whom Skein speaks to a cluster: where what a login is made with comes from, each time anew.

use skein_config::login::{self, Credentials, TokenFrom};
use skein_login::{Credential, Hash, Mechanism};
use skein_settings::{Secret, SecretSource};

use crate::endpoint::Endpoint;
use crate::files;
use crate::tls;
use crate::tokens::{Grant, TokenSource};

/// One who speaks to a cluster.
#[derive(Debug)]
pub enum Speaker {
    /// One that the file declares.
    Declared(Declared),
    /// A client, with what it has shown.
    Client(Credential),
}

/// One that the file declares.
#[derive(Debug)]
pub struct Declared {
    credentials: Credentials,
    /// Set where tokens are granted.
    grants: Option<TokenSource>,
}

impl Speaker {
    /// One that the file declares; in a runtime of tokio.
    pub fn declared(credentials: Credentials) -> Self {
        let grants = match &credentials {
            Credentials::Token(TokenFrom::Endpoint(endpoint)) => grants(endpoint),
            Credentials::Token(TokenFrom::Secret(_)) | Credentials::Password { .. } => None,
        };
        Self::Declared(Declared { credentials, grants })
    }

    /// What to log in with now. Files are read each time, so that a change of one holds for the next login.
    ///
    /// # Errors
    /// What could not be had, in words without secrets.
    pub async fn credential(&self) -> Result<Credential, String> {
        let declared = match self {
            Self::Client(credential) => return Ok(credential.clone()),
            Self::Declared(declared) => declared,
        };
        match (&declared.credentials, &declared.grants) {
            (Credentials::Password { mechanism, username, password }, _) => {
                Ok(with_password(*mechanism, username.clone(), read(password.clone()).await?))
            }
            (Credentials::Token(TokenFrom::Secret(token)), _) => Ok(with_token(read(token.clone()).await?)),
            (Credentials::Token(TokenFrom::Endpoint(_)), Some(grants)) => {
                let token = grants.token().await.map_err(|why| why.to_string())?;
                Ok(with_token(token.text.clone()))
            }
            (Credentials::Token(TokenFrom::Endpoint(_)), None) => Err("no token is granted".to_owned()),
        }
    }
}

/// Who grants tokens. `None`: the address is none; it was looked at when the configuration was loaded.
fn grants(declared: &login::Endpoint) -> Option<TokenSource> {
    let ca = declared.ca.clone();
    let endpoint = Endpoint::new(declared.url.get_ref(), move || tls::trusting(ca.as_ref())).ok()?;
    Some(TokenSource::start(Grant {
        endpoint,
        client_id: declared.client_id.clone(),
        client_secret: declared.client_secret.clone(),
        scope: declared.scope.clone(),
        audience: declared.audience.clone(),
    }))
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
    let reading = tokio::task::spawn_blocking(move || source.read(&files::read_at_most));
    reading.await.map_err(|_| "the file was not read to its end".to_owned())?
}
