//! SCRAM (RFC 5802, RFC 7677): both sides, and the messages between them.
//!
//! ```text
//!   client                                   server
//!   n,,n=user,r=NONCE            ─────►
//!                                ◄─────      r=NONCE+MORE,s=SALT,i=ITERATIONS
//!   c=biws,r=NONCE+MORE,p=PROOF  ─────►
//!                                ◄─────      v=SIGNATURE
//! ```
//!
//! Written here rather than taken from `rsasl`, whose server (2.3.1) takes names without undoing `=2C`, says whether a user is
//! known, shows other salts at each try for one who is not, compares keys in a time that depends on them, and derives the key
//! inside of a step, where it cannot be moved to another thread.

pub(crate) mod client;
pub(crate) mod server;

use crate::hash::{base64, random};

/// Bytes of a nonce of ours, before base64.
const NONCE: usize = 24;
/// Letters of a nonce of theirs.
const MOST_NONCE: usize = 512;

/// A new nonce. `None`: the system gives no random bytes.
fn nonce() -> Option<String> {
    random::<NONCE>().map(|bytes| base64(&bytes))
}

/// Whether a text can be a nonce: letters of ASCII that can be printed, and no comma.
fn is_nonce(text: &str) -> bool {
    (1..=MOST_NONCE).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b',')
}

/// The value of the attribute that has to come next. What is left stays in `rest`.
fn attribute<'m>(rest: &mut Option<&'m str>, letter: &str) -> Option<&'m str> {
    let (first, others) = match (*rest)?.split_once(',') {
        Some((first, others)) => (first, Some(others)),
        None => ((*rest)?, None),
    };
    let value = first.strip_prefix(letter)?.strip_prefix('=')?;
    *rest = others;
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_come_in_order() {
        let mut rest = Some("r=a=b,s=,x=1");
        assert_eq!(attribute(&mut rest, "s"), None);
        assert_eq!(attribute(&mut rest, "r"), Some("a=b"));
        assert_eq!(attribute(&mut rest, "s"), Some(""));
        assert_eq!(rest, Some("x=1"));
        assert_eq!((attribute(&mut rest, "x"), rest), (Some("1"), None));
        assert_eq!(attribute(&mut rest, "x"), None);
    }

    #[test]
    fn nonces_are_new_and_can_be_sent() {
        let (one, other) = (nonce().unwrap(), nonce().unwrap());
        assert!(one != other && is_nonce(&one) && one.len() == 32);
        assert!(!is_nonce("") && !is_nonce("a,b") && !is_nonce("a b") && !is_nonce("ü") && !is_nonce(&"a".repeat(513)));
    }
}
