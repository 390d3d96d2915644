//! Why a request goes where it goes: the decisions of a compiled graph, in words.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::sync::Arc;

use skein_config::blueprint::VirtualCluster;
use skein_config::{Blueprint, visible};
use skein_filters::{Client, Edge, Face};
use skein_protocol::frame::Head;
use skein_protocol::ids::{ApiKey, VirtualNodeId};
use skein_protocol::table::{Api, Table};
use skein_routing::apis::manner::{self, Place};
use skein_routing::graph::{Descent, LoginMode, Manner};
use skein_routing::path::Path;

/// What is asked.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Question {
    /// The virtual cluster; may be left out where there is only one.
    #[arg(long)]
    pub virtual_cluster: Option<String>,
    /// The API, by its name in Kafka or by its key.
    #[arg(long)]
    pub api: String,
    /// The API's version; the highest that Skein knows unless given.
    #[arg(long = "api-version")]
    pub version: Option<i16>,
    /// The node that it is sent to, as clients see it; a bootstrap address unless given.
    #[arg(long)]
    pub node: Option<i32>,
    /// A topic, as clients see it.
    #[arg(long)]
    pub topic: Option<String>,
}

/// What cannot be explained, and what could be.
#[derive(Debug, PartialEq, Eq, thiserror::Error, miette::Diagnostic)]
#[error("{what}")]
pub struct Unexplained {
    what: String,
    #[help]
    right: String,
}

fn unexplained<T>(what: impl Into<String>, right: impl Into<String>) -> Result<T, Unexplained> {
    Err(Unexplained { what: what.into(), right: right.into() })
}

/// Explains where a request goes.
///
/// # Errors
/// [`Unexplained`]: the question names something that the blueprint or Kafka does not have.
pub fn explain(blueprint: &Blueprint, question: &Question) -> Result<String, Unexplained> {
    let cluster = virtual_cluster(blueprint, question.virtual_cluster.as_deref())?;
    let api = api(&question.api)?;
    let highest = api.request.versions.to.min(manner::highest(api.key));
    let version = question.version.unwrap_or(highest);
    if !api.request.versions.has(version) || version > highest {
        let known = format!("it serves {} to {highest}", api.request.versions.from);
        return unexplained(format!("Skein serves no {} v{version}", api.name), known);
    }
    let at = node(cluster, question.node)?;
    let mut text = String::new();
    let to = at.map_or("at a bootstrap address".to_owned(), |node| format!("sent to node {node}"));
    let _ = writeln!(text, "{} v{version} {to} of virtual cluster `{}`", api.name, cluster.name);
    for listener in &cluster.listeners {
        let address = at.and_then(|node| listener.face.nodes().get(&node));
        let address = address.map_or(String::new(), |address| format!(", {}:{}", address.host, address.port));
        let login = format!("{:?}", listener.mode()).to_lowercase();
        line(&mut text, "listener", &listener.name, &format!("login {login}{address}"));
    }
    match manner::place(api.key) {
        Place::NotOffered => line(&mut text, "skein", "", "does not offer it: whoever sends it is disconnected"),
        Place::Ours => line(&mut text, "skein", "", "answers it itself, from what the clusters offer"),
        Place::Login => cluster.listeners.iter().for_each(|listener| {
            let what = match listener.mode() {
                LoginMode::None => "refuses it with ILLEGAL_SASL_STATE: it has `login = \"none\"`",
                LoginMode::Relay => "passes it to the broker, which judges it",
                LoginMode::Here => "judges it itself",
            };
            line(&mut text, "", &listener.name, what);
        }),
        Place::Broker(manner) => descent(&mut text, blueprint, cluster, (api, version, at), manner, question),
    }
    Ok(text)
}

