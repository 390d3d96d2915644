//! One broker's listener: start, kill, restart at the same port.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use super::script::Gate;
use super::{World, connection, ledger, lock};
use crate::ports;

/// A broker, running or killed.
pub(super) struct Node {
    id: i32,
    address: SocketAddr,
    running: Option<Running>,
}

struct Running {
    life: Arc<Life>,
    acceptor: JoinHandle<()>,
}

impl Node {
    /// Listens at a free port, which is still free when the node has been killed.
    pub(super) fn start(id: i32, world: &Arc<World>) -> Result<Node> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, ports::block(1)?)).context("a port for a node")?;
        let address = listener.local_addr()?;
        Ok(Node { id, address, running: Some(accepting(id, listener, world)) })
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(super) fn kill(&mut self) {
        let Some(running) = self.running.take() else { return };
        running.life.end();
        // The acceptor sits in `accept`; a connection wakes it.
        drop(TcpStream::connect(self.address));
        drop(running.acceptor.join());
    }

    pub(super) fn restart(&mut self, world: &Arc<World>) -> Result<()> {
        self.kill();
        let listener = TcpListener::bind(self.address).with_context(|| format!("listen again at {}", self.address))?;
        self.running = Some(accepting(self.id, listener, world));
        Ok(())
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        self.kill();
    }
}

fn accepting(node: i32, listener: TcpListener, world: &Arc<World>) -> Running {
    let life = Arc::new(Life::default());
    let (world, shared) = (Arc::clone(world), Arc::clone(&life));
    let acceptor = thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(stream) = stream else { continue };
            if shared.is_over() {
                break;
            }
            let number = world.ledger.opened();
            if shared.enter(number, &stream).is_err() {
                world.ledger.closed(number);
                continue;
            }
            let (world, life) = (Arc::clone(&world), Arc::clone(&shared));
            thread::spawn(move || {
                connection::serve(&stream, node, number, &world, &life);
                life.leave(number);
                drop(stream);
                world.ledger.closed(number);
            });
        }
    });
    Running { life, acceptor }
}

/// From a start to the kill after it: the connections, and a bell for those who wait.
#[derive(Default)]
pub(super) struct Life {
    state: Mutex<State>,
    ended: Condvar,
}

#[derive(Default)]
struct State {
    over: bool,
    streams: BTreeMap<usize, TcpStream>,
}

impl Life {
    pub(super) fn is_over(&self) -> bool {
        lock(&self.state).over
    }

    /// Waits, unless killed.
    pub(super) fn sleep(&self, time: Duration) {
        let deadline = Instant::now() + time;
        let mut state = lock(&self.state);
        while !state.over {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            state = ledger::wait(&self.ended, state, left);
        }
    }

    /// Waits for the gate, unless killed.
    pub(super) fn pass(&self, gate: &Gate) {
        while !self.is_over() && !gate.is_open_within(Duration::from_millis(20)) {}
    }

    /// Waits until killed, or until the other side has closed.
    pub(super) fn linger(&self, stream: &TcpStream) {
        let mut buffer = [0];
        while !self.is_over() && connection::is_alive(stream, &mut buffer) {
            self.sleep(Duration::from_millis(20));
        }
    }

    fn enter(&self, number: usize, stream: &TcpStream) -> Result<()> {
        stream.set_nodelay(true)?;
        lock(&self.state).streams.insert(number, stream.try_clone()?);
        Ok(())
    }

    fn leave(&self, number: usize) {
        lock(&self.state).streams.remove(&number);
    }

    fn end(&self) {
        let mut state = lock(&self.state);
        state.over = true;
        for stream in state.streams.values() {
            drop(stream.shutdown(Shutdown::Both));
        }
        self.ended.notify_all();
    }
}
