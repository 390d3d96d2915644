//! A running Skein: the virtual clusters that are served, and how one set of them takes the place of another.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use skein_config::blueprint::{Cluster, Memory};
use skein_config::declared::{Declaration, Declared};
use skein_config::{Blueprint, Configuration, Faults, process};
use skein_link::tls::{Material, Part};
use skein_login::Decoys;
use tokio::net::TcpListener;

use crate::admin::Admin;
use crate::admission::GuestBook;
use crate::arrival::Leads;
use crate::behind::Behind;
use crate::events::{Drained, Draining, OutOfDate, Ready, WantsRestart};
use crate::gate::{self, Gates, Unusable};
use crate::house::{Board, House, Settings};
use crate::listen::{self, Port};
use crate::meters::Meters;
use crate::named;
use crate::picture::Picture;
use crate::renewals::Renewals;
use crate::roll::Roll;
use crate::tenant::{Entered, Tenant};

/// Why Skein does not start, or does not take a changed file over.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
pub enum NotServed {
    /// An address cannot be bound.
    #[error("{address} of {of} cannot be bound: {error}")]
    #[diagnostic(help("another process may listen there; `bind` and `ports` say what is bound"))]
    NotBound {
        /// Whose address it is.
        of: String,
        /// The address.
        address: SocketAddr,
        /// What the system says.
        error: std::io::Error,
    },
    /// A file that the configuration names cannot be used.
    #[error(transparent)]
    #[diagnostic(help("correct the file, or name another"))]
    Unusable(#[from] Unusable),
    /// What the configuration says is not true of the files that it names.
    #[error("{}", .0.in_a_line())]
    Faulty(Faults),
    /// The system gives no random bytes.
    #[error("the system gives no random bytes, without which nobody can log in")]
    NoRandomness,
}

/// What became of a change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// Virtual clusters that are as they were.
    pub kept: usize,
    /// Virtual clusters that are new, or in a new form.
    pub begun: usize,
    /// Virtual clusters that are gone, or whose old form is.
    pub ended: usize,
}

/// A running Skein. Dropping it stops it from accepting and from telling; connections that are open go on to their end.
pub struct App {
    house: Arc<House>,
    declared: Declared,
    /// By name, as `declared` has them.
    tenants: BTreeMap<String, Arc<Tenant>>,
    /// By name, as `declared` has them.
    clusters: BTreeMap<String, Arc<Behind>>,
    ports: BTreeMap<SocketAddr, Port>,
    /// The entrances of each tenant: several of them may be at one address.
    entrances: BTreeMap<String, Vec<Entered>>,
    /// `None`: the file has none.
    _admin: Option<Admin>,
    /// What the file that it was started with says of what is read at the start only.
    at_start: (Memory, process::Admin),
    guests: GuestBook,
    /// The rolls of what has ended and may have connections that are not drained yet.
    ended: Vec<Arc<Roll>>,
}

impl App {
    /// Binds every listener and serves. It is ready when this returns.
    ///
    /// # Errors
    /// [`NotServed`]: nothing is served then.
    pub async fn start(configuration: Configuration) -> Result<Self, NotServed> {
        let house = House::new(
            &configuration.blueprint.memory,
            Settings { process: configuration.process.clone(), connections: configuration.connections.clone() },
            Decoys::new().ok_or(NotServed::NoRandomness)?,
        );
        tokio::spawn(Renewals::run(Arc::downgrade(&house.renewals), Arc::clone(&house.meters)));
        // Before any client is let in: if it cannot be bound, nothing may have been served.
        let watched =
            configuration.admin.bind.map(|address| bind(address, || "the admin listener".to_owned())).transpose()?;
        let mut app = Self {
            house: Arc::clone(&house),
            declared: Declared::default(),
            tenants: BTreeMap::new(),
            clusters: BTreeMap::new(),
            ports: BTreeMap::new(),
            entrances: BTreeMap::new(),
            _admin: watched.map(|socket| Admin::open(socket, house)),
            at_start: (configuration.blueprint.memory.clone(), configuration.admin.clone()),
            guests: GuestBook::default(),
            ended: Vec::new(),
        };
        app.change(configuration).await?;
        Ready { virtual_clusters: app.tenants.len(), ports: app.ports.len() }.emit();
        Ok(app)
    }