/// The way of a request that goes to a broker.
fn descent(
    text: &mut String, blueprint: &Blueprint, cluster: &VirtualCluster,
    (api, version, at): (&Api, i16, Option<VirtualNodeId>), manner: Manner, question: &Question,
) {
    let Some(listener) = cluster.listeners.first() else { return };
    let head = Head { length: 0, key: api.key, version, correlation: 0 };
    let client = Client::arrived(Arc::clone(&listener.name), ([0, 0, 0, 0], 0).into());
    let face: Arc<dyn Edge> = Arc::<Face>::clone(&listener.face);
    let descent = cluster.target.descend_telling(&head, at, &client, (vec![face], manner, None), &mut |passed| {
        let name = passed.level.routes.get(&passed.route).map_or("?", |route| &route.name);
        let node = passed.at.map_or("any node".to_owned(), |node| format!("node {node}"));
        let what = format!("{}: takes route `{name}` ({}), {node} there", passed.level.kind, passed.route.0);
        line(text, "router", &passed.level.name, &what);
    });
    match descent {
        Descent::One { manner, path } => {
            let logins: Vec<_> = cluster.listeners.iter().map(skein_config::blueprint::Listener::mode).collect();
            arrival(text, blueprint, (api.key, &logins), &path, manner, question.topic.as_deref());
        }
        Descent::Whole { level, cap, .. } => {
            let what = format!("{}: splits it over its routes once it is complete, at most {}", level.kind, size(cap));
            line(text, "router", &level.name, &what);
        }
        Descent::Refuse(code) => line(text, "skein", "", &format!("answers error {}: a router refuses it", code.0)),
        Descent::NoSuchNode => line(text, "skein", "", "disconnects: the node belongs to no route"),
    }
}

/// Where a request to one broker arrives.
fn arrival(
    text: &mut String, blueprint: &Blueprint, (key, logins): (ApiKey, &[LoginMode]), path: &Path, manner: Manner,
    topic: Option<&str>,
) {
    let Some(cluster) = blueprint.clusters.get(usize::from(path.to.cluster.0)) else { return };
    let node = match path.to.node {
        Some(node) => match cluster.addresses.get(&node) {
            Some(address) => format!("node {node}, {}:{} as declared", address.host, address.port),
            None => format!("node {node}, where the cluster says that it is"),
        },
        None => "any broker that lives: the request came to a bootstrap address".to_owned(),
    };
    line(text, "cluster", &cluster.name, &node);
    if path.to.node.is_some() && manner::is_for_any_broker(key) && logins.iter().any(|login| *login != LoginMode::Relay)
    {
        let besides = if logins.contains(&LoginMode::Relay) { ", where logins are not relayed" } else { "" };
        let what = format!("or, should that one not be reachable, any that lives{besides}: all can answer this");
        line(text, "", "", &what);
    }
    if let Some(topic) = topic {
        let there = path.topic(topic);
        let there = there.map_or("is no topic there".to_owned(), |name| format!("is `{name}` there"));
        line(text, "topic", topic, &there);
    }
    let manner = match manner {
        Manner::Stream => "while it arrives".to_owned(),
        Manner::Gather(cap) => format!("once it is complete, at most {}", size(cap)),
    };
    line(text, "goes", "", &manner);
}

/// Bytes, as the manual writes them.
fn size(bytes: u32) -> String {
    if bytes.trailing_zeros() >= 20 { format!("{} MiB", bytes >> 20) } else { format!("{bytes} bytes") }
}

fn line(text: &mut String, what: &str, name: &str, says: &str) {
    let _ = writeln!(text, "  {what:<9} {:<12} {}", visible(name), visible(says));
}

fn virtual_cluster<'a>(blueprint: &'a Blueprint, name: Option<&str>) -> Result<&'a VirtualCluster, Unexplained> {
    let all = &blueprint.virtual_clusters;
    let names = || all.iter().map(|cluster| &*cluster.name).collect::<Vec<_>>().join(", ");
    match (name, all.as_slice()) {
        (None, [only]) => Ok(only),
        (None, _) => unexplained("there are several virtual clusters", format!("name one of: {}", names())),
        (Some(name), _) => match all.iter().find(|cluster| &*cluster.name == name) {
            Some(cluster) => Ok(cluster),
            None => unexplained(format!("there is no virtual cluster `{name}`"), format!("there are: {}", names())),
        },
    }
}

