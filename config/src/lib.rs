//! TOML in, a checked blueprint out.
//!
//! ```text
//!   bytes ─► syntax ─► Document (values, with their places) ─► Blueprint (names resolved, kinds prepared)
//!               └──────────────┴──── faults ────┴─► report: what the operator sees
//! ```
//!
//! Invariants: after compilation no string names a cluster or a router; every fault is reported, not the first; a fault says
//! where, what, and what would be right, and shows no secret. Whatever the bytes are, they are answered in bounded time and without a panic.

mod addressing;
pub mod blueprint;
mod compile;
pub mod declared;
pub mod document;
mod graph;
mod hidden;
mod limits;
mod listeners;
pub mod login;
mod manual;
pub mod process;
mod report;
pub mod sni;
mod syntax;
pub mod tls;
mod values;

use std::path::{Path, PathBuf};

use skein_routing::kind::Registry;
use skein_settings::{Environment, Fault, Item, Reader, Value};

pub use addressing::{Addressing, ProxyMode, ProxyProtocol};
pub use blueprint::Blueprint;
pub use declared::Declared;
pub use document::Document;
pub use manual::{schema, tables};
pub use report::{Colours, Faults};
pub use skein_settings::visible;

/// Bytes of a file: more than any number of clusters that a process could serve needs.
pub const MOST_BYTES: usize = 1 << 20;

/// All that a file says.
pub struct Configuration {
    /// What is served.
    pub blueprint: Blueprint,
    /// The file as it is written: for those who watch. `${NAME}` is not resolved in it, and secrets are hidden.
    pub written: serde_json::Value,
    /// What it says of each virtual cluster and cluster, to be compared with what it said before.
    pub declared: Declared,
    /// How the process stops.
    pub process: process::Process,
    /// Where the process is watched.
    pub admin: process::Admin,
    /// Bounds of connections.
    pub connections: process::Connections,
    /// Where relative paths in it begin.
    pub folder: PathBuf,
    /// Its name and its text, for faults that are found later.
    source: (String, String),
}

impl Configuration {
    /// The report of faults that were found in what it names: its texts, files and addresses.
    pub fn faults(&self, found: Vec<Fault>) -> Faults {
        let (name, text) = &self.source;
        Faults::new(name, text, found)
    }
}

/// Reads and compiles a configuration. `name`: its path, which faults call it by and relative paths in it begin beside; `file`: its bytes; `environment`: where `${NAME}`
/// in a text comes from.
///
/// # Errors
/// All faults that were found.
pub fn load(name: &str, file: &[u8], kinds: &Registry, environment: Environment<'_>) -> Result<Configuration, Faults> {
    let text = String::from_utf8_lossy(file.get(..MOST_BYTES).unwrap_or(file));
    let faults = |faults: Vec<Fault>| Faults::new(name, &text, faults);
    syntax::bounds(file).map_err(|fault| faults(vec![fault]))?;
    let parsed = syntax::parse(&text).map_err(faults)?;
    let reader = Reader::new(environment, Path::new(name).parent().unwrap_or(Path::new("")));
    parsed.faults.into_iter().for_each(|fault| reader.tell(fault));
    let document = document::file(kinds).read(&Item::whole(&parsed.root, &reader));
    let mut found = reader.into_faults();
    let Some(document) = document else { return Err(faults(found)) };
    match compile::blueprint(&document) {
        Ok(blueprint) if found.is_empty() => {
            let mut written = declared::plain(parsed.root.get_ref());
            let declared = Declared::of(&written);
            document::file(kinds).shape().hide(&mut written);
            let folder = Path::new(name).parent().map(Path::to_path_buf).unwrap_or_default();
            let source = (name.to_owned(), text.to_string());
            let Document { process, admin, connections, .. } = document;
            return Ok(Configuration {
                blueprint,
                written,
                declared,
                process,
                admin: admin.into(),
                connections,
                folder,
                source,
            });
        }
        Ok(_) => {}
        Err(more) => found.extend(more),
    }
    Err(faults(found))
}
