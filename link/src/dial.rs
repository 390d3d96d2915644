//! Connecting to a broker.

use std::sync::Arc;
use std::time::Duration;

use skein_filters::Address;
use skein_protocol::ids::RealNodeId;
use skein_routing::engine::Need;
use tokio::net::TcpStream;

use crate::asker::Asker;
use crate::{ask, socket};

/// How long one address may take to connect, and a broker to say what it offers: so that one which is mute leaves time for
/// the next.
const ONE_ADDRESS: Duration = Duration::from_secs(4);
/// How long all of it may take.
const ALL: Duration = Duration::from_secs(10);

/// Why a broker could not be reached.
#[derive(Debug, thiserror::Error)]
pub enum Unreached {
    /// Nobody has said where the broker is.
    #[error("the address of node {0} is not known: declare it under `addresses`, or let Skein ask for it")]
    NoAddress(RealNodeId),
    /// An address did not connect.
    #[error("{host}:{port}: {why}", host = address.host, port = address.port)]
    Address {
        /// The address that was tried last.
        address: Address,
        /// What happened.
        why: String,
    },
    /// Others have just failed to reach it, and it is left alone for a while.
    #[error("left alone for {} ms more, since it was not reached", left.as_millis())]
    Resting {
        /// For how long.
        left: Duration,
    },
    /// It took too long.
    #[error("not within {} s", ALL.as_secs())]
    Late,
}

/// Connects to a broker of a cluster, or to any that lives, and negotiates.
///
/// # Errors
/// [`Unreached`]: the last address that was tried, and what happened there.
pub async fn connect(asker: Arc<Asker>, node: Option<RealNodeId>) -> Result<TcpStream, Unreached> {
    if let Some(left) = asker.resting.left(node) {
        return Err(Unreached::Resting { left });
    }
    let outcome = tokio::time::timeout(ALL, dial(&asker, node)).await.unwrap_or(Err(Unreached::Late));
    asker.resting.dialled(node, &outcome);
    outcome
}

async fn dial(asker: &Asker, node: Option<RealNodeId>) -> Result<TcpStream, Unreached> {
    let mut candidates = asker.candidates(node);
    if candidates.is_empty() {
        asker.next(Need::Again).await;
        candidates = asker.candidates(node);
    }
    let mut last = node.map_or(Unreached::Late, Unreached::NoAddress);
    for address in candidates {
        match in_time(negotiated(asker, &address)).await {
            Ok(stream) => return Ok(stream),
            Err(why) => last = Unreached::Address { address, why },
        }
    }
    Err(last)
}

async fn negotiated(asker: &Asker, address: &Address) -> Result<TcpStream, String> {
    let mut stream = open(address).await?;
    let offer = ask::offer(&mut stream).await.map_err(|error| error.to_string())?;
    asker.offered(address, offer);
    Ok(stream)
}

/// What one address may take.
pub(crate) async fn in_time<T>(work: impl Future<Output = Result<T, String>>) -> Result<T, String> {
    let late = || Err(format!("no answer within {} s", ONE_ADDRESS.as_secs()));
    tokio::time::timeout(ONE_ADDRESS, work).await.unwrap_or_else(|_| late())
}

/// Opens a stream to an address.
pub(crate) async fn open(address: &Address) -> Result<TcpStream, String> {
    let stream = TcpStream::connect((&*address.host, address.port)).await.map_err(|error| error.to_string())?;
    socket::set_up(&stream).map_err(|error| error.to_string())?;
    Ok(stream)
}
