//! Judging logins: what Skein says to a client that says who it is.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use skein_settings::Secret;

use crate::attempt::Credential;
use crate::bearer::{self, Presented};
use crate::hash::Hash;
use crate::keys::Keys;
use crate::mechanism::Mechanism;
use crate::name::{MOST_NAME, MOST_PASSWORD, name};
use crate::scram::server::{AwaitingProof, ClientFirst, Owner};
use crate::token::{MOST_TOKEN, TokenFault, TokenRules, Verified};
use crate::users::{Decoys, Users};
use crate::why::Why;

/// Bytes of a client's message: a token, and what may go with it.
pub const MOST_MESSAGE: usize = MOST_TOKEN;

/// How tokens are judged.
#[derive(Clone, Debug)]
pub struct Tokens {
    /// Which are taken.
    pub rules: TokenRules,
    /// The keys that they are signed with.
    pub keys: Arc<Keys>,
}

/// Judges the logins of one listener. It does not change: where users or keys change, there is another one, by which logins
/// are judged that begin then.
#[derive(Clone, Debug)]
pub struct Judge {
    /// What clients may choose from, in the order in which they are told.
    pub mechanisms: Vec<Mechanism>,
    /// Who there is, for PLAIN and SCRAM. `None`: somebody else judges passwords, with what [`LoggedIn::passable`] has; then
    /// there is no SCRAM, which shows none.
    pub users: Option<Arc<Users>>,
    /// What those see who are nobody, if the file of users does not say.
    pub decoys: Decoys,
    /// How tokens are judged, for OAUTHBEARER.
    pub tokens: Option<Tokens>,
    /// How long a login holds at most (KIP-368).
    pub lifetime: Option<Duration>,
}

impl Judge {
    /// Begins an exchange. `None`: the mechanism is not offered.
    pub fn begin(self: &Arc<Self>, mechanism: Mechanism) -> Option<Exchange> {
        let state = match mechanism {
            _ if !self.mechanisms.contains(&mechanism) => return None,
            Mechanism::Plain => State::AwaitingPassword,
            Mechanism::ScramSha256 => State::AwaitingUser(Hash::Sha256, Arc::clone(self.users.as_ref()?)),
            Mechanism::ScramSha512 => State::AwaitingUser(Hash::Sha512, Arc::clone(self.users.as_ref()?)),
            Mechanism::OAuthBearer => State::AwaitingToken(self.tokens.clone()?),
        };
        Some(Exchange { judge: Arc::clone(self), state })
    }

    fn logged_in(&self, principal: Arc<str>, ends: Option<SystemTime>, now: SystemTime) -> LoggedIn {
        let limit = self.lifetime.and_then(|lifetime| now.checked_add(lifetime));
        let expires = [ends, limit].into_iter().flatten().min();
        LoggedIn { principal, expires, passable: None }
    }
}

/// Who a client is.
#[derive(Clone, Debug)]
pub struct LoggedIn {
    /// Its principal, without Kafka's `User:`.
    pub principal: Arc<str>,
    /// When it has to log in again; `None`: never.
    pub expires: Option<SystemTime>,
    /// What it showed of itself, where that could be shown to a cluster too: a password or a token.
    pub passable: Option<Credential>,
}

/// A login on its way, waiting for what the client says next.
pub struct Exchange {
    judge: Arc<Judge>,
    state: State,
}

enum State {
    AwaitingPassword,
    AwaitingUser(Hash, Arc<Users>),
    AwaitingProof(AwaitingProof),
    AwaitingToken(Tokens),
    /// The client has heard that its token is not taken, and says so; then it is told in Kafka's words.
    GivenUp(Why),
}

/// What becomes of a login.
#[derive(Debug)]
pub enum Step {
    /// Answer with this, and go on with what the client says next.
    Challenge(Bytes, Exchange),
    /// Answer with this: it is in.
    Done(Bytes, LoggedIn),
    /// It has failed: answer `SASL_AUTHENTICATION_FAILED` with [`Why::told`] and close.
    Failed(Failure),
    /// The token is signed with a key that is not known. There may be newer keys.
    WantsKeys(AwaitingKeys),
}

/// A login that has failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Who the client said it was, if it came to that: at most 255 bytes without control characters.
    pub claimed: Option<Arc<str>>,
    /// Why it failed.
    pub why: Why,
}

impl From<Why> for Step {
    fn from(why: Why) -> Self {
        Self::Failed(Failure { claimed: None, why })
    }
}

impl Exchange {
    /// Whether the next step takes milliseconds of work: it is not for a thread that others wait for.
    pub fn is_costly(&self) -> bool {
        matches!(self.state, State::AwaitingPassword) && self.judge.users.is_some()
    }

    /// Why it will fail whatever the client says next: a token was not taken, which a client hears as a challenge (RFC 7628,
    /// 3.2.3). Some take that for success and never say more.
    pub fn given_up(&self) -> Option<&Why> {
        match &self.state {
            State::GivenUp(why) => Some(why),
            State::AwaitingPassword | State::AwaitingUser(..) | State::AwaitingProof(_) | State::AwaitingToken(_) => {
                None
            }
        }
    }

