//! Tables of settings, declared once.
//!
//! ```text
//!                               ┌─► read:      values with their places, and every fault
//!   fn(&mut Table) -> Option<S> ┤
//!                               └─► described: the schema, the rows of the manual
//! ```
//!
//! A function asks a [`Table`] for its keys, one call for each. The same function reads a file and describes what it would
//! read, so a key cannot be known to the one and not to the other.
//!
//! Invariants: a fault says where, what was found, and what would be right; no text of a file reaches a terminal with its
//! control characters; what a key of [`Shape::Secret`] holds is in no fault and is hidden where a file is shown; nothing here reads
//! the process's environment, a file or a clock.

mod environment;
mod fault;
mod nearest;
mod secret;
mod shape;
mod table;
mod value;

pub use environment::Environment;
pub use fault::{Fault, is_unseen, quoted, visible};
pub use nearest::nearest;
pub use secret::{Files, MOST_SECRET, Secret, SecretSource};
pub use shape::{Key, Need, Presence, Shape};
pub use table::{Fields, Table, fields};
pub use toml::Spanned;
pub use value::either::{Either, either};
pub use value::list::{List, Named, list, named};
pub use value::number::{Integer, integer};
pub use value::path::{FilePath, path};
pub use value::quantity::{Size, Time, show_size, size, time};
pub use value::secret::{Secrecy, secret};
pub use value::text::{Text, Words, text, words};
pub use value::{Called, Item, Reader, Value, Written};
