//! Being a Kafka client: dial, negotiate, ask.
//!
//! ```text
//!   session ── dial ──► a stream to one broker, negotiated; the session owns it from then on
//!   session ── ask  ──► asker of the cluster ── a link of its own ──► any broker that lives
//!                         │ one question at a time, for all who ask
//!                         └► snapshot, published on change
//!   KeySource, TokenSource ─► who has the keys of tokens, who gives tokens out: one fetch for all, ahead of time
//!   health ──────────────► each broker, now and then, for those who watch
//! ```
//!
//! Invariants: whatever waits has a deadline; what is silent holds up nothing that is not; what fails is left alone, longer each
//! time; a question of many costs the cluster one; an answer from a broker is bounded before it is read, and walked before it
//! is decoded.

mod ask;
pub mod asker;
pub mod dial;
mod endpoint;
mod failure;
pub mod files;
pub mod health;
pub mod inspect;
pub mod keys;
pub mod login;
mod patience;
mod race;
mod refreshed;
pub mod socket;
pub mod speaker;
mod stream;
pub mod tls;
pub mod tokens;

pub use asker::{Asker, Known};
pub use dial::{Linked, Unreached, connect};
pub use endpoint::Endpoint;
pub use failure::Failure;
pub use keys::KeySource;
pub use speaker::Speaker;
pub use stream::{Stream, Tls};
pub use tokens::TokenSource;
