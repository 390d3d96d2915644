//! Rules before a cluster that has none: who may do everything sees no difference, and who may not meets what Kafka's own
//! lists would have it meet.

use anyhow::{Result, ensure};
use skein_tests::{
    client::{self, Family},
    cluster,
    skein::{Form, Skein, config},
};

use crate::stage;

/// Everything is allowed that a rule can name.
const EVERYTHING: &str = r#"
[[virtual-clusters.main.filters]]
kind = "authorize"
rules = [
    { allow = ["ALL"], principals = ["ANONYMOUS"], topics = ["*"], groups = ["*"], transactional-ids = ["*"], cluster = "kafka-cluster" },
]
"#;

/// A scenario of somebody who may do everything.
fn transparent(family: Family, scenario: &'static str) -> Result<()> {
    let cluster = cluster::three()?;
    let skein = Skein::start(&format!("{}{EVERYTHING}", config(cluster, Form::Bare)?))?;
    let through = client::run_through(family, scenario, &skein.bootstrap(), cluster, &[])?;
    client::same(&stage::direct(family, scenario)?, &through)?;
    ensure!(!skein.log().contains("answered with an error"), "something was refused:\n{}", skein.log());
    Ok(())
}

macro_rules! families {
    (long: $($module:ident $family:ident: $($scenario:ident),+;)+) => {
        $(mod $module {$(
            #[test]
            #[ignore = "long: `cargo xtask soak` runs it"]
            fn $scenario() -> anyhow::Result<()> {
                super::super::transparent(skein_tests::client::Family::$family, stringify!($scenario))
            }
        )+})+
    };
    ($($module:ident $family:ident: $($scenario:ident),+;)+) => {
        $(mod $module {$(
            #[test]
            fn $scenario() -> anyhow::Result<()> {
                super::super::transparent(skein_tests::client::Family::$family, stringify!($scenario))
            }
        )+})+
    };
}

/// One of each kind of scenario, and of each family.
mod some {
    families! {
        java Java: produce, transactions, admin;
        librdkafka Librdkafka: classic;
        franz_go FranzGo: idempotent;
        aiokafka Aiokafka: seek;
    }
}

/// The others.
mod others {
    families! {
        long:
        java Java: seek, classic, kip848, idempotent;
        librdkafka Librdkafka: produce, seek, kip848, idempotent, transactions, admin;
        franz_go FranzGo: produce, seek, classic, transactions, admin;
        kafkajs KafkaJs: produce, seek, classic, transactions;
        kafka_python KafkaPython: produce, seek, classic, transactions;
        aiokafka Aiokafka: produce, classic, transactions;
    }
}

/// What somebody meets who may use `open` and `mine` of a prefix, and nothing else.
fn refused(family: Family) -> Result<serde_json::Value> {
    let cluster = cluster::three()?;
    let prefix = format!("rules-{}-{family:?}-", std::process::id()).to_lowercase();
    let rules = format!(
        r#"
[[virtual-clusters.main.filters]]
kind = "authorize"

[[virtual-clusters.main.filters.rules]]
allow = ["READ", "WRITE"]
principals = ["ANONYMOUS"]
topics = ["{prefix}open"]
groups = ["{prefix}mine"]
transactional-ids = ["{prefix}mine"]
"#
    );
    let skein = Skein::start(&format!("{}{rules}", config(cluster, Form::Bare)?))?;
    let arguments = ["--prefix", &prefix, "--direct", &cluster.bootstrap()];
    client::Running::start(family, "rules", &skein.bootstrap(), &[], &arguments)?.result(client::LIMIT)
}

#[test]
fn java_meets_the_exceptions_that_kafkas_own_lists_give() -> Result<()> {
    let topic = "TopicAuthorizationException";
    let must = serde_json::json!({ "rules": {
        "produce": { "open": "no error", "secret": topic, "again": "no error" },
        "transactions": { "theirs": "TransactionalIdAuthorizationException", "secret": topic, "open": "no error" },
        "consume": {
            "their group": "GroupAuthorizationException",
            "my group": ["value", "value", "value", "value"],
            "commit": topic,
            "subscribed": ["secret"],
            "assigned": ["secret"],
            "without": ["value", "value", "value", "value"],
            "topics": ["open"],
        },
        "admin": {
            "topics": ["open"], "describe": topic, "missing": topic, "create": topic, "delete": topic,
            "delete mine": topic, "configs": topic, "alter": topic, "offsets": topic, "records": topic,
            "groups": ["mine"], "their group": "GroupAuthorizationException",
            "acls": "ClusterAuthorizationException", "cluster": "no error", "quotas": "ClusterAuthorizationException",
        },
        "written": 0,
    }});
    client::same(&must, &refused(Family::Java)?)
}

#[test]
fn librdkafka_meets_the_errors_that_kafkas_own_lists_give() -> Result<()> {
    let topic = "TOPIC_AUTHORIZATION_FAILED";
    let must = serde_json::json!({ "rules": {
        "produce": { "open": "no error", "secret": topic, "again": "no error" },
        "transactions": { "theirs": "TRANSACTIONAL_ID_AUTHORIZATION_FAILED", "secret": topic, "open": "no error" },
        "consume": {
            "their group": ["GROUP_AUTHORIZATION_FAILED"],
            "my group": ["value", "value", "value"],
            "commit": topic,
            "subscribed": [[topic, "value"], 3],
        },
        "admin": {
            "topics": ["open"], "describe": topic, "missing": topic, "create": topic, "delete": topic,
            "delete mine": topic, "configs": topic, "cluster": "no error",
        },
        "written": 0,
    }});
    client::same(&must, &refused(Family::Librdkafka)?)
}
