//! A client's login, where Skein judges it: one step at a time, and whatever takes long beside the session.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use skein_login::{Exchange, Failure, LoggedIn, Mechanism, Step, Why};
use skein_routing::engine::{Asked, Verdict};

use super::Session;
use super::peer::Moved;
use crate::behind::Unspoken;
use crate::events::{LoginEnded, Outcome};
use crate::gate::Gate;
use crate::tenant::{Askers, Tenant};
use crate::tries::Place;

/// How long a refusal is held back, so that guessing takes time (brokers: connection.failed.authentication.delay.ms).
const HELD_BACK: Duration = Duration::from_millis(100);

/// The login of a session.
#[derive(Default)]
pub(super) struct Entry {
    /// What waits for the client's next token, and by which mechanism. Set between two steps.
    waits: Option<(Mechanism, Exchange)>,
    judging: Option<(Mechanism, Judging)>,
}

type Judging = Pin<Box<dyn Future<Output = (Judged, Place)> + Send>>;

/// What has become of a step.
enum Judged {
    GoesOn(Bytes, Exchange),
    In(Bytes, LoggedIn, Askers),
    Refused(Failure, Told),
    /// Nobody could judge it.
    Not,
    /// The login is good, and nobody speaks for the client at a cluster.
    Unspoken(LoggedIn, Unspoken),
}

impl Judged {
    /// Whether it was a guess that was wrong, and is told as such.
    fn is_a_guess(&self) -> bool {
        match self {
            Self::GoesOn(_, exchange) => exchange.given_up().is_some_and(|why| why.is_a_guess()),
            Self::Refused(failure, told) => *told == Told::NotYet && failure.why.is_a_guess(),
            Self::Unspoken(_, why) => !matches!(why, Unspoken::Unreached(..)),
            Self::In(..) | Self::Not => false,
        }
    }
}

/// Whether a refusal was told when it was decided, which is before it is final.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Told {
    Before,
    NotYet,
}

/// Judges a token.
async fn judge(gate: Arc<Gate>, tenant: Arc<Tenant>, exchange: Exchange, token: Bytes) -> Judged {
    let told = if exchange.given_up().is_some() { Told::Before } else { Told::NotYet };
    let failure = match gate.step(exchange, token).await {
        Some(Step::Challenge(challenge, exchange)) => return Judged::GoesOn(challenge, exchange),
        Some(Step::Done(last, logged_in)) => {
            match tenant.speaking_for(&logged_in.principal, logged_in.passable.as_ref()).await {
                Ok(askers) => return Judged::In(last, logged_in, askers),
                Err(why) => {
                    tokio::time::sleep(HELD_BACK).await;
                    return Judged::Unspoken(logged_in, why);
                }
            }
        }
        Some(Step::Failed(failure)) => failure,
        // The gate has asked for keys, and has none.
        Some(Step::WantsKeys(_)) | None => return Judged::Not,
    };
    tokio::time::sleep(HELD_BACK).await;
    Judged::Refused(failure, told)
}

impl Session {
    /// A step of the client's login has come.
    pub(super) fn judge(&mut self, asked: Asked) {
        let Some(gate) = self.entrance.gate.as_ref().map(Arc::clone) else {
            return self.engine.judged(self.now, Verdict::Unjudged);
        };
        match asked {
            Asked::Mechanism(name) => {
                let begun = Mechanism::named(&name).and_then(|mechanism| Some((mechanism, gate.begin(mechanism)?)));
                let verdict = if begun.is_some() { Verdict::Chosen } else { Verdict::NotOffered };
                self.entry.waits = begun;
                if self.entry.waits.is_none() {
                    self.login_ended(None, None, Outcome::NotOffered(&name));
                }
                self.engine.judged(self.now, verdict(gate.offered()));
            }
            Asked::Token(token) => {
                let Some((mechanism, exchange)) = self.entry.waits.take() else {
                    return self.engine.judged(self.now, Verdict::Unjudged);
                };
                let (tenant, tries) = (Arc::clone(&self.entrance.tenant), Arc::clone(&self.house.tries));
                let source = self.comes_from();
                let judging = async move {
                    let place = tries.place(source).await;
                    (judge(gate, tenant, exchange, token).await, place)
                };
                self.entry.judging = Some((mechanism, Box::pin(judging)));
            }
        }
    }

