//! What is particular to an API. A match on the kind of message stands here, and nowhere else in this crate.

pub mod api_versions;
pub mod least;
pub mod loss;
pub mod manner;
pub mod metadata;
pub mod sasl;
pub mod woven;
