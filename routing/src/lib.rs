//! Where a message goes: the graph of routers, and the engine that runs one client connection through it.
//!
//! ```text
//!                        ┌──────────────────── Engine ────────────────────┐
//!   bytes of the client  │ head ─► course ─┬─ Stream  ─► passage ──────────┼─► lane (one broker)
//!   ────────────────────►│                 ├─ Gather  ─► rewrite ──────────┼─► lane
//!                        │                 ├─ Whole   ─► steps, legs ──────┼─► lanes
//!                        │                 └─ Ours    ─► answer            │
//!   ◄────────────────────│ slots: answers in the order of the questions ◄──┼── bytes of the lanes
//!                        └─────────────────────────────────────────────────┘
//! ```
//!
//! Nothing here opens a socket, reads a clock or awaits: bytes and time go in, moves and effects come out. The invariants of
//! the engine are in [`engine::Engine::check`].

pub mod apis;
pub mod book;
pub mod budget;
mod catalogue;
pub mod declared;
#[cfg(any(test, feature = "disguise"))]
pub mod disguise;
pub mod engine;
pub mod graph;
pub mod kind;
pub mod nodes;
pub mod path;
pub mod router;
pub mod topology;
pub mod weave;

pub use engine::Engine;
pub use graph::{Door, Limits, Target};
pub use topology::{ClusterIndex, Destination, Topology};
