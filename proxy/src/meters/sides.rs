//! Handles for what is counted on the byte path: one set per listener, one per cluster.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use skein_protocol::ids::ApiKey;
use skein_protocol::table::Table;

use super::{Labels, Meters, Seconds, labels};

/// What comes and goes on one side.
#[derive(Clone, Debug)]
pub(crate) struct SideMeters {
    pub(crate) received: Counter,
    pub(crate) sent: Counter,
    pub(crate) blocked: Seconds,
}

/// Keys from 0 on that have series of their own; a key beyond is none that is offered.
const KEYS: usize = 128;

/// The clients of a listener.
pub(crate) struct ClientMeters {
    meters: Arc<Meters>,
    /// Those of the listener.
    labels: Labels,
    pub(crate) open: Gauge,
    pub(crate) accepted: Counter,
    pub(crate) side: Arc<SideMeters>,
    /// Requests and their bytes by key. Set by the first request of the key.
    apis: Box<[OnceLock<(Counter, Counter)>]>,
}

impl ClientMeters {
    pub(crate) fn new(meters: &Arc<Meters>, virtual_cluster: &str, listener: &str) -> Self {
        let labels = labels([("virtual_cluster", virtual_cluster), ("listener", listener)]);
        Self {
            open: meters.connections_open.get(&labels),
            accepted: meters.connections_accepted.get(&labels),
            side: Arc::new(SideMeters {
                received: meters.client_received.get(&labels),
                sent: meters.client_sent.get(&labels),
                blocked: meters.client_blocked.get(&labels),
            }),
            labels,
            meters: Arc::clone(meters),
            apis: (0..KEYS).map(|_| OnceLock::new()).collect(),
        }
    }

    /// A request has come: the first bytes of its frame.
    pub(crate) fn request(&self, head: &[u8]) {
        let Some(([a, b, c, d, key @ ..], _)) = head.split_first_chunk::<6>() else { return };
        let (length, key) = (u32::from_be_bytes([*a, *b, *c, *d]), i16::from_be_bytes(*key));
        // A key that nobody knows ends the connection, which is counted there.
        let Some(api) = usize::try_from(key).ok().and_then(|key| self.apis.get(key)) else { return };
        let (requests, bytes) = match api.get() {
            Some(known) => known,
            None => {
                let Some(known) = Table::get().api(ApiKey(key)) else { return };
                api.get_or_init(|| {
                    let mut labels = self.labels.clone();
                    labels.push(("api", known.name.to_string()));
                    (self.meters.requests.get(&labels), self.meters.request_bytes.get(&labels))
                })
            }
        };
        requests.inc();
        bytes.inc_by(u64::from(length) + 4);
    }
}

/// The brokers of a cluster.
#[derive(Clone, Debug)]
pub(crate) struct BrokerMeters {
    open: Gauge,
    pub(crate) side: Arc<SideMeters>,
    latency: Histogram,
}

impl BrokerMeters {
    pub(crate) fn new(meters: &Meters, cluster: &str) -> Self {
        let labels = labels([("cluster", cluster)]);
        Self {
            open: meters.links_open.get(&labels),
            side: Arc::new(SideMeters {
                received: meters.broker_received.get(&labels),
                sent: meters.broker_sent.get(&labels),
                blocked: meters.broker_blocked.get(&labels),
            }),
            latency: meters.broker_latency.get(&labels),
        }
    }

    /// A link is open, until what is given back is dropped.
    pub(crate) fn opened(meters: &Arc<Self>) -> OpenLink {
        meters.open.inc();
        OpenLink(Arc::clone(meters))
    }
}

/// A link that is open.
#[derive(Debug)]
pub(crate) struct OpenLink(Arc<BrokerMeters>);

impl OpenLink {
    /// An answer has begun to come so long after its request has left.
    pub(crate) fn answered(&self, after: Duration) {
        self.0.latency.observe(after.as_secs_f64());
    }
}

impl Drop for OpenLink {
    fn drop(&mut self) {
        self.0.open.dec();
    }
}
