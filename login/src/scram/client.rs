//! SCRAM as the client speaks it.

use std::num::NonZeroU32;

use bytes::Bytes;
use skein_settings::Secret;

use super::{attribute, is_nonce, nonce};
use crate::attempt::Mistrust;
use crate::hash::{Hash, Hidden, are_equal, base64, unbase64, xor};
use crate::name::escaped;

/// Iterations that a cluster may ask for: each costs time, and more than these would be an attack.
const MOST_ITERATIONS: u32 = 1_000_000;
/// Letters of what a server says about an error that are kept.
const MOST_TOLD: usize = 64;

/// The client, waiting for the salt.
#[derive(Debug)]
pub(crate) struct AwaitingSalt {
    hash: Hash,
    password: Secret,
    nonce: String,
    bare: String,
}

impl AwaitingSalt {
    /// The first message.
    pub(crate) fn begin(hash: Hash, user: &str, password: Secret) -> Result<(Bytes, Self), Mistrust> {
        let nonce = nonce().ok_or(Mistrust::NoRandomness)?;
        Ok(Self::begin_with(hash, user, password, nonce))
    }

    fn begin_with(hash: Hash, user: &str, password: Secret, nonce: String) -> (Bytes, Self) {
        let bare = format!("n={},r={nonce}", escaped(user));
        (Bytes::from(format!("n,,{bare}")), Self { hash, password, nonce, bare })
    }

    /// The proof. It costs what the server asks for: up to half a second.
    pub(crate) fn prove(self, challenge: &[u8]) -> Result<(Bytes, AwaitingSignature), Mistrust> {
        let challenge = text(challenge)?;
        let mut rest = Some(challenge);
        let nonce = attribute(&mut rest, "r").filter(|nonce| is_nonce(nonce));
        let nonce = nonce.ok_or(Mistrust::Malformed("it has no nonce"))?;
        // A server that adds nothing of its own could be somebody who has heard an exchange before.
        if nonce.strip_prefix(self.nonce.as_str()).is_none_or(str::is_empty) {
            return Err(Mistrust::Nonce);
        }
        let salt = attribute(&mut rest, "s").and_then(unbase64).filter(|salt| !salt.is_empty());
        let salt = salt.ok_or(Mistrust::Malformed("it has no salt"))?;
        let iterations = attribute(&mut rest, "i").and_then(|number| number.parse().ok()).and_then(NonZeroU32::new);
        let iterations = iterations.ok_or(Mistrust::Malformed("it has no number of iterations"))?;
        if iterations.get() > MOST_ITERATIONS {
            return Err(Mistrust::Iterations);
        }
        let Self { hash, password, bare, .. } = self;
        // As it is: Kafka's brokers salt the bytes, whatever RFC 5802 says of SASLprep.
        let salted = hash.salted(password.expose(), &salt, iterations);
        let client_key = hash.hmac(&salted, b"Client Key");
        let unproven = format!("c=biws,r={nonce}");
        let covered = format!("{bare},{challenge},{unproven}");
        let signature = hash.hmac(&hash.digest(&client_key), covered.as_bytes());
        let proof = base64(&xor(&client_key, &signature));
        let expected = hash.hmac(&hash.hmac(&salted, b"Server Key"), covered.as_bytes());
        Ok((Bytes::from(format!("{unproven},p={proof}")), AwaitingSignature { expected }))
    }
}

/// The client, waiting for the server to show that it knows the credential too.
pub(crate) struct AwaitingSignature {
    expected: Hidden,
}

impl AwaitingSignature {
    /// Judges what the server shows.
    pub(crate) fn verify(&self, message: &[u8]) -> Result<(), Mistrust> {
        let mut rest = Some(text(message)?);
        let signature = attribute(&mut rest, "v").and_then(unbase64);
        let signature = signature.ok_or(Mistrust::Malformed("it has no signature"))?;
        if are_equal(&signature, &self.expected) { Ok(()) } else { Err(Mistrust::Signature) }
    }
}

/// A message of a server, if it is no error.
fn text(message: &[u8]) -> Result<&str, Mistrust> {
    let text = std::str::from_utf8(message).map_err(|_| Mistrust::Malformed("it is no UTF-8"))?;
    match text.strip_prefix("e=") {
        None => Ok(text),
        Some(said) => {
            let word = |letter: &char| letter.is_ascii_alphanumeric() || *letter == '-';
            Err(Mistrust::Refused(said.chars().take_while(word).take(MOST_TOLD).collect()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONCE: &str = "rOprNGfwEbeRWgbNEkqO";
    const CHALLENGE: &str = "r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096";

    /// The exchange of RFC 7677, section 3.
    fn vector() -> AwaitingSalt {
        let (first, waiting) = AwaitingSalt::begin_with(Hash::Sha256, "user", Secret::new("pencil"), NONCE.to_owned());
        assert_eq!(first, "n,,n=user,r=rOprNGfwEbeRWgbNEkqO");
        waiting
    }

    #[test]
    fn the_exchange_of_the_standard_is_spoken_as_it_says() {
        let (proof, waiting) = vector().prove(CHALLENGE.as_bytes()).unwrap();
        let wanted = "c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,\
                      p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=";
        assert_eq!(proof, wanted);
        assert_eq!(waiting.verify(b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="), Ok(()));
        for wrong in [&b"v=7rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="[..], b"v=", b"v=AAAA"] {
            assert_eq!(waiting.verify(wrong), Err(Mistrust::Signature));
        }
        assert_eq!(waiting.verify(b""), Err(Mistrust::Malformed("it has no signature")));
        assert_eq!(waiting.verify(b"e=invalid-proof,x"), Err(Mistrust::Refused("invalid-proof".to_owned())));
    }

    #[test]
    fn a_challenge_that_cannot_be_trusted_is_not_answered() {
        for (from, to, why) in [
            ("rOpr", "xOpr", Mistrust::Nonce),
            ("%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0", "", Mistrust::Nonce),
            ("4096", "1000001", Mistrust::Iterations),
            ("4096", "0", Mistrust::Malformed("it has no number of iterations")),
            ("4096", "99999999999", Mistrust::Malformed("it has no number of iterations")),
            ("W22ZaJ0SNY7soEsUEjb6gQ==", "", Mistrust::Malformed("it has no salt")),
            ("r=", "m=x,r=", Mistrust::Malformed("it has no nonce")),
            ("r=", "e=other-error\u{1b}[2J,r=", Mistrust::Refused("other-error".to_owned())),
        ] {
            let challenge = CHALLENGE.replacen(from, to, 1);
            assert_eq!(vector().prove(challenge.as_bytes()).map(|_| ()), Err(why), "{challenge}");
        }
    }
}
