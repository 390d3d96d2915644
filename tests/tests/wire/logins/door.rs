//! A listener that asks who is there, and a client that says it step by step.

use std::sync::Arc;

use anyhow::{Context, Result, bail, ensure};
use bytes::Bytes;
use kafka_protocol::messages::{
    SaslAuthenticateRequest, SaslAuthenticateResponse, SaslHandshakeRequest, SaslHandshakeResponse,
};
use kafka_protocol::protocol::StrBytes;
use skein_login::{Attempt, Credential, Hash, Next};
use skein_settings::Secret;
use skein_tests::issuer::{AUDIENCE, TokenIssuer};
use skein_tests::process;
use skein_tests::raw::{Raw, request};
use skein_tests::skein::Users;

use crate::stage::{SOON, Stage};

/// Who there is, and what they know.
pub const USERS: [(&str, &str); 2] = [ALICE, BOB];
pub const ALICE: (&str, &str) = ("alice", "wire-secret-of-alice");
pub const BOB: (&str, &str) = ("bob", "wire-secret-of-bob");
/// The code of a login that has failed.
pub const FAILED: i16 = 58;
/// What clients hear of a wrong password.
pub const INVALID: &str = "Authentication failed: invalid username or password";

/// A listener where clients log in by each mechanism.
pub struct Door {
    pub stage: Stage,
    pub users: Users,
    pub issuer: Arc<TokenIssuer>,
}

impl Door {
    /// `more`: more of the login's inline table; `tables`: more tables of the file.
    pub fn new(more: &str, tables: &str) -> Result<Door> {
        let (users, issuer) = (Users::of(&USERS)?, TokenIssuer::start()?);
        let login = format!(
            r#"{{ mechanisms = ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER"], users = {:?}, tokens = {{ keys = "{}", issuer = "{}", audience = ["{AUDIENCE}"] }}{more} }}"#,
            users.path(),
            issuer.keys_url(),
            issuer.name(),
        );
        let door = Door { stage: Stage::with_login(&login, tables)?, users, issuer: Arc::new(issuer) };
        process::until("the keys are fetched", SOON, || Ok((door.issuer.keys().requests() > 0).then_some(())))?;
        Ok(door)
    }

    /// A client of node 1 that has not logged in.
    pub fn stranger(&self) -> Result<Raw> {
        self.stage.node(1)
    }

    /// One that has, as alice.
    pub fn alice(&self) -> Result<Raw> {
        let mut raw = self.stranger()?;
        let told = log_in(&mut raw, &plain(ALICE.0, ALICE.1))?;
        ensure!(told.error_code == 0, "{told:?}");
        Ok(raw)
    }

    /// What a stranger hears who chooses a mechanism and says this.
    pub fn hears(&self, mechanism: &str, message: impl Into<Bytes>) -> Result<SaslAuthenticateResponse> {
        let mut raw = self.stranger()?;
        choose(&mut raw, mechanism)?;
        say(&mut raw, message)
    }

    /// What somebody hears who logs in as a client does.
    pub fn told(&self, credential: &Credential) -> Result<SaslAuthenticateResponse> {
        log_in(&mut self.stranger()?, credential)
    }

    /// Sees that whoever is right gets in, and is served.
    pub fn serves_others(&self) -> Result<()> {
        is_served(&mut self.alice()?)
    }

    /// Waits until the log says it.
    pub fn logs(&self, what: &str) -> Result<()> {
        process::until(what, SOON, || Ok(self.stage.skein.log().contains(what).then_some(())))
            .with_context(|| self.stage.skein.log())
    }
}

/// Sees that a connection is served as that of somebody who may.
pub fn is_served(raw: &mut Raw) -> Result<()> {
    let answer = raw.call(12, &request::metadata(12, Some(&["t"])))?;
    ensure!(answer.topics.first().is_some_and(|topic| topic.error_code == 0), "{answer:?}");
    Ok(())
}

/// Sees that a connection has been closed.
pub fn is_closed(raw: &mut Raw) -> Result<()> {
    raw.closed(SOON).map(drop)
}

pub fn handshake(raw: &mut Raw, mechanism: &str) -> Result<SaslHandshakeResponse> {
    let named = StrBytes::from_string(mechanism.to_owned());
    raw.call(1, &SaslHandshakeRequest::default().with_mechanism(named))
}

/// Chooses a mechanism that there is.
pub fn choose(raw: &mut Raw, mechanism: &str) -> Result<()> {
    let answer = handshake(raw, mechanism)?;
    ensure!(answer.error_code == 0, "{answer:?}");
    Ok(())
}

/// Sends one message of a mechanism.
pub fn say(raw: &mut Raw, message: impl Into<Bytes>) -> Result<SaslAuthenticateResponse> {
    raw.call(2, &SaslAuthenticateRequest::default().with_auth_bytes(message.into()))
}

/// Logs in as a client does: the last that it is told.
pub fn log_in(raw: &mut Raw, credential: &Credential) -> Result<SaslAuthenticateResponse> {
    choose(raw, credential.mechanism().name())?;
    let (mut message, mut attempt) = Attempt::begin(credential)?;
    for _ in 0..3 {
        let told = say(raw, message)?;
        if told.error_code != 0 {
            return Ok(told);
        }
        match attempt.step(&told.auth_bytes) {
            Next::Send(next, after) => (message, attempt) = (next, after),
            Next::Done => return Ok(told),
            Next::Failed(why) => bail!("{why}"),
        }
    }
    bail!("it does not end")
}

pub fn plain(user: &str, password: &str) -> Credential {
    Credential::Plain { user: user.to_owned(), password: Secret::new(password) }
}

pub fn scram(hash: Hash, user: &str, password: &str) -> Credential {
    Credential::Scram { hash, user: user.to_owned(), password: Secret::new(password) }
}

pub fn bearer(token: &str) -> Credential {
    Credential::Bearer { token: Secret::new(token), extensions: Vec::new() }
}

/// What a client says by PLAIN.
pub fn words(authzid: &str, user: &str, password: &str) -> Bytes {
    Bytes::from(format!("{authzid}\0{user}\0{password}"))
}

/// The words that a client heard with a code.
pub fn heard(told: &SaslAuthenticateResponse) -> (i16, &str) {
    (told.error_code, told.error_message.as_deref().unwrap_or_default())
}
