//! The proxy against brokers and clients that do what real ones will not do on demand.
//!
//! Each test has a fake cluster and a proxy of its own; `kit` needs no proxy.

mod admin;
mod attacks;
mod broken;
mod drain;
mod freezes;
mod hostile;
mod identity;
mod kit;
mod limits;
mod live;
mod logins;
mod loss;
mod order;
mod producers;
mod proxied;
mod reload;
mod settings;
mod sni;
mod stage;
mod start;
mod tls;
mod versions;
mod volume;
