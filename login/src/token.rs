//! Tokens: which are taken, and whose they are.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use jsonwebtoken::errors::ErrorKind;
use jsonwebtoken::{Algorithm, DecodingKey, Validation};
use serde_json::Value;

use crate::keys::{Found, Keys};
use crate::name::MOST_NAME;

/// Bytes of a token.
pub const MOST_TOKEN: usize = 64 << 10;
/// Seconds of a time that a token may name: the year 9999, as a guard against numbers that are no time.
const MOST_SECONDS: u64 = 253_402_300_799;
/// How long a session lasts at least whose token is past its time by less than clocks may differ.
const LEAST: Duration = Duration::from_secs(1);

/// Which tokens are taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenRules {
    /// Who may have issued them (`iss`), one of these. Empty: whoever has a key.
    pub issuers: Vec<String>,
    /// Whom they have to be for (`aud`), one of these. Empty: anybody, which takes tokens that were made for others.
    pub audiences: Vec<String>,
    /// The claim that names the principal.
    pub principal_claim: String,
    /// What they have to permit (`scope` or `scp`), all of these.
    pub scopes: Vec<String>,
    /// How far the issuer's clock may be from Skein's.
    pub clock_skew: Duration,
}

impl Default for TokenRules {
    /// Whatever a key of the set has signed, by its `sub`, with 30 seconds between clocks, as Kafka has it.
    fn default() -> Self {
        Self {
            issuers: Vec::new(),
            audiences: Vec::new(),
            principal_claim: "sub".to_owned(),
            scopes: Vec::new(),
            clock_skew: Duration::from_secs(30),
        }
    }
}

/// Why a token is not taken, in words that follow "the token".
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TokenFault {
    /// It is no JWT.
    #[error("is no JSON Web Token")]
    NoToken,
    /// It is not signed, by a shared secret, or in a way that is not known.
    #[error("is signed in a way that is not taken: none, a shared secret, or unknown")]
    Algorithm,
    /// Its head has something that must be understood and is not.
    #[error("has a head that asks for more than is known")]
    Critical,
    /// Its key is not in the set.
    #[error("is signed with a key that is not in the set")]
    UnknownKey,
    /// Its key is another sort of key than its algorithm needs, or it names none of several.
    #[error("does not say with which key of the set it is signed, or with one for another algorithm")]
    AnotherKey,
    /// The signature is wrong.
    #[error("has a wrong signature")]
    Signature,
    /// It does not say when it ends.
    #[error("does not say when it expires")]
    NoExpiry,
    /// It is past its time.
    #[error("has expired")]
    Expired,
    /// It is before its time.
    #[error("is not valid yet")]
    NotYet,
    /// Somebody else has issued it.
    #[error("is not of an issuer that is taken")]
    Issuer,
    /// It is for somebody else.
    #[error("is for another audience")]
    Audience,
    /// It does not permit what is asked for.
    #[error("is without a scope that is asked for")]
    Scope,
    /// It names nobody.
    #[error("names no principal")]
    NoPrincipal,
}

impl TokenFault {
    /// A word for a metric.
    pub fn word(self) -> &'static str {
        match self {
            Self::NoToken => "no_token",
            Self::Algorithm => "token_algorithm",
            Self::Critical => "token_critical",
            Self::UnknownKey => "token_unknown_key",
            Self::AnotherKey => "token_another_key",
            Self::Signature => "token_signature",
            Self::NoExpiry => "token_no_expiry",
            Self::Expired => "token_expired",
            Self::NotYet => "token_not_yet",
            Self::Issuer => "token_issuer",
            Self::Audience => "token_audience",
            Self::Scope => "token_scope",
            Self::NoPrincipal => "token_no_principal",
        }
    }
}

/// What a token says that is taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Verified {
    pub(crate) principal: Arc<str>,
    pub(crate) expires: SystemTime,
}

impl TokenRules {
    /// Judges a token.
    pub(crate) fn judge(&self, token: &str, keys: &Keys, now: SystemTime) -> Result<Verified, TokenFault> {
        if token.len() > MOST_TOKEN {
            return Err(TokenFault::NoToken);
        }
        let (algorithm, key) = key(token, keys)?;
        let claims = verified(token, algorithm, key)?;
        let expires = self.time(&claims, now)?;
        self.purpose(&claims)?;
        let principal = claims.get(&self.principal_claim).and_then(Value::as_str);
        let is_name = |name: &&str| (1..=MOST_NAME).contains(&name.len()) && !name.contains(char::is_control);
        let principal = principal.filter(is_name).ok_or(TokenFault::NoPrincipal)?;
        Ok(Verified { principal: Arc::from(principal), expires })
    }

