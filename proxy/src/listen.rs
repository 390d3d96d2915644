//! Accepting clients.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use skein_filters::Client;
use skein_protocol::ids::VirtualNodeId;
use skein_routing::Engine;
use skein_routing::graph::Door;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::events::{Connection, NotAccepted};
use crate::house::House;
use crate::session::Session;
use crate::tenant::Tenant;

/// Connections that wait to be accepted.
const BACKLOG: u32 = 1024;
/// How long an accept that failed is put off: descriptors come back when connections end.
const AGAIN: Duration = Duration::from_millis(100);

/// What a bound address leads to.
pub(crate) struct Entrance {
    pub(crate) tenant: Arc<Tenant>,
    pub(crate) listener: Arc<str>,
    pub(crate) door: Arc<Door>,
    /// The node that the address stands for; `None` for the bootstrap address.
    pub(crate) at: Option<VirtualNodeId>,
    pub(crate) house: Arc<House>,
}

/// A bound address, accepting until it is closed or dropped.
pub(crate) struct Port {
    entrance: watch::Sender<Arc<Entrance>>,
    accepting: JoinHandle<()>,
}

impl Port {
    /// Accepts at a socket.
    pub(crate) fn open(socket: TcpListener, address: SocketAddr, entrance: Arc<Entrance>) -> Self {
        let (entrance, current) = watch::channel(entrance);
        Self { entrance, accepting: tokio::spawn(accept(socket, address, current)) }
    }

    /// Who comes from now on, or waits to be accepted, comes in there.
    pub(crate) fn lead_to(&self, entrance: Arc<Entrance>) {
        self.entrance.send_replace(entrance);
    }

    /// Lets go of the address; once this returns it can be bound again.
    pub(crate) async fn close(mut self) {
        self.accepting.abort();
        // Ended by that, as a rule.
        let _ = (&mut self.accepting).await;
    }
}

impl Drop for Port {
    fn drop(&mut self) {
        self.accepting.abort();
    }
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
async fn accept(socket: TcpListener, address: SocketAddr, current: watch::Receiver<Arc<Entrance>>) {
    let mut failing = false;
    loop {
        match socket.accept().await {
            Ok((stream, peer)) => {
                failing = false;
                let entrance = Arc::clone(&current.borrow());
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
    fn welcome(self: Arc<Self>, stream: TcpStream, peer: SocketAddr) {
        // Without it answers of a few bytes wait for the client's acknowledgements.
        let _ = stream.set_nodelay(true);
        let client = Client::arrived(Arc::clone(&self.listener), peer);
        let known: Vec<_> = self.tenant.askers().map(|(cluster, asker)| (*cluster, asker.known())).collect();
        let engine = Engine::new(Arc::clone(&self.door), client, self.at, &known);
        let number = self.house.next_connection();
        let connection = Connection { number, virtual_cluster: Arc::clone(&self.tenant.name), peer };
        tokio::spawn(Session::new(connection, self, engine, stream).run());
    }
}
