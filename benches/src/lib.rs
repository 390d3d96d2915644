//! The comparison: what Skein costs beside a plain layer-4 relay, and beside no proxy at all.
//!
//! ```text
//!             ┌────────────────── direct ──────────────────┐
//!  loader ────┼──── relay   (own process, the yardstick) ──┼──── synthetic broker
//!  threads    ├──── control (a second relay: the noise) ───┤     threads
//!             ├──── Skein   (own process) ─────────────────┤
//!             ├─TLS─ relay  (own process) ─────────────────┤
//!             └─TLS─ Skein  (own process) ─────────────────┘
//! ```
//!
//! The loader and the broker are threads of the driver, `compare`; each contender is a process of its own, and only
//! the contenders' CPU time is counted. One round moves the same bytes over every path, one after another, in an order
//! that rotates. What is reported is the median over the rounds of *CPU per GB ÷ the relay's CPU per GB of that round*.
//!
//! 1. The loader and the broker are made of threads that block, prebuilt frames and vectored writes; they find frames
//!    by their length prefix and look at nothing more than they need to check and to answer.
//! 2. A GB is 10⁹ bytes of record batches; the frames around them are not counted.
//! 3. What TLS towards clients adds is the difference to the same contender without; what is reported of it is *what it adds
//!    to Skein ÷ what it adds to the relay*, round by round. The cases of small requests go without.
//! 4. Every answer's correlation id and length are checked; a wrong one ends the run.

pub mod batch;
pub mod broker;
pub mod contender;
pub mod footprint;
pub mod framing;
pub mod loader;
pub mod messages;
pub mod meter;
pub mod report;
pub mod rounds;
pub mod stream;
pub mod tls;
pub mod wire;