    /// When it ends, if it has begun and not ended.
    fn time(&self, claims: &Value, now: SystemTime) -> Result<SystemTime, TokenFault> {
        let (from, until) = (now + self.clock_skew, now.checked_sub(self.clock_skew));
        for claim in ["nbf", "iat"] {
            match claims.get(claim) {
                None | Some(Value::Null) => {}
                Some(found) if instant(found).is_some_and(|begins| begins <= from) => {}
                Some(_) => return Err(TokenFault::NotYet),
            }
        }
        let expires = claims.get("exp").and_then(instant).ok_or(TokenFault::NoExpiry)?;
        if until.is_some_and(|until| expires <= until) {
            return Err(TokenFault::Expired);
        }
        // A session that has ended when it begins would be one without an end to Kafka, where 0 stands for that.
        Ok(expires.max(now + LEAST))
    }

    /// Who made it, for whom, and for what.
    fn purpose(&self, claims: &Value) -> Result<(), TokenFault> {
        let is_one_of = |claim: &str, right: &[String]| {
            right.is_empty() || texts(claims.get(claim)).iter().any(|found| right.iter().any(|right| right == found))
        };
        // Only an audience may be several; an issuer that is a list is none.
        if !self.issuers.is_empty() && !claims.get("iss").is_some_and(Value::is_string)
            || !is_one_of("iss", &self.issuers)
        {
            return Err(TokenFault::Issuer);
        }
        if !is_one_of("aud", &self.audiences) {
            return Err(TokenFault::Audience);
        }
        let granted: Vec<_> = ["scope", "scp"].iter().flat_map(|claim| texts(claims.get(*claim))).collect();
        let granted: Vec<_> = granted.iter().flat_map(|scopes| scopes.split(' ')).collect();
        let has_all = self.scopes.iter().all(|scope| granted.contains(&scope.as_str()));
        if has_all { Ok(()) } else { Err(TokenFault::Scope) }
    }
}

/// The key that a token says it is signed with, and how.
fn key<'k>(token: &str, keys: &'k Keys) -> Result<(Algorithm, &'k DecodingKey), TokenFault> {
    // `none`, and whatever else the library does not know, is no header to it.
    let header = jsonwebtoken::decode_header(token).map_err(|error| {
        let is_header = matches!(error.kind(), ErrorKind::Json(_)) && token.split('.').count() == 3;
        if is_header { TokenFault::Algorithm } else { TokenFault::NoToken }
    })?;
    if matches!(header.alg, Algorithm::HS256 | Algorithm::HS384 | Algorithm::HS512) {
        return Err(TokenFault::Algorithm);
    }
    if header.crit.is_some() || header.enc.is_some() || header.zip.is_some() {
        return Err(TokenFault::Critical);
    }
    match keys.find(header.kid.as_deref(), header.alg) {
        Found::Key(key) => Ok((header.alg, key)),
        Found::OfAnotherKind => Err(TokenFault::AnotherKey),
        Found::Unknown => Err(TokenFault::UnknownKey),
    }
}

/// The claims of a token whose signature is right. What they say is judged afterwards, since the library would read the clock.
fn verified(token: &str, algorithm: Algorithm, key: &DecodingKey) -> Result<Value, TokenFault> {
    let mut validation = Validation::new(algorithm);
    validation.required_spec_claims.clear();
    validation.validate_exp = false;
    validation.validate_nbf = false;
    validation.validate_aud = false;
    let decoded = jsonwebtoken::decode::<Value>(token, key, &validation).map_err(|error| {
        let is_signed = matches!(error.kind(), ErrorKind::Json(_));
        if is_signed { TokenFault::NoToken } else { TokenFault::Signature }
    })?;
    Ok(decoded.claims)
}

/// When a token ends, as it says itself, unverified: for whoever has got it and has to be there with a newer one in time.
/// `None`: it is no JWT, or does not say.
pub fn end_of(token: &str) -> Option<SystemTime> {
    if token.len() > MOST_TOKEN {
        return None;
    }
    let claims: Value = jsonwebtoken::dangerous::insecure_decode_claims(token).ok()?;
    claims.get("exp").and_then(instant)
}

/// A time of a claim: seconds since 1970, perhaps with a fraction, which is cut.
fn instant(claim: &Value) -> Option<SystemTime> {
    let whole = match claim.as_u64() {
        Some(seconds) => Some(seconds),
        None => claim.as_f64().filter(|seconds| (0.0..1e12).contains(seconds)).and_then(whole),
    };
    let seconds = whole.filter(|seconds| *seconds <= MOST_SECONDS)?;
    SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(seconds))
}

fn whole(seconds: f64) -> Option<u64> {
    Duration::try_from_secs_f64(seconds).ok().map(|time| time.as_secs())
}

/// The texts of a claim: one, or a list of them.
fn texts(claim: Option<&Value>) -> Vec<&str> {
    match claim {
        Some(Value::String(one)) => vec![one],
        Some(Value::Array(all)) => all.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests;
