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

mod admin;
mod admission;
pub mod app;
pub mod command;
pub mod events;
mod frames;
mod house;
mod listen;
pub mod meters;
mod outbox;
mod pool;
mod roll;
mod session;
mod source;
mod tenant;
