//! What there is to show, taken at one moment.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::circuit::{Bytes, Circuit};
use super::operator::{Broker, Health, Operator};
use super::setting::Setting;
use super::verifier::Tally;

/// Rates are over at least this time: clients tell of their bytes once a second.
const SPAN: Duration = Duration::from_secs(2);

/// One virtual cluster and what is behind it.
#[derive(Clone, Debug)]
pub(super) struct View {
    /// Where it is.
    pub(super) setting: Setting,
    /// The counts.
    pub(super) tally: Tally,
    /// Per second.
    pub(super) rates: Rates,
    /// From a producer's hand to its acknowledgement: the median and the 99th percentile.
    pub(super) latency: Option<(Duration, Duration)>,
    /// What the cluster said when it was last asked.
    pub(super) health: Health,
    /// Whether the broker that can be taken out is there.
    pub(super) broker: Broker,
}

/// What passes in a second.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Rates {
    /// Records.
    pub(super) acknowledged: u64,
    /// Records.
    pub(super) arrived: u64,
    /// Bytes, by node.
    pub(super) nodes: BTreeMap<i32, Bytes>,
}

/// A virtual cluster that runs, and what was counted a while ago.
pub(super) struct Observed {
    circuit: Arc<Circuit>,
    operator: Operator,
    before: Sample,
    rates: Rates,
}

struct Sample {
    at: Instant,
    tally: Tally,
    nodes: BTreeMap<i32, Bytes>,
}

impl Sample {
    fn of(circuit: &Circuit) -> Self {
        Self { at: Instant::now(), tally: circuit.ledger.tally(), nodes: circuit.traffic.by_node() }
    }

    /// Per second, since an earlier one.
    fn since(&self, before: &Self) -> Rates {
        let time = self.at.duration_since(before.at).as_millis().max(1);
        let per_second = |now: u64, then: u64| {
            let rate = u128::from(now.saturating_sub(then)) * 1000 / time;
            u64::try_from(rate).unwrap_or(u64::MAX)
        };
        let node = |(node, now): (&i32, &Bytes)| {
            let then = before.nodes.get(node).copied().unwrap_or_default();
            (*node, Bytes { up: per_second(now.up, then.up), down: per_second(now.down, then.down) })
        };
        Rates {
            acknowledged: per_second(self.tally.acknowledged, before.tally.acknowledged),
            arrived: per_second(self.tally.arrived, before.tally.arrived),
            nodes: self.nodes.iter().map(node).collect(),
        }
    }
}

impl Observed {
    /// Nothing has passed yet.
    pub(super) fn new(circuit: Arc<Circuit>, operator: Operator) -> Self {
        let before = Sample::of(&circuit);
        Self { circuit, operator, before, rates: Rates::default() }
    }

    /// What it is made of.
    pub(super) fn circuit(&self) -> &Circuit {
        &self.circuit
    }

    /// Who looks after its cluster.
    pub(super) fn operator(&self) -> &Operator {
        &self.operator
    }

    /// Ends the cluster.
    pub(super) fn end(self) {
        self.operator.end();
    }

    /// How it is now.
    pub(super) fn view(&mut self) -> View {
        let now = Sample::of(&self.circuit);
        let tally = now.tally;
        if now.at.duration_since(self.before.at) >= SPAN {
            self.rates = now.since(&self.before);
            self.before = now;
        }
        let (health, broker) = self.operator.watch().now();
        View {
            setting: self.circuit.setting,
            tally,
            rates: self.rates.clone(),
            latency: self.circuit.latencies.percentiles(),
            health,
            broker,
        }
    }
}

/// `12,345`.
pub(super) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1.2 ms`.
pub(super) fn milliseconds(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1000.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_per_second() {
        let at = Instant::now();
        let sample = |seconds, count, bytes| Sample {
            at: at + Duration::from_secs(seconds),
            tally: Tally { acknowledged: count, arrived: count / 2, ..Tally::default() },
            nodes: BTreeMap::from([(1, Bytes { up: bytes, down: 2 * bytes })]),
        };
        let rates = sample(2, 1000, 500).since(&sample(0, 0, 100));
        let nodes = BTreeMap::from([(1, Bytes { up: 200, down: 400 })]);
        assert_eq!(rates, Rates { acknowledged: 500, arrived: 250, nodes });
    }

    #[test]
    fn numbers_are_grouped_by_thousands() {
        let texts = [0, 999, 1000, 12_345, 1_234_567].map(grouped);
        assert_eq!(texts, ["0", "999", "1,000", "12,345", "1,234,567"]);
    }
}
