//! The test kit.
pub mod apis;
pub mod batch;
pub mod fake;
pub mod raw;
