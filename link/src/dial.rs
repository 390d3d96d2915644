//! Connecting to a broker.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use skein_filters::Address;
use skein_protocol::ids::RealNodeId;
use skein_routing::engine::Need;
use tokio::net::{TcpStream, lookup_host};
use tokio::time::timeout;

use crate::asker::Asker;
use crate::failure::Failure;
use crate::race::{self, ALL};
use crate::stream::Stream;
use crate::tls::ClientTls;
use crate::{ask, login, socket};

/// How long looking a name up may take, and then each of its addresses, to connect and to answer what it is asked.
pub(crate) const ONE_ADDRESS: Duration = Duration::from_secs(4);

/// Why a broker could not be reached.
#[derive(Debug, thiserror::Error)]
pub enum Unreached {
    /// Nobody has said where the broker is.
    #[error("the address of node {0} is not known: declare it under `addresses`, or let Skein ask for it")]
    NoAddress(RealNodeId),
    /// An address did not connect.
    #[error("{host}:{port}: {why}", host = address.host, port = address.port)]
    Address {
        /// The address that failed last.
        address: Address,
        /// What happened.
        why: Failure,
    },
    /// Others have just failed to reach it, and it is left alone for a while.
    #[error("left alone for {} ms more, since it was not reached", left.as_millis())]
    Resting {
        /// For how long.
        left: Duration,
    },
    /// It is a broker of another cluster than the one that is known: an address has come to lead elsewhere.
    #[error("{host}:{port} belongs to cluster {found}, and what is known is cluster {known}: correct the addresses, or restart Skein if that is meant", host = address.host, port = address.port)]
    Elsewhere {
        /// Where it was asked.
        address: Address,
        /// The cluster id that it says.
        found: Arc<str>,
        /// The cluster id that was learnt first.
        known: Arc<str>,
    },
    /// It took too long.
    #[error("not within {} s", ALL.as_secs())]
    Late,
}

impl Unreached {
    /// The word for it in metrics; `None` if nobody was dialled.
    pub fn reason(&self) -> Option<&'static str> {
        match self {
            Self::NoAddress(_) => Some("no_address"),
            Self::Address { why, .. } => Some(why.reason()),
            Self::Resting { .. } => None,
            Self::Elsewhere { .. } => Some("other"),
            Self::Late => Some("late"),
        }
    }
}

impl Unreached {
    /// Whether a broker was there, and did not take the login.
    pub fn is_refusal(&self) -> bool {
        matches!(self, Self::Address { why, .. } if why.is_refusal())
    }
}

/// A stream to a broker that has said what it offers, and lets its owner in.
#[derive(Debug)]
pub struct Linked {
    /// The stream.
    pub stream: Stream,
    /// The login on it; `None`: there is none.
    pub login: Option<LoggedIn>,
}

/// A login on a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoggedIn {
    /// The version of SaslAuthenticate that the broker has.
    pub version: i16,
    /// How long it holds; `None`: for as long as the stream.
    pub lifetime: Option<Duration>,
}

/// Whose login a link is to have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose {
    /// The asker's, if it has one.
    Askers,
    /// None of ours: a client logs in on it by itself.
    Clients,
}

/// Connects to a broker of a cluster, or to any that lives, negotiates, and logs in.
///
/// # Errors
/// [`Unreached`]: the address that failed last, and what happened there.
pub async fn connect(asker: Arc<Asker>, node: Option<RealNodeId>, whose: Whose) -> Result<Linked, Unreached> {
    if let Some(left) = asker.resting.left(node) {
        return Err(Unreached::Resting { left });
    }
    let outcome = timeout(ALL, dial(&asker, node, whose)).await.unwrap_or(Err(Unreached::Late));
    asker.resting.dialled(node, &outcome);
    outcome
}

async fn dial(asker: &Asker, node: Option<RealNodeId>, whose: Whose) -> Result<Linked, Unreached> {
    let mut candidates = asker.candidates(node);
    if candidates.is_empty() {
        asker.next(Need::Again).await;
        candidates = asker.candidates(node);
    }
    if candidates.is_empty() {
        return Err(node.map_or(Unreached::Late, Unreached::NoAddress));
    }
    let speaker = asker.speaker().filter(|_| whose == Whose::Askers);
    let negotiate = |mut stream| async move {
        let offer = ask::offer(&mut stream).await?;
        let login = match speaker {
            None => None,
            Some(speaker) => {
                let version = login::version(&offer)?;
                let lifetime = login::log_in(&mut login::Own(&mut stream), speaker, version).await?;
                Some(LoggedIn { version, lifetime })
            }
        };
        Ok((Linked { stream, login }, offer))
    };
    let (address, (linked, offer)) = at_any(candidates, asker.tls(), negotiate).await?;
    asker.offered(&address, offer);
    Ok(linked)
}

