//! Stories of one connection: who is waited for and how long, what a loss says, how a login is passed on.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::wildcard_enum_match_arm,
    reason = "a test that fails panics, and says only what it is about"
)]

mod authorize;
mod discovery;
mod judged;
mod kit;
mod login;
mod losses;
mod memory;
mod patience;
