//! SaslHandshake (key 17, v0–1) and SaslAuthenticate (key 36, v0–2): read and written on both sides of a login.
//!
//! The handshake names a mechanism, and each SaslAuthenticate carries one token of it. After handshake v0 tokens come without
//! frames, so it is refused. A login may be repeated on a live connection, before its lifetime is over.
//! Source: SaslHandshakeRequest.json, SaslAuthenticateResponse.json; KIP-43, KIP-152, KIP-368 (lifetime, v1 and above).

use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use skein_protocol::code::Code;
use skein_protocol::frame::Head;
use skein_protocol::ids::{ApiKey, Direction};
pub use skein_protocol::messages::Unread;
use skein_protocol::messages::{
    self, SaslAuthenticateRequest, SaslAuthenticateResponse, SaslHandshakeRequest, SaslHandshakeResponse, StrBytes,
};
use skein_protocol::table::Versions;

/// The handshake that is spoken: in v0 tokens would come without frames.
const HANDSHAKE: i16 = 1;
/// The versions of SaslAuthenticate that Skein speaks to brokers: from 1 on the answer has the lifetime.
const AUTHENTICATE: Versions = Versions { from: 0, to: 2 };

/// What a client that logs in has sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Asked {
    /// It wants to log in by this mechanism.
    Mechanism(Arc<str>),
    /// A token of the mechanism.
    Token(Bytes),
}

/// Reads a request of either API: a frame without its length.
///
/// # Errors
/// [`Unread`].
pub fn asked(head: &Head, frame: &Bytes) -> Result<Asked, Unread> {
    let (key, version) = (head.key, head.version);
    if key == ApiKey::SASL_HANDSHAKE {
        let request: SaslHandshakeRequest = messages::decode(key, version, Direction::ToBroker, frame)?;
        return Ok(Asked::Mechanism(Arc::from(request.mechanism.as_str())));
    }
    let request: SaslAuthenticateRequest = messages::decode(key, version, Direction::ToBroker, frame)?;
    Ok(Asked::Token(request.auth_bytes))
}

/// The answer to a handshake, without its length. `mechanisms`: those that can be chosen.
pub fn handshake_answer(head: &Head, code: Code, mechanisms: &[Arc<str>]) -> BytesMut {
    let mechanisms = mechanisms.iter().map(|name| text(name)).collect();
    let response = SaslHandshakeResponse::default().with_error_code(code.0).with_mechanisms(mechanisms);
    // No version lacks one of these fields.
    messages::response(head.key, head.version, head.correlation, &response).unwrap_or_default()
}

/// What a token is answered with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// 0, or why the login has failed.
    pub code: i16,
    /// In words, if it has failed.
    pub message: Option<String>,
    /// The next token of the mechanism.
    pub token: Bytes,
    /// How long the login holds, if it is done; `None`: for ever.
    pub lifetime: Option<Duration>,
}

/// The answer to a token, without its length.
pub fn token_answer(head: &Head, answer: Answer) -> BytesMut {
    let lifetime = answer.lifetime.map_or(0, |lifetime| i64::try_from(lifetime.as_millis()).unwrap_or(i64::MAX));
    let response = SaslAuthenticateResponse::default()
        .with_error_code(answer.code)
        .with_error_message(answer.message.map(|message| text(&message)))
        .with_auth_bytes(answer.token)
        .with_session_lifetime_ms(if head.version >= 1 { lifetime } else { 0 });
    messages::response(head.key, head.version, head.correlation, &response).unwrap_or_default()
}

/// The frame, without its length, that begins a login at a broker.
pub fn handshake(mechanism: &str) -> Bytes {
    let request = SaslHandshakeRequest::default().with_mechanism(text(mechanism));
    messages::request(ApiKey::SASL_HANDSHAKE, HANDSHAKE, 0, "skein", &request).unwrap_or_default().freeze()
}

