//! What is counted. Names and helps stand here once; `docs/metrics.md` is compared with them.
//!
//! What is counted for each request or read is counted through handles that were made when its connection was; the rest
//! looks its series up. Labels are from a closed list, and no client chooses the value of one.

mod kept;
mod series;
mod sides;

use std::sync::OnceLock;
use std::sync::atomic::AtomicU64;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use self::kept::Keepers;
pub(crate) use self::kept::Kept;
pub(crate) use self::series::{Labels, Series, labels};
pub(crate) use self::sides::{BrokerMeters, ClientMeters, OpenLink, SideMeters};

/// A counter of seconds.
pub(crate) type Seconds = Counter<f64, AtomicU64>;
/// A gauge that has fractions.
pub(crate) type Fraction = Gauge<f64, AtomicU64>;

/// Says how many lines of the log could not be written.
type DroppedLines = Box<dyn Fn() -> usize + Send + Sync>;

static DROPPED_LINES: OnceLock<DroppedLines> = OnceLock::new();

/// Who writes the log says how many lines of it were dropped. The first to say so counts.
pub(crate) fn log_lines_are_dropped_by(dropped: impl Fn() -> usize + Send + Sync + 'static) {
    // There is one log in a process.
    let _ = DROPPED_LINES.set(Box::new(dropped));
}

/// Lines of the log that were dropped so far.
pub(crate) fn dropped_log_lines() -> usize {
    DROPPED_LINES.get().map_or(0, |dropped| dropped())
}

/// One line of the manual: name as scraped, kind, labels, help.
pub type Described = (&'static str, &'static str, &'static [&'static str], &'static str);

macro_rules! meters {
    ($($field:ident: $kind:ident $name:literal [$($label:ident),*] $help:literal;)+) => {
        /// Every metric of the process.
        pub(crate) struct Meters {
            registry: Registry,
            keepers: Keepers,
            $(pub(crate) $field: Series<$kind>,)+
        }

        impl Default for Meters {
            fn default() -> Self {
                let mut registry = Registry::with_prefix("skein");
                $(let $field = Series::default();
                // The library puts the ends of these words behind the name itself.
                registry.register($name.trim_end_matches("_total"), $help.trim_end_matches('.'), $field.family());)+
                Self { registry, keepers: Keepers::default(), $($field,)+ }
            }
        }

        impl Meters {
            /// Forgets the series of what is not there any more.
            fn retain(&self, is_there: impl Fn(&Labels) -> bool) {
                $(self.$field.retain(&is_there);)+
            }
        }

        /// What the manual has to say.
        pub const DESCRIBED: &[Described] = &[
            $((concat!("skein_", $name), stringify!($kind), &[$(stringify!($label)),*], $help),)+
        ];
    };
}