fn api(name: &str) -> Result<&'static Api, Unexplained> {
    let letters = |text: &str| text.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_lowercase();
    let key = name.parse().ok().map(ApiKey);
    let wanted = letters(name);
    let found = Table::get().apis().find(|api| Some(api.key) == key || letters(&api.name) == wanted);
    found.map_or_else(|| unexplained(format!("Kafka has no API `{name}`"), near(&wanted)), Ok)
}

/// APIs whose names begin alike, or where all of them are listed.
fn near(wanted: &str) -> String {
    let alike = |api: &&Api| wanted.get(..3).is_some_and(|start| api.name.to_lowercase().contains(start));
    let names: Vec<_> = Table::get().apis().filter(alike).map(|api| api.name.as_str()).collect();
    match names.as_slice() {
        [] => "docs/apis.md lists them".to_owned(),
        names => format!("did you mean {}?", names.join(", ")),
    }
}

fn node(cluster: &VirtualCluster, node: Option<i32>) -> Result<Option<VirtualNodeId>, Unexplained> {
    let Some(node) = node.map(VirtualNodeId) else { return Ok(None) };
    let nodes: BTreeSet<_> = cluster.listeners.iter().flat_map(|listener| listener.face.nodes().keys()).collect();
    if nodes.contains(&&node) {
        return Ok(Some(node));
    }
    let known: Vec<_> = nodes.iter().map(ToString::to_string).collect();
    unexplained(format!("clients see no node {node}"), format!("they see: {}", known.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn explained(api: &str, node: Option<i32>, topic: Option<&str>) -> String {
        let question = Question { api: api.to_owned(), node, topic: topic.map(str::to_owned), ..Question::default() };
        explain(&crate::example::masked(), &question).unwrap_or_else(|fault| format!("{fault}; {}", fault.right))
    }

    #[test]
    fn a_request_to_a_node_is_followed_through_each_router() {
        let expected = "\
Produce v13 sent to node 28 of virtual cluster `main`
  listener  plain        login none, skein.example.com:9102
  router    outer        disguise: takes route `only` (0), node 14 there
  router    inner        disguise: takes route `all` (0), node 7 there
  cluster   one          node 7, 10.0.0.7:9092 as declared
  topic     b.a.orders   is `orders` there
  goes                   while it arrives
";
        assert_eq!(explained("produce", Some(28), Some("b.a.orders")), expected);
    }

    #[test]
    fn what_any_broker_can_answer_goes_to_any_from_a_bootstrap_address() {
        let text = explained("60", None, None);
        assert!(text.starts_with("DescribeCluster v2 at a bootstrap address"), "{text}");
        assert!(text.contains("any broker that lives"), "{text}");
        assert!(explained("metadata", Some(4), None).contains("or, should that one not be reachable"));
    }

    #[test]
    fn what_skein_does_not_pass_on_is_said() {
        assert!(explained("api-versions", None, None).contains("answers it itself"));
        assert!(explained("DescribeQuorum", None, None).contains("does not offer it"));
        assert!(explained("SaslHandshake", None, None).contains("refuses it with ILLEGAL_SASL_STATE"));
    }

    #[test]
    fn what_does_not_exist_is_named_with_what_does() {
        assert_eq!(
            explained("produse", None, None),
            "Kafka has no API `produse`; did you mean Produce, InitProducerId, DescribeProducers?"
        );
        assert_eq!(explained("xyzzy", None, None), "Kafka has no API `xyzzy`; docs/apis.md lists them");
        assert_eq!(explained("fetch", Some(3), None), "clients see no node 3; they see: 4, 28, 4004");
    }
}
