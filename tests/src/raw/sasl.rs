//! Logins of the raw client: those of one message, which are PLAIN and OAUTHBEARER.

use anyhow::{Result, ensure};
use bytes::Bytes;
use kafka_protocol::{
    messages::{SaslAuthenticateRequest, SaslHandshakeRequest},
    protocol::StrBytes,
};

use super::Raw;

/// What is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shown {
    /// A user and a password (RFC 4616).
    Plain(String, String),
    /// A token (RFC 7628).
    Token(String),
}

impl Shown {
    /// A user and a password.
    pub fn plain(user: &str, password: &str) -> Self {
        Self::Plain(user.to_owned(), password.to_owned())
    }

    fn mechanism(&self) -> &'static str {
        match self {
            Self::Plain(..) => "PLAIN",
            Self::Token(_) => "OAUTHBEARER",
        }
    }

    fn message(&self) -> Bytes {
        match self {
            Self::Plain(user, password) => format!("\0{user}\0{password}"),
            Self::Token(token) => format!("n,,\u{1}auth=Bearer {token}\u{1}\u{1}"),
        }
        .into()
    }
}

impl Raw {
    /// Logs in; the code that ends it, 0 if it is good.
    ///
    /// # Errors
    /// The mechanism is not offered, or no answer came.
    pub fn log_in(&mut self, shown: &Shown) -> Result<i16> {
        let mechanism = StrBytes::from_static_str(shown.mechanism());
        let chosen = self.call(1, &SaslHandshakeRequest::default().with_mechanism(mechanism))?;
        ensure!(chosen.error_code == 0, "{}: {}", shown.mechanism(), chosen.error_code);
        let answer = self.call(2, &SaslAuthenticateRequest::default().with_auth_bytes(shown.message()))?;
        if answer.error_code != 0 || answer.auth_bytes.is_empty() {
            return Ok(answer.error_code);
        }
        // Why a token is refused is a challenge, to which a byte is the answer (RFC 7628, 3.2.3).
        Ok(self.call(2, &SaslAuthenticateRequest::default().with_auth_bytes(Bytes::from_static(b"\x01")))?.error_code)
    }
}
