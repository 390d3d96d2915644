//! How far a client's login has come, whoever judges it.
//!
//! Before it only ApiVersions and SASL pass. Where the cluster judges, SASL bytes pass on the one lane of the connection, and
//! the login counts as done at the first other frame behind a good SaslAuthenticate: mechanisms of several steps end when the
//! client is content, and it is the client that goes on. Where Skein judges, the shell is asked about each step, and says when
//! the login is done, whose it is, and for how long (KIP-368).

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use skein_protocol::ids::ApiKey;

use super::slots::SlotId;
use crate::graph::LoginMode;

/// How long a login is still good for what comes behind its time: clients log in again at nine tenths of it or so, which is no
/// long time before a short one is over, and what they send takes a while to arrive.
pub(super) const LEEWAY: Duration = Duration::from_secs(1);
/// The shortest time between two logins that repeat one (Kafka's `KafkaChannel`).
const BETWEEN: Duration = Duration::from_secs(1);

/// How far the login of a connection has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Login {
    /// This listener has none.
    None,
    /// The broker has not said yes.
    Awaiting,
    /// The broker's last answer was good: the next other frame ends the login.
    Good,
    /// It is done. A client may log in again (KIP-368).
    Done,
    /// Skein judges it.
    Here(Here),
}

/// A login that Skein judges.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Here {
    /// Whose connection it is; set when a login is done.
    pub(super) principal: Option<Arc<str>>,
    /// When the login is over; set when it is done, `None` if it never is.
    pub(super) expires: Option<Instant>,
    /// When the client last began to repeat its login; `None`: it has not.
    pub(super) repeated: Option<Instant>,
    pub(super) step: HereStep,
}

/// What the next SASL frame may be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum HereStep {
    /// A handshake.
    #[default]
    Idle,
    /// A token: a mechanism has been chosen.
    Chosen,
    /// None: the shell judges the one that came last, until then at the latest.
    Judging(SlotId, Instant),
}

/// What Skein makes of a step of a login.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The mechanism can be used; these are offered.
    Chosen(Vec<Arc<str>>),
    /// The mechanism is not offered; these are.
    NotOffered(Vec<Arc<str>>),
    /// The mechanism goes on with this token.
    Challenge(Bytes),
    /// It is done.
    LoggedIn {
        /// The mechanism's last token.
        token: Bytes,
        /// Whose connection it is.
        principal: Arc<str>,
        /// How long that holds; `None`: for ever.
        lifetime: Option<Duration>,
    },
    /// It has failed: what the client is told.
    Refused(String),
    /// Nobody can say now. The client is told nothing, and may come again: clients take a refusal for final.
    Unjudged,
}

/// What may become of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Admission {
    /// It goes its way.
    Pass,
    /// It is a step of a login that Skein judges.
    Step,
    /// It waits until the step before it has been judged.
    Wait,
    /// SASL where it has no place: on a listener without login, behind one, or too soon after the last. The connection goes on.
    OutOfPlace,
    /// A step of a login out of its turn.
    OutOfTurn,
    /// Handshake v0.
    OldHandshake,
    /// It came too early.
    TooEarly,
    /// It came in the middle of a login.
    Between,
    /// It came when the login was over.
    Expired,
}

impl Login {
    pub(super) fn new(mode: LoginMode) -> Self {
        match mode {
            LoginMode::None => Self::None,
            LoginMode::Relay => Self::Awaiting,
            LoginMode::Here => Self::Here(Here::default()),
        }
    }

    /// Whether frames are still bounded as those of strangers.
    pub(super) fn is_stranger(&self) -> bool {
        match self {
            Self::Awaiting => true,
            Self::Here(here) => here.principal.is_none(),
            Self::None | Self::Good | Self::Done => false,
        }
    }

    /// Whether the client's bytes log it in on the lane, which therefore is the only one.
    pub(super) fn is_relayed(&self) -> bool {
        matches!(self, Self::Awaiting | Self::Good | Self::Done)
    }

    /// Judges a frame by its head.
    pub(super) fn admit(&mut self, now: Instant, key: ApiKey, version: i16) -> Admission {
        match (&mut *self, key) {
            (Self::Here(here), _) => here.admit(now, key, version),
            (_, ApiKey::API_VERSIONS) => Admission::Pass,
            (Self::None, ApiKey::SASL_HANDSHAKE | ApiKey::SASL_AUTHENTICATE) => Admission::OutOfPlace,
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
        match (&*self, error) {
            (Self::Awaiting | Self::Good, 0) => *self = Self::Good,
            (Self::Awaiting | Self::Good, _) => *self = Self::Awaiting,
            (Self::None | Self::Done | Self::Here(_), _) => {}
        }
    }

    /// When a step must have been judged.
    pub(super) fn judged_by(&self) -> Option<Instant> {
        match self {
            Self::Here(Here { step: HereStep::Judging(_, by), .. }) => Some(*by),
            Self::Here(_) | Self::None | Self::Awaiting | Self::Good | Self::Done => None,
        }
    }
}

impl Here {
    fn admit(&self, now: Instant, key: ApiKey, version: i16) -> Admission {
        match (key, self.step) {
            // A client may ask for versions and log in without waiting for the answers.
            (_, HereStep::Judging(..)) => Admission::Wait,
            (ApiKey::API_VERSIONS, _) => Admission::Pass,
            (ApiKey::SASL_HANDSHAKE, _) if version == 0 => Admission::OldHandshake,
            (ApiKey::SASL_AUTHENTICATE, HereStep::Chosen) => Admission::Step,
            (ApiKey::SASL_HANDSHAKE, HereStep::Idle) if !self.is_too_soon(now) => Admission::Step,
            (ApiKey::SASL_HANDSHAKE | ApiKey::SASL_AUTHENTICATE, HereStep::Idle) if self.holds(now) => {
                Admission::OutOfPlace
            }
            (ApiKey::SASL_HANDSHAKE | ApiKey::SASL_AUTHENTICATE, _) => Admission::OutOfTurn,
            // As a broker does: once a login has begun, it is ended first.
            (_, HereStep::Chosen) => Admission::Between,
            (_, HereStep::Idle) if self.principal.is_none() => Admission::TooEarly,
            (_, HereStep::Idle) if self.expires.is_some_and(|expires| expires <= now) => Admission::Expired,
            (_, HereStep::Idle) => Admission::Pass,
        }
    }

    /// A login begins.
    pub(super) fn begins(&mut self, now: Instant) {
        if self.principal.is_some() {
            self.repeated = Some(now);
        }
    }

    /// Whether there is a login that is not over.
    fn holds(&self, now: Instant) -> bool {
        self.principal.is_some() && self.expires.is_none_or(|expires| expires > now)
    }

    /// The first login may be repeated at once, as with a broker: only what repeats it keeps a distance.
    fn is_too_soon(&self, now: Instant) -> bool {
        self.repeated.is_some_and(|last| now.saturating_duration_since(last) < BETWEEN)
    }
}
