//! From an accepted socket to the entrance of a client: who it is, what it speaks, whom it means.
//!
//! ```text
//!   accepted ─► PROXY header ─► first byte: TLS or not ─► hello ─► name ─► entrance ─► handshake ─► welcome
//!      └ a seat: so many are on their way at a time; for who comes, the one that takes longest goes
//! ```
//!
//! Nothing else is held for a client before it is in. What is wrong with one that is not is told in one line.

mod header;
mod leads;
mod seats;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use rustls::server::Acceptor;
use skein_config::ProxyMode;
use skein_config::sni::compared;
use skein_filters::Client;
use skein_link::Stream;
use skein_login::ANONYMOUS;
use skein_routing::graph::LoginMode;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::{LazyConfigAcceptor, TlsStream};

pub(crate) use self::leads::{Leads, Named};
pub(crate) use self::seats::{Seat, Seats};
use crate::admission::{Guest, Held};
use crate::events::{First, Unwelcome, What};
use crate::listen::Entrance;
use crate::tenant::Askers;

/// How long a client may take to say who it is and to shake hands.
const ARRIVED: Duration = Duration::from_secs(10);
/// The first byte of a record with a hello of TLS.
const HELLO: u8 = 0x16;
/// An alert of TLS that ends the connection: there is nobody of that name (`unrecognized_name`, RFC 6066).
const UNRECOGNIZED_NAME: [u8; 7] = [0x15, 0x03, 0x03, 0x00, 0x02, 0x02, 112];

/// What the first bytes of a client are that speaks no Kafka to a listener without TLS; `None`: they may be Kafka.
pub(crate) fn stranger(first: &[u8]) -> Option<What> {
    match first {
        // As the length of a frame it would be more than 350 MB.
        [HELLO, 0x03, ..] => Some(What::Hello),
        _ if header::begins(first) => Some(What::HeaderUnasked),
        _ => None,
    }
}

/// A client on its way in.
pub(crate) struct Arrival {
    pub(crate) leads: Arc<Leads>,
    /// Set if it was clear at once by which entrance it comes.
    pub(crate) guest: Option<Guest>,
    pub(crate) socket: TcpStream,
    /// Who is at the other end of the socket: a balancer, perhaps.
    pub(crate) peer: SocketAddr,
    pub(crate) seat: Seat,
    pub(crate) held: Held,
}

/// Who has come in.
struct Arrived {
    entrance: Arc<Entrance>,
    guest: Guest,
    stream: Stream,
    client: Client,
    askers: Option<Askers>,
}

impl Arrival {
    /// Lets it in, or tells why not.
    pub(crate) async fn run(self) {
        let Self { leads, guest, socket, peer, seat, held } = self;
        let mut source = peer;
        let arriving = timeout(ARRIVED, arrive(&leads, guest, socket, peer, &mut source));
        let arrived = tokio::select! {
            arrived = arriving => arrived.unwrap_or(Err(What::Late)),
            () = seat.is_taken() => Err(What::PushedOut),
        };
        drop((seat, held));
        match arrived {
            Ok(Arrived { entrance, guest, stream, client, askers }) => entrance.welcome(guest, stream, client, askers),
            Err(what) => Unwelcome { what: &what, source, leads: &leads.called() }.emit(&leads.house().meters),
        }
    }
}

