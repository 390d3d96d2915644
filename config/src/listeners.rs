//! Listeners: one port for the bootstrap address and one for each node, which no two of them may share, or one name for each.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::ops::{Range, RangeInclusive};
use std::sync::Arc;

use skein_filters::{Address, Face};
use skein_login::Mechanism;
use skein_protocol::ids::VirtualNodeId;
use skein_routing::topology::ClusterIndex;
use skein_settings::{Fault, Spanned, quoted};

use crate::addressing::{Addressing, ProxyProtocol};
use crate::blueprint::{self, Names};
use crate::document::Listener;
use crate::login::{Clients, Here, ListenerLogin};
use crate::sni::Pattern;
use crate::tls::{ClientCertificate, ListenerTls};

/// The virtual cluster of a listener.
pub(crate) struct Owner<'o> {
    pub(crate) name: &'o str,
    pub(crate) id: &'o str,
    /// Its nodes in the order of their ports.
    pub(crate) nodes: &'o [VirtualNodeId],
    /// The clusters that it reaches.
    pub(crate) clusters: &'o [(ClusterIndex, &'o blueprint::Cluster)],
}

/// What listeners have taken so far.
#[derive(Default)]
pub(crate) struct Claims {
    pub(crate) faults: Vec<Fault>,
    /// Every port that is bound, on which address, and by whom.
    bound: BTreeMap<(u16, IpAddr), Arc<str>>,
    /// Every address that clients are told, and by whom.
    advertised: BTreeMap<(String, u16), Arc<str>>,
    /// Addresses that names are told apart at.
    shared: BTreeMap<SocketAddr, Shared>,
}

/// An address that several listeners may share.
struct Shared {
    proxy: ProxyProtocol,
    /// The names there, by what those which could be one have in common.
    patterns: BTreeMap<String, Vec<(Pattern, Arc<str>)>>,
}

impl Claims {
    /// Compiles a listener; `None`: a fault has been told.
    pub(crate) fn listener(
        &mut self, owner: &Owner<'_>, name: &str, declared: &Listener,
    ) -> Option<blueprint::Listener> {
        let Listener { bind: _, addressing, login, proxy, tls } = declared;
        self.login(owner, login, tls.as_ref());
        let whose: Arc<str> = format!("listener {} of virtual cluster {}", quoted(name), quoted(owner.name)).into();
        let places = match addressing {
            Addressing::Ports { advertise, ports } => self.by_port(owner, declared, (advertise, ports), &whose)?,
            Addressing::Names { nodes, bootstrap, port } => {
                if tls.is_none() {
                    let what = "names are told by TLS hellos, and this listener has no TLS";
                    self.faults.push(Fault::new(
                        what,
                        nodes.span(),
                        "add a table `tls`, or use `advertise` and `ports`",
                    ));
                }
                self.by_name(owner, declared, (nodes, bootstrap, *port), &whose)
            }
        };
        Some(blueprint::Listener {
            name: Arc::from(name),
            face: Arc::new(Face::new(owner.id, places.addresses)),
            login: login.get_ref().clone(),
            binds: places.binds,
            names: places.names,
            hosts: places.hosts,
            tls: tls.clone(),
            proxy: proxy.clone(),
        })
    }

    /// The places of a listener with a port for each node; `None`: a fault has been told.
    fn by_port(
        &mut self, owner: &Owner<'_>, declared: &Listener, (advertise, ports): (&Spanned<Arc<str>>, &Ports),
        whose: &Arc<str>,
    ) -> Option<Places> {
        let bind = &declared.bind;
        let room = ports.get_ref().len();
        if owner.nodes.len() > room {
            let what = format!("{} nodes are declared, and there are {room} ports", owner.nodes.len());
            self.faults.push(Fault::new(what, ports.span(), "make the range longer: each declared node has a port"));
            return None;
        }
        let host = advertise.get_ref();
        let mut binds = vec![(*bind.get_ref(), None)];
        let mut addresses = BTreeMap::new();
        for (port, node) in ports.get_ref().clone().zip(owner.nodes) {
            binds.push((SocketAddr::new(bind.get_ref().ip(), port), Some(*node)));
            addresses.insert(*node, Address { host: Arc::clone(host), port });
        }
        let at = |node: &Option<VirtualNodeId>| if node.is_none() { bind.span() } else { ports.span() };
        let places: Vec<_> = binds.iter().map(|(address, node)| (*address, at(node))).collect();
        // What clashes when it is bound need not be said a second time of what is advertised.
        if self.bind(&places, whose) == Free::Yes {
            self.advertise(addresses.values(), whose, &ports.span());
        }
        let hosts = vec![(Arc::clone(host), advertise.span())];
        Some(Places { binds, addresses, names: None, hosts })
    }

