//! SCRAM as the server speaks it.

use bytes::Bytes;

use super::{attribute, is_nonce, nonce};
use crate::gs2::headed;
use crate::hash::{are_equal, base64, unbase64, xor};
use crate::name::{name, unescaped};
use crate::stored::Stored;
use crate::why::Why;

/// The first message of a client.
pub(crate) struct ClientFirst {
    /// The user, in the name's one form.
    pub(crate) user: String,
    /// Its head.
    head: String,
    /// All but its head, which the proof covers.
    bare: String,
    /// Its nonce.
    nonce: String,
}

impl ClientFirst {
    /// Reads it.
    pub(crate) fn parse(message: &[u8]) -> Result<Self, Why> {
        let message = std::str::from_utf8(message).map_err(|_| Why::Malformed("it is no UTF-8"))?;
        let headed = headed(message)?;
        let mut rest = Some(headed.rest);
        // `m=` is for extensions that must be understood, and none is.
        let user = attribute(&mut rest, "n").ok_or(Why::Malformed("a name is missing where it has to be"))?;
        let user = unescaped(user).ok_or(Why::Malformed("a name with a `=` that stands for nothing"))?;
        let user = name(&user).map_err(Why::Malformed)?.into_owned();
        let nonce =
            attribute(&mut rest, "r").filter(|nonce| is_nonce(nonce)).ok_or(Why::Malformed("it has no nonce"))?;
        // Kafka's extension by which a delegation token logs in; a broker ignores what else may stand here.
        if rest.unwrap_or_default().split(',').any(|extension| extension.starts_with("tokenauth=")) {
            return Err(Why::DelegationToken);
        }
        if !headed.authzid.is_empty() && name(&headed.authzid).as_deref() != Ok(user.as_str()) {
            return Err(Why::OtherIdentity);
        }
        Ok(Self { user, head: headed.head.to_owned(), bare: headed.rest.to_owned(), nonce: nonce.to_owned() })
    }
}

/// Who a credential belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    /// A user.
    Known,
    /// Nobody: it only looks like one, and no proof is right.
    Nobody,
}

/// The server, waiting for the proof.
pub(crate) struct AwaitingProof {
    pub(crate) user: String,
    credential: Stored,
    owner: Owner,
    head: String,
    /// The nonce of both.
    nonce: String,
    /// The first messages of both, each with its comma: the proof covers them.
    covered: String,
}

impl AwaitingProof {
    /// Answers the first message by what is kept of its user, or by what looks like it.
    pub(crate) fn challenge(first: ClientFirst, credential: Stored, owner: Owner) -> Result<(Bytes, Self), Why> {
        let more = nonce().ok_or(Why::NoRandomness)?;
        Ok(Self::challenge_with(first, credential, owner, &more))
    }

    fn challenge_with(first: ClientFirst, credential: Stored, owner: Owner, more: &str) -> (Bytes, Self) {
        let nonce = format!("{}{more}", first.nonce);
        let challenge = format!("r={nonce},s={},i={}", base64(&credential.salt), credential.iterations);
        let covered = format!("{},{challenge},", first.bare);
        let waiting = Self { user: first.user, credential, owner, head: first.head, nonce, covered };
        (Bytes::from(challenge), waiting)
    }

