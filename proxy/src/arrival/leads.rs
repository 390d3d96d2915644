//! Where a bound address leads.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;

use skein_config::{ProxyMode, ProxyProtocol};

use crate::house::House;
use crate::listen::Entrance;

/// Where a bound address leads.
pub(crate) struct Leads {
    by: By,
    pub(crate) proxy: ProxyProtocol,
    /// An entrance that is there: the only one, or any.
    any: Arc<Entrance>,
}

enum By {
    /// To one entrance.
    Address,
    /// To one for each name.
    Name(BTreeMap<Arc<str>, Arc<Entrance>>, Vec<Arc<str>>),
}

/// A name that leads to an entrance.
#[derive(Clone)]
pub(crate) struct Named {
    pub(crate) name: Arc<str>,
    /// As the file has it.
    pub(crate) pattern: Arc<str>,
}

impl Leads {
    /// Where all entrances of one address are; `None`: there is none.
    pub(crate) fn to(entrances: Vec<(Option<Named>, Arc<Entrance>)>) -> Option<Arc<Self>> {
        let any = Arc::clone(&entrances.first()?.1);
        let mut names = BTreeMap::new();
        let mut patterns: Vec<Arc<str>> = Vec::new();
        for (named, entrance) in entrances {
            let Some(Named { name, pattern }) = named else { continue };
            if patterns.last() != Some(&pattern) {
                patterns.push(pattern);
            }
            names.insert(name, entrance);
        }
        patterns.sort();
        patterns.dedup();
        let by = if names.is_empty() { By::Address } else { By::Name(names, patterns) };
        Some(Arc::new(Self { by, proxy: any.proxy.clone(), any }))
    }

    /// What all entrances are of.
    pub(crate) fn house(&self) -> &Arc<House> {
        &self.any.house
    }

    /// One entrance, to name something by.
    pub(crate) fn any(&self) -> &Arc<Entrance> {
        &self.any
    }

    /// The entrance, if it does not depend on a name.
    pub(crate) fn only(&self) -> Option<&Arc<Entrance>> {
        matches!(self.by, By::Address).then_some(&self.any)
    }

    /// The entrance of a name, as names are compared.
    pub(crate) fn named(&self, name: Option<&str>) -> Option<&Arc<Entrance>> {
        match &self.by {
            By::Address => Some(&self.any),
            By::Name(names, _) => names.get(name?),
        }
    }

    /// Whether what a header from there says is believed.
    pub(crate) fn trusts(&self, peer: SocketAddr) -> bool {
        let ip = peer.ip().to_canonical();
        self.proxy.from.iter().any(|network| network.contains(&ip))
    }

    /// Whether who comes from there may be a balancer, and somebody else the client.
    pub(crate) fn may_be_spoken_for(&self, peer: SocketAddr) -> bool {
        self.proxy.mode != ProxyMode::Off && self.trusts(peer)
    }

    /// Whether who comes has nothing to show before it is in.
    pub(crate) fn asks_nothing(&self) -> bool {
        self.proxy.mode == ProxyMode::Off && self.only().is_some_and(|entrance| entrance.tls.is_none())
    }

    /// How the file calls what is there: a listener, or the names of several.
    pub(crate) fn called(&self) -> String {
        match &self.by {
            By::Address => format!("listener {} of {}", self.any.listener, self.any.tenant.name),
            By::Name(_, patterns) => {
                let shown: Vec<_> = patterns.iter().take(MOST_SHOWN).map(|pattern| &**pattern).collect();
                let more = if patterns.len() > MOST_SHOWN { ", …" } else { "" };
                format!("{}{more}", shown.join(", "))
            }
        }
    }
}

/// Patterns that a line of the log names.
const MOST_SHOWN: usize = 20;
