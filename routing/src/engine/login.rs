//! The steps of a login that the cluster judges: SASL bytes pass on the one lane of the connection.
//!
//! Before it only ApiVersions and SASL pass. It counts as done at the first other frame behind a good SaslAuthenticate:
//! mechanisms of several steps end when the client is content, and it is the client that goes on.

use skein_protocol::ids::ApiKey;

use crate::graph::LoginMode;

/// How far the login of a connection has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Login {
    /// This listener has none.
    None,
    /// The broker has not said yes.
    Awaiting,
    /// The broker's last answer was good: the next other frame ends the login.
    Good,
    /// It is done. A client may log in again (KIP-368).
    Done,
}

/// What may become of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Admission {
    /// It goes its way.
    Pass,
    /// SASL on a listener without login: the code that a broker gives there.
    NoLoginHere,
    /// Handshake v0.
    OldHandshake,
    /// It came too early.
    TooEarly,
}

impl Login {
    pub(super) fn new(mode: LoginMode) -> Self {
        match mode {
            LoginMode::None => Self::None,
            LoginMode::Relay => Self::Awaiting,
        }
    }

    /// Whether frames are still bounded as those of strangers.
    pub(super) fn is_stranger(self) -> bool {
        self == Self::Awaiting
    }

    /// Whether the client's bytes log it in on the lane, which therefore is the only one.
    pub(super) fn is_relayed(self) -> bool {
        self != Self::None
    }

    /// Judges a frame by its head.
    pub(super) fn admit(&mut self, key: ApiKey, version: i16) -> Admission {
        match (*self, key) {
            (_, ApiKey::API_VERSIONS) => Admission::Pass,
            (Self::None, ApiKey::SASL_HANDSHAKE | ApiKey::SASL_AUTHENTICATE) => Admission::NoLoginHere,
            (Self::None, _) => Admission::Pass,
            (_, ApiKey::SASL_HANDSHAKE) if version == 0 => Admission::OldHandshake,
            (_, ApiKey::SASL_HANDSHAKE | ApiKey::SASL_AUTHENTICATE) => Admission::Pass,
            (Self::Awaiting, _) => Admission::TooEarly,
            (Self::Good, _) => {
                *self = Self::Done;
                Admission::Pass
            }
            (Self::Done, _) => Admission::Pass,
        }
    }

    /// The broker has answered a SaslAuthenticate.
    pub(super) fn judged(&mut self, error: i64) {
        match (*self, error) {
            (Self::Awaiting | Self::Good, 0) => *self = Self::Good,
            (Self::Awaiting | Self::Good, _) => *self = Self::Awaiting,
            (Self::None | Self::Done, _) => {}
        }
    }
}
