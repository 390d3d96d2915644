//! The test kit.
pub mod apis;
pub mod artifacts;
pub mod batch;
pub mod client;
pub mod cluster;
pub mod fake;
pub mod http;
pub mod issuer;
pub mod leaks;
pub mod pki;
pub mod ports;
pub mod process;
pub mod raw;
pub mod skein;
pub mod sockets;
pub mod tls;
pub mod workplace;