async fn arrive(
    leads: &Leads, guest: Option<Guest>, mut socket: TcpStream, peer: SocketAddr, source: &mut SocketAddr,
) -> Result<Arrived, What> {
    let mut first = first_byte(&socket).await?;
    if header::begins(&[first]) {
        match (leads.proxy.mode, leads.trusts(peer)) {
            (ProxyMode::Off, _) => return Err(What::HeaderUnasked),
            (ProxyMode::Allowed | ProxyMode::Required, false) => return Err(What::HeaderUntrusted),
            (ProxyMode::Allowed | ProxyMode::Required, true) => {}
        }
        if let Some(said) = header::read(&mut socket).await? {
            *source = said;
        }
        first = first_byte(&socket).await?;
    } else if leads.proxy.mode == ProxyMode::Required {
        return Err(if leads.trusts(peer) { What::HeaderMissing } else { What::HeaderUntrusted });
    }
    let entrance = match leads.only() {
        Some(entrance) if entrance.tls.is_none() => {
            if first == HELLO {
                return Err(What::Hello);
            }
            let client = Client::arrived(Arc::clone(&entrance.listener), *source);
            let guest = admitted(entrance, guest, *source)?;
            let stream = Stream::Plain(socket);
            return Ok(Arrived { entrance: Arc::clone(entrance), guest, stream, client, askers: None });
        }
        only => only,
    };
    if first != HELLO {
        return Err(What::Plain);
    }
    // Who is let in no more need not be spoken to at length.
    let guest = match (entrance, guest) {
        (Some(entrance), guest) => Some(admitted(entrance, guest, *source)?),
        (None, guest) => guest,
    };
    shake_hands(leads, entrance, guest, socket, *source).await
}

async fn shake_hands(
    leads: &Leads, entrance: Option<&Arc<Entrance>>, guest: Option<Guest>, socket: TcpStream, source: SocketAddr,
) -> Result<Arrived, What> {
    let hello = LazyConfigAcceptor::new(Acceptor::default(), socket).await.map_err(What::handshake)?;
    let name: Option<Arc<str>> = hello.client_hello().server_name().map(|name| Arc::from(compared(name)));
    let Some(entrance) = entrance.or_else(|| leads.named(name.as_deref())) else {
        let mut socket = hello.io;
        // It is closed in either case.
        let _ = socket.write_all(&UNRECOGNIZED_NAME).await;
        let _ = socket.shutdown().await;
        return Err(What::Nobody(name));
    };
    let guest = admitted(entrance, guest, source)?;
    let Some(tls) = &entrance.tls else { return Err(What::Nobody(name)) };
    let stream = hello.into_stream(tls.config()).await.map_err(What::handshake)?;
    let mut client = Client::arrived(Arc::clone(&entrance.listener), source);
    client.sni = name;
    let has_logins = entrance.door.login != LoginMode::None;
    if let Some(certificate) = stream.get_ref().1.peer_certificates().and_then(<[_]>::first) {
        let shown = tls.shown(certificate).ok_or(What::Nameless)?;
        client.certificate = Some(shown.subject);
        if !has_logins {
            client.principal = Some(shown.principal.ok_or(What::Nameless)?);
        }
    }
    let askers = if has_logins {
        None
    } else {
        let principal = client.principal.clone().unwrap_or_else(|| Arc::from(ANONYMOUS));
        Some(entrance.tenant.speaking_for(&principal, None).await.map_err(What::Unspoken)?)
    };
    let stream = Stream::from(TlsStream::Server(stream));
    Ok(Arrived { entrance: Arc::clone(entrance), guest, stream, client, askers })
}

fn admitted(entrance: &Arc<Entrance>, guest: Option<Guest>, source: SocketAddr) -> Result<Guest, What> {
    if let Some(guest) = guest {
        return Ok(guest);
    }
    entrance.admit(source, &entrance.house.settings()).map_err(|why| {
        entrance.turn_away(source, why, First::Yes);
        What::TurnedAway
    })
}

/// The first byte that has come and was not taken; it is left where it is.
async fn first_byte(socket: &TcpStream) -> Result<u8, What> {
    let mut first = [0];
    match socket.peek(&mut first).await {
        Ok(0) => Err(What::Left),
        Ok(_) => Ok(first[0]),
        Err(error) => Err(What::Broken(error)),
    }
}

impl What {
    fn handshake(error: io::Error) -> Self {
        let cut = [io::ErrorKind::UnexpectedEof, io::ErrorKind::ConnectionReset];
        if cut.contains(&error.kind()) {
            Self::LeftInside
        } else if error.kind() == io::ErrorKind::InvalidData {
            Self::Handshake(error)
        } else {
            Self::Broken(error)
        }
    }
}
