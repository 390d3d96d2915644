//! The two hashes of SCRAM, and what is made with them.

use std::fmt;
use std::num::NonZeroU32;

use aws_lc_rs::{constant_time, digest, hmac, pbkdf2, rand};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use zeroize::Zeroizing;

/// Bytes that nobody is to read.
pub(crate) type Hidden = Zeroizing<Vec<u8>>;

/// A hash that SCRAM is defined with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Hash {
    /// SHA-256.
    Sha256,
    /// SHA-512.
    Sha512,
}

impl Hash {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Sha256, Self::Sha512];

    /// The mechanism that is made of it.
    pub(crate) fn mechanism(self) -> &'static str {
        match self {
            Self::Sha256 => "SCRAM-SHA-256",
            Self::Sha512 => "SCRAM-SHA-512",
        }
    }

    /// Bytes of what it gives.
    pub(crate) fn length(self) -> usize {
        match self {
            Self::Sha256 => digest::SHA256_OUTPUT_LEN,
            Self::Sha512 => digest::SHA512_OUTPUT_LEN,
        }
    }

    /// `H(bytes)`.
    pub(crate) fn digest(self, bytes: &[u8]) -> Hidden {
        let algorithm = match self {
            Self::Sha256 => &digest::SHA256,
            Self::Sha512 => &digest::SHA512,
        };
        digest::digest(algorithm, bytes).as_ref().to_vec().into()
    }

    /// `HMAC(key, bytes)`.
    pub(crate) fn hmac(self, key: &[u8], bytes: &[u8]) -> Hidden {
        let algorithm = match self {
            Self::Sha256 => hmac::HMAC_SHA256,
            Self::Sha512 => hmac::HMAC_SHA512,
        };
        hmac::sign(&hmac::Key::new(algorithm, key), bytes).as_ref().to_vec().into()
    }

    /// `Hi(password, salt, iterations)`: PBKDF2, which costs about a microsecond for each two iterations.
    pub(crate) fn salted(self, password: &str, salt: &[u8], iterations: NonZeroU32) -> Hidden {
        let algorithm = match self {
            Self::Sha256 => pbkdf2::PBKDF2_HMAC_SHA256,
            Self::Sha512 => pbkdf2::PBKDF2_HMAC_SHA512,
        };
        let mut salted = Zeroizing::new(vec![0; self.length()]);
        pbkdf2::derive(algorithm, iterations, salt, password.as_bytes(), &mut salted);
        salted
    }
}

/// As the mechanism that is made of it.
impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.mechanism())
    }
}

/// Whether two runs of bytes are equal, in a time that depends on their lengths only.
pub(crate) fn are_equal(one: &[u8], other: &[u8]) -> bool {
    constant_time::verify_slices_are_equal(one, other).is_ok()
}

/// Each byte of the one with that of the other.
pub(crate) fn xor(one: &[u8], other: &[u8]) -> Hidden {
    let both = one.iter().zip(other).map(|(one, other)| one ^ other);
    Zeroizing::new(both.collect())
}

/// Bytes that nobody can guess. `None`: the system gives none.
pub(crate) fn random<const N: usize>() -> Option<[u8; N]> {
    let mut bytes = [0; N];
    rand::fill(&mut bytes).ok().map(|()| bytes)
}

/// Base64 with its padding, as SCRAM writes all of its bytes.
pub(crate) fn base64(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

/// The bytes of such a text.
pub(crate) fn unbase64(text: &str) -> Option<Vec<u8>> {
    STANDARD.decode(text).ok()
}
