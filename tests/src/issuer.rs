//! An issuer of tokens for tests: it mints JWTs, and serves its keys and a token endpoint over HTTP.
//!
//! ```no_run
//! # fn main() -> anyhow::Result<()> {
//! use skein_tests::issuer::{Behaviour, Claims, Signature, TokenIssuer};
//! let issuer = TokenIssuer::start()?;
//! let token = issuer.mint(&Claims::of("alice"))?;
//! issuer.rotate(Signature::Es256)?;                    // the next tokens have another key, the old one is served still
//! issuer.keys().behave(Behaviour::Fails);
//! assert_eq!(issuer.keys().requests(), 0);
//! # Ok(()) }
//! ```

mod claims;
mod server;

use std::{
    collections::BTreeMap,
    net::{Ipv4Addr, SocketAddr},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use anyhow::{Context, Result};
use jsonwebtoken::{
    Algorithm, EncodingKey, Header, encode,
    jwk::{Jwk, JwkSet, PublicKeyUse},
};
use rcgen::{KeyPair, PKCS_ECDSA_P256_SHA256, PKCS_RSA_SHA256, RsaKeySize};
use tokio::runtime::{Builder, Runtime};

pub use self::claims::Claims;

/// The audience of tokens unless their claims say another.
pub const AUDIENCE: &str = "kafka";

/// How long tokens of the endpoint last unless `tokens_last` says otherwise.
const LIFETIME: Duration = Duration::from_secs(300);

/// What a key signs with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signature {
    /// RSA of 2048 bits with SHA-256.
    Rs256,
    /// ECDSA on P-256.
    Es256,
}

/// How an endpoint answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Behaviour {
    /// As it should.
    Answers,
    /// With 500.
    Fails,
    /// Not at all; the connection stays open.
    Stalls,
    /// With 200 and this body.
    Says(String),
}

/// An issuer that listens. Dropping it closes its port.
#[derive(Debug)]
pub struct TokenIssuer {
    address: SocketAddr,
    state: Arc<State>,
    /// Serves for as long as this lives.
    _runtime: Runtime,
}

/// One endpoint: what tests order of it, and what it has seen.
#[derive(Debug)]
pub struct Endpoint {
    behaviour: Mutex<Behaviour>,
    requests: AtomicU64,
}

#[derive(Debug)]
struct State {
    url: String,
    keys: Mutex<Keys>,
    /// Secrets by client id.
    clients: Mutex<BTreeMap<String, String>>,
    lifetime: Mutex<Duration>,
    at_keys: Endpoint,
    at_tokens: Endpoint,
}

#[derive(Debug)]
struct Keys {
    /// How many there have been.
    made: u32,
    /// What tokens are signed with now. It is served unless it was forgotten.
    signing: Key,
    served: Vec<Key>,
}

#[derive(Clone)]
struct Key {
    signing: EncodingKey,
    header: Header,
    public: Jwk,
}

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Key").field(&self.header.kid).finish()
    }
}

impl Endpoint {
    fn new() -> Self {
        Self { behaviour: Mutex::new(Behaviour::Answers), requests: AtomicU64::new(0) }
    }

    /// From now on it answers like this.
    pub fn behave(&self, behaviour: Behaviour) {
        *locked(&self.behaviour) = behaviour;
    }

    /// How many requests have come.
    pub fn requests(&self) -> u64 {
        self.requests.load(Ordering::Relaxed)
    }

    /// Counts a request, and says how to answer it.
    fn asked(&self) -> Behaviour {
        self.requests.fetch_add(1, Ordering::Relaxed);
        locked(&self.behaviour).clone()
    }
}

