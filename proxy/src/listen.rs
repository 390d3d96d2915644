//! Accepting clients.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use skein_filters::Client;
use skein_protocol::ids::VirtualNodeId;
use skein_routing::Engine;
use skein_routing::graph::Door;
use skein_routing::topology::ClusterIndex;
use tokio::net::{TcpListener, TcpSocket, TcpStream};

use crate::app::House;
use crate::events::{Connection, NotAccepted};
use crate::session::Session;

/// Connections that wait to be accepted.
const BACKLOG: u32 = 1024;
/// How long an accept that failed is put off: descriptors come back when connections end.
const AGAIN: Duration = Duration::from_millis(100);

/// What a bound address leads to.
pub(crate) struct Entrance {
    pub(crate) virtual_cluster: Arc<str>,
    pub(crate) listener: Arc<str>,
    pub(crate) door: Arc<Door>,
    /// The node that the address stands for; `None` for the bootstrap address.
    pub(crate) at: Option<VirtualNodeId>,
    pub(crate) house: Arc<House>,
}

/// Binds an address.
pub(crate) fn bind(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    // A restart must not wait for the connections of the process before.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// Accepts for ever.
pub(crate) async fn accept(socket: TcpListener, address: SocketAddr, entrance: Entrance) {
    let mut failing = false;
    loop {
        match socket.accept().await {
            Ok((stream, peer)) => {
                failing = false;
                entrance.welcome(stream, peer);
            }
            Err(error) => {
                // Once per episode: it may last for as long as others hold the descriptors.
                if !std::mem::replace(&mut failing, true) {
                    NotAccepted { address, error: &error, again: AGAIN }.emit();
                }
                tokio::time::sleep(AGAIN).await;
            }
        }
    }
}

impl Entrance {
    fn welcome(&self, stream: TcpStream, peer: SocketAddr) {
        // Without it answers of a few bytes wait for the client's acknowledgements.
        let _ = stream.set_nodelay(true);
        let client = Client::arrived(Arc::clone(&self.listener), peer);
        let known = |cluster: &ClusterIndex| {
            let asker = self.house.askers.get(usize::from(cluster.0))?;
            Some((*cluster, asker.known()))
        };
        let known: Vec<_> = self.door.clusters.iter().filter_map(known).collect();
        let engine = Engine::new(Arc::clone(&self.door), client, self.at, &known);
        let number = self.house.next_connection();
        let connection = Connection { number, virtual_cluster: Arc::clone(&self.virtual_cluster), peer };
        tokio::spawn(Session::new(connection, Arc::clone(&self.house), engine, stream).run());
    }
}
