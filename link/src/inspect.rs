//! Looking at a broker once: for the asker, and for those who want to know whether a configuration is true.

use skein_filters::Address;
use skein_routing::topology::{Offer, Topology};

use crate::failure::Failure;
use crate::speaker::Speaker;
use crate::stream::Stream;
use crate::tls::ClientTls;
use crate::{ask, dial, login};

/// How much can be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Depth {
    /// What it offers: all that brokers say before a login.
    Offer,
    /// That, its cluster's id, and which brokers it knows.
    Identity,
    /// That, and its topics with their ids.
    Topics,
}

/// What a broker said of itself and of its cluster.
#[derive(Clone, Debug)]
pub struct Inspected {
    /// What it offers.
    pub offer: Offer,
    /// Its cluster's id and brokers; empty if only the offer was asked for.
    pub topology: Topology,
}

/// Connects to an address, under TLS if its cluster has it, and asks; as `speaker`, if that takes a login.
///
/// # Errors
/// [`Failure`]: there was no answer within a few seconds, or it was none.
pub async fn inspect(
    address: &Address, tls: Option<&ClientTls>, depth: Depth, speaker: Option<&Speaker>,
) -> Result<Inspected, Failure> {
    dial::at(address, tls, |stream| look(stream, depth, speaker)).await
}

/// Asks on a stream.
pub(crate) async fn look(mut stream: Stream, depth: Depth, speaker: Option<&Speaker>) -> Result<Inspected, Failure> {
    let offer = ask::offer(&mut stream).await?;
    let topology = match depth {
        Depth::Offer => Topology::default(),
        Depth::Identity | Depth::Topics => {
            if let Some(speaker) = speaker {
                login::log_in(&mut login::Own(&mut stream), speaker, login::version(&offer)?).await?;
            }
            let known = ask::identity(&mut stream, &offer).await?;
            let topics = match depth {
                Depth::Topics => ask::topics(&mut stream, &offer).await?,
                Depth::Offer | Depth::Identity => None,
            };
            Topology { topics, ..known }
        }
    };
    Ok(Inspected { offer, topology })
}
