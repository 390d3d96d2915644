//! The proxy against brokers and clients that do what real ones will not do on demand.

mod kit;
