//! How clients say which node they mean, and how a balancer in front says who they are.

use std::net::IpAddr;
use std::ops::RangeInclusive;
use std::sync::Arc;

use ipnet::IpNet;
use skein_settings::{Fault, Spanned, Table, integer, list, quoted, text, words};

use crate::sni::{self, Pattern};
use crate::values;

/// How clients say which node they mean.
#[derive(Clone, Debug)]
pub enum Addressing {
    /// By the port that they come to.
    Ports {
        /// The host that clients are told.
        advertise: Spanned<Arc<str>>,
        /// One port per node.
        ports: Spanned<RangeInclusive<u16>>,
    },
    /// By the name in their TLS hello.
    Names {
        /// Names of nodes.
        nodes: Spanned<Pattern>,
        /// The name of the bootstrap address.
        bootstrap: Spanned<Pattern>,
        /// The port that clients are told; `None`: the one that is bound.
        port: Option<u16>,
    },
}

/// Whether connections begin with a header of the PROXY protocol, in which a balancer says who the client is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProxyProtocol {
    /// Whether they do.
    pub mode: ProxyMode,
    /// Whose headers are believed.
    pub from: Vec<IpNet>,
}

/// Whether connections begin with a header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProxyMode {
    /// They do not.
    #[default]
    Off,
    /// Those from trusted addresses may.
    Allowed,
    /// All do.
    Required,
}

/// `advertise`, `ports`, `sni`, `bootstrap-sni` and `advertise-port`. `None`: a fault has been told.
pub(crate) fn addressing(table: &mut Table<'_>) -> Option<Addressing> {
    let advertise = table.optional(
        "advertise",
        values::advertised(),
        "The host that clients are told, a name or an address that leads here. Not a wildcard such as `0.0.0.0`. It comes \
         with `ports`.",
    );
    let ports = table.optional(
        "ports",
        values::ports(),
        "A range `\"9101-9199\"`: its first port is that of the first node in `nodes`, and so on. It may be longer than \
         needed; what is not used is not bound.",
    );
    let nodes = table.optional(
        "sni",
        sni::of_nodes(),
        "In the place of `advertise` and `ports`, with `tls`: the names of the nodes, `\"broker-$(node).kafka.example.com\"`. \
         All come to the port of `bind`, which several listeners may share; the name in a client's TLS hello says which node \
         it means.",
    );
    let bootstrap = table.optional(
        "bootstrap-sni",
        sni::of_bootstrap(),
        "With `sni`: the name of the bootstrap address, `\"kafka.example.com\"`.",
    );
    let port = table.optional(
        "advertise-port",
        integer(1, 65_535),
        "With `sni`: the port that clients are told, where it is not that of `bind`.",
    );
    let (advertise, ports, nodes, bootstrap, port) = (advertise?, ports?, nodes?, bootstrap?, port?);
    if nodes.is_some() || bootstrap.is_some() {
        let others = [advertise.as_ref().map(Spanned::span), ports.as_ref().map(Spanned::span)];
        for other in others.into_iter().flatten() {
            let what = "a listener is addressed by names or by ports, and here are both";
            table.tell(Fault::new(what, other, "write `sni` and `bootstrap-sni`, or `advertise` and `ports`"));
        }
        if nodes.is_none() {
            table.lacks("sni", &sni::of_nodes());
        }
        if bootstrap.is_none() {
            table.lacks("bootstrap-sni", &sni::of_bootstrap());
        }
        return Some(Addressing::Names { nodes: nodes?, bootstrap: bootstrap?, port: port.map(Spanned::into_inner) });
    }
    if let Some(port) = port {
        let what = "`advertise-port` is for listeners with `sni`: here each node has its port in `ports`";
        table.tell(Fault::new(what, port.span(), "leave it out"));
    }
    if advertise.is_none() {
        table.lacks("advertise", &values::advertised());
    }
    if ports.is_none() {
        table.lacks("ports", &values::ports());
    }
    Some(Addressing::Ports { advertise: advertise?, ports: ports? })
}

/// `proxy-protocol` and `proxy-from`.
pub(crate) fn proxy_protocol(table: &mut Table<'_>) -> Option<ProxyProtocol> {
    let mode = table.or(
        "proxy-protocol",
        words([("off", ProxyMode::Off), ("allowed", ProxyMode::Allowed), ("required", ProxyMode::Required)]),
        ProxyMode::Off,
        "Whether connections begin with a header of the PROXY protocol, version 1 or 2, in which a balancer says who the \
         client is: `\"off\"`; `\"allowed\"`: those from `proxy-from` may; `\"required\"`: all do, and come from there. Limits \
         per source address and logs are about the client then. A header from elsewhere closes the connection.",
    );
    let network = text("an address or a network, such as \"10.0.0.0/8\" or \"::1\"", ".", |text| {
        let address = || text.parse::<IpAddr>().map(IpNet::from);
        text.parse().or_else(|_| address()).map_err(|_| format!("{} is no network", quoted(text)))
    });
    let from =
        table.optional("proxy-from", list(1, network), "Networks whose headers are believed: those of the balancers.");
    let (mode, from) = (mode?, from?);
    let at = mode.span();
    let mode = mode.into_inner();
    match (&from, mode) {
        (None, ProxyMode::Allowed | ProxyMode::Required) => table.tell(Fault::new(
            "headers of the PROXY protocol are taken, and nothing says from whom",
            at,
            "add `proxy-from`, a list of the networks of your balancers: whoever is believed can call itself any address",
        )),
        (Some(from), ProxyMode::Off) => table.tell(Fault::new(
            "`proxy-from` says whose headers are believed, and none are taken",
            from.span(),
            "write `proxy-protocol = \"required\"` or `\"allowed\"`, or leave `proxy-from` out",
        )),
        (None, ProxyMode::Off) | (Some(_), ProxyMode::Allowed | ProxyMode::Required) => {}
    }
    let from = from.map(Spanned::into_inner).unwrap_or_default();
    Some(ProxyProtocol { mode, from: from.into_iter().map(Spanned::into_inner).collect() })
}
