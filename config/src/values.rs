//! Values that only a configuration has: addresses, lists of node ids, ranges of ports.

use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};
use std::ops::RangeInclusive;
use std::sync::Arc;

use skein_filters::Address;
use skein_protocol::ids::RealNodeId;
use skein_settings::{Text, quoted, text};

/// More brokers than this in one cluster are a slip of the pen.
const MOST_NODES: usize = 10_000;

/// Node ids in the order of their ports.
#[derive(Clone, Debug)]
pub struct NodeList {
    /// The ids.
    pub ids: Vec<RealNodeId>,
    /// As they are written.
    pub written: String,
}

/// Where a broker is reached: `"HOST:PORT"`.
pub(crate) fn address() -> Text<Address> {
    text(
        "an address as \"HOST:PORT\", such as \"kafka-1.example.com:9092\" or \"[::1]:9092\"",
        ":[0-9]{1,5}$",
        |text| {
            let not = || format!("{} is not an address", quoted(text));
            let (host, port) = text.rsplit_once(':').ok_or_else(not)?;
            let port = self::port(port)?;
            let inside = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
            let is_right = match inside {
                Some(inside) => inside.parse::<std::net::Ipv6Addr>().is_ok(),
                None => is_host(host),
            };
            if !is_right {
                return Err(not());
            }
            Ok(Address { host: Arc::from(inside.unwrap_or(host)), port })
        },
    )
}

/// What is bound: an IP address and a port.
pub(crate) fn bind() -> Text<SocketAddr> {
    text(
        "an IP address of this machine and a port, such as \"0.0.0.0:9092\" or \"[::]:9092\"",
        ":[0-9]{1,5}$",
        |text| {
            let bind: SocketAddr = text.parse().map_err(|_| format!("{} cannot be bound", quoted(text)))?;
            // A port that the system chooses is no function of the file.
            if bind.port() == 0 { Err("port 0 leaves the choice to the system".to_owned()) } else { Ok(bind) }
        },
    )
}

/// A host that clients are told.
pub(crate) fn advertised() -> Text<Arc<str>> {
    text("a host name or IP address, without a port, that leads clients here: \"skein.example.com\"", ".", |text| {
        let ip: Option<IpAddr> = text.parse().ok();
        let is_wildcard = ip.is_some_and(|ip| ip.is_unspecified());
        if is_wildcard {
            return Err(format!("{} is a wildcard: clients cannot connect to it", quoted(text)));
        }
        host(text)
    })
}

/// A host, without a port.
pub(crate) fn host(text: &str) -> Result<Arc<str>, String> {
    let is_right = text.parse::<IpAddr>().is_ok() || is_host(text);
    if is_right { Ok(Arc::from(text)) } else { Err(format!("{} is not a host", quoted(text))) }
}

/// Whether a text is a host name or an IPv4 address.
fn is_host(text: &str) -> bool {
    let named = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_');
    (1..=253).contains(&text.len()) && text.bytes().all(named)
}

/// The identity of a virtual cluster.
pub(crate) fn id() -> Text<String> {
    text("an id that the virtual cluster keeps for ever, such as \"main-1\"", ".", |text| match text {
        "" => Err("an empty id".to_owned()),
        _ => Ok(text.to_owned()),
    })
}

/// Node ids in order: `"1-3, 7, 1001"`.
pub(crate) fn nodes() -> Text<NodeList> {
    text("node ids in the order of their ports, such as \"1-3, 7\"", "[0-9]", |text| {
        let mut ids = Vec::new();
        let mut seen = BTreeSet::new();
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let (from, to) = part.split_once('-').unwrap_or((part, part));
            let (Some(from), Some(to)) = (node(from), node(to)) else {
                return Err(format!("{} is neither a node id nor a range of them", quoted(part)));
            };
            if from > to {
                return Err(format!("the range {} goes down", quoted(part)));
            }
            if usize::try_from(to - from).map_or(true, |more| ids.len() + more >= MOST_NODES) {
                return Err(format!("{} makes more than 10,000 nodes", quoted(part)));
            }
            for id in from..=to {
                if !seen.insert(id) {
                    return Err(format!("node {id} stands twice"));
                }
                ids.push(RealNodeId(id));
            }
        }
        if ids.is_empty() { Err("no node id".to_owned()) } else { Ok(NodeList { ids, written: text.to_owned() }) }
    })
}

fn node(text: &str) -> Option<i32> {
    text.trim().parse().ok().filter(|id| *id >= 0)
}

/// A range of ports: `"9101-9199"`, or one.
pub(crate) fn ports() -> Text<RangeInclusive<u16>> {
    text("a range of ports from 1 to 65535, such as \"9101-9199\"", "[0-9]", |text| {
        let (from, to) = text.split_once('-').unwrap_or((text, text));
        let (Ok(from), Ok(to)) = (port(from.trim()), port(to.trim())) else {
            return Err(format!("{} is neither a port nor a range of them", quoted(text)));
        };
        if from > to { Err(format!("the range {} goes down", quoted(text))) } else { Ok(from..=to) }
    })
}

fn port(text: &str) -> Result<u16, String> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let port = digits.then(|| text.parse().ok()).flatten().filter(|port: &u16| *port > 0);
    port.ok_or_else(|| format!("{} is not a port, which is a number from 1 to 65,535", quoted(text)))
}
