//! Looking at a broker once, for those who want to know whether a configuration is true.

use skein_filters::Address;
use skein_routing::topology::{Offer, Topology};

use crate::{ask, dial};

/// How much can be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// What it offers: all that brokers say before a login.
    Offer,
    /// That, its cluster's id, and which brokers it knows.
    Identity,
}

/// What a broker said of itself and of its cluster.
#[derive(Clone, Debug)]
pub struct Inspected {
    /// What it offers.
    pub offer: Offer,
    /// Its cluster's id and brokers; empty if only the offer was asked for.
    pub topology: Topology,
}

/// Connects to an address and asks.
///
/// # Errors
/// What happened, in words, when there was no answer within a few seconds or it was none.
pub async fn inspect(address: &Address, depth: Depth) -> Result<Inspected, String> {
    dial::in_time(async {
        let mut stream = dial::open(address).await?;
        let offer = ask::offer(&mut stream).await.map_err(|error| error.to_string())?;
        let topology = match depth {
            Depth::Offer => Topology::default(),
            Depth::Identity => ask::identity(&mut stream, &offer).await.map_err(|error| error.to_string())?,
        };
        Ok(Inspected { offer, topology })
    })
    .await
}
