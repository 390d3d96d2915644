//! Fetches and compiles what the tests need besides this workspace: Kafka, the Java client, the Python client.

use std::path::Path;
use std::time::Instant;

use anyhow::Result;
use skein_tests::artifacts;

fn main() -> Result<()> {
    made("Kafka's jars", artifacts::kafka)?;
    made("the Java client", artifacts::java_client)?;
    made("the Python client", artifacts::python_client)
}

fn made(what: &str, make: fn() -> Result<&'static Path>) -> Result<()> {
    let began = Instant::now();
    make()?;
    println!("{what}: ready after {:.1} s", began.elapsed().as_secs_f64());
    Ok(())
}
