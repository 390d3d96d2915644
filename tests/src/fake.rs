//! A Kafka cluster that does what a test tells it to.
//!
//! ```text
//! model ──── what the cluster is: nodes, topics, versions; changed at any time
//! script ─── what happens to the next (or every) request of a key
//! ledger ─── what arrived, what left, which connections are open
//! node ───── a listener of one broker; connection ── a thread that reads, asks the script, answers
//! ```
//!
//! Like a broker, a connection reads its next request only after it has dealt with the last one. Threads, no runtime;
//! everything listens on 127.0.0.1.

mod answers;
mod connection;
mod data;
pub mod ledger;
pub mod model;
mod node;
pub mod script;
pub mod segments;

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result};

pub use ledger::{Received, Sent};
pub use model::{Model, Range, Topic};
pub use script::{Action, Gate};
pub use segments::Stored;

use ledger::Ledger;
use node::Node;
use script::Script;

/// What the connections of all nodes share.
struct World {
    model: Mutex<Model>,
    script: Mutex<Script>,
    ledger: Ledger,
}

/// A running cluster; dropped, it is gone.
pub struct Fake {
    world: Arc<World>,
    nodes: BTreeMap<i32, Node>,
    mute: Vec<TcpListener>,
}

impl Fake {
    /// Starts these brokers, with no topics.
    ///
    /// # Errors
    /// No port to listen on.
    pub fn start(cluster_id: &str, ids: &[i32]) -> Result<Fake> {
        let world = Arc::new(World {
            model: Mutex::new(Model::new(cluster_id)),
            script: Mutex::new(Script::default()),
            ledger: Ledger::default(),
        });
        let mut nodes = BTreeMap::new();
        for &id in ids {
            let node = Node::start(id, &world)?;
            lock(&world.model).nodes.insert(id, node.address());
            nodes.insert(id, node);
        }
        Ok(Fake { world, nodes, mute: Vec::new() })
    }

    /// With a topic whose partitions have these leaders.
    #[must_use]
    pub fn topic(self, name: &str, leaders: &[i32]) -> Fake {
        self.change(|model| {
            model.topics.insert(name.to_owned(), Topic::led_by(name, leaders));
        });
        self
    }

    /// With so many addresses before its own in `bootstrap`, where connections are taken and nothing is ever said.
    ///
    /// # Errors
    /// No port to listen on.
    pub fn behind_mute(mut self, count: usize) -> Result<Fake> {
        let listen = |_| TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
        self.mute = (0..count).map(listen).collect::<Result<_, _>>()?;
        Ok(self)
    }

    /// Where a node listens, or listened.
    ///
    /// # Errors
    /// There is no such node.
    pub fn address(&self, node: i32) -> Result<SocketAddr> {
        Ok(self.node(node)?.address())
    }

    /// The addresses of all nodes, as `bootstrap` wants them.
    pub fn bootstrap(&self) -> Vec<String> {
        let mute = self.mute.iter().filter_map(|listener| listener.local_addr().ok());
        mute.chain(self.nodes.values().map(Node::address)).map(|address| address.to_string()).collect()
    }

    /// Changes what the cluster is, or reads it.
    pub fn change<T>(&self, change: impl FnOnce(&mut Model) -> T) -> T {
        change(&mut lock(&self.world.model))
    }

    /// Does this, once, with the next request of the key, at whichever node. Several calls queue up.
    pub fn on_next(&self, key: i16, actions: impl IntoIterator<Item = Action>) {
        lock(&self.world.script).on_next(None, key, actions);
    }

    /// Does this, once, with the next request of the key at that node.
    pub fn on_next_at(&self, node: i32, key: i16, actions: impl IntoIterator<Item = Action>) {
        lock(&self.world.script).on_next(Some(node), key, actions);
    }

    /// Does this with every request of the key from now on, in place of what was said before.
    pub fn on_every(&self, key: i16, actions: impl IntoIterator<Item = Action>) {
        lock(&self.world.script).on_every(key, actions);
    }

    /// Forgets the script: answers as a broker does.
    pub fn behave(&self) {
        *lock(&self.world.script) = Script::default();
    }

    /// Every request so far, in the order of arrival.
    pub fn requests(&self) -> Vec<Received> {
        self.world.ledger.requests()
    }

    /// Every request of one key so far.
    pub fn requests_of(&self, key: i16) -> Vec<Received> {
        self.requests().into_iter().filter(|request| request.key == key).collect()
    }

    /// The first request, past or to come, that fits. `fits` must not ask the cluster itself.
    ///
    /// # Errors
    /// None in time.
    pub fn wait_for(&self, fits: impl Fn(&Received) -> bool, within: Duration) -> Result<Received> {
        self.world.ledger.wait_for(fits, within)
    }

    /// Waits until that many requests of the key have arrived.
    ///
    /// # Errors
    /// Fewer in time.
    pub fn wait_for_count(&self, key: i16, count: usize, within: Duration) -> Result<()> {
        self.world.ledger.wait_for_count(key, count, within)
    }

    /// Forgets the requests and answers recorded so far.
    pub fn forget(&self) {
        self.world.ledger.forget();
    }

    /// Every answer written so far.
    pub fn sent(&self) -> Vec<Sent> {
        self.world.ledger.sent()
    }

    /// The first answer, past or to come, that fits.
    ///
    /// # Errors
    /// None in time.
    pub fn wait_for_sent(&self, fits: impl Fn(&Sent) -> bool, within: Duration) -> Result<Sent> {
        self.world.ledger.wait_for_sent(fits, within)
    }

    /// Number of connections ever accepted.
    pub fn connections(&self) -> usize {
        self.world.ledger.connections()
    }

    /// Numbers of the connections that are open.
    pub fn open_connections(&self) -> Vec<usize> {
        self.world.ledger.open()
    }

    /// Waits until a connection has ended.
    ///
    /// # Errors
    /// It is still open.
    pub fn wait_closed(&self, connection: usize, within: Duration) -> Result<()> {
        self.world.ledger.wait_closed(connection, within)
    }

    /// Stops a node as a kill does: its connections end, nobody listens at its port, the others go on.
    ///
    /// # Errors
    /// There is no such node.
    pub fn kill(&mut self, node: i32) -> Result<()> {
        self.nodes.get_mut(&node).with_context(|| format!("no node {node}"))?.kill();
        Ok(())
    }

    /// Listens again at the port that the node had.
    ///
    /// # Errors
    /// There is no such node, or the port is taken.
    pub fn restart(&mut self, node: i32) -> Result<()> {
        let world = Arc::clone(&self.world);
        self.nodes.get_mut(&node).with_context(|| format!("no node {node}"))?.restart(&world)
    }

    fn node(&self, id: i32) -> Result<&Node> {
        self.nodes.get(&id).with_context(|| format!("no node {id}"))
    }
}

/// A test that panics while it holds a lock has failed already; the others need not.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
