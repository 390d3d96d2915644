//! The keys that tokens are signed with: a JSON Web Key Set (RFC 7517).

use std::fmt;

use jsonwebtoken::jwk::{AlgorithmParameters, EllipticCurve, Jwk, KeyOperations, PublicKeyUse};
use jsonwebtoken::{Algorithm, DecodingKey};
use serde_json::Value;

/// Bytes of a set.
pub const MOST_BYTES: usize = 1 << 20;
/// Keys of a set.
const MOST_KEYS: usize = 1000;

/// Keys, as they were at some time. An empty set takes no token.
#[derive(Clone, Default)]
pub struct Keys {
    keys: Vec<Key>,
}

#[derive(Clone)]
struct Key {
    id: Option<String>,
    /// What it may sign with.
    algorithms: Vec<Algorithm>,
    key: DecodingKey,
}

/// What becomes of a search for a key.
pub(crate) enum Found<'k> {
    /// It is there.
    Key(&'k DecodingKey),
    /// There is one of that name, for other algorithms.
    OfAnotherKind,
    /// There is none of that name.
    Unknown,
}

impl Keys {
    /// Reads a set. Keys that Skein has no use for are left out: those for encryption, shared secrets, unknown curves.
    ///
    /// # Errors
    /// It is no set, or no key of it can be used.
    pub fn parse(set: &[u8]) -> Result<Self, String> {
        if set.len() > MOST_BYTES {
            return Err("a set of keys of more than 1 MiB".to_owned());
        }
        let set: Value = serde_json::from_slice(set).map_err(|_| "no JSON".to_owned())?;
        let set = set.get("keys").and_then(Value::as_array).ok_or("JSON without a list `keys`")?;
        if set.len() > MOST_KEYS {
            return Err(format!("a set of more than {MOST_KEYS} keys"));
        }
        let keys: Vec<_> = set.iter().filter_map(Key::read).collect();
        if keys.is_empty() {
            Err("a set without a key that signs with RSA, EC or Ed25519".to_owned())
        } else {
            Ok(Self { keys })
        }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// The key with an id that may sign so. A token without an id fits if one key only could have signed it.
    pub(crate) fn find(&self, id: Option<&str>, algorithm: Algorithm) -> Found<'_> {
        let named = || self.keys.iter().filter(|key| id.is_none() || key.id.as_deref() == id);
        let mut fitting = named().filter(|key| key.algorithms.contains(&algorithm));
        match (fitting.next(), fitting.next()) {
            (Some(only), None) => Found::Key(&only.key),
            // Two keys of one id: the set is wrong, and which of them is meant is a guess.
            (Some(_), Some(_)) => Found::OfAnotherKind,
            (None, _) if named().next().is_some() => Found::OfAnotherKind,
            (None, _) => Found::Unknown,
        }
    }
}

impl Key {
    fn read(written: &Value) -> Option<Self> {
        let jwk: Jwk = serde_json::from_value(written.clone()).ok()?;
        let common = &jwk.common;
        let is_for_signatures = common.public_key_use.as_ref().is_none_or(|used| *used == PublicKeyUse::Signature)
            && common.key_operations.as_ref().is_none_or(|may| may.contains(&KeyOperations::Verify));
        let mut algorithms = algorithms(&jwk.algorithm);
        if let Some(only) = common.key_algorithm {
            let only = Algorithm::try_from(only).ok();
            algorithms.retain(|algorithm| Some(*algorithm) == only);
        }
        if !is_for_signatures || algorithms.is_empty() {
            return None;
        }
        let key = DecodingKey::from_jwk(&jwk).ok()?;
        Some(Self { id: common.key_id.clone(), algorithms, key })
    }
}

/// What a key can sign with. Never a shared secret: whoever can check such a token can make one.
fn algorithms(of: &AlgorithmParameters) -> Vec<Algorithm> {
    use Algorithm::{ES256, ES384, EdDSA, PS256, PS384, PS512, RS256, RS384, RS512};
    if matches!(of, AlgorithmParameters::RSA(_)) {
        return vec![RS256, RS384, RS512, PS256, PS384, PS512];
    }
    let curve = if let AlgorithmParameters::EllipticCurve(key) = of {
        Some(&key.curve)
    } else if let AlgorithmParameters::OctetKeyPair(key) = of {
        Some(&key.curve)
    } else {
        None
    };
    let signs = [(EllipticCurve::P256, ES256), (EllipticCurve::P384, ES384), (EllipticCurve::Ed25519, EdDSA)];
    signs.into_iter().filter(|(of, _)| Some(of) == curve).map(|(_, algorithm)| algorithm).collect()
}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keys").field("len", &self.keys.len()).finish_non_exhaustive()
    }
}
