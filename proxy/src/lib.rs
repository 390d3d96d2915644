//! Listeners, sessions and the `skein` command.
//!
//! ```text
//!   listen ─► session ─► outbox ─► sockets
//!               │ ▲
//!               ▼ │   moves and effects
//!              Engine
//! ```
//!
//! Invariants: one task owns one client connection, its engine, its links and its buffers; the
//! locks on the byte path, of the pool and of a sample of latency, are held for a push or a pop; a read buffer is held only
//! while there is data in it; nothing is read from where it could not be passed on.

mod admin;
mod admission;
pub mod app;
mod arrival;
mod behind;
pub mod command;
#[cfg(feature = "demo")]
mod demo;
pub mod events;
#[cfg(test)]
mod example;
pub mod explain;
mod follow;
mod frames;
mod gate;
mod house;
mod listen;
pub mod live;
pub mod meters;
mod named;
mod outbox;
pub mod picture;
mod pool;
mod renewals;
mod roll;
mod session;
mod source;
mod tenant;
mod tries;
