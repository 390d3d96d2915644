//! Why a login fails: for the log and the metrics of the operator. The client hears less.

use crate::token::TokenFault;

/// Why a login failed. Nothing of what the client said is in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Why {
    /// What came is no message of the mechanism. The text says what of it.
    #[error("what came is no message of the mechanism: {0}")]
    Malformed(&'static str),
    /// Nobody has that name, or none that this mechanism can judge.
    #[error("no such user")]
    UnknownUser,
    /// Somebody has that name and another password.
    #[error("wrong password")]
    WrongPassword,
    /// The client wants to be somebody else than whose credentials it has.
    #[error("it asks to act as somebody else than who it is")]
    OtherIdentity,
    /// The client wants the login bound to its TLS connection.
    #[error("it asks for channel binding, which Kafka does not have")]
    ChannelBinding,
    /// The client logs in with a delegation token of the cluster, which Skein does not know.
    #[error("it logs in with a delegation token, which only a cluster can judge")]
    DelegationToken,
    /// The last message belongs to another exchange.
    #[error("the nonce is that of another exchange")]
    Nonce,
    /// The token is not taken.
    #[error("the token {0}")]
    Token(#[from] TokenFault),
    /// Skein itself cannot judge: the system gives no random bytes.
    #[error("the system gives no random bytes")]
    NoRandomness,
}

impl Why {
    /// A word for a metric, one of a closed list.
    pub fn word(self) -> &'static str {
        match self {
            Self::Malformed(_) => "malformed",
            Self::UnknownUser => "unknown_user",
            Self::WrongPassword => "wrong_password",
            Self::OtherIdentity => "other_identity",
            Self::ChannelBinding => "channel_binding",
            Self::DelegationToken => "delegation_token",
            Self::Nonce => "nonce",
            Self::Token(fault) => fault.word(),
            Self::NoRandomness => "no_randomness",
        }
    }

    /// What the client is told, as the message of `SASL_AUTHENTICATION_FAILED`. An unknown user and a wrong password sound the
    /// same.
    pub fn told(self) -> &'static str {
        match self {
            Self::Malformed(_) | Self::Nonce => "Authentication failed: not a valid message of the SASL mechanism",
            Self::UnknownUser | Self::WrongPassword => "Authentication failed: invalid username or password",
            Self::OtherIdentity => "Authentication failed: the authorization id must be empty or the user's own",
            Self::ChannelBinding => "Authentication failed: channel binding is not supported",
            Self::DelegationToken => "Authentication failed: delegation tokens are not supported",
            Self::Token(_) => "Authentication failed: the token is not accepted",
            Self::NoRandomness => "Authentication failed: try again later",
        }
    }

    /// Whether it counts as a try to guess a password, which there is a limit on.
    pub fn is_a_guess(self) -> bool {
        match self {
            Self::UnknownUser | Self::WrongPassword | Self::Token(_) => true,
            Self::Malformed(_)
            | Self::OtherIdentity
            | Self::ChannelBinding
            | Self::DelegationToken
            | Self::Nonce
            | Self::NoRandomness => false,
        }
    }
}