    /// Takes over what a file says now. Virtual clusters that it declares as before keep every connection. Others are
    /// drained, and their new forms take over the sockets that both have.
    ///
    /// # Errors
    /// [`NotServed`]: nothing has changed then.
    pub async fn change(&mut self, configuration: Configuration) -> Result<Changes, NotServed> {
        let tls = self.material(&configuration)?;
        let Configuration { blueprint, declared, written, process, connections, admin, .. } = configuration;
        let mut gates = self.gates(&blueprint, &declared)?;
        let bound = self.bound(&blueprint)?;
        self.compare(&blueprint.memory, &admin);
        let graph = Picture::of(&blueprint).mermaid();
        let Blueprint { clusters, virtual_clusters, .. } = blueprint;
        let clusters: Vec<_> = clusters.into_iter().map(|cluster| self.served(cluster, &declared, &tls)).collect();
        let mut changes = Changes::default();
        let mut tenants = BTreeMap::new();
        let mut entrances = BTreeMap::new();
        for cluster in virtual_clusters {
            let name = cluster.name.to_string();
            if same(&self.declared.virtual_clusters, &declared.virtual_clusters, &name)
                && let Some(kept) = self.tenants.remove(&name)
            {
                entrances.extend(self.entrances.remove_entry(&name));
                tenants.insert(name, kept);
                changes.kept += 1;
            } else {
                let gates = gates.remove(&name).unwrap_or_default();
                let of = (cluster, gates, &tls);
                let (tenant, entered) = Tenant::compiled(of, &clusters, &self.house, &mut self.guests);
                entrances.insert(name.clone(), entered);
                tenants.insert(name, tenant);
                changes.begun += 1;
            }
        }
        self.entrances = entrances;
        self.open(bound).await;
        let over = std::mem::replace(&mut self.tenants, tenants);
        changes.ended = over.len();
        self.house.set(Settings { process, connections });
        self.end(over.into_values());
        self.clusters = clusters.into_iter().map(|behind| (behind.asker.cluster().name.to_string(), behind)).collect();
        self.guests.tidy();
        self.declared = declared;
        self.house.descriptors.count_others();
        self.house.show(|board| (board.graph, board.written) = (graph, written));
        self.show();
        Ok(changes)
    }

    /// Tells of what a file says otherwise now, though it is read at the start only.
    fn compare(&self, memory: &Memory, admin: &process::Admin) {
        let (memory_then, admin_then) = &self.at_start;
        match (memory == memory_then, admin == admin_then) {
            (true, true) => {}
            (false, true) => WantsRestart { tables: "[limits]" }.emit(),
            (true, false) => WantsRestart { tables: "[admin]" }.emit(),
            (false, false) => WantsRestart { tables: "[admin], [limits]" }.emit(),
        }
    }

    /// A cluster of a file: as it is served already, if both files declare the same of it.
    fn served(&self, cluster: Cluster, declared: &Declared, tls: &Material) -> Arc<Behind> {
        let name = cluster.name.to_string();
        let known = self.clusters.get(&name).filter(|_| same(&self.declared.clusters, &declared.clusters, &name));
        let tls = tls.clusters.get(&cluster.name).map(Arc::clone);
        known.map_or_else(|| Arc::new(Behind::new(cluster, tls, &self.house.meters)), Arc::clone)
    }