/// Does what is to be done at the first of several addresses where it succeeds, and says which that was.
///
/// # Errors
/// [`Unreached`]: the address that failed last, and what happened there.
pub(crate) async fn at_any<T, W>(
    addresses: Vec<Address>, tls: Option<&ClientTls>, work: impl Fn(Stream) -> W,
) -> Result<(Address, T), Unreached>
where
    W: Future<Output = Result<T, Failure>>,
{
    let work = &work;
    let attempts = addresses.into_iter().map(|address| async move {
        match at(&address, tls, work).await {
            Ok(done) => Ok((address, done)),
            Err(why) => Err(Unreached::Address { address, why }),
        }
    });
    race::first(attempts).await.map_err(|last| last.unwrap_or(Unreached::Late))
}

/// Connects to an address and does what is to be done there. A name may stand for several: it is done where it succeeds
/// first.
///
/// # Errors
/// [`Failure`]: the last one, if there were several.
pub(crate) async fn at<T, W>(
    address: &Address, tls: Option<&ClientTls>, work: impl Fn(Stream) -> W,
) -> Result<T, Failure>
where
    W: Future<Output = Result<T, Failure>>,
{
    let named = timeout(ONE_ADDRESS, lookup_host((&*address.host, address.port))).await;
    let sockets = named.map_err(|_| Failure::Late)?.map_err(Failure::Unresolved)?.collect();
    let under = tls.map(|tls| (tls, &*address.host));
    at_socket(sockets, under, work).await
}

/// `under`: the TLS that is spoken there, and the host that the sockets are of.
async fn at_socket<T, W>(
    sockets: Vec<SocketAddr>, under: Option<(&ClientTls, &str)>, work: impl Fn(Stream) -> W,
) -> Result<T, Failure>
where
    W: Future<Output = Result<T, Failure>>,
{
    if sockets.is_empty() {
        return Err(Failure::Nameless);
    }
    let work = &work;
    let attempts = sockets.into_iter().map(|socket| async move {
        let all = async {
            let plain = open(socket).await?;
            match under {
                None => work(Stream::Plain(plain)).await,
                // A broker that wants a certificate says so only after the handshake.
                Some((tls, host)) => work(tls.connect(host, plain).await?).await.map_err(Failure::under_tls),
            }
        };
        timeout(ONE_ADDRESS, all).await.unwrap_or(Err(Failure::Late))
    });
    race::first(attempts).await.map_err(|last| last.unwrap_or(Failure::Late))
}

async fn open(socket: SocketAddr) -> Result<TcpStream, Failure> {
    let stream = TcpStream::connect(socket).await?;
    socket::set_up(&stream)?;
    Ok(stream)
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;
    use tokio::time::Instant;

    use super::*;

    async fn listener() -> (TcpListener, SocketAddr) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        (listener, address)
    }

    #[tokio::test]
    async fn of_a_name_with_several_addresses_the_first_that_answers_is_used() {
        let (_mute, mute) = listener().await;
        let (gone, refuses) = listener().await;
        drop(gone);
        let (live, answers) = listener().await;
        tokio::spawn(async move { live.accept().await.unwrap().0.write_u8(7).await });
        let begun = Instant::now();
        let read = |mut stream: Stream| async move { Ok(stream.read_u8().await?) };
        assert_eq!(at_socket(vec![mute, mute, refuses, mute, answers], None, read).await.unwrap(), 7);
        // Connecting is not enough, and what is mute does not use up the time of the others.
        assert!(begun.elapsed() < ONE_ADDRESS, "{:?}", begun.elapsed());
    }

    #[tokio::test]
    async fn a_failure_says_of_what_kind_it_is() {
        let (gone, refuses) = listener().await;
        drop(gone);
        let nothing = async |_| Ok(());
        let reason = async |sockets| at_socket(sockets, None, nothing).await.unwrap_err().reason();
        assert_eq!(reason(vec![]).await, "no_address");
        assert_eq!(reason(vec![refuses]).await, "refused");
        let nowhere = Address { host: Arc::from("there.is.no.such.name.invalid"), port: 9092 };
        assert_eq!(at(&nowhere, None, nothing).await.unwrap_err().reason(), "no_address");
    }
}
