//! Clients and servers of each mechanism against each other, and what becomes of those who do not play by the rules.

#![expect(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test that fails panics")]

mod hostile;
mod judged;
mod stage;
mod times;
