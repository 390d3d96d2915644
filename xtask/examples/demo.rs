//! A Kafka of one broker, Skein in front of it, and a Java client that writes and reads through it. `cargo xtask demo`.

use std::io::Write;
use std::thread;

use anyhow::Result;
use serde_json::Value;
use skein_tests::client::{self, Family};
use skein_tests::cluster::{Cluster, Spec};
use skein_tests::skein::{Form, Skein, config};

fn main() -> Result<()> {
    let once = std::env::args().any(|argument| argument == "--once");
    say("starting a Kafka of one broker (the first time it is fetched with Maven)")?;
    let cluster = Cluster::start(&Spec::single())?;
    let file = config(&cluster, Form::Bare)?;
    let skein = Skein::start(&file)?;
    say(&format!("Skein runs with this file:\n\n{file}"))?;
    say("a Java client produces with every codec and every acks, up to 20 MB a record, and reads it all back …")?;
    let seen = client::run_through(Family::Java, "produce", &skein.bootstrap(), &cluster, &[])?;
    let parts =
        seen.as_object().into_iter().flatten().map(|(name, part)| format!("  {name}: {} results", leaves(part)));
    say(&format!("done, and it never spoke to the broker itself:\n{}", parts.collect::<Vec<_>>().join("\n")))?;
    if once {
        return Ok(());
    }
    say(&format!("\nKafka behind Skein:    bootstrap.servers={}", skein.bootstrap()))?;
    say(&format!("Kafka without Skein:   bootstrap.servers={}", cluster.bootstrap()))?;
    say("Ctrl-C ends both.")?;
    loop {
        thread::park();
    }
}

/// A line at once: what takes long is said before.
fn say(line: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}")?;
    Ok(out.flush()?)
}

/// How many values a result has.
fn leaves(value: &Value) -> usize {
    match value {
        Value::Array(items) => items.iter().map(leaves).sum(),
        Value::Object(fields) => fields.values().map(leaves).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 1,
    }
}