    pub(super) fn poll_judging(&mut self, cx: &mut Context<'_>) -> Moved {
        let Some((mechanism, judging)) = &mut self.entry.judging else { return Moved::No };
        let mechanism = *mechanism;
        let Poll::Ready((judged, place)) = judging.as_mut().poll(cx) else { return Moved::No };
        self.entry.judging = None;
        if !judged.is_a_guess() {
            place.give_back();
        }
        let verdict = match judged {
            Judged::GoesOn(challenge, exchange) => {
                if let Some(why) = exchange.given_up() {
                    self.refused(mechanism, None, why);
                }
                self.entry.waits = Some((mechanism, exchange));
                Verdict::Challenge(challenge)
            }
            Judged::In(token, logged_in, askers) => self.logged_in(mechanism, token, &logged_in, askers),
            Judged::Not => {
                self.login_ended(Some(mechanism), None, Outcome::NotJudged);
                Verdict::Unjudged
            }
            Judged::Refused(failure, told) => {
                if told == Told::NotYet {
                    self.refused(mechanism, failure.claimed.as_deref(), &failure.why);
                }
                Verdict::Refused(failure.why.told().to_owned())
            }
            Judged::Unspoken(logged_in, why) => {
                self.login_ended(Some(mechanism), Some(&logged_in.principal), Outcome::Unspoken(&why));
                match why {
                    Unspoken::Unreached(..) => Verdict::Unjudged,
                    Unspoken::Unmapped(_) | Unspoken::NothingToPass(_) | Unspoken::Refused(..) => {
                        Verdict::Refused(Why::WrongPassword.told().to_owned())
                    }
                }
            }
        };
        self.engine.judged(self.now, verdict);
        self.carry_out_effects();
        Moved::Yes
    }

    fn logged_in(&mut self, mechanism: Mechanism, token: Bytes, logged_in: &LoggedIn, askers: Askers) -> Verdict {
        let principal = Arc::clone(&logged_in.principal);
        let before = self.engine.client().principal.as_ref();
        if before.is_some_and(|before| *before != principal) {
            // The engine refuses it.
            self.login_ended(Some(mechanism), Some(&principal), Outcome::OtherPrincipal);
        } else {
            // Also if it has logged in again: what it has shown now may be newer.
            self.speak_as(askers);
            self.login_ended(Some(mechanism), Some(&principal), Outcome::Done);
        }
        let lifetime = logged_in.expires.map(|ends| ends.duration_since(SystemTime::now()).unwrap_or_default());
        // On the wire nothing stands for "for ever".
        let lifetime = lifetime.map(|lifetime| lifetime.max(Duration::from_millis(1)));
        Verdict::LoggedIn { token, principal, lifetime }
    }

    /// From now on links are those of the client's principal.
    pub(super) fn speak_as(&mut self, askers: Askers) {
        for (cluster, asker) in &askers {
            self.engine.learned(*cluster, Some(asker.known()));
        }
        self.askers = askers;
    }

    /// Counts and tells that a login is refused.
    fn refused(&self, mechanism: Mechanism, claimed: Option<&str>, why: &Why) {
        self.login_ended(Some(mechanism), claimed, Outcome::Refused(why));
    }

    fn login_ended(&self, mechanism: Option<Mechanism>, principal: Option<&str>, outcome: Outcome<'_>) {
        let listener = &self.entrance.listener;
        LoginEnded { connection: &self.connection, listener, mechanism, principal, outcome }.emit(&self.house.meters);
    }
}
