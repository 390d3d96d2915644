//! Logins that Skein judges, by clients that do as they like: what is good gets in, all else is told or closed, and nobody else
//! notices.
//!
//! Skein logs all that it can here, and no log may have a secret in it: `Skein` looks when it ends.

pub mod door;
mod floods;
mod nobody;
mod proofs;
mod steps;
mod times;
mod tokens;