    /// Judges the proof, and gives the server's own.
    pub(crate) fn judge(&self, message: &[u8]) -> Result<Bytes, Why> {
        let message = std::str::from_utf8(message).map_err(|_| Why::Malformed("it is no UTF-8"))?;
        // The proof stands last and covers what is before it.
        let (unproven, proof) = message.rsplit_once(",p=").ok_or(Why::Malformed("it has no proof"))?;
        let mut rest = Some(unproven);
        let binding = attribute(&mut rest, "c").and_then(unbase64).ok_or(Why::Malformed("it repeats no head"))?;
        if binding != self.head.as_bytes() {
            return Err(Why::Malformed("it repeats another head than that it began with"));
        }
        let nonce = attribute(&mut rest, "r").ok_or(Why::Malformed("it has no nonce"))?;
        if !are_equal(nonce.as_bytes(), self.nonce.as_bytes()) {
            return Err(Why::Nonce);
        }
        let Stored { hash, stored_key, server_key, .. } = &self.credential;
        let proof = unbase64(proof).filter(|proof| proof.len() == hash.length());
        let proof = proof.ok_or(Why::Malformed("its proof has not the length of the hash"))?;
        let covered = format!("{}{unproven}", self.covered);
        let client_key = xor(&proof, &hash.hmac(stored_key, covered.as_bytes()));
        // What looks like a credential and is none is judged all the same, so that it takes the same time.
        match (are_equal(&hash.digest(&client_key), stored_key), self.owner) {
            (true, Owner::Known) => {
                Ok(Bytes::from(format!("v={}", base64(&hash.hmac(server_key, covered.as_bytes())))))
            }
            (false, Owner::Known) => Err(Why::WrongPassword),
            (_, Owner::Nobody) => Err(Why::UnknownUser),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use super::*;
    use crate::hash::Hash;

    /// The exchange of RFC 7677, section 3.
    fn vector() -> AwaitingProof {
        let first = ClientFirst::parse(b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO").unwrap();
        let salt = unbase64("W22ZaJ0SNY7soEsUEjb6gQ==").unwrap();
        let stored = Stored::salted(Hash::Sha256, "pencil", salt, NonZeroU32::new(4096).unwrap());
        let more = "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0";
        let (challenge, waiting) = AwaitingProof::challenge_with(first, stored, Owner::Known, more);
        assert_eq!(challenge, "r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096");
        waiting
    }

    const PROOF: &str = "c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,\
                         p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=";

    #[test]
    fn the_exchange_of_the_standard_is_judged_as_it_says() {
        let judged = vector().judge(PROOF.as_bytes());
        assert_eq!(judged.as_deref(), Ok(&b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="[..]));
    }

    #[test]
    fn a_proof_that_is_changed_is_none() {
        for (from, to, why) in [
            ("dHzb", "dHzc", Why::WrongPassword),
            ("c=biws", "c=eSws", Why::Malformed("it repeats another head than that it began with")),
            ("c=biws", "c=!", Why::Malformed("it repeats no head")),
            ("k0,", "k1,", Why::Nonce),
            ("rOpr", "", Why::Nonce),
            ("k0,", "k0,x=1,", Why::WrongPassword),
            ("p=dHzb", "p=", Why::Malformed("its proof has not the length of the hash")),
            (",p=", ",q=", Why::Malformed("it has no proof")),
            ("c=", "d=", Why::Malformed("it repeats no head")),
        ] {
            assert_eq!(vector().judge(PROOF.replacen(from, to, 1).as_bytes()), Err(why), "{from} {to}");
        }
        assert_eq!(vector().judge(b"\xff"), Err(Why::Malformed("it is no UTF-8")));
    }

    #[test]
    fn nobody_has_no_right_proof() {
        let waiting = AwaitingProof { owner: Owner::Nobody, ..vector() };
        assert_eq!(waiting.judge(PROOF.as_bytes()), Err(Why::UnknownUser));
    }

    #[test]
    fn first_messages_are_taken_or_refused() {
        let parsed = |message: &str| ClientFirst::parse(message.as_bytes()).map(|first| first.user);
        for (message, user) in [
            ("n,,n=user,r=abc", "user"),
            ("y,,n=user,r=abc", "user"),
            ("n,a=user,n=user,r=abc", "user"),
            ("n,,n=a=2Cb=3Dc,r=abc", "a,b=c"),
            ("n,,n=I\u{ad}X,r=abc", "IX"),
            ("n,,n=user,r=abc,key=value", "user"),
        ] {
            assert_eq!(parsed(message).as_deref(), Ok(user), "{message}");
        }
        let long = format!("n,,n={},r=abc", "a".repeat(256));
        for (message, word) in [
            ("n,a=other,n=user,r=abc", "other-identity"),
            ("p=tls-unique,,n=user,r=abc", "channel-binding"),
            ("n,,n=user,r=abc,tokenauth=true", "delegation-token"),
            ("n,,m=x,n=user,r=abc", "malformed"),
            ("n,,n=,r=abc", "malformed"),
            ("n,,n=a=b,r=abc", "malformed"),
            ("n,,n=user,r=", "malformed"),
            ("n,,n=user", "malformed"),
            ("n,,r=abc,n=user", "malformed"),
            ("", "malformed"),
            (&long, "malformed"),
        ] {
            assert_eq!(parsed(message).map_err(Why::word), Err(word), "{message}");
        }
    }
}