    /// The places of a listener with a name for each node.
    fn by_name(
        &mut self, owner: &Owner<'_>, declared: &Listener,
        (nodes, bootstrap, port): (&Spanned<Pattern>, &Spanned<Pattern>, Option<u16>), whose: &Arc<str>,
    ) -> Places {
        let bind = *declared.bind.get_ref();
        let port = port.unwrap_or(bind.port());
        let named = |node: &VirtualNodeId| (*node, nodes.get_ref().name(node.0));
        let named: Vec<_> = owner.nodes.iter().map(named).collect();
        let addresses: BTreeMap<_, _> =
            named.iter().map(|(node, name)| (*node, Address { host: Arc::clone(name), port })).collect();
        if self.share(declared, &[nodes, bootstrap], whose) == Free::Yes {
            self.advertise(addresses.values(), whose, &nodes.span());
        }
        let first = bootstrap.get_ref();
        let mut all = vec![(Arc::clone(&first.shown), None)];
        let mut hosts = vec![(Arc::clone(&first.shown), bootstrap.span())];
        for (node, name) in named {
            hosts.push((Arc::clone(&name), nodes.span()));
            all.push((name, Some(node)));
        }
        let shown = [Arc::clone(&first.shown), Arc::clone(&nodes.get_ref().shown)];
        Places { binds: vec![(bind, None)], addresses, names: Some(Names { all, shown }), hosts }
    }

    /// Takes names at an address that others may have names at, too.
    fn share(&mut self, declared: &Listener, patterns: &[&Spanned<Pattern>], whose: &Arc<str>) -> Free {
        let bind = *declared.bind.get_ref();
        if !self.shared.contains_key(&bind) {
            if self.bind(&[(bind, declared.bind.span())], whose) == Free::No {
                return Free::No;
            }
            let new = Shared { proxy: declared.proxy.clone(), patterns: BTreeMap::new() };
            self.shared.insert(bind, new);
        }
        let Some(shared) = self.shared.get_mut(&bind) else { return Free::No };
        if shared.proxy != declared.proxy {
            let what = format!("listeners that share {bind} say different things of the PROXY protocol");
            let right = "write the same `proxy-protocol` and `proxy-from` in each: the header comes before the name";
            self.faults.push(Fault::new(what, declared.bind.span(), right));
        }
        let mut free = Free::Yes;
        for pattern in patterns {
            let alike = shared.patterns.entry(pattern.get_ref().skeleton()).or_default();
            let taken = alike.iter().find(|(other, _)| other.meets(pattern.get_ref()));
            if let (Free::Yes, Some((other, by))) = (free, taken) {
                free = Free::No;
                let one = &pattern.get_ref().shown;
                let what = format!("a name can be both `{one}` of {whose} and `{}` of {by}", other.shown);
                let right = "give each listener at one address names of its own";
                self.faults.push(Fault::new(what, pattern.span(), right));
            }
            alike.push((pattern.get_ref().clone(), Arc::clone(whose)));
        }
        free
    }

    /// What a listener's login and those at its clusters mean together.
    fn login(&mut self, owner: &Owner<'_>, login: &Spanned<ListenerLogin>, tls: Option<&Spanned<ListenerTls>>) {
        let at = login.span();
        let mut fault = |what: String, right: &str| self.faults.push(Fault::new(what, at.clone(), right));
        let clients = |cluster: &blueprint::Cluster| cluster.login.as_ref().map(|login| login.clients);
        let of_clients = owner.clusters.iter().filter(|(_, cluster)| clients(cluster) != Some(Clients::Service));
        let of_clients: Vec<_> = of_clients.filter_map(|(_, cluster)| Some((cluster, clients(cluster)?))).collect();
        match login.get_ref() {
            ListenerLogin::Relay if owner.clusters.len() != 1 => {
                let what = format!("a relayed login is judged by one cluster; here are {}", owner.clusters.len());
                fault(
                    what,
                    "have Skein judge logins: give `login` a table with `mechanisms`; or a target with one cluster",
                );
            }
            ListenerLogin::Relay => {
                for (cluster, _) in of_clients {
                    let what =
                        format!("cluster {} judges the logins of clients that are passed to it", quoted(&cluster.name));
                    fault(what, "leave `clients` out there, or give `login` a table with `mechanisms` here");
                }
            }
            ListenerLogin::None => {
                // Who has shown a certificate has a principal, and nothing that could be passed on.
                let has_names = tls.is_some_and(|tls| tls.get_ref().client_certificate != ClientCertificate::None);
                let is_unspoken = |clients: &Clients| !has_names || *clients == Clients::PassOn;
                for (cluster, _) in of_clients.into_iter().filter(|(_, clients)| is_unspoken(clients)) {
                    let what = format!(
                        "cluster {} is spoken to as the client, and clients do not log in here",
                        quoted(&cluster.name)
                    );
                    fault(what, "give `login` a table with `mechanisms`, or leave `clients` out there");
                }
            }
            ListenerLogin::Here(here) => {
                let passed_on = of_clients.iter().find(|(_, clients)| *clients == Clients::PassOn);
                let passed_on = passed_on.map(|(cluster, _)| &*cluster.name);
                judged_here(here, passed_on, fault);
            }
        }
    }

