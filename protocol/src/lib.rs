//! The wire: frames, fields and messages of Kafka.
//!
//! ```text
//!            bytes from a socket
//!                   │
//!   frame     length, key, version, correlation id: a head, before any body byte
//!                   │
//!   walker    checks bytes against the table, op by op, and names the fields that matter
//!              ┌────┴─────┐
//!   passage    │          │   rewrite
//!   a body that streams   │   a frame that is complete
//!   keep n bytes, put these instead of those; no edit is the input, bit for bit
//! ```
//!
//! Invariants: no length or count claimed by a peer leads to an allocation; what the table does not know is an
//! error; a field is edited only through [`Editor`](passage::Editor), which sees every field whose meaning it asked for.

pub mod answer;
pub mod batch;
pub mod code;
pub mod crc;
pub mod divide;
mod edit;
pub mod frame;
pub mod ids;
#[cfg(test)]
#[expect(clippy::wildcard_enum_match_arm, reason = "an editor in a test changes what it is about and keeps the rest")]
mod laws;
pub mod malformed;
pub mod meaning;
pub mod merge;
pub mod messages;
pub mod outline;
pub mod passage;
pub mod rewrite;
#[cfg(any(test, feature = "sample"))]
pub mod sample;
pub mod table;
pub mod varint;
pub mod walker;

pub use malformed::Malformed;
pub use meaning::{Meaning, Meanings};
