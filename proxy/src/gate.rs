//! Where clients of a listener log in: whom it lets in follows the files that it was made from, as they change.

use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use bytes::Bytes;
use skein_config::blueprint::VirtualCluster;
use skein_config::login::{self as declared, Here, KeysFrom, ListenerLogin};
use skein_link::keys::{KeyOrigin, KeySource, USUAL_REFRESH};
use skein_link::{Endpoint, tls};
use skein_login::{Exchange, Judge, MOST_USERS_BYTES, Mechanism, Step, TokenRules, Tokens, Users};
use tokio::sync::watch;

use crate::events::NoDecoys;
use crate::follow::Followed;
use crate::house::House;

/// Where clients of a listener log in.
pub(crate) struct Gate {
    here: Here,
    /// `None`: no password is judged here.
    users: Option<watch::Receiver<Arc<Users>>>,
    /// `None`: no token is judged here.
    keys: Option<KeySource>,
    house: Arc<House>,
}

/// A file that is needed cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("`{key}` of listener `{listener}` of virtual cluster `{virtual_cluster}`: {what}")]
pub struct Unusable {
    virtual_cluster: Arc<str>,
    listener: Arc<str>,
    key: &'static str,
    what: String,
}

/// The gates of a virtual cluster, one for each of its listeners; `None`: Skein judges no logins there.
pub(crate) type Gates = Vec<Option<Arc<Gate>>>;

/// Opens the gates of a virtual cluster.
pub(crate) fn gates(of: &VirtualCluster, house: &Arc<House>) -> Result<Gates, Unusable> {
    let gate = |listener: &skein_config::blueprint::Listener| {
        let ListenerLogin::Here(here) = &listener.login else { return Ok(None) };
        let gate = Gate::open(Here::clone(here), house).map_err(|(key, what)| Unusable {
            virtual_cluster: Arc::clone(&of.name),
            listener: Arc::clone(&listener.name),
            key,
            what,
        })?;
        Ok(Some(Arc::new(gate)))
    };
    of.listeners.iter().map(gate).collect()
}

/// Where the keys of tokens come from.
fn keys(tokens: &declared::Tokens) -> Result<KeySource, (&'static str, String)> {
    let origin = match tokens.keys.get_ref() {
        KeysFrom::File(path) => KeyOrigin::File(path.clone()),
        KeysFrom::Web(url) => {
            let ca = tokens.ca.clone();
            tls::trusting(ca.as_ref()).map_err(|fault| ("ca", fault.what))?;
            let endpoint = Endpoint::new(url, move || tls::trusting(ca.as_ref())).map_err(|what| ("keys", what))?;
            KeyOrigin::Endpoint(endpoint, USUAL_REFRESH)
        }
    };
    Ok(KeySource::start(origin))
}

/// The users of a file, read once.
///
/// # Errors
/// It cannot be read, or has a fault.
pub(crate) fn users_in(path: &Path) -> Result<Users, String> {
    Followed { path: path.to_owned(), most: MOST_USERS_BYTES }.read(users).map(|(users, _)| users)
}

fn users(file: &[u8]) -> Result<Users, String> {
    Users::parse(file).map_err(|wrong| wrong.to_string())
}

impl Gate {
    fn open(here: Here, house: &Arc<House>) -> Result<Self, (&'static str, String)> {
        let users = match &here.users {
            None => None,
            Some(path) => {
                let file = Followed { path: path.get_ref().clone(), most: MOST_USERS_BYTES };
                let first = file.read(users).map_err(|what| ("users", what))?;
                if !first.0.has_decoys() {
                    NoDecoys { file: &file.path.display().to_string() }.emit();
                }
                Some(file.follow(first, users, Arc::clone(&house.meters)))
            }
        };
        let keys = match &here.tokens {
            None => None,
            Some(tokens) => Some(keys(tokens)?),
        };
        Ok(Self { here, users, keys, house: Arc::clone(house) })
    }

    /// The names of what is offered.
    pub(crate) fn offered(&self) -> Vec<Arc<str>> {
        self.here.mechanisms.iter().map(|mechanism| Arc::from(mechanism.name())).collect()
    }

    /// Begins with a mechanism; `None`: it is not offered.
    pub(crate) fn begin(&self, mechanism: Mechanism) -> Option<Exchange> {
        let judge = Judge {
            mechanisms: self.here.mechanisms.clone(),
            users: self.users.as_ref().map(|users| Arc::clone(&users.borrow())),
            decoys: self.house.decoys.clone(),
            tokens: self.tokens(),
            lifetime: self.here.lifetime,
        };
        Arc::new(judge).begin(mechanism)
    }

    fn tokens(&self) -> Option<Tokens> {
        let (declared, keys) = (self.here.tokens.as_ref()?, self.keys.as_ref()?);
        let rules = TokenRules {
            issuers: vec![declared.issuer.clone()],
            audiences: declared.audience.clone(),
            principal_claim: declared.principal.clone(),
            scopes: declared.scopes.clone(),
            clock_skew: declared.skew,
        };
        Some(Tokens { rules, keys: keys.keys() })
    }

    /// Judges a step, beside those who must not wait. `None`: it could not be judged.
    pub(crate) async fn step(&self, exchange: Exchange, token: Bytes) -> Option<Step> {
        let step = if exchange.is_costly() {
            let turn = Arc::clone(&self.house.hashing).acquire_owned().await.ok()?;
            let work = move || {
                let _turn = turn;
                exchange.step(SystemTime::now(), &token)
            };
            tokio::task::spawn_blocking(work).await.ok()?
        } else {
            exchange.step(SystemTime::now(), &token)
        };
        match step {
            Step::WantsKeys(waiting) => {
                let source = self.keys.as_ref()?;
                let keys = source.newer().await;
                // Without an answer from who has the keys nobody can say that there is none of that name.
                source.failure().is_none().then(|| waiting.resume(SystemTime::now(), &keys))
            }
            judged @ (Step::Challenge(..) | Step::Done(..) | Step::Failed(_)) => Some(judged),
        }
    }
}
