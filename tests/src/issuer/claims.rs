//! What a token says.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::Result;
use serde_json::{Map, Value, json};

use super::AUDIENCE;

/// The claims of a token. Unless changed: issued now, for five minutes, for the audience [`AUDIENCE`].
#[derive(Clone, Debug)]
pub struct Claims {
    subject: String,
    /// `None`: the name of the issuer that mints it.
    issuer: Option<String>,
    audience: String,
    /// Before now.
    age: Duration,
    /// From its issue.
    lifetime: Duration,
    more: Map<String, Value>,
}

impl Claims {
    /// Of this subject.
    pub fn of(subject: &str) -> Self {
        Self {
            subject: subject.to_owned(),
            issuer: None,
            audience: AUDIENCE.to_owned(),
            age: Duration::ZERO,
            lifetime: Duration::from_secs(300),
            more: Map::new(),
        }
    }

    /// Lasting so long from its issue.
    #[must_use]
    pub fn lasting(mut self, lifetime: Duration) -> Self {
        self.lifetime = lifetime;
        self
    }

    /// Issued so long ago.
    #[must_use]
    pub fn issued_ago(mut self, age: Duration) -> Self {
        self.age = age;
        self
    }

    /// With this `aud`.
    #[must_use]
    pub fn for_audience(mut self, audience: &str) -> Self {
        audience.clone_into(&mut self.audience);
        self
    }

    /// With this `iss`, whoever signs it.
    #[must_use]
    pub fn from_issuer(mut self, issuer: &str) -> Self {
        self.issuer = Some(issuer.to_owned());
        self
    }

    /// With a claim of any name; null takes one away.
    #[must_use]
    pub fn with(mut self, name: &str, value: Value) -> Self {
        self.more.insert(name.to_owned(), value);
        self
    }

    pub(super) fn json(&self, minted_by: &str) -> Result<Map<String, Value>> {
        let issued = SystemTime::now().duration_since(UNIX_EPOCH)?.saturating_sub(self.age).as_secs();
        let mut claims = Map::new();
        let known = [
            ("iss", json!(self.issuer.as_deref().unwrap_or(minted_by))),
            ("sub", json!(self.subject)),
            ("aud", json!(self.audience)),
            ("scope", json!("kafka")),
            ("iat", json!(issued)),
            ("nbf", json!(issued)),
            ("exp", json!(issued + self.lifetime.as_secs())),
        ];
        claims.extend(known.map(|(name, value)| (name.to_owned(), value)));
        claims.extend(self.more.clone());
        claims.retain(|_, value| !value.is_null());
        Ok(claims)
    }
}
