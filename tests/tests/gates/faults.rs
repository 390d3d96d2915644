//! The faults that `docs/configuration.md` promises are found, and say what is wrong.

use anyhow::{Context, Result, ensure};
use skein_routing::kind::Registry;

const GOOD: &str = r#"
[clusters.one]
bootstrap = ["kafka-1.example.com:9092"]
nodes = "1-3"
addresses = { 2 = "kafka-2.example.com:9092" }

[virtual-clusters.main]
id = "main-1"
target.cluster = "one"

[virtual-clusters.main.listeners.plain]
bind = "0.0.0.0:9092"
advertise = "skein.example.com"
ports = "9101-9199"

[virtual-clusters.main.listeners.other]
bind = "0.0.0.0:9093"
advertise = "localhost"
ports = "9201-9299"
"#;

/// A good line, what stands there instead, and words of the fault.
const FAULTS: [(&str, &str, &str); 18] = [
    (r#"bootstrap = ["kafka-1.example.com:9092"]"#, "bootstrap = []", "no bootstrap address"),
    (r#"["kafka-1.example.com:9092"]"#, r#"["kafka-1.example.com"]"#, "is not an address"),
    (r#""1-3""#, r#""1-x""#, "is not a node id"),
    (r#""1-3""#, r#""1-3, 2""#, "stands twice"),
    (r#""1-3""#, r#""3-1""#, "goes down"),
    ("{ 2 =", "{ 4 =", "is not one of the nodes"),
    (r#"id = "main-1""#, r#"id = """#, "an empty id"),
    (r#"target.cluster = "one""#, r#"target.cluster = "two""#, "is not defined"),
    (r#"target.cluster = "one""#, r#"target.router = "two""#, "is not defined"),
    (r#"target.cluster = "one""#, "target = {}", "one cluster or one router"),
    (r#""0.0.0.0:9092""#, r#""skein:9092""#, "cannot be bound"),
    (r#""skein.example.com""#, r#""0.0.0.0""#, "no address that a client could connect to"),
    (r#""9101-9199""#, r#""9101-9102""#, "3 nodes are declared"),
    (r#""9201-9299""#, r#""9103-9199""#, "is bound by"),
    (r#""0.0.0.0:9093""#, r#""0.0.0.0:9092""#, "is bound by"),
    (r#"ports = "9101-9199""#, "ports = \"9101-9199\"\nport = 1", "unknown field"),
    (r#"ports = "9101-9199""#, "ports = \"9101-9199\"\nlogin = \"ticket\"", "unknown variant"),
    ("[clusters.one]", "[routers.r]\nkind = \"none such\"\n\n[clusters.one]", "is reached from no virtual cluster"),
];

fn faults(text: &str) -> Vec<String> {
    let refused = skein_config::load("test", text, &Registry::standard()).err();
    refused.iter().flat_map(|faults| faults.iter().map(|fault| fault.what().to_owned())).collect()
}

#[test]
fn every_fault_of_the_manual_is_found() -> Result<()> {
    ensure!(faults(GOOD).is_empty(), "{:?}", faults(GOOD));
    for (good, bad, wanted) in FAULTS {
        let text = GOOD.replacen(good, bad, 1);
        ensure!(text != GOOD, "`{good}` is not in the good file");
        let found = faults(&text);
        found
            .iter()
            .find(|fault| fault.contains(wanted))
            .with_context(|| format!("`{bad}`: {found:?} has no `{wanted}`"))?;
    }
    Ok(())
}

#[test]
fn all_faults_are_told_at_once() -> Result<()> {
    let text = GOOD.replace("\"1-3\"", "\"1-1, 1\"").replace("9101-9199", "a-b").replace("localhost", "::");
    let found = faults(&text);
    ensure!(found.len() >= 3, "{found:?}");
    Ok(())
}