    /// Reads what is needed of TLS by what is new, or in a new form.
    fn material(&self, configuration: &Configuration) -> Result<Material, NotServed> {
        let declared = &configuration.declared;
        let is_new = |part: Part<'_>| match part {
            Part::Cluster(name) => !same(&self.declared.clusters, &declared.clusters, name),
            Part::VirtualCluster(name) => !same(&self.declared.virtual_clusters, &declared.virtual_clusters, name),
        };
        let found = named::faults(&configuration.blueprint, is_new);
        if !found.is_empty() {
            return Err(NotServed::Faulty(configuration.faults(found)));
        }
        let loaded = Material::load(&configuration.blueprint, &configuration.folder, is_new);
        let material = loaded.map_err(|faults| NotServed::Faulty(configuration.faults(faults)))?;
        material.warnings().iter().for_each(|what| OutOfDate { what }.emit());
        self.house.renewals.watch(&material);
        Ok(material)
    }

    /// Opens the gates of virtual clusters that are new, or in a new form.
    fn gates(&self, blueprint: &Blueprint, declared: &Declared) -> Result<BTreeMap<String, Gates>, NotServed> {
        let is_new = |name: &str| !same(&self.declared.virtual_clusters, &declared.virtual_clusters, name);
        let new = blueprint.virtual_clusters.iter().filter(|cluster| is_new(&cluster.name));
        new.map(|cluster| Ok((cluster.name.to_string(), gate::gates(cluster, &self.house)?))).collect()
    }

    /// Binds what is not bound yet.
    fn bound(&self, blueprint: &Blueprint) -> Result<BTreeMap<SocketAddr, TcpListener>, NotServed> {
        let mut bound = BTreeMap::new();
        for cluster in &blueprint.virtual_clusters {
            for listener in &cluster.listeners {
                let new = listener.binds.iter().filter(|(address, _)| !self.ports.contains_key(address));
                // Several listeners may share an address.
                for (address, _) in new {
                    if bound.contains_key(address) {
                        continue;
                    }
                    let of = || format!("listener `{}` of virtual cluster `{}`", listener.name, cluster.name);
                    bound.insert(*address, bind(*address, of)?);
                }
            }
        }
        Ok(bound)
    }

    /// Leads each address to its entrances. What has none is closed.
    async fn open(&mut self, mut bound: BTreeMap<SocketAddr, TcpListener>) {
        let mut entrances: BTreeMap<SocketAddr, Vec<_>> = BTreeMap::new();
        for (address, named, entrance) in self.entrances.values().flatten() {
            entrances.entry(*address).or_default().push((named.clone(), Arc::clone(entrance)));
        }
        for (_, port) in self.ports.extract_if(.., |address, _| !entrances.contains_key(address)) {
            port.close().await;
        }
        for (address, entrances) in entrances {
            let Some(leads) = Leads::to(entrances) else { continue };
            match (self.ports.get(&address), bound.remove(&address)) {
                (Some(port), _) => port.lead_to(leads),
                (None, Some(socket)) => {
                    self.ports.insert(address, Port::open(socket, address, leads));
                }
                (None, None) => {}
            }
        }
    }

    /// Has the connections of some tenants end.
    fn end(&mut self, tenants: impl Iterator<Item = Arc<Tenant>>) {
        self.ended.retain(|roll| roll.len() > 0);
        let by = Instant::now() + self.house.settings().process.drain_timeout;
        for tenant in tenants {
            tenant.roll.drain(by);
            self.ended.push(Arc::clone(&tenant.roll));
        }
    }

    /// Shows what is served to those who watch.
    fn show(&self) {
        self.house.show(|board| {
            board.is_ready = !self.ports.is_empty();
            board.tenants = self.tenants.values().map(Arc::clone).collect();
            board.clusters = self.clusters.values().map(Arc::clone).collect();
            board.ended.clone_from(&self.ended);
        });
    }

    pub(crate) fn meters(&self) -> &Meters {
        &self.house.meters
    }

    /// Stops: nothing more is accepted, and every connection ends between two requests, or when `drain-timeout` is over.
    pub async fn drain(mut self) {
        self.house.show(|board| board.is_draining = true);
        for port in std::mem::take(&mut self.ports).into_values() {
            port.close().await;
        }
        let tenants = std::mem::take(&mut self.tenants);
        self.end(tenants.into_values());
        let connections = self.ended.iter().map(|roll| roll.len()).sum();
        Draining { connections, timeout: self.house.settings().process.drain_timeout }.emit();
        self.show();
        let begun = Instant::now();
        for roll in &self.ended {
            // Each session keeps the deadline itself.
            roll.emptied().await;
        }
        Drained { connections, took: begun.elapsed() }.emit();
    }
}

impl Drop for App {
    fn drop(&mut self) {
        // Connections that go on hold the house: what it shows would be kept for as long.
        self.house.show(|board| *board = Board::default());
    }
}

/// Binds an address of something.
fn bind(address: SocketAddr, of: impl FnOnce() -> String) -> Result<TcpListener, NotServed> {
    listen::bind(address).map_err(|error| NotServed::NotBound { of: of(), address, error })
}

/// Whether both declare the same under a name.
fn same(old: &BTreeMap<String, Declaration>, new: &BTreeMap<String, Declaration>, name: &str) -> bool {
    old.get(name).is_some_and(|old| new.get(name) == Some(old))
}

#[cfg(test)]
mod tests;
