//! Tokens for clusters that want OAUTHBEARER, from who gives them out, and newer ones before they end.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hyper::Method;
use hyper::header::HeaderValue;
use serde_json::Value;
use skein_login::{MOST_TOKEN, end_of};
use skein_settings::{Secret, SecretSource};
#[cfg(test)]
use tokio::sync::watch;
use zeroize::Zeroizing;

use crate::endpoint::{Endpoint, Question};
use crate::files;
use crate::refreshed::{Fetched, Refreshed};

/// Bytes of an answer with a token.
const MOST_ANSWER: usize = 256 << 10;
/// The share of its life after which a token is replaced.
const SHARE: f64 = 0.8;
/// The shortest time between two tokens, and the longest: a token that says nothing of its end is replaced after that.
const SHORTEST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(3600);
/// Letters of an error that are told.
const MOST_TOLD: usize = 64;

/// A grant of client credentials: somebody gives tokens out for a client's own (RFC 6749, section 4.4).
#[derive(Clone, Debug)]
pub struct Grant {
    /// Who gives them out.
    pub endpoint: Endpoint,
    /// Who Skein is there.
    pub client_id: String,
    /// What shows it; read again for each token.
    pub client_secret: SecretSource,
    /// What is asked for, `scope`.
    pub scope: Option<String>,
    /// Whom it is for, `audience`.
    pub audience: Option<String>,
}

/// A token for a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// The token.
    pub text: Secret,
    /// When it ends; `None`: nobody has said.
    pub ends: Option<SystemTime>,
}

/// Tokens that are kept fresh: after four fifths of the life of one there is the next.
#[derive(Debug)]
pub struct TokenSource(Refreshed<Token>);

impl TokenSource {
    /// Begins to fetch, at once; in a runtime of tokio.
    pub fn start(grant: Grant) -> Self {
        let grant = Arc::new(grant);
        let seen: Arc<Mutex<Option<Arc<Token>>>> = Arc::default();
        Self(Refreshed::start(move || {
            let (grant, seen) = (Arc::clone(&grant), Arc::clone(&seen));
            async move {
                let (token, rest) = fetch(&grant).await?;
                let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some(same) = seen.as_ref().filter(|seen| ***seen == token) {
                    return Ok(Fetched { value: Arc::clone(same), rest });
                }
                let value = Arc::new(token);
                *seen = Some(Arc::clone(&value));
                Ok(Fetched { value, rest })
            }
        }))
    }

    /// A token that has not ended. Whoever comes before there is one waits for the fetch that is on its way, once for all.
    ///
    /// # Errors
    /// Why there is none.
    pub async fn token(&self) -> Result<Arc<Token>, Arc<str>> {
        if let Some(token) = self.good() {
            return Ok(token);
        }
        self.0.refresh().await;
        self.good().ok_or_else(|| self.failure().unwrap_or_else(|| Arc::from("the token has ended")))
    }

    /// The token, and whatever replaces it; `None` before the first.
    #[cfg(test)]
    fn watch(&self) -> watch::Receiver<Option<Arc<Token>>> {
        self.0.watch()
    }

    /// Why the last fetch failed; `None`: it did not.
    pub fn failure(&self) -> Option<Arc<str>> {
        self.0.failure()
    }

    fn good(&self) -> Option<Arc<Token>> {
        self.0.value().filter(|token| token.ends.is_none_or(|ends| ends > SystemTime::now()))
    }
}

async fn fetch(grant: &Grant) -> Result<(Token, Duration), String> {
    let asked = SystemTime::now();
    let question = question(grant, &secret(&grant.client_secret).await?)?;
    let (status, body) = grant.endpoint.ask(question, MOST_ANSWER).await?;
    let answer: Value = serde_json::from_slice(&body).unwrap_or_default();
    if status.as_u16() != 200 {
        return Err(format!("no token: it answers {status}, {}", error(&answer)));
    }
    let token = token(&answer, asked)?;
    let life = token.ends.and_then(|ends| ends.duration_since(asked).ok()).unwrap_or(LONGEST);
    Ok((token, life.min(LONGEST).mul_f64(SHARE).max(SHORTEST)))
}

/// A secret, read off the threads of connections.
async fn secret(source: &SecretSource) -> Result<Secret, String> {
    let source = source.clone();
    let read = tokio::task::spawn_blocking(move || source.read(&files::read_at_most)).await;
    read.unwrap_or_else(|error| Err(error.to_string()))
}

fn question(grant: &Grant, secret: &Secret) -> Result<Question, String> {
    let mut form = "grant_type=client_credentials".to_owned();
    let mut add = |key: &str, value: &str| form.push_str(&format!("&{key}={}", encoded(value)));
    if let Some(scope) = &grant.scope {
        add("scope", scope);
    }
    if let Some(audience) = &grant.audience {
        add("audience", audience);
    }
    // Both are encoded as in a form before they are joined (RFC 6749, section 2.3.1).
    let both = Zeroizing::new(format!("{}:{}", encoded(&grant.client_id), encoded(secret.expose())));
    let value = Zeroizing::new(format!("Basic {}", STANDARD.encode(both.as_bytes())));
    let mut value = HeaderValue::from_str(&value).map_err(|_| "the credentials cannot be sent".to_owned())?;
    value.set_sensitive(true);
    Ok(Question { method: Method::POST, form, authorization: Some(value) })
}

/// A text as a form has it.
fn encoded(text: &str) -> String {
    let is_free = |byte: u8| byte.is_ascii_alphanumeric() || b"-._*".contains(&byte);
    text.bytes().fold(String::with_capacity(text.len()), |mut encoded, byte| {
        match byte {
            b' ' => encoded.push('+'),
            free if is_free(free) => encoded.push(char::from(free)),
            other => encoded.push_str(&format!("%{other:02X}")),
        }
        encoded
    })
}

/// The token of an answer (RFC 6749, section 5.1).
fn token(answer: &Value, asked: SystemTime) -> Result<Token, String> {
    let text = answer.get("access_token").and_then(Value::as_str).filter(|text| !text.is_empty());
    let text = text.ok_or("an answer without `access_token`")?;
    if text.len() > MOST_TOKEN {
        return Err("a token of more than 64 KiB".to_owned());
    }
    let kind = answer.get("token_type").and_then(Value::as_str);
    if !kind.is_none_or(|kind| kind.eq_ignore_ascii_case("bearer")) {
        return Err("a token that is no bearer token".to_owned());
    }
    let life = answer.get("expires_in").and_then(|life| life.as_u64().or_else(|| life.as_str()?.parse().ok()));
    let said = life.and_then(|life| asked.checked_add(Duration::from_secs(life)));
    Ok(Token { text: Secret::new(text), ends: said.or_else(|| end_of(text)) })
}

/// The error that an answer names (RFC 6749, section 5.2).
fn error(answer: &Value) -> String {
    let said = answer.get("error").and_then(Value::as_str).unwrap_or("and does not say why");
    said.chars()
        .filter(|letter| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-' | ' '))
        .take(MOST_TOLD)
        .collect()
}

#[cfg(test)]
mod tests;
