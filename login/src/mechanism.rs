//! The mechanisms that Skein speaks, on both sides.

use std::fmt;

use crate::hash::Hash;

/// A SASL mechanism.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Mechanism {
    /// PLAIN, RFC 4616: the password itself.
    Plain,
    /// SCRAM-SHA-256, RFC 7677.
    ScramSha256,
    /// SCRAM-SHA-512, the same with a longer hash.
    ScramSha512,
    /// OAUTHBEARER, RFC 7628 as KIP-255 uses it: a signed token.
    OAuthBearer,
}

impl Mechanism {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Plain, Self::ScramSha256, Self::ScramSha512, Self::OAuthBearer];

    /// Its name on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Self::Plain => "PLAIN",
            Self::ScramSha256 => Hash::Sha256.mechanism(),
            Self::ScramSha512 => Hash::Sha512.mechanism(),
            Self::OAuthBearer => "OAUTHBEARER",
        }
    }

    /// The one with this name. Kafka compares names with their case.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.name() == name)
    }
}

impl fmt::Display for Mechanism {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
