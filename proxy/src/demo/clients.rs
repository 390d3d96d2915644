//! Producers and consumers: librdkafka, which knows nothing but the bootstrap address of a virtual cluster.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use miette::IntoDiagnostic;
use rdkafka::client::ClientContext;
use rdkafka::config::{ClientConfig, RDKafkaLogLevel};
use rdkafka::consumer::{BaseConsumer, Consumer, ConsumerContext};
use rdkafka::error::{KafkaError, KafkaResult};
use rdkafka::message::Message;
use rdkafka::producer::{BaseRecord, DeliveryResult, Producer, ProducerContext, ThreadedProducer};
use rdkafka::statistics::Statistics;

use super::circuit::{Bytes, Circuit};
use super::record::Record;
use super::setting::PARTITIONS;
use super::verifier::StreamId;

/// Producers of each virtual cluster.
pub(super) const PRODUCERS: u32 = 2;
/// How often producers send what is due.
const TICK: Duration = Duration::from_millis(20);
/// How long a consumer waits for a record before it looks about.
const POLL: Duration = Duration::from_millis(100);
/// How long producers have to get the last records acknowledged.
const FLUSH: Duration = Duration::from_secs(60);
/// Records that may be on the way: beyond, producers wait for the consumers. A mock broker keeps no more than so much.
const ON_THE_WAY: u64 = 20_000;

/// The settings of every client of a virtual cluster.
pub(super) fn config(circuit: &Circuit, client_id: &str) -> ClientConfig {
    let mut config = ClientConfig::new();
    config
        .set("bootstrap.servers", circuit.setting.bootstrap())
        .set("client.id", client_id)
        .set("statistics.interval.ms", "1000")
        // The default of ten seconds is for thousands of clients and one broker.
        .set("reconnect.backoff.max.ms", "1000");
    config
}

/// The group of a virtual cluster's consumers.
pub(super) fn group(circuit: &Circuit) -> String {
    format!("demo-{}", circuit.setting.name)
}

/// Starts all clients of a virtual cluster. They end when the circuit says so.
///
/// # Errors
/// A client that could not be made.
pub(super) fn start(circuit: &Arc<Circuit>) -> miette::Result<Vec<JoinHandle<()>>> {
    let consumer = consumer(circuit).into_diagnostic()?;
    let shared = Arc::clone(circuit);
    let reader = thread::Builder::new().name("consumer".to_owned()).spawn(move || read(&shared, &consumer));
    let producers = (1..=PRODUCERS).map(|number| {
        let hand = Hand::new(circuit, number).into_diagnostic()?;
        let thread = thread::Builder::new().name(format!("producer {number}"));
        thread.spawn(move || hand.run()).into_diagnostic()
    });
    std::iter::once(reader.into_diagnostic()).chain(producers).collect()
}

/// What a client tells of itself.
pub(super) struct Voice {
    circuit: Arc<Circuit>,
    client_id: String,
}

impl ClientContext for Voice {
    fn log(&self, _: RDKafkaLogLevel, facility: &str, message: &str) {
        tracing::debug!(client_id = self.client_id, facility, message, "a client's log");
    }

    fn error(&self, error: KafkaError, reason: &str) {
        tracing::info!(client_id = self.client_id, %error, reason, "a client reconnects");
    }

    fn stats(&self, statistics: Statistics) {
        let nodes = statistics.brokers.values().filter(|broker| broker.nodeid >= 0);
        let mut seen = std::collections::BTreeMap::<i32, Bytes>::new();
        for broker in nodes {
            let bytes = seen.entry(broker.nodeid).or_default();
            bytes.up += broker.txbytes;
            bytes.down += broker.rxbytes;
        }
        self.circuit.traffic.report(&self.client_id, seen);
    }
}

impl ConsumerContext for Voice {}

/// What a producer remembers of a record until its fate is known.
pub(super) struct Sent {
    stream: StreamId,
    number: u64,
    at: Instant,
}

impl ProducerContext for Voice {
    type DeliveryOpaque = Box<Sent>;

    fn delivery(&self, result: &DeliveryResult<'_>, sent: Box<Sent>) {
        let Sent { stream, number, at } = *sent;
        match result {
            Ok(_) => {
                self.circuit.latencies.add(at.elapsed());
                self.circuit.ledger.acknowledged(stream, number);
            }
            Err((error, _)) => {
                tracing::warn!(client_id = self.client_id, %error, "a producer has given a record up");
                self.circuit.ledger.given_up(stream, number);
            }
        }
    }
}

