//! What changes a message on its way.
//!
//! ```text
//!   client ─► filters ─► face ─► edge of the outer router ─► … ─► edge of the inner router ─► broker
//!   client ◄─ filters ◄─ face ◄─ edge of the outer router ◄─ … ◄─ edge of the inner router ◄─ broker
//! ```
//!
//! An [`Edge`] changes identity fields as they pass, both ways; the [`Face`] is the outermost one, what a virtual cluster
//! shows of itself: its cluster id, its addresses, its producer ids. Edges are pure: they hold no state of a connection;
//! what one message needs is in its [`Memo`]. A [`Filter`] judges what clients ask and see, in their own words; it belongs
//! to one connection.
//!
//! Invariants: a negative node id passes every edge unchanged; an edge never changes the kind of a value; an edge that can
//! change the length of a name says by how much.

pub mod authorize;
pub mod client;
pub mod edge;
pub mod face;
pub mod filter;
pub mod pattern;
pub mod producer;

pub use client::Client;
pub use edge::{Cx, Edge, Memo};
pub use face::{Address, Face};
pub use filter::{Beside, Filter, FilterKind, Filters, Flow, Interest, Prepared};
pub use producer::Tag;
