//! Logging in: what Skein says to a cluster that asks who it is.

use std::fmt;

use bytes::Bytes;
use skein_settings::Secret;
use zeroize::Zeroizing;

use crate::bearer;
use crate::hash::Hash;
use crate::mechanism::Mechanism;
use crate::scram::client::{AwaitingSalt, AwaitingSignature};

/// What somebody logs in with.
#[derive(Clone, PartialEq, Eq)]
pub enum Credential {
    /// A name and a password, as they are.
    Plain {
        /// The name.
        user: String,
        /// The password.
        password: Secret,
    },
    /// The same, of which the password is only proven.
    Scram {
        /// The hash of the mechanism.
        hash: Hash,
        /// The name.
        user: String,
        /// The password.
        password: Secret,
    },
    /// A token.
    Bearer {
        /// The token.
        token: Secret,
        /// What goes with it: SASL extensions (KIP-342).
        extensions: Vec<(String, String)>,
    },
}

impl Credential {
    /// The mechanism that it is for.
    pub fn mechanism(&self) -> Mechanism {
        match self {
            Self::Plain { .. } => Mechanism::Plain,
            Self::Scram { hash: Hash::Sha256, .. } => Mechanism::ScramSha256,
            Self::Scram { hash: Hash::Sha512, .. } => Mechanism::ScramSha512,
            Self::Bearer { .. } => Mechanism::OAuthBearer,
        }
    }
}

/// Without the secret, and without extensions, which may be as secret.
impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Credential");
        shown.field("mechanism", &self.mechanism());
        match self {
            Self::Plain { user, .. } | Self::Scram { user, .. } => shown.field("user", user),
            Self::Bearer { .. } => &mut shown,
        };
        shown.finish_non_exhaustive()
    }
}

/// Why Skein does not go on with a login: the cluster does not take it, or cannot be trusted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Mistrust {
    /// The cluster says no; in its word, of letters, digits, `_`, `-` and spaces.
    #[error("the cluster does not take the login: {0}")]
    Refused(String),
    /// What came is no message of the mechanism.
    #[error("what the cluster says is no message of the mechanism: {0}")]
    Malformed(&'static str),
    /// Its nonce does not continue ours.
    #[error("the cluster answers another exchange")]
    Nonce,
    /// It asks for more work than any credential is worth.
    #[error("the cluster asks for more than 1,000,000 iterations")]
    Iterations,
    /// It does not know the credential itself.
    #[error("the cluster does not show that it knows the credential")]
    Signature,
    /// The name or the password cannot be sent by this mechanism.
    #[error("the credential cannot be sent: {0}")]
    Unsendable(&'static str),
    /// The system gives no random bytes.
    #[error("the system gives no random bytes")]
    NoRandomness,
}

/// A login on its way.
#[derive(Debug)]
pub struct Attempt(State);

enum State {
    /// All has been said, and the cluster has to agree.
    AwaitingYes,
    AwaitingSalt(AwaitingSalt),
    AwaitingSignature(AwaitingSignature),
    AwaitingVerdict,
    /// The cluster does not take the token, for this reason; it still has to say so in Kafka's words.
    GivenUp(String),
}

/// What to do next.
#[derive(Debug)]
pub enum Next {
    /// Send this, and go on with what the cluster answers.
    Send(Bytes, Attempt),
    /// It is done: the cluster has taken the login, and has shown what it had to show.
    Done,
    /// It has failed: close the connection.
    Failed(Mistrust),
}

impl Attempt {
    /// Begins: the first bytes to send. What names the mechanism to the cluster is [`Credential::mechanism`].
    ///
    /// # Errors
    /// The credential cannot be sent.
    pub fn begin(credential: &Credential) -> Result<(Bytes, Self), Mistrust> {
        match credential {
            Credential::Plain { user, password } => {
                let text = password.expose();
                if user.is_empty() || user.contains('\0') || text.is_empty() || text.contains('\0') {
                    return Err(Mistrust::Unsendable("PLAIN has no empty name or password, and none with a zero byte"));
                }
                let message = Zeroizing::new(format!("\0{user}\0{text}"));
                Ok((Bytes::copy_from_slice(message.as_bytes()), Self(State::AwaitingYes)))
            }
            Credential::Scram { hash, user, password } => {
                if user.is_empty() || user.contains('\0') || password.expose().is_empty() {
                    return Err(Mistrust::Unsendable(
                        "SCRAM has no empty name or password, and no zero byte in a name",
                    ));
                }
                let (first, waiting) = AwaitingSalt::begin(*hash, user, password.clone())?;
                Ok((first, Self(State::AwaitingSalt(waiting))))
            }
            Credential::Bearer { token, extensions } => {
                if !bearer::is_token(token.expose()) {
                    return Err(Mistrust::Unsendable("what should be a token has letters that none has"));
                }
                Ok((bearer::message(token, extensions), Self(State::AwaitingVerdict)))
            }
        }
    }

    /// Whether the next step may take milliseconds, or more if the cluster asks for more: it is not for a thread that others
    /// wait for.
    pub fn is_costly(&self) -> bool {
        matches!(self.0, State::AwaitingSalt(_))
    }

    /// Goes on with what the cluster has answered without an error. What it answers with an error ends the attempt as it is.
    #[must_use]
    pub fn step(self, answer: &[u8]) -> Next {
        let done = |result| match result {
            Ok(()) => Next::Done,
            Err(mistrust) => Next::Failed(mistrust),
        };
        match self.0 {
            State::AwaitingYes if answer.is_empty() => Next::Done,
            State::AwaitingYes => Next::Failed(Mistrust::Malformed("PLAIN has no challenge")),
            State::AwaitingSalt(waiting) => match waiting.prove(answer) {
                Ok((proof, waiting)) => Next::Send(proof, Self(State::AwaitingSignature(waiting))),
                Err(mistrust) => Next::Failed(mistrust),
            },
            State::AwaitingSignature(waiting) => done(waiting.verify(answer)),
            State::AwaitingVerdict if answer.is_empty() => Next::Done,
            State::AwaitingVerdict => {
                let given_up = Self(State::GivenUp(bearer::status(answer)));
                Next::Send(Bytes::from_static(bearer::GIVEN_UP), given_up)
            }
            State::GivenUp(status) => Next::Failed(Mistrust::Refused(status)),
        }
    }
}

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::AwaitingYes => "AwaitingYes",
            Self::AwaitingSalt(_) => "AwaitingSalt",
            Self::AwaitingSignature(_) => "AwaitingSignature",
            Self::AwaitingVerdict => "AwaitingVerdict",
            Self::GivenUp(_) => "GivenUp",
        })
    }
}