/// A producer and its place in its work.
struct Hand {
    circuit: Arc<Circuit>,
    client: ThreadedProducer<Voice>,
    number: u32,
    /// The partition of the next record.
    partition: i32,
}

impl Hand {
    fn new(circuit: &Arc<Circuit>, number: u32) -> KafkaResult<Self> {
        let client_id = format!("demo-producer-{number}");
        let mut config = config(circuit, &client_id);
        config.set("enable.idempotence", "true").set("compression.type", "lz4").set("linger.ms", "1");
        let client = config.create_with_context(Voice { circuit: Arc::clone(circuit), client_id })?;
        Ok(Self { circuit: Arc::clone(circuit), client, number, partition: 0 })
    }

    fn run(mut self) {
        let mut due = Due::new(self.circuit.rate / PRODUCERS);
        while self.circuit.is_sending() {
            thread::sleep(TICK);
            let count = due.after(TICK);
            // Nothing is on the way for long: who reads it is there first.
            if !self.group_is_ready() || self.circuit.ledger.tally().on_the_way > ON_THE_WAY {
                continue;
            }
            for _ in 0..count {
                if !self.send() {
                    break;
                }
            }
        }
        if let Err(error) = self.client.flush(FLUSH) {
            tracing::warn!(%error, "a producer has ended with records that are not acknowledged");
        }
    }

    fn group_is_ready(&self) -> bool {
        i32::try_from(self.circuit.held.load(Ordering::Relaxed)).is_ok_and(|held| held >= PARTITIONS)
    }

    /// Sends one record. Whether the client took it; its queue may be full.
    fn send(&mut self) -> bool {
        let Circuit { setting, run, ledger, .. } = &*self.circuit;
        let stream = StreamId { producer: self.number, partition: self.partition };
        let number = ledger.number(stream);
        let record = Record { run: run.clone(), stream, number };
        let (key, value) = (record.key(), record.value());
        let sent = Box::new(Sent { stream, number, at: Instant::now() });
        let record = BaseRecord::with_opaque_to(setting.name, sent).partition(self.partition).key(&key).payload(&value);
        let taken = self.client.send(record).is_ok();
        if taken {
            self.partition = (self.partition + 1) % PARTITIONS;
        } else {
            ledger.not_sent(stream);
        }
        taken
    }
}

/// How many records are due, so that a rate holds over time though each tick has a whole number.
struct Due {
    /// Per second.
    rate: u128,
    /// In millionths of a record.
    owed: u128,
}

impl Due {
    const ONE: u128 = 1_000_000;

    fn new(rate: u32) -> Self {
        Self { rate: rate.max(1).into(), owed: 0 }
    }

    /// The records that are due after so much more time.
    fn after(&mut self, time: Duration) -> u128 {
        self.owed += time.as_micros() * self.rate;
        let whole = self.owed / Self::ONE;
        self.owed %= Self::ONE;
        whole
    }
}

/// The one member of the group. The mock coordinates larger ones by luck: a member that asks for its partitions after the
/// leader has handed them out gets none.
fn consumer(circuit: &Arc<Circuit>) -> KafkaResult<BaseConsumer<Voice>> {
    let client_id = "demo-consumer".to_owned();
    let mut config = config(circuit, &client_id);
    config
        .set("group.id", group(circuit))
        .set("auto.offset.reset", "earliest")
        .set("auto.commit.interval.ms", "1000")
        // A member that comes back is kept waiting for as long by the mock.
        .set("session.timeout.ms", "10000")
        .set("fetch.wait.max.ms", "100");
    let consumer: BaseConsumer<Voice> =
        config.create_with_context(Voice { circuit: Arc::clone(circuit), client_id })?;
    consumer.subscribe(&[circuit.setting.name])?;
    Ok(consumer)
}

/// Reads until the circuit says so.
fn read(circuit: &Circuit, consumer: &BaseConsumer<Voice>) {
    while circuit.is_reading() {
        match consumer.poll(POLL) {
            Some(Ok(message)) => {
                let record = message.payload().and_then(Record::read).filter(|record| record.run == circuit.run);
                let here = record.filter(|record| record.stream.partition == message.partition());
                circuit.ledger.arrived(here.map(|record| (record.stream, record.number)));
            }
            Some(Err(error)) => tracing::info!(%error, "a consumer waits"),
            None => {
                if let Ok(partitions) = consumer.assignment() {
                    circuit.held.store(partitions.count(), Ordering::Relaxed);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_holds_over_many_ticks() {
        let mut due = Due::new(333);
        let second: u128 = (0..50).map(|_| due.after(TICK)).sum();
        assert_eq!(second, 333);
    }
}
