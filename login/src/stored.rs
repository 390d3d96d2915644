//! What is kept of a password: enough to judge it, not enough to log in with.

use std::fmt;
use std::num::NonZeroU32;

use crate::hash::{Hash, Hidden, are_equal, base64, random, unbase64};
use crate::name::password;

/// Iterations that a kept credential may have, as Kafka's brokers take them (KIP-554).
pub const ITERATIONS: std::ops::RangeInclusive<u32> = 4096..=16384;
/// Iterations that are used unless somebody says otherwise.
pub const USUAL_ITERATIONS: u32 = 8192;

/// Bytes of a salt: those that are made here, and those that are read.
pub(crate) const SALT: usize = 24;
const MOST_SALT: usize = 128;

/// The salted credential of one user for one hash (RFC 5802, section 3).
#[derive(Clone, PartialEq, Eq)]
pub struct Stored {
    pub(crate) hash: Hash,
    pub(crate) iterations: NonZeroU32,
    pub(crate) salt: Vec<u8>,
    pub(crate) stored_key: Hidden,
    pub(crate) server_key: Hidden,
}

impl Stored {
    /// Of a new password, with a new salt. It takes some milliseconds.
    ///
    /// # Errors
    /// The password or the number of iterations cannot be one, or the system gives no random bytes.
    pub fn new(hash: Hash, text: &str, iterations: u32) -> Result<Self, &'static str> {
        password(text)?;
        let iterations = iterations_of(iterations).ok_or("a number of iterations that is not from 4096 to 16384")?;
        let salt = random::<SALT>().ok_or("the system gives no random bytes")?;
        Ok(Self::salted(hash, text, salt.to_vec(), iterations))
    }

    /// Of a password, with this salt.
    pub(crate) fn salted(hash: Hash, password: &str, salt: Vec<u8>, iterations: NonZeroU32) -> Self {
        let salted = hash.salted(password, &salt, iterations);
        let stored_key = hash.digest(&hash.hmac(&salted, b"Client Key"));
        let server_key = hash.hmac(&salted, b"Server Key");
        Self { hash, iterations, salt, stored_key, server_key }
    }

    /// Whether it is that of a password. It takes some milliseconds.
    pub(crate) fn is_of(&self, password: &str) -> bool {
        let other = Self::salted(self.hash, password, self.salt.clone(), self.iterations);
        are_equal(&self.stored_key, &other.stored_key)
    }

    /// The hash that it is made with.
    pub fn hash(&self) -> Hash {
        self.hash
    }

    /// How many iterations it is made with.
    pub fn iterations(&self) -> u32 {
        self.iterations.get()
    }

    /// As it stands in a file: `SCRAM-SHA-256$ITERATIONS:SALT$STOREDKEY:SERVERKEY`, all bytes in base64.
    ///
    /// It cannot be used to log in, but passwords can be tried against it: it is to be kept as they are.
    pub fn written(&self) -> String {
        let (salt, stored, server) = (base64(&self.salt), base64(&self.stored_key), base64(&self.server_key));
        format!("{}${}:{salt}${stored}:{server}", self.hash.mechanism(), self.iterations)
    }

    /// Reads what [`Self::written`] writes.
    ///
    /// # Errors
    /// What is wrong, without anything of it.
    pub fn parse(hash: Hash, text: &str) -> Result<Self, String> {
        let shape = || {
            let name = hash.mechanism();
            format!("a credential that is not of the form {name}$ITERATIONS:SALT$STOREDKEY:SERVERKEY")
        };
        let rest = text.strip_prefix(hash.mechanism()).and_then(|rest| rest.strip_prefix('$')).ok_or_else(shape)?;
        let (cost, keys) = rest.split_once('$').ok_or_else(shape)?;
        let (iterations, salt) = cost.split_once(':').ok_or_else(shape)?;
        let (stored_key, server_key) = keys.split_once(':').ok_or_else(shape)?;
        let iterations = iterations.parse().ok().and_then(iterations_of);
        let iterations = iterations.ok_or("a credential whose iterations are not from 4096 to 16384")?;
        let salt = unbase64(salt).filter(|salt| (1..=MOST_SALT).contains(&salt.len()));
        let salt = salt.ok_or("a credential whose salt is not 1 to 128 bytes in base64")?;
        let key = |text| unbase64(text).map(Hidden::new).filter(|key| key.len() == hash.length());
        let wrong = || format!("a credential with a key that is not {} bytes in base64", hash.length());
        let (stored_key, server_key) = (key(stored_key).ok_or_else(wrong)?, key(server_key).ok_or_else(wrong)?);
        Ok(Self { hash, iterations, salt, stored_key, server_key })
    }
}

fn iterations_of(number: u32) -> Option<NonZeroU32> {
    NonZeroU32::new(number).filter(|number| ITERATIONS.contains(&number.get()))
}

/// Without its keys.
impl fmt::Debug for Stored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stored").field("hash", &self.hash).field("iterations", &self.iterations).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_can_be_read() {
        for hash in Hash::ALL {
            let stored = Stored::new(hash, "a,pass=word ü", 4096).unwrap();
            assert_eq!(Stored::parse(hash, &stored.written()).as_ref(), Ok(&stored));
            assert!(stored.is_of("a,pass=word ü") && !stored.is_of("a,pass=word u"));
            let other = Stored::new(hash, "a,pass=word ü", 4096).unwrap();
            assert_ne!(other, stored, "salts differ");
        }
    }

    #[test]
    fn what_is_no_credential_is_told_without_repeating_it() {
        let good = Stored::new(Hash::Sha256, "word", 4096).unwrap().written();
        let key = good.rsplit(':').next().unwrap().to_owned();
        for (wrong, wanted) in [
            (String::new(), "of the form"),
            (good.replace('$', ":"), "of the form"),
            (good.replace("256", "512"), "of the form"),
            (good.replace("4096", "4095"), "iterations"),
            (good.replace("4096", "16385"), "iterations"),
            (good.replace("4096", "-1"), "iterations"),
            (good.replace("4096", "99999999999999"), "iterations"),
            (good.replace("4096:", "4096:!"), "salt"),
            (good.replace(&key, "QUJD"), "key"),
            (good.replace(&key, ""), "key"),
        ] {
            let error = Stored::parse(Hash::Sha256, &wrong).unwrap_err();
            assert!(error.contains(wanted) && !error.contains(&key), "{wrong}: {error}");
        }
    }

    #[test]
    fn passwords_and_iterations_have_bounds() {
        assert!(Stored::new(Hash::Sha256, "", 4096).is_err());
        assert!(Stored::new(Hash::Sha256, "a\nb", 4096).is_err());
        assert!(Stored::new(Hash::Sha256, "word", 4095).is_err());
        assert!(Stored::new(Hash::Sha256, "word", 16385).is_err());
    }
}
