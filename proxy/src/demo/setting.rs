//! What the demo consists of, as a configuration of Skein.

use std::env::VarError;
use std::net::{Ipv4Addr, TcpListener};

use miette::miette;
use skein_config::{Colours, Configuration};
use skein_routing::kind::Registry;

use super::embedded::Embedded;

/// Where everything listens, and what clients are told.
pub(super) const HOST: Ipv4Addr = Ipv4Addr::LOCALHOST;
/// How far ports move at once when some are taken.
const STEP: u16 = 1000;
/// Partitions of the topic that the demo writes to. Its name is that of the virtual cluster.
pub(super) const PARTITIONS: i32 = 6;

/// A virtual cluster and the cluster behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Setting {
    /// The virtual cluster, and the topic in it.
    pub(super) name: &'static str,
    /// The cluster behind.
    pub(super) cluster: &'static str,
    /// Its brokers are 1 to this.
    pub(super) brokers: u16,
    /// The bootstrap port.
    pub(super) port: u16,
    /// The port of node 1; the others follow.
    pub(super) node_port: u16,
}

/// The ports that the manual names.
pub(super) const SETTINGS: [Setting; 2] = [
    Setting { name: "orders", cluster: "east", brokers: 3, port: 9092, node_port: 9101 },
    Setting { name: "metrics", cluster: "west", brokers: 1, port: 9192, node_port: 9201 },
];

impl Setting {
    /// The bootstrap address of the virtual cluster, `HOST:PORT`.
    pub(super) fn bootstrap(&self) -> String {
        format!("{HOST}:{}", self.port)
    }

    /// Starts the cluster behind, with its topic. Its partitions are led by all brokers in turn.
    ///
    /// # Errors
    /// What the embedded cluster says.
    pub(super) fn start(&self) -> miette::Result<Embedded> {
        let Self { name, brokers, .. } = *self;
        let brokers = i32::from(brokers);
        let embedded = Embedded::start(self.cluster, brokers)?;
        embedded.ask(move |mock| {
            mock.create_topic(name, PARTITIONS, brokers)?;
            (0..PARTITIONS).try_for_each(|number| mock.partition_leader(name, number, Some(1 + number % brokers)))
        })?;
        Ok(embedded)
    }

    fn ports(&self) -> impl Iterator<Item = u16> + use<> {
        std::iter::once(self.port).chain(self.node_port..self.node_port + self.brokers)
    }

    fn moved(self, by: u16) -> Self {
        Self { port: self.port + by, node_port: self.node_port + by, ..self }
    }

    /// Its part of the configuration.
    fn toml(&self, embedded: &Embedded) -> String {
        let Self { name, cluster, brokers, port, node_port } = self;
        let bootstrap: Vec<_> = embedded.bootstrap().iter().map(|address| format!("\"{address}\"")).collect();
        format!(
            "\
[clusters.{cluster}]
bootstrap = [{}]
nodes = \"1-{brokers}\"

[virtual-clusters.{name}]
id = \"demo-{name}\"
target.cluster = \"{cluster}\"

[virtual-clusters.{name}.listeners.plain]
bind = \"{HOST}:{port}\"
advertise = \"{HOST}\"
ports = \"{node_port}-{}\"
",
            bootstrap.join(", "),
            node_port + brokers - 1,
        )
    }
}

/// The settings on ports that are free: those of the manual, then all of them moved up by one round number after another.
pub(super) fn on_free_ports() -> impl Iterator<Item = [Setting; 2]> {
    let highest = SETTINGS.iter().flat_map(Setting::ports).max().unwrap_or_default();
    let moves = (0..=u16::MAX - highest).step_by(STEP.into());
    moves.map(|by| SETTINGS.map(|setting| setting.moved(by))).filter(|settings| settings.iter().all(is_free))
}

fn is_free(setting: &Setting) -> bool {
    setting.ports().all(|port| TcpListener::bind((HOST, port)).is_ok())
}

const HEAD: &str = "\
# The embedded clusters call broker 0 their controller, and have none. Skein says once that it leaves it out.
";

/// The whole configuration.
pub(super) fn toml<'a>(parts: impl IntoIterator<Item = (&'a Setting, &'a Embedded)>) -> String {
    let parts = parts.into_iter().map(|(setting, embedded)| format!("\n{}", setting.toml(embedded)));
    std::iter::once(HEAD.to_owned()).chain(parts).collect()
}

/// The configuration as `run` would read it.
///
/// # Errors
/// Its faults: there are none, or the demo is wrong.
pub(super) fn loaded(text: &str, kinds: &Registry) -> miette::Result<Configuration> {
    let environment = |_: &str| Err(VarError::NotPresent);
    let loaded = skein_config::load("the demo's configuration", text.as_bytes(), kinds, &environment);
    loaded.map_err(|faults| miette!("{}", faults.report(Colours::No)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_configuration_is_accepted() {
        let embedded = [Embedded::start("a", 3).unwrap(), Embedded::start("b", 1).unwrap()];
        let text = toml(SETTINGS.iter().zip(&embedded));
        let blueprint = loaded(&text, &Registry::standard()).unwrap().blueprint;
        assert_eq!(blueprint.virtual_clusters.len(), 2);
    }

    #[test]
    fn ports_that_are_taken_are_not_used() {
        let first = on_free_ports().next().unwrap()[0];
        let _taken = TcpListener::bind((HOST, first.node_port)).unwrap();
        let second = on_free_ports().next().unwrap()[0];
        assert!(second.port > first.port, "{second:?} after {first:?}");
    }
}
