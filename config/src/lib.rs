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
pub mod declared;
pub mod document;
pub mod fault;
mod nodes;
pub mod process;

use skein_routing::kind::Registry;

pub use blueprint::Blueprint;
pub use declared::Declared;
pub use document::Document;
pub use fault::{Fault, Faults};

/// All that a file says.
pub struct Configuration {
    /// What is served.
    pub blueprint: Blueprint,
    /// What it says of each virtual cluster and cluster, to be compared with what it said before.
    pub declared: Declared,
    /// How the process stops.
    pub process: process::Process,
    /// Where the process is watched.
    pub admin: process::Admin,
    /// Bounds of connections.
    pub connections: process::Connections,
}

/// Reads and compiles a configuration. `name`: what faults call the file.
///
/// # Errors
/// All faults that were found.
pub fn load(name: &str, text: &str, kinds: &Registry) -> Result<Configuration, Faults> {
    let unread = |error: toml::de::Error| {
        let at = error.span().unwrap_or(0..0);
        Faults::new(name, text, vec![Fault::new(error.message().to_owned(), at, "")])
    };
    let document = toml::from_str::<Document>(text).map_err(unread)?;
    let declared = Declared::of(&toml::from_str(text).map_err(unread)?);
    let blueprint = compile::blueprint(&document, kinds).map_err(|faults| Faults::new(name, text, faults))?;
    let Document { process, admin, connections, .. } = document;
    Ok(Configuration { blueprint, declared, process, admin, connections })
}