    /// Takes the port of the admin listener, once all others are taken.
    pub(crate) fn admin(&mut self, bind: &Spanned<SocketAddr>) {
        self.bind(&[(*bind.get_ref(), bind.span())], &Arc::from("the admin listener"));
    }

    /// Takes all ports of a listener, and tells of the first that is taken.
    fn bind(&mut self, places: &[(SocketAddr, Range<usize>)], whose: &Arc<str>) -> Free {
        let mut free = Free::Yes;
        for (address, at) in places {
            let (ip, port) = (address.ip().to_canonical(), address.port());
            if free == Free::Yes
                && let Some((taken, by)) = self.taken(ip, port)
            {
                free = Free::No;
                let (what, right) = clash((ip, whose), (taken, &by), port);
                self.faults.push(Fault::new(what, at.clone(), right));
            }
            self.bound.insert((port, ip), Arc::clone(whose));
        }
        free
    }

    /// Who has bound a port where an address would need it. A wildcard needs it everywhere; `[::]` takes IPv4 as well.
    fn taken(&self, ip: IpAddr, port: u16) -> Option<(IpAddr, Arc<str>)> {
        let any = IpAddr::V6(Ipv6Addr::UNSPECIFIED);
        let any_v4 = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
        let everywhere = |from: IpAddr, to: IpAddr| self.bound.range((port, from)..=(port, to)).next();
        let found = match ip {
            _ if ip == any => everywhere(any_v4, IpAddr::V6(Ipv6Addr::from(u128::MAX))),
            _ if ip == any_v4 => everywhere(any_v4, IpAddr::V4(Ipv4Addr::BROADCAST)),
            IpAddr::V4(_) | IpAddr::V6(_) => self.bound.get_key_value(&(port, ip)),
        };
        let found = found.or_else(|| self.bound.get_key_value(&(port, any)));
        let found = found.or_else(|| ip.is_ipv4().then(|| self.bound.get_key_value(&(port, any_v4))).flatten());
        found.map(|((_, taken), by)| (*taken, Arc::clone(by)))
    }

    /// Takes all addresses that clients are told, and tells of the first that is taken.
    fn advertise<'a>(&mut self, addresses: impl Iterator<Item = &'a Address>, whose: &Arc<str>, at: &Range<usize>) {
        let mut told = Vec::new();
        for address in addresses {
            let taken = self.advertised.insert((address.host.to_lowercase(), address.port), Arc::clone(whose));
            told.extend(taken.map(|by| (address, by)));
        }
        if let Some((Address { host, port }, by)) = told.first() {
            self.faults.push(Fault::new(
                format!("`{host}:{port}` is advertised by {by} and by {whose}"),
                at.clone(),
                "clients could not tell them apart: give them other ports, or another host in `advertise`",
            ));
        }
    }
}

/// What is needed where Skein judges logins. `passed_on`: a cluster that judges passwords and tokens again.
fn judged_here(here: &Here, passed_on: Option<&str>, mut fault: impl FnMut(String, &str)) {
    let is_scram = |mechanism: &Mechanism| matches!(mechanism, Mechanism::ScramSha256 | Mechanism::ScramSha512);
    let has_scram = here.mechanisms.iter().any(is_scram);
    let has_passwords = has_scram || here.mechanisms.contains(&Mechanism::Plain);
    if let (true, Some(cluster)) = (has_scram, passed_on) {
        let what = format!("SCRAM shows nobody the password that cluster {} is to be given", quoted(cluster));
        fault(what, "offer PLAIN or OAUTHBEARER, or have the cluster's `clients` be a `\"map\"`");
    } else if has_passwords && here.users.is_none() && passed_on.is_none() {
        fault("passwords without `users`".to_owned(), "add `users`, a file that `skein user add` makes");
    }
}

/// A range of ports in the file.
type Ports = Spanned<RangeInclusive<u16>>;

/// Where a listener is reached.
struct Places {
    binds: Vec<(SocketAddr, Option<VirtualNodeId>)>,
    addresses: BTreeMap<VirtualNodeId, Address>,
    names: Option<Names>,
    /// Hosts that clients are told.
    hosts: Vec<(Arc<str>, Range<usize>)>,
}

/// Whether all could be taken.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Free {
    Yes,
    No,
}

/// What is told of a port that two want.
fn clash((ip, whose): (IpAddr, &Arc<str>), (taken, by): (IpAddr, &Arc<str>), port: u16) -> (String, String) {
    if whose == by {
        let what = format!("port {port} is the bootstrap port of {whose}, and that of one of its nodes");
        return (what, "write a range in `ports` that leaves the port of `bind` out".to_owned());
    }
    let right = "give each listener ports of its own";
    if ip == taken {
        return (format!("{} is bound by {by} and by {whose}", SocketAddr::new(ip, port)), right.to_owned());
    }
    let (one, other) = (SocketAddr::new(taken, port), SocketAddr::new(ip, port));
    let what = format!("{one} is bound by {by}, and {other} by {whose}; a wildcard takes every address");
    (what, format!("{right}, or bind both to addresses of their own"))
}