meters! {
    connections_open: Gauge "connections_open" [virtual_cluster, listener]
        "Connections of clients that are open.";
    connections_accepted: Counter "connections_accepted_total" [virtual_cluster, listener]
        "Connections of clients that were let in.";
    connections_refused: Counter "connections_refused_total" [virtual_cluster, listener, reason]
        "Connections of clients that were closed as soon as they came, since a limit was reached.";
    connections_closed: Counter "connections_closed_total" [virtual_cluster, listener, reason]
        "Connections of clients that have ended.";
    arrivals_failed: Counter "arrivals_failed_total" [reason]
        "Clients that were not let in: by what they said of themselves, or did not say in time.";
    accepts_delayed: Counter "accepts_delayed_total" [virtual_cluster, listener]
        "Connections of clients that waited to be accepted, since more came than may in a second.";
    accepts_failed: Counter "accepts_failed_total" [reason]
        "Connections that could not be accepted.";
    logins: Counter "logins_total" [virtual_cluster, listener, reason]
        "Logins of clients that Skein has judged, and how they ended.";
    requests: Counter "requests_total" [virtual_cluster, listener, api]
        "Requests that have come from clients.";
    request_bytes: Counter "request_bytes_total" [virtual_cluster, listener, api]
        "Bytes of the requests that have come from clients.";
    refusals: Counter "refusals_total" [virtual_cluster, api, reason]
        "Requests that were answered with an error of Skein's own.";
    client_received: Counter "client_received_bytes_total" [virtual_cluster, listener]
        "Bytes that have come from clients.";
    client_sent: Counter "client_sent_bytes_total" [virtual_cluster, listener]
        "Bytes that have gone to clients.";
    client_blocked: Seconds "client_blocked_seconds_total" [virtual_cluster, listener]
        "Time that answers have waited for clients that took nothing, summed over connections.";
    nodes_left_out: Counter "nodes_left_out_total" [virtual_cluster]
        "Brokers that are left out of answers, since no port is declared for them.";
    links_open: Gauge "links_open" [cluster]
        "Connections to brokers that are open for clients.";
    links_opened: Counter "links_opened_total" [cluster, node]
        "Connections to brokers that were opened for clients.";
    dials_failed: Counter "dials_failed_total" [cluster, node, reason]
        "Connections to brokers that could not be opened.";
    links_lost: Counter "links_lost_total" [cluster, node, reason]
        "Connections to brokers that have ended otherwise than by their client's wish.";
    broker_received: Counter "broker_received_bytes_total" [cluster]
        "Bytes that have come from brokers.";
    broker_sent: Counter "broker_sent_bytes_total" [cluster]
        "Bytes that have gone to brokers.";
    broker_blocked: Seconds "broker_blocked_seconds_total" [cluster]
        "Time that requests have waited for brokers that took nothing, summed over connections.";
    broker_latency: Histogram "broker_latency_seconds" [cluster]
        "Time from a request's leaving to the first bytes of its answer; of each link at most a hundred requests a second are timed.";
    clusters_lost: Counter "clusters_lost_total" [cluster]
        "Times that no broker of a cluster answered what Skein asked, when one had before.";
    node_up: Gauge "node_up" [cluster, node]
        "Whether the broker has answered its last question, 1 or 0.";
    node_round_trip: Fraction "node_round_trip_seconds" [cluster, node]
        "How long the broker's last answer to a question took, the connecting included.";
    memory_held: Gauge "memory_held_bytes" [side]
        "Memory that is held for completed requests (client) and answers (broker).";
    descriptors: Gauge "descriptors_used" []
        "File descriptors that the process holds.";
    log_lines_dropped: Gauge "log_lines_dropped" []
        "Lines of the log that nobody read in time, and that were left out.";
    files_read: Counter "files_read_total" [reason]
        "Changed files of users, keys and certificates that were taken over, or were not.";
    renewals: Counter "renewals_total" [reason]
        "Changed certificates and keys that were taken over, or were not.";
    reloads: Counter "reloads_total" [reason]
        "Changed files that were taken over, or were not.";
}

impl Meters {
    /// All of it, as OpenMetrics text.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        // Writing to a string does not fail.
        let _ = prometheus_client::encoding::text::encode(&mut text, &self.registry);
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_metric_is_scraped_under_the_name_that_the_manual_has() {
        let meters = Meters::default();
        meters.requests.get(&labels([("virtual_cluster", "a"), ("listener", "b\"c"), ("api", "Fetch")])).inc();
        meters.broker_latency.get(&labels([("cluster", "one")])).observe(0.003);
        let text = meters.text();
        for line in [
            "# TYPE skein_requests counter",
            r#"skein_requests_total{virtual_cluster="a",listener="b\"c",api="Fetch"} 1"#,
            r#"skein_broker_latency_seconds_bucket{le="0.004",cluster="one"} 1"#,
        ] {
            assert!(text.lines().any(|found| found == line), "{line} is not in {text}");
        }
    }

    #[test]
    fn what_is_gone_is_forgotten() {
        let meters = Meters::default();
        for name in ["a", "b"] {
            meters.nodes_left_out.get(&labels([("virtual_cluster", name)])).inc();
        }
        meters.retain(|labels| labels.iter().all(|(_, value)| value != "a"));
        let text = meters.text();
        assert!(!text.contains("\"a\"") && text.contains("\"b\""), "{text}");
    }
}
