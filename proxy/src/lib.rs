//! Listeners, sessions and the `skein` command.
//!
//! ```text
//!   listen ─► session ─► outbox ─► sockets
//!               │ ▲
//!               ▼ │   moves and effects
//!              Engine
//! ```
//!
//! Invariants: one task owns one client connection, its engine, its links and its buffers; there is no lock on the byte path;
//! a read buffer is held only while there is data in it; nothing is read from where it could not be passed on.

pub mod app;
pub mod command;
#[cfg(feature = "demo")]
mod demo;
pub mod events;
mod listen;
mod outbox;
mod pool;
mod session;
mod source;
