//! A judge with users and keys, and a client that talks to it.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime};

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use serde_json::json;
use skein_login::{
    Attempt, Credential, Decoys, Hash, Judge, Keys, Mechanism, Next, Step, Stored, TokenRules, Tokens, User, Users,
};
use skein_settings::Secret;

/// Seconds since 1970 at which all of this happens.
pub(crate) const SECONDS: u64 = 1_700_000_000;

pub(crate) fn now() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(SECONDS)
}

/// A key that signs, and the set that has it.
pub(crate) struct Signer {
    id: String,
    key: EncodingKey,
    public: String,
}

impl Signer {
    pub(crate) fn new(id: &str) -> Self {
        let key = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap();
        let public = Ed25519KeyPair::from_pkcs8(key.as_ref()).unwrap();
        let public = URL_SAFE_NO_PAD.encode(public.public_key().as_ref());
        Self { id: id.to_owned(), key: EncodingKey::from_ed_der(key.as_ref()), public }
    }

    /// The set that has it.
    pub(crate) fn set(&self) -> String {
        let key = json!({ "kty": "OKP", "crv": "Ed25519", "kid": self.id, "x": self.public });
        json!({ "keys": [key] }).to_string()
    }

    pub(crate) fn keys(&self) -> Arc<Keys> {
        Arc::new(Keys::parse(self.set().as_bytes()).unwrap())
    }

    /// A token of somebody that ends so many seconds from now.
    pub(crate) fn token(&self, name: &str, ends: u64) -> Secret {
        let header = Header { kid: Some(self.id.clone()), ..Header::new(Algorithm::EdDSA) };
        let claims = json!({ "sub": name, "exp": SECONDS + ends });
        Secret::new(jsonwebtoken::encode(&header, &claims, &self.key).unwrap())
    }
}

pub(crate) fn signer() -> &'static Signer {
    static SIGNER: OnceLock<Signer> = OnceLock::new();
    SIGNER.get_or_init(|| Signer::new("first"))
}

/// A judge of all mechanisms, with users by name and password.
pub(crate) fn judge(users: &[(&str, &str)]) -> Judge {
    let kept = |hash, password: &str| Some(Stored::new(hash, password, 4096).unwrap());
    let user = |(name, password): &(&str, &str)| {
        let user = User { sha256: kept(Hash::Sha256, password), sha512: kept(Hash::Sha512, password) };
        ((*name).to_owned(), user)
    };
    let users: HashMap<_, _> = users.iter().map(user).collect();
    Judge {
        mechanisms: Mechanism::ALL.to_vec(),
        users: Some(Arc::new(Users::new(users))),
        decoys: Decoys::new().unwrap(),
        tokens: Some(Tokens { rules: TokenRules::default(), keys: signer().keys() }),
        lifetime: None,
    }
}

pub(crate) fn plain(user: &str, password: &str) -> Credential {
    Credential::Plain { user: user.to_owned(), password: Secret::new(password) }
}

pub(crate) fn scram(hash: Hash, user: &str, password: &str) -> Credential {
    Credential::Scram { hash, user: user.to_owned(), password: Secret::new(password) }
}

pub(crate) fn bearer(token: Secret) -> Credential {
    Credential::Bearer { token, extensions: vec![("tenant".to_owned(), "blue".to_owned())] }
}

/// Has a client log in to its end. `between` sees each message of the client, and may change it.
pub(crate) fn log_in(judge: &Arc<Judge>, credential: &Credential, mut between: impl FnMut(Bytes) -> Bytes) -> Step {
    let mut exchange = judge.begin(credential.mechanism()).unwrap();
    let (mut message, mut attempt) = Attempt::begin(credential).unwrap();
    // No mechanism has more steps.
    for _ in 0..3 {
        match exchange.step(now(), &between(message)) {
            Step::Challenge(challenge, next) => {
                let Next::Send(answer, after) = attempt.step(&challenge) else { panic!("the client gives up") };
                (exchange, message, attempt) = (next, answer, after);
            }
            Step::Done(last, logged_in) => {
                let next = attempt.step(&last);
                assert!(matches!(next, Next::Done), "the client does not believe it: {next:?}");
                return Step::Done(last, logged_in);
            }
            ended @ (Step::Failed(_) | Step::WantsKeys(_)) => return ended,
        }
    }
    panic!("it does not end");
}

/// The word for why a login failed, and what the client is told; the principal of one that did not.
pub(crate) fn outcome(step: Step) -> Result<String, (&'static str, &'static str)> {
    match step {
        Step::Done(_, logged_in) => Ok(logged_in.principal.to_string()),
        Step::Failed(failure) => Err((failure.why.word(), failure.why.told())),
        open @ (Step::Challenge(..) | Step::WantsKeys(_)) => panic!("it has not ended: {open:?}"),
    }
}
