//! The one who looks after a cluster: asks every half second, through Skein, which brokers there are, and takes one out.
//!
//! A broker leaves as Kafka's do when they are stopped in an orderly way: first others take its partitions and its group
//! over, then what it has already written is acknowledged, then its port closes. The mock needs that order: it would write
//! the records of an idempotent producer again, should an acknowledgement be lost.

use std::collections::BTreeSet;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use miette::{IntoDiagnostic, ensure};
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::metadata::Metadata;
use rdkafka::mocking::MockCoordinator;

use super::circuit::Circuit;
use super::clients;
use super::embedded::Embedded;

/// The broker that can be taken out.
pub(super) const BROKER: i32 = 1;
/// How often the cluster is asked.
const EVERY: Duration = Duration::from_millis(500);
/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(3);
/// How long a broker that leaves waits for what it has written to be acknowledged.
const SETTLING: Duration = Duration::from_secs(30);
/// How often it looks.
const LOOK: Duration = Duration::from_millis(20);

/// What the last question found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Health {
    /// None has been answered yet.
    Unknown,
    /// These brokers are there; the answer took so long.
    Answers(BTreeSet<i32>, Duration),
    /// No answer, and why.
    Silent(String),
}

/// Whether the broker is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Broker {
    /// It serves.
    Up,
    /// Others take over what it has.
    Leaving,
    /// Its port is closed.
    Down,
}

/// What the operator knows.
#[derive(Debug)]
pub(super) struct Watch {
    seen: Mutex<(Health, Broker)>,
}

impl Watch {
    /// What is known now.
    pub(super) fn now(&self) -> (Health, Broker) {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set(&self, change: impl FnOnce(&mut (Health, Broker))) {
        change(&mut self.seen.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

/// A handle to an operator, which ends with it.
#[derive(Debug)]
pub(super) struct Operator {
    watch: Arc<Watch>,
    toggle: Sender<()>,
    thread: JoinHandle<()>,
}

impl Operator {
    /// Starts it.
    ///
    /// # Errors
    /// Its client could not be made.
    pub(super) fn start(circuit: &Arc<Circuit>, embedded: Embedded) -> miette::Result<Self> {
        let client: BaseConsumer = clients::config(circuit, "demo-operator").create().into_diagnostic()?;
        let watch = Arc::new(Watch { seen: Mutex::new((Health::Unknown, Broker::Up)) });
        let (toggle, toggled) = channel();
        let desk =
            Desk { circuit: Arc::clone(circuit), embedded, client, watch: Arc::clone(&watch), moved: Vec::new() };
        let thread = thread::Builder::new().name("operator".to_owned()).spawn(move || desk.run(&toggled));
        Ok(Self { watch, toggle, thread: thread.into_diagnostic()? })
    }

    /// What it knows.
    pub(super) fn watch(&self) -> &Watch {
        &self.watch
    }

    /// Takes the broker out, or brings it back.
    pub(super) fn toggle(&self) {
        // It is gone only when everything is.
        let _ = self.toggle.send(());
    }

    /// Ends it, and the cluster with it.
    pub(super) fn end(self) {
        drop(self.toggle);
        // A thread that has panicked has nothing more to tell.
        let _ = self.thread.join();
    }
}

/// A partition, by its topic and number.
type Partition = (String, i32);

struct Desk {
    circuit: Arc<Circuit>,
    embedded: Embedded,
    client: BaseConsumer,
    watch: Arc<Watch>,
    /// What others lead while the broker is away.
    moved: Vec<Partition>,
}

impl Desk {
    fn run(mut self, toggled: &Receiver<()>) {
        loop {
            self.look();
            match toggled.recv_timeout(EVERY) {
                Ok(()) => self.toggle(),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    fn look(&self) {
        let began = Instant::now();
        let health = match self.ask() {
            Ok(answer) => Health::Answers(answer.brokers().iter().map(|broker| broker.id()).collect(), began.elapsed()),
            Err(error) => Health::Silent(error.to_string()),
        };
        self.watch.set(|seen| seen.0 = health);
    }

    fn ask(&self) -> miette::Result<Metadata> {
        self.client.fetch_metadata(None, PATIENCE).into_diagnostic()
    }

    fn toggle(&mut self) {
        let (_, broker) = self.watch.now();
        let done = if broker == Broker::Down { self.bring_back() } else { self.take_out() };
        if let Err(error) = done {
            tracing::warn!(cluster = self.circuit.setting.cluster, real_node = BROKER, %error, "the broker stays as it is");
            self.watch.set(|seen| seen.1 = broker);
        }
    }

    fn take_out(&mut self) -> miette::Result<()> {
        let cluster = self.circuit.setting.cluster;
        let answer = self.ask()?;
        let others: Vec<i32> = answer.brokers().iter().map(|broker| broker.id()).filter(|id| *id != BROKER).collect();
        ensure!(!others.is_empty(), "it is the only one");
        self.watch.set(|seen| seen.1 = Broker::Leaving);
        tracing::info!(cluster, real_node = BROKER, "the broker leaves: others take its partitions and its group over");
        let all = answer.topics().iter().flat_map(|topic| topic.partitions().iter().map(move |part| (topic, part)));
        let led = all.filter(|(_, partition)| partition.leader() == BROKER);
        self.moved = led.map(|(topic, partition)| (topic.name().to_owned(), partition.id())).collect();
        self.lead(others.into_iter().cycle())?;
        self.settle()?;
        self.embedded.ask(|mock| mock.broker_down(BROKER))?;
        tracing::info!(cluster, real_node = BROKER, "the broker is down: its port is closed");
        self.watch.set(|seen| seen.1 = Broker::Down);
        Ok(())
    }

    fn bring_back(&mut self) -> miette::Result<()> {
        self.embedded.ask(|mock| mock.broker_up(BROKER))?;
        self.lead(std::iter::repeat(BROKER))?;
        tracing::info!(cluster = self.circuit.setting.cluster, real_node = BROKER, "the broker is back");
        self.watch.set(|seen| seen.1 = Broker::Up);
        Ok(())
    }

    /// Gives the moved partitions their leaders, and the group the first of these as its coordinator.
    fn lead(&self, leaders: impl Iterator<Item = i32>) -> miette::Result<()> {
        let mut leaders = leaders.peekable();
        if let Some(&coordinator) = leaders.peek() {
            let group = MockCoordinator::Group(clients::group(&self.circuit));
            self.embedded.ask(move |mock| mock.coordinator(group, coordinator))?;
        }
        for ((topic, partition), leader) in self.moved.iter().cloned().zip(leaders) {
            self.embedded.ask(move |mock| mock.partition_leader(&topic, partition, Some(leader)))?;
        }
        Ok(())
    }

    /// Waits until every record that may have been written by the broker is acknowledged: what comes to it now, it refuses.
    fn settle(&self) -> miette::Result<()> {
        let marks = self.circuit.ledger.numbered();
        let began = Instant::now();
        while !self.circuit.ledger.settled(&marks) {
            ensure!(began.elapsed() < SETTLING, "records were not acknowledged within {} s", SETTLING.as_secs());
            thread::sleep(LOOK);
        }
        Ok(())
    }
}