impl TokenIssuer {
    /// Starts one with an RSA key, on a port that the system chooses.
    pub fn start() -> Result<Self> {
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let state = Arc::new(State {
            url: format!("http://{address}"),
            keys: Mutex::new(Keys::new()?),
            clients: Mutex::default(),
            lifetime: Mutex::new(LIFETIME),
            at_keys: Endpoint::new(),
            at_tokens: Endpoint::new(),
        });
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        runtime.spawn(server::serve(listener, state.clone()));
        Ok(Self { address, state, _runtime: runtime })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its name, which is the claim `iss` of its tokens.
    pub fn name(&self) -> &str {
        &self.state.url
    }

    /// Where its keys are served, as a JWKS.
    pub fn keys_url(&self) -> String {
        format!("{}/keys", self.state.url)
    }

    /// Where clients that are admitted get tokens for their secret (OAuth 2.0, client credentials).
    pub fn token_url(&self) -> String {
        format!("{}/token", self.state.url)
    }

    /// The endpoint of the keys.
    pub fn keys(&self) -> &Endpoint {
        &self.state.at_keys
    }

    /// The endpoint of the tokens.
    pub fn tokens(&self) -> &Endpoint {
        &self.state.at_tokens
    }

    /// Admits a client at the token endpoint, or changes its secret. Its tokens are of the subject `id`.
    pub fn admit(&self, id: &str, secret: &str) {
        locked(&self.state.clients).insert(id.to_owned(), secret.to_owned());
    }

    /// From now on tokens of the endpoint last so long.
    pub fn tokens_last(&self, lifetime: Duration) {
        *locked(&self.state.lifetime) = lifetime;
    }

    /// A token signed with the newest key.
    pub fn mint(&self, claims: &Claims) -> Result<String> {
        self.state.mint(claims)
    }

    /// From now on a new key is served; tokens are signed with the same one as before until `rotate`.
    pub fn publish(&self, signature: Signature) -> Result<()> {
        locked(&self.state.keys).add(signature).map(drop)
    }

    /// From now on tokens are signed with a new key, which is served from now on too; the keys before it are served still.
    ///
    /// Who has fetched the keys before does not know it. An issuer that wants nobody to be refused does as `publish` and
    /// `sign_with_newest` do, with some time between.
    pub fn rotate(&self, signature: Signature) -> Result<()> {
        let keys = &mut locked(&self.state.keys);
        keys.signing = keys.add(signature)?;
        Ok(())
    }

    /// From now on tokens are signed with the key that was published last.
    pub fn sign_with_newest(&self) {
        let keys = &mut locked(&self.state.keys);
        if let Some(newest) = keys.served.last().cloned() {
            keys.signing = newest;
        }
    }

    /// From now on no key is served but the newest.
    pub fn forget_old_keys(&self) {
        let served = &mut locked(&self.state.keys).served;
        served.drain(..served.len().saturating_sub(1));
    }
}

impl State {
    fn mint(&self, claims: &Claims) -> Result<String> {
        let keys = locked(&self.keys);
        Ok(encode(&keys.signing.header, &claims.json(&self.url)?, &keys.signing.signing)?)
    }

    fn jwks(&self) -> Result<String> {
        let keys = locked(&self.keys).served.iter().map(|key| key.public.clone()).collect();
        Ok(serde_json::to_string(&JwkSet { keys })?)
    }

    /// What the token endpoint says to a client; `None`: it is not admitted, or its secret is another.
    fn grant(&self, id: &str, secret: &str) -> Result<Option<String>> {
        if locked(&self.clients).get(id).is_none_or(|known| known != secret) {
            return Ok(None);
        }
        let lifetime = *locked(&self.lifetime);
        let token = self.mint(&Claims::of(id).lasting(lifetime))?;
        let body = serde_json::json!({
            "access_token": token, "token_type": "Bearer", "expires_in": lifetime.as_secs(), "scope": "kafka",
        });
        Ok(Some(body.to_string()))
    }
}

impl Keys {
    fn new() -> Result<Self> {
        let first = key(1, Signature::Rs256)?;
        Ok(Self { made: 1, signing: first.clone(), served: vec![first] })
    }

    fn add(&mut self, signature: Signature) -> Result<Key> {
        let new = key(self.made + 1, signature)?;
        self.made += 1;
        self.served.push(new.clone());
        Ok(new)
    }
}

fn key(number: u32, signature: Signature) -> Result<Key> {
    let (signing, algorithm) = match signature {
        Signature::Rs256 => {
            let pair = KeyPair::generate_rsa_for(&PKCS_RSA_SHA256, RsaKeySize::_2048)?;
            (EncodingKey::from_rsa_pem(pair.serialize_pem().as_bytes())?, Algorithm::RS256)
        }
        Signature::Es256 => {
            let pair = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)?;
            (EncodingKey::from_ec_pem(pair.serialize_pem().as_bytes())?, Algorithm::ES256)
        }
    };
    let id = format!("key-{number}");
    let mut public = Jwk::from_encoding_key(&signing, algorithm).context("the public half of a key")?;
    public.common.key_id = Some(id.clone());
    public.common.public_key_use = Some(PublicKeyUse::Signature);
    let mut header = Header::new(algorithm);
    header.kid = Some(id);
    Ok(Key { signing, header, public })
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use jsonwebtoken::{DecodingKey, Validation, decode, decode_header};
    use serde_json::Value;

    use super::*;
    use crate::http;

