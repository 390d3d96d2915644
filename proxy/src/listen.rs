//! Accepting clients.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use skein_config::ProxyProtocol;
use skein_filters::Client;
use skein_link::Stream;
use skein_link::socket::set_up;
use skein_link::tls::ServerTls;
use skein_protocol::ids::VirtualNodeId;
use skein_routing::Engine;
use skein_routing::graph::Door;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::admission::{Guest, Guests, Pace};
use crate::arrival::{Arrival, Leads};
use crate::events::{Connection, First, HeldBack, NotAccepted, Opened, TurnedAway, Why};
use crate::gate::Gate;
use crate::house::{House, Settings};
use crate::meters::ClientMeters;
use crate::session::Session;
use crate::tenant::{Askers, Tenant};

/// Connections that wait to be accepted.
const BACKLOG: u32 = 1024;
/// How long an accept that failed is put off: descriptors come back when connections end.
pub(crate) const AGAIN: Duration = Duration::from_millis(100);

/// What a bound address leads to.
pub(crate) struct Entrance {
    pub(crate) tenant: Arc<Tenant>,
    pub(crate) listener: Arc<str>,
    pub(crate) door: Arc<Door>,
    /// The node that the address stands for; `None` for the bootstrap address.
    pub(crate) at: Option<VirtualNodeId>,
    /// Where clients log in; `None`: Skein judges no logins here.
    pub(crate) gate: Option<Arc<Gate>>,
    /// `None`: TLS is not spoken here.
    pub(crate) tls: Option<Arc<ServerTls>>,
    /// Whether connections begin with a header of the PROXY protocol.
    pub(crate) proxy: ProxyProtocol,
    pub(crate) house: Arc<House>,
    pub(crate) meters: Arc<ClientMeters>,
    /// Who is connected to the listener.
    pub(crate) guests: Arc<Guests>,
}

/// A bound address, accepting until it is closed or dropped.
pub(crate) struct Port {
    leads: watch::Sender<Arc<Leads>>,
    accepting: JoinHandle<()>,
}

impl Port {
    /// Accepts at a socket.
    pub(crate) fn open(socket: TcpListener, address: SocketAddr, leads: Arc<Leads>) -> Self {
        let (leads, current) = watch::channel(leads);
        Self { leads, accepting: tokio::spawn(accept(socket, address, current)) }
    }

    /// Who comes from now on, or waits to be accepted, comes in there.
    pub(crate) fn lead_to(&self, leads: Arc<Leads>) {
        self.leads.send_replace(leads);
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
async fn accept(socket: TcpListener, address: SocketAddr, current: watch::Receiver<Arc<Leads>>) {
    let mut pace = Pace::new();
    let [mut failing, mut refusing, mut waiting] = [const { Episode { lasts: false } }; 3];
    loop {
        match socket.accept().await {
            Ok((stream, peer)) => {
                failing.is_over();
                let house = Arc::clone(current.borrow().house());
                house.descriptors.refill();
                let settings = house.settings();
                match pace.turn(&settings.connections) {
                    Some(turn) => {
                        current.borrow().any().holds_back(waiting.goes_on());
                        tokio::time::sleep_until(turn).await;
                    }
                    None => waiting.is_over(),
                }
                // Not before: the address may have passed to another form meanwhile.
                let leads = Arc::clone(&current.borrow());
                let entrance = Arc::clone(leads.any());
                match let_in(leads, stream, peer, &settings).await {
                    Ok(()) => refusing.is_over(),
                    Err(why) => entrance.turn_away(peer, why, refusing.goes_on()),
                }
            }
            Err(error) => {
                let house = Arc::clone(current.borrow().house());
                let reason = if lacks_descriptors(&error) { "descriptors" } else { "other" };
                NotAccepted { address, reason, error: &error, again: AGAIN, is_first: failing.goes_on() }
                    .emit(&house.meters);
                if lacks_descriptors(&error) {
                    house.descriptors.turn_away(&socket).await;
                }
                tokio::time::sleep(AGAIN).await;
            }
        }
    }
}

/// Lets a client in, or on its way in, if there is something to be learnt of it first.
async fn let_in(leads: Arc<Leads>, socket: TcpStream, peer: SocketAddr, settings: &Settings) -> Result<(), Why> {
    let house = Arc::clone(leads.house());
    if !house.descriptors.has_room() {
        return Err(Why::Descriptors);
    }
    // It fails if the client has gone already, which the session finds out.
    let _ = set_up(&socket);
    // Whoever a balancer speaks for is known later, and is counted by its own address.
    let is_direct = !leads.may_be_spoken_for(peer);
    let guest = match leads.only().filter(|_| is_direct) {
        Some(entrance) => Some(entrance.admit(peer, settings)?),
        None => None,
    };
    match guest {
        Some(guest) if leads.asks_nothing() => {
            let entrance = Arc::clone(leads.any());
            let client = Client::arrived(Arc::clone(&entrance.listener), peer);
            entrance.welcome(guest, Stream::Plain(socket), client, None);
        }
        guest => {
            let (seat, held) = (house.seats.take().await, house.descriptors.hold());
            tokio::spawn(Arrival { leads, guest, socket, peer, seat, held }.run());
        }
    }
    Ok(())
}

/// Whether the process, or the system, has no file descriptor left.
fn lacks_descriptors(error: &io::Error) -> bool {
    use rustix::io::Errno;
    let code = error.raw_os_error();
    [Errno::MFILE, Errno::NFILE].iter().any(|errno| code == Some(errno.raw_os_error()))
}

/// Something that is worth one line for as long as it lasts.
#[derive(Debug)]
struct Episode {
    lasts: bool,
}

impl Episode {
    fn goes_on(&mut self) -> First {
        if std::mem::replace(&mut self.lasts, true) { First::No } else { First::Yes }
    }

    fn is_over(&mut self) {
        self.lasts = false;
    }
}

impl Entrance {
    /// Lets one in from an address, within the bounds of the listener.
    pub(crate) fn admit(&self, from: SocketAddr, settings: &Settings) -> Result<Guest, Why> {
        self.guests.admit(from.ip(), &settings.connections)
    }

    fn holds_back(&self, is_first: First) {
        let (virtual_cluster, listener) = (&*self.tenant.name, &*self.listener);
        HeldBack { virtual_cluster, listener, is_first }.emit(&self.house.meters);
    }

    pub(crate) fn turn_away(&self, peer: SocketAddr, why: Why, is_first: First) {
        let (virtual_cluster, listener) = (&*self.tenant.name, &*self.listener);
        TurnedAway { virtual_cluster, listener, source: peer.ip(), why, is_first }.emit(&self.house.meters);
    }

    /// Begins the session of one who is in.
    ///
    /// `askers`: who asks the clusters for it; `None`: that is known once it has logged in.
    pub(crate) fn welcome(self: Arc<Self>, guest: Guest, stream: Stream, client: Client, askers: Option<Askers>) {
        let peer = client.peer;
        let askers = askers.unwrap_or_else(|| self.tenant.askers());
        let known: Vec<_> = askers.iter().map(|(index, asker)| (*index, asker.known())).collect();
        let engine = Engine::new(Arc::clone(&self.door), client, self.at, &known);
        let number = self.house.next_connection();
        let connection = Connection { number, virtual_cluster: Arc::clone(&self.tenant.name), peer };
        Opened { connection: &connection, listener: &self.listener }.emit(&self.meters);
        tokio::spawn(Session::new(connection, guest, self, engine, stream, askers).run());
    }
}
