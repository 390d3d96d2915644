//! Configuration files for a proxy in front of one cluster.

use std::fmt::Write;

use anyhow::{Result, bail};

use crate::{
    cluster::{Cluster, Security},
    ports,
};

/// Ports for virtual nodes: more than any test's cluster has brokers.
const NODE_PORTS: u16 = 16;

/// What stands between the clients and the cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Form {
    /// Nothing: the virtual cluster's target is the cluster.
    Bare,
    /// Two nested routers that change every name, node id and producer id there is.
    Disguised,
}

impl Form {
    /// The name on the cluster of what clients of the proxy call `name`.
    pub fn real_name(self, name: &str) -> String {
        match self {
            Self::Bare => name.to_owned(),
            Self::Disguised => format!("{INNER_PREFIX}{OUTER_PREFIX}{name}"),
        }
    }
}

const OUTER_PREFIX: &str = "o.";
const INNER_PREFIX: &str = "in-";

/// A configuration file for `cluster`, with ports that are free now.
///
/// In front of a secured cluster the clients' logins are relayed.
pub fn config(cluster: &Cluster, form: Form) -> Result<String> {
    let front = Front::of(cluster).form(form);
    match cluster.spec().security() {
        Security::Open => front.text(),
        Security::Sasl => front.listener("login = \"relay\"").text(),
        Security::Guarded => bail!("a guarded cluster wants TLS and a login of Skein's own: see `Front`"),
    }
}

/// A proxy in front of one cluster, called `one` in its file; its one listener is `plain` of the virtual cluster `main`.
#[derive(Clone, Debug)]
pub struct Front {
    bootstrap: Vec<String>,
    ids: Vec<String>,
    form: Form,
    cluster: String,
    listener: String,
    host: String,
    below: String,
}

impl Front {
    /// In front of the ordinary port of a cluster's brokers.
    pub fn of(cluster: &Cluster) -> Self {
        let nodes = cluster.nodes();
        Self {
            bootstrap: nodes.values().map(ToString::to_string).collect(),
            ids: nodes.keys().map(ToString::to_string).collect(),
            form: Form::Bare,
            cluster: String::new(),
            listener: String::new(),
            host: "127.0.0.1".to_owned(),
            below: String::new(),
        }
    }

    /// With routers between.
    #[must_use]
    pub fn form(mut self, form: Form) -> Self {
        self.form = form;
        self
    }

    /// With other addresses of brokers.
    #[must_use]
    pub fn bootstrap(mut self, addresses: &str) -> Self {
        self.bootstrap = addresses.split(',').map(str::to_owned).collect();
        self
    }

    /// With these lines in the cluster's table.
    #[must_use]
    pub fn cluster(mut self, lines: &str) -> Self {
        let _ = writeln!(self.cluster, "{lines}");
        self
    }

    /// With these lines in the listener's table.
    #[must_use]
    pub fn listener(mut self, lines: &str) -> Self {
        let _ = writeln!(self.listener, "{lines}");
        self
    }

    /// Under this host.
    #[must_use]
    pub fn host(mut self, host: &str) -> Self {
        host.clone_into(&mut self.host);
        self
    }

    /// With these tables behind all others.
    #[must_use]
    pub fn tables(mut self, tables: &str) -> Self {
        let _ = writeln!(self.below, "{tables}");
        self
    }

    /// The file, with ports that are free now.
    pub fn text(&self) -> Result<String> {
        let first = ports::block(NODE_PORTS + 1)?;
        let bootstrap: Vec<_> = self.bootstrap.iter().map(|address| format!("\"{address}\"")).collect();
        let target = match self.form {
            Form::Bare => r#"target.cluster = "one""#,
            Form::Disguised => r#"target.router = "outer""#,
        };
        let mut text = String::new();
        let _ = write!(
            text,
            r#"[clusters.one]
bootstrap = [{bootstrap}]
nodes = "{ids}"
{cluster}
[virtual-clusters.main]
id = "main-1"
{target}

[virtual-clusters.main.listeners.plain]
bind = "127.0.0.1:{first}"
advertise = "{host}"
ports = "{from}-{to}"
{listener}
{below}"#,
            bootstrap = bootstrap.join(", "),
            ids = self.ids.join(", "),
            from = first + 1,
            to = first + NODE_PORTS,
            cluster = self.cluster,
            host = self.host,
            listener = self.listener,
            below = self.below,
        );
        if self.form == Form::Disguised {
            text.push_str(&disguise("outer", OUTER_PREFIX, 3, r#"target.router = "inner""#));
            text.push_str(&disguise("inner", INNER_PREFIX, 5, r#"target.cluster = "one""#));
        }
        Ok(text)
    }
}

fn disguise(name: &str, prefix: &str, id: u32, target: &str) -> String {
    format!(
        r#"
[routers.{name}]
kind = "disguise"
stride = 16
prefix = "{prefix}"

[routers.{name}.routes.only]
id = {id}
{target}
"#
    )
}