    /// The subject of a token, if a key that is served now has signed it.
    fn verified(issuer: &TokenIssuer, token: &str) -> Result<String> {
        let jwks: JwkSet = serde_json::from_str(&get(issuer, "/keys")?)?;
        let header = decode_header(token)?;
        let jwk = jwks.find(header.kid.as_deref().context("no key id")?).context("the key is not served")?;
        let mut validation = Validation::new(header.alg);
        validation.set_audience(&[AUDIENCE]);
        validation.set_issuer(&[issuer.name()]);
        let claims = decode::<Value>(token, &DecodingKey::from_jwk(jwk)?, &validation)?.claims;
        Ok(claims["sub"].as_str().context("no subject")?.to_owned())
    }

    fn get(issuer: &TokenIssuer, path: &str) -> Result<String> {
        let request = format!("GET {path} HTTP/1.1\r\nHost: issuer\r\nConnection: close\r\n\r\n");
        let answer = http::ask(issuer.address(), &request)?;
        anyhow::ensure!(answer.code == 200, "{}", answer.code);
        Ok(answer.body)
    }

    fn post(issuer: &TokenIssuer, head: &str, body: &str) -> Result<http::Answer> {
        let length = body.len();
        let head =
            format!("POST /token HTTP/1.1\r\nHost: issuer\r\nConnection: close\r\nContent-Length: {length}\r\n{head}");
        http::ask(issuer.address(), &format!("{head}\r\n{body}"))
    }

    #[test]
    fn tokens_hold_while_their_key_is_served() -> Result<()> {
        let issuer = TokenIssuer::start()?;
        let first = issuer.mint(&Claims::of("alice"))?;
        issuer.publish(Signature::Rs256)?;
        assert_eq!(decode_header(&issuer.mint(&Claims::of("alice"))?)?.kid, decode_header(&first)?.kid);
        issuer.sign_with_newest();
        assert_ne!(decode_header(&issuer.mint(&Claims::of("alice"))?)?.kid, decode_header(&first)?.kid);
        issuer.rotate(Signature::Es256)?;
        let second = issuer.mint(&Claims::of("bob"))?;
        assert_eq!((verified(&issuer, &first)?, verified(&issuer, &second)?), ("alice".into(), "bob".into()));
        issuer.forget_old_keys();
        assert!(verified(&issuer, &first).is_err());
        assert_eq!(verified(&issuer, &second)?, "bob");
        assert_eq!(issuer.keys().requests(), 4);
        Ok(())
    }

    #[test]
    fn claims_can_be_wrong() -> Result<()> {
        let issuer = TokenIssuer::start()?;
        let wrong = [
            Claims::of("alice").for_audience("others"),
            Claims::of("alice").from_issuer("others"),
            Claims::of("alice").issued_ago(Duration::from_secs(1000)).lasting(Duration::from_secs(300)),
        ];
        for claims in wrong {
            assert!(verified(&issuer, &issuer.mint(&claims)?).is_err(), "{claims:?}");
        }
        Ok(())
    }

    #[test]
    fn a_client_gets_a_token_for_its_secret() -> Result<()> {
        let issuer = TokenIssuer::start()?;
        issuer.admit("alice", "s3cret%");
        let grant = "grant_type=client_credentials";
        // "alice:s3cret%25": the parts of a header are encoded as in a form (RFC 6749, 2.3.1).
        let by_header = post(&issuer, "Authorization: Basic YWxpY2U6czNjcmV0JTI1\r\n", grant)?;
        let by_form = post(&issuer, "", &format!("{grant}&client_id=alice&client_secret=s3cret%25"))?;
        for answer in [by_header, by_form] {
            let body: Value = serde_json::from_str(&answer.body)?;
            assert_eq!(verified(&issuer, body["access_token"].as_str().context("no token")?)?, "alice");
        }
        assert_eq!(post(&issuer, "", &format!("{grant}&client_id=alice&client_secret=wrong"))?.code, 401);
        assert_eq!(post(&issuer, "", "client_id=alice&client_secret=s3cret%25")?.code, 400);
        assert_eq!(issuer.tokens().requests(), 4);
        Ok(())
    }

    #[test]
    fn an_endpoint_behaves_as_ordered() -> Result<()> {
        let issuer = TokenIssuer::start()?;
        issuer.keys().behave(Behaviour::Fails);
        assert!(get(&issuer, "/keys").is_err());
        issuer.keys().behave(Behaviour::Says("{}".to_owned()));
        assert_eq!(get(&issuer, "/keys")?, "{}");
        Ok(())
    }
}
