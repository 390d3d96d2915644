//! Who is at the other end of a client's connection.

use std::net::SocketAddr;
use std::sync::Arc;

/// Everything that a rule may depend on, filled in as login proceeds.
#[derive(Clone, Debug)]
pub struct Client {
    /// The listener that it came to.
    pub listener: Arc<str>,
    /// Its address.
    pub peer: SocketAddr,
    /// The server name of its TLS hello; set by a TLS handshake.
    pub sni: Option<Arc<str>>,
    /// The subject of its certificate; set by a TLS handshake.
    pub certificate: Option<Arc<str>>,
    /// Its principal; set when a login that Skein itself judged is done.
    pub principal: Option<Arc<str>>,
    /// The client id of its first request.
    pub client_id: Option<Arc<str>>,
    /// Its software's name and version; set by ApiVersions v3 and above (KIP-511).
    pub software: Option<(Arc<str>, Arc<str>)>,
}

impl Client {
    /// A client of which only the address is known yet.
    pub fn arrived(listener: Arc<str>, peer: SocketAddr) -> Self {
        Self { listener, peer, sni: None, certificate: None, principal: None, client_id: None, software: None }
    }
}