/// What a broker says to [`handshake`].
///
/// # Errors
/// [`Unread`]. Inside: the code, and the mechanisms that the broker has, if it refuses.
pub fn handshaken(frame: &Bytes) -> Result<Result<(), (Code, Vec<String>)>, Unread> {
    let response: SaslHandshakeResponse =
        messages::decode(ApiKey::SASL_HANDSHAKE, HANDSHAKE, Direction::ToClient, frame)?;
    if response.error_code == 0 {
        return Ok(Ok(()));
    }
    let mechanisms = response.mechanisms.iter().map(|name| name.to_string()).collect();
    Ok(Err((Code(response.error_code), mechanisms)))
}

/// The version of SaslAuthenticate for a broker that offers `offered`; `None`: it has none that is known.
pub fn version(offered: Versions) -> Option<i16> {
    offered.meet(AUTHENTICATE).map(|both| both.to)
}

/// The frame, without its length, that carries a token to a broker.
pub fn token(version: i16, token: Bytes) -> Bytes {
    let request = SaslAuthenticateRequest::default().with_auth_bytes(token);
    messages::request(ApiKey::SASL_AUTHENTICATE, version, 0, "skein", &request).unwrap_or_default().freeze()
}

/// What a broker says to [`token`].
///
/// # Errors
/// [`Unread`].
pub fn answered(version: i16, frame: &Bytes) -> Result<Answer, Unread> {
    let response: SaslAuthenticateResponse =
        messages::decode(ApiKey::SASL_AUTHENTICATE, version, Direction::ToClient, frame)?;
    let lifetime = u64::try_from(response.session_lifetime_ms).ok().filter(|millis| *millis > 0);
    Ok(Answer {
        code: response.error_code,
        message: response.error_message.map(|message| message.to_string()),
        token: response.auth_bytes,
        lifetime: lifetime.map(Duration::from_millis),
    })
}

fn text(text: &str) -> StrBytes {
    StrBytes::from_string(text.to_owned())
}

#[cfg(test)]
mod tests {
    use skein_protocol::frame;

    use super::*;

    fn head(request: &Bytes) -> Head {
        let mut framed = u32::try_from(request.len()).unwrap().to_be_bytes().to_vec();
        framed.extend_from_slice(request);
        frame::head(&framed, u32::MAX).unwrap().unwrap()
    }

    #[test]
    fn both_sides_understand_each_other() {
        let request = handshake("PLAIN");
        assert_eq!(asked(&head(&request), &request).unwrap(), Asked::Mechanism(Arc::from("PLAIN")));
        let good = handshake_answer(&head(&request), Code::NONE, &[]).freeze();
        assert_eq!(handshaken(&good).unwrap(), Ok(()));
        let offered = [Arc::from("A"), Arc::from("B")];
        let refused = handshake_answer(&head(&request), Code::UNSUPPORTED_SASL_MECHANISM, &offered).freeze();
        let names = vec!["A".to_owned(), "B".to_owned()];
        assert_eq!(handshaken(&refused).unwrap(), Err((Code::UNSUPPORTED_SASL_MECHANISM, names)));
        for version in 0..=2 {
            let request = token(version, Bytes::from_static(b"secret"));
            assert_eq!(asked(&head(&request), &request).unwrap(), Asked::Token(Bytes::from_static(b"secret")));
            let lifetime = (version > 0).then_some(Duration::from_millis(1500));
            let said = Answer { token: Bytes::from_static(b"more"), lifetime, ..Answer::default() };
            let answer = token_answer(&head(&request), said.clone()).freeze();
            assert_eq!(answered(version, &answer).unwrap(), said);
        }
    }

    #[test]
    fn a_lifetime_below_nothing_is_none() {
        let request = token(1, Bytes::new());
        let response = SaslAuthenticateResponse::default().with_session_lifetime_ms(-5);
        let answer = messages::response(ApiKey::SASL_AUTHENTICATE, 1, head(&request).correlation, &response).unwrap();
        assert_eq!(answered(1, &answer.freeze()).unwrap().lifetime, None);
    }
}
