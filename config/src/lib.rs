//! TOML in, a checked blueprint out.
//!
//! ```text
//!   text ─► Document (what stands there, with its place) ─► Blueprint (names resolved, kinds prepared, faults reported)
//! ```
//!
//! Invariants: after compilation no string names a cluster or a router; every fault is reported, not the first; a fault says
//! where, what, and what would be right.

pub mod blueprint;
mod compile;
pub mod document;
pub mod fault;
mod nodes;

use skein_routing::kind::Registry;

pub use blueprint::Blueprint;
pub use document::Document;
pub use fault::{Fault, Faults};

/// Reads and compiles a configuration. `name`: what faults call the file.
///
/// # Errors
/// All faults that were found.
pub fn load(name: &str, text: &str, kinds: &Registry) -> Result<Blueprint, Faults> {
    let document = match toml::from_str::<Document>(text) {
        Ok(document) => document,
        Err(error) => {
            let at = error.span().unwrap_or(0..0);
            return Err(Faults::new(name, text, vec![Fault::new(error.message().to_owned(), at, "")]));
        }
    };
    compile::blueprint(&document, kinds).map_err(|faults| Faults::new(name, text, faults))
}
