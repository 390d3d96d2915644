//! Fetches and compiles what the tests need besides this workspace: Kafka, and the client programs.

use std::path::Path;
use std::time::Instant;

use anyhow::Result;
use skein_tests::artifacts;

fn main() -> Result<()> {
    made("Kafka's jars", artifacts::kafka)?;
    made("the jars of Kafka 3.9", artifacts::kafka_3_9)?;
    made("the Java client", artifacts::java_client)?;
    made("the Python clients", artifacts::python_client)?;
    made("the Go client", artifacts::go_client)?;
    made("the Node client", artifacts::node_client)?;
    made("the library of names", artifacts::names)
}

fn made(what: &str, make: fn() -> Result<&'static Path>) -> Result<()> {
    let began = Instant::now();
    make()?;
    println!("{what}: ready after {:.1} s", began.elapsed().as_secs_f64());
    Ok(())
}
