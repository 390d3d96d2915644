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
    let first = ports::block(NODE_PORTS + 1)?;
    let nodes = cluster.nodes();
    let ids: Vec<_> = nodes.keys().map(ToString::to_string).collect();
    let bootstrap: Vec<_> = nodes.values().map(|address| format!("\"{address}\"")).collect();
    let login = match cluster.spec().security() {
        Security::Open => "none",
        Security::Sasl => "relay",
        Security::Guarded => bail!("a guarded cluster wants TLS and a login of Skein's own"),
    };
    let mut text = String::new();
    let _ = write!(
        text,
        r#"[clusters.one]
bootstrap = [{bootstrap}]
nodes = "{ids}"

[virtual-clusters.main]
id = "main-1"
{target}

[virtual-clusters.main.listeners.plain]
bind = "127.0.0.1:{first}"
advertise = "127.0.0.1"
ports = "{from}-{to}"
login = "{login}"
"#,
        bootstrap = bootstrap.join(", "),
        ids = ids.join(", "),
        target = match form {
            Form::Bare => r#"target.cluster = "one""#,
            Form::Disguised => r#"target.router = "outer""#,
        },
        from = first + 1,
        to = first + NODE_PORTS,
    );
    if form == Form::Disguised {
        text.push_str(&disguise("outer", OUTER_PREFIX, 3, r#"target.router = "inner""#));
        text.push_str(&disguise("inner", INNER_PREFIX, 5, r#"target.cluster = "one""#));
    }
    Ok(text)
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