    /// Judges what the client says.
    #[must_use]
    pub fn step(self, now: SystemTime, message: &[u8]) -> Step {
        let Self { judge, state } = self;
        if message.len() > MOST_MESSAGE {
            return Why::Malformed("it has more than 64 KiB").into();
        }
        match state {
            State::AwaitingPassword => plain(&judge, message, now),
            State::AwaitingUser(hash, users) => match challenge(&judge.decoys, &users, hash, message) {
                Ok((answer, waiting)) => Step::Challenge(answer, Self { judge, state: State::AwaitingProof(waiting) }),
                Err(why) => why.into(),
            },
            State::AwaitingProof(waiting) => {
                let claimed: Arc<str> = Arc::from(waiting.user.as_str());
                match waiting.judge(message) {
                    Ok(proof) => Step::Done(proof, judge.logged_in(claimed, None, now)),
                    Err(why) => Step::Failed(Failure { claimed: Some(claimed), why }),
                }
            }
            State::AwaitingToken(tokens) => match Presented::parse(message) {
                Ok(presented) => {
                    let waiting = AwaitingKeys { judge, rules: tokens.rules, presented };
                    waiting.judge(now, &tokens.keys, Newer::MayBe)
                }
                Err(why) => why.into(),
            },
            State::GivenUp(why) => why.into(),
        }
    }
}

impl fmt::Debug for Exchange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.state {
            State::AwaitingPassword => "AwaitingPassword",
            State::AwaitingUser(..) => "AwaitingUser",
            State::AwaitingProof(_) => "AwaitingProof",
            State::AwaitingToken(_) => "AwaitingToken",
            State::GivenUp(_) => "GivenUp",
        })
    }
}

/// A login whose token is signed with an unknown key.
pub struct AwaitingKeys {
    judge: Arc<Judge>,
    rules: TokenRules,
    presented: Presented,
}

/// Whether there may be newer keys than those at hand.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Newer {
    MayBe,
    No,
}

impl AwaitingKeys {
    /// Judges the token by newer keys, or by those that there are if none are to be had. It does not ask again.
    #[must_use]
    pub fn resume(self, now: SystemTime, keys: &Keys) -> Step {
        self.judge(now, keys, Newer::No)
    }

    fn judge(self, now: SystemTime, keys: &Keys, newer: Newer) -> Step {
        let Presented { authzid, token, extensions } = &self.presented;
        match self.rules.judge(token.expose(), keys, now) {
            Err(TokenFault::UnknownKey) if newer == Newer::MayBe => Step::WantsKeys(self),
            Err(fault) => {
                let state = State::GivenUp(fault.into());
                Step::Challenge(Bytes::from_static(bearer::NOT_TAKEN), Exchange { judge: self.judge, state })
            }
            Ok(Verified { principal, .. }) if !authzid.is_empty() && *authzid != *principal => {
                Step::Failed(Failure { claimed: Some(principal), why: Why::OtherIdentity })
            }
            Ok(Verified { principal, expires }) => {
                let passable = Credential::Bearer { token: token.clone(), extensions: extensions.clone() };
                let logged_in = self.judge.logged_in(principal, Some(expires), now);
                Step::Done(Bytes::new(), LoggedIn { passable: Some(passable), ..logged_in })
            }
        }
    }
}

impl fmt::Debug for AwaitingKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AwaitingKeys")
    }
}

/// PLAIN: what a client says is all that there is (RFC 4616).
fn plain(judge: &Judge, message: &[u8], now: SystemTime) -> Step {
    let parts = std::str::from_utf8(message).ok().map(|text| text.split('\0').collect::<Vec<_>>());
    let Some([authzid, user, password]) = parts.as_deref() else {
        return Why::Malformed("it is not a name and a password between zero bytes").into();
    };
    let user = match name(user) {
        Ok(user) => user,
        Err(what) => return Why::Malformed(what).into(),
    };
    if password.is_empty() || password.len() > MOST_PASSWORD || authzid.len() > MOST_NAME {
        return Why::Malformed("a password or an authorization id of no length that it may have").into();
    }
    let claimed: Arc<str> = Arc::from(&*user);
    let failed = |why| Step::Failed(Failure { claimed: Some(Arc::clone(&claimed)), why });
    if !authzid.is_empty() && name(authzid).as_deref() != Ok(&*user) {
        return failed(Why::OtherIdentity);
    }
    let judged = match &judge.users {
        None => Ok(()),
        Some(users) => {
            let known = users.any(&user);
            // Nobody costs as much as a user, and has no right password. What is nobody's is made for users as well: it takes
            // microseconds only, and somebody counts those.
            let nobodys = users.decoys(&judge.decoys).any(users, &user);
            let is_right = known.unwrap_or(&nobodys).is_of(password);
            match (known, is_right) {
                (None, _) => Err(Why::UnknownUser),
                (Some(_), false) => Err(Why::WrongPassword),
                (Some(_), true) => Ok(()),
            }
        }
    };
    match judged {
        Err(why) => failed(why),
        Ok(()) => {
            let passable = Credential::Plain { user: user.into_owned(), password: Secret::new(*password) };
            let logged_in = judge.logged_in(claimed, None, now);
            Step::Done(Bytes::new(), LoggedIn { passable: Some(passable), ..logged_in })
        }
    }
}

/// SCRAM's first answer. Nobody is answered as somebody would be.
fn challenge(decoys: &Decoys, users: &Users, hash: Hash, message: &[u8]) -> Result<(Bytes, AwaitingProof), Why> {
    let first = ClientFirst::parse(message)?;
    // Made for users as well, so that it takes as long for them.
    let nobodys = users.decoys(decoys).stored(users, &first.user, hash);
    let (stored, owner) = match users.stored(&first.user, hash) {
        Some(stored) => (stored, Owner::Known),
        None => (&nobodys, Owner::Nobody),
    };
    AwaitingProof::challenge(first, stored.clone(), owner)
}
