//! Clusters inside this process: librdkafka's mock of a cluster, which speaks Kafka on ports of its own.
//!
//! It keeps up to 5 MiB per partition in memory, makes a topic when it is first asked for, coordinates classic groups, and
//! hands out producer ids. It has no admin APIs, and no controller: nobody moves leaders when a broker goes, see
//! [`super::operator`]. It checks the sequence numbers of producers with a transactional id only. A Java consumer with
//! `group.protocol=consumer` makes it end the process; that API cannot be taken from what it offers.

use std::sync::mpsc::{Sender, channel};
use std::thread;

use miette::{IntoDiagnostic, miette};
use rdkafka::error::KafkaResult;
use rdkafka::mocking::MockCluster;
use rdkafka::producer::DefaultProducerContext;
use rdkafka::types::RDKafkaApiKey;

/// The last versions that the mock does well. Later ones of Metadata are malformed; of Fetch, name topics by ids, which are not
/// known without later Metadata; of the group's APIs, are read as if no element had tags.
const LAST: [(RDKafkaApiKey, i16); 6] = [
    (RDKafkaApiKey::Metadata, 8),
    (RDKafkaApiKey::Fetch, 12),
    (RDKafkaApiKey::JoinGroup, 5),
    (RDKafkaApiKey::SyncGroup, 3),
    (RDKafkaApiKey::Heartbeat, 3),
    (RDKafkaApiKey::LeaveGroup, 2),
];

/// What it is called in this process.
type Mock = MockCluster<'static, DefaultProducerContext>;
type Order = Box<dyn FnOnce(&Mock) + Send>;

/// A handle to one embedded cluster; the cluster ends with it.
///
/// The mock must not leave the thread that made it, so it has one, which takes orders.
#[derive(Debug)]
pub(super) struct Embedded {
    bootstrap: Vec<String>,
    orders: Sender<Order>,
}

impl Embedded {
    /// Starts brokers 1 to `brokers`.
    ///
    /// # Errors
    /// The brokers' ports could not be opened.
    pub(super) fn start(name: &str, brokers: i32) -> miette::Result<Self> {
        let (orders, taken) = channel::<Order>();
        let (started, start) = channel();
        let serve = move || {
            // Nobody waits any more if something cannot be told.
            match cluster(brokers) {
                Ok(mock) => {
                    let _ = started.send(Ok(mock.bootstrap_servers()));
                    taken.into_iter().for_each(|order| order(&mock));
                }
                Err(error) => drop(started.send(Err(error))),
            }
        };
        thread::Builder::new().name(format!("cluster {name}")).spawn(serve).into_diagnostic()?;
        let addresses = start.recv().into_diagnostic()?.into_diagnostic()?;
        Ok(Self { bootstrap: addresses.split(',').map(str::to_owned).collect(), orders })
    }

    /// The brokers' own addresses, `HOST:PORT`. Only Skein uses them.
    pub(super) fn bootstrap(&self) -> &[String] {
        &self.bootstrap
    }

    /// Has the cluster do something, and waits for it.
    ///
    /// # Errors
    /// What the mock says.
    pub(super) fn ask(&self, order: impl FnOnce(&Mock) -> KafkaResult<()> + Send + 'static) -> miette::Result<()> {
        let (done, result) = channel();
        let order: Order = Box::new(move |mock| drop(done.send(order(mock))));
        self.orders.send(order).map_err(|_| miette!("the embedded cluster is gone"))?;
        result.recv().into_diagnostic()?.into_diagnostic()
    }
}

fn cluster(brokers: i32) -> KafkaResult<Mock> {
    let mock = MockCluster::new(brokers)?;
    LAST.into_iter().try_for_each(|(api, last)| mock.apiversion(api, Some(0), Some(last)))?;
    Ok(mock)
}
