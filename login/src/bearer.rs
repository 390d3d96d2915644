//! OAUTHBEARER's messages (RFC 7628, KIP-255): a token with its extensions, and the answer to one that is not taken.

use bytes::Bytes;
use skein_settings::Secret;
use zeroize::Zeroizing;

use crate::gs2::headed;
use crate::why::Why;

/// Pairs that may come with a token, and bytes of one.
const MOST_EXTENSIONS: usize = 64;
const MOST_EXTENSION: usize = 1024;
/// What stands between the parts of a message.
const SEPARATOR: char = '\u{1}';
/// What a client answers when its token is not taken, so that the server may end the exchange.
pub(crate) const GIVEN_UP: &[u8] = b"\x01";
/// What the server says of such a token.
pub(crate) const NOT_TAKEN: &[u8] = br#"{"status":"invalid_token"}"#;
/// Letters of a status that are kept.
const MOST_STATUS: usize = 64;

/// What a client presents.
#[derive(Clone)]
pub(crate) struct Presented {
    /// Who it wants to be; empty: whoever the token says.
    pub(crate) authzid: String,
    pub(crate) token: Secret,
    pub(crate) extensions: Vec<(String, String)>,
}

impl Presented {
    /// Reads a client's message.
    pub(crate) fn parse(message: &[u8]) -> Result<Self, Why> {
        let message = std::str::from_utf8(message).map_err(|_| Why::Malformed("it is no UTF-8"))?;
        let headed = headed(message)?;
        let pairs = headed.rest.strip_prefix(SEPARATOR).and_then(|rest| rest.strip_suffix("\u{1}\u{1}"));
        let pairs = pairs.ok_or(Why::Malformed("its pairs are not between their marks"))?;
        let (mut token, mut extensions) = (None, Vec::new());
        for pair in pairs.split(SEPARATOR) {
            let (key, value) = pair.split_once('=').ok_or(Why::Malformed("a pair without a `=`"))?;
            if key == "auth" {
                if token.is_some() {
                    return Err(Why::Malformed("it has two tokens"));
                }
                let (scheme, found) = value.split_once(' ').ok_or(Why::Malformed("it has no bearer token"))?;
                let found = found.trim_start_matches(' ');
                let is_right = scheme.eq_ignore_ascii_case("bearer") && is_token(found);
                token = is_right.then(|| Secret::new(found));
                token.as_ref().ok_or(Why::Malformed("it has no bearer token"))?;
            } else if extensions.len() < MOST_EXTENSIONS && is_extension(key, value) {
                extensions.push((key.to_owned(), value.to_owned()));
            } else {
                return Err(Why::Malformed("a pair that is no extension, or one too many"));
            }
        }
        let token = token.ok_or(Why::Malformed("it has no bearer token"))?;
        Ok(Self { authzid: headed.authzid, token, extensions })
    }
}

/// A client's message.
pub(crate) fn message(token: &Secret, extensions: &[(String, String)]) -> Bytes {
    let mut message = Zeroizing::new(format!("n,,\u{1}auth=Bearer {}\u{1}", token.expose()));
    for (key, value) in extensions.iter().filter(|(key, value)| key != "auth" && is_extension(key, value)) {
        message.push_str(key);
        message.push('=');
        message.push_str(value);
        message.push(SEPARATOR);
    }
    message.push(SEPARATOR);
    Bytes::copy_from_slice(message.as_bytes())
}

/// The status in a server's answer about a token that it does not take. Only letters, digits, `_` and `-` are kept.
pub(crate) fn status(answer: &[u8]) -> String {
    let answer: serde_json::Value = serde_json::from_slice(answer).unwrap_or_default();
    let status = answer.get("status").and_then(serde_json::Value::as_str).unwrap_or("not said");
    let word = |letter: &char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-' | ' ');
    status.chars().filter(word).take(MOST_STATUS).collect()
}

