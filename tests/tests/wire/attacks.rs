//! Attacks before a client is in: on TLS, on its names and sessions, on headers of balancers; and on whatever Skein says.

mod halves;
mod secrets;
mod sessions;
mod site;
mod tenants;
