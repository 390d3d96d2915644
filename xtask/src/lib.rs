//! Chores of this workspace that are too long for a shell line; `cargo xtask` runs them.
//!
//! Nothing is needed but cargo, a C and a C++ compiler, `make`, `mvn`, `java`, `python3`, `go`, `node` and `npm`; what can be
//! fetched is fetched into `build/`.

pub mod demo;
pub mod soak;
mod stage;
pub mod test;
pub mod wire_table;