/// The letters of `b64token` (RFC 6750).
pub(crate) fn is_token(text: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~+/=".contains(&byte);
    !text.is_empty() && text.bytes().all(is_letter)
}

/// Keys are letters (RFC 7628, section 3.1), values are what can be printed, and white space.
fn is_extension(key: &str, value: &str) -> bool {
    let is_value = |byte: u8| matches!(byte, 0x20..=0x7e | b'\t' | b'\r' | b'\n');
    !key.is_empty()
        && key.bytes().all(|byte| byte.is_ascii_alphabetic())
        && key.len() + value.len() <= MOST_EXTENSION
        && value.bytes().all(is_value)
}

#[cfg(test)]
mod tests {
    use super::*;

    type Read = (String, String, Vec<(String, String)>);

    fn parsed(message: &str) -> Result<Read, Why> {
        Presented::parse(message.as_bytes())
            .map(|found| (found.authzid, found.token.expose().to_owned(), found.extensions))
    }

    #[test]
    fn messages_of_clients_are_read() {
        let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        let none = Vec::new();
        for (message, authzid, extensions) in [
            ("n,,\x01auth=Bearer a.b.c\x01\x01", "", none.clone()),
            ("n,,\x01auth=bearer a.b.c\x01\x01", "", none.clone()),
            ("y,a=me,\x01auth=Bearer a.b.c\x01\x01", "me", none),
            ("n,,\x01auth=Bearer a.b.c\x01x=1=2\x01yZ=\x01\x01", "", vec![pair("x", "1=2"), pair("yZ", "")]),
            ("n,,\x01host=a b\x01auth=Bearer a.b.c\x01\x01", "", vec![pair("host", "a b")]),
        ] {
            assert_eq!(parsed(message), Ok((authzid.to_owned(), "a.b.c".to_owned(), extensions)), "{message:?}");
        }
    }

    #[test]
    fn what_is_no_message_is_refused() {
        let long = format!("n,,\x01auth=Bearer a\x01x={}\x01\x01", "y".repeat(2000));
        let many = format!("n,,\x01auth=Bearer a\x01{}\x01", "x=1\x01".repeat(65));
        for message in [
            "",
            "n,,",
            "n,,\x01",
            "n,,\x01\x01",
            "n,,\x01\x01\x01",
            "n,,\x01auth=Bearer a\x01",
            "n,,auth=Bearer a\x01\x01",
            "n,,\x01auth=Basic a\x01\x01",
            "n,,\x01auth=Bearer \x01\x01",
            "n,,\x01auth=Bearer a b\x01\x01",
            "n,,\x01auth=Bearer a\x01auth=Bearer b\x01\x01",
            "n,,\x01auth=Bearer a\x01x\x01\x01",
            "n,,\x01auth=Bearer a\x01x1=y\x01\x01",
            "n,,\x01x=y\x01\x01",
            &long,
            &many,
        ] {
            assert!(matches!(parsed(message), Err(Why::Malformed(_))), "{message:?}");
        }
        assert_eq!(parsed("p=x,,\x01auth=Bearer a\x01\x01"), Err(Why::ChannelBinding));
    }

    #[test]
    fn what_is_sent_can_be_read() {
        let extensions = vec![("tenant".to_owned(), "a=b c".to_owned()), ("bad key".to_owned(), "x".to_owned())];
        let sent = message(&Secret::new("a.b.c"), &extensions);
        let found = Presented::parse(&sent).unwrap();
        assert_eq!((found.token.expose(), &found.extensions[..]), ("a.b.c", &extensions[..1]));
    }

    #[test]
    fn a_status_steers_no_terminal() {
        assert_eq!(status(NOT_TAKEN), "invalid_token");
        assert_eq!(status(b"{\"status\":\"a\\u001b[2Jb\"}"), "a2Jb");
        assert_eq!((&*status(b"x"), &*status(b"{\"status\":3}")), ("not said", "not said"));
    }
}
