//! The client libraries, and the command that runs the program of each.

use std::{path::Path, process::Command};

use anyhow::{Context, Result};

use crate::{artifacts, process, workplace};

/// A client library.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Family {
    /// The Java client of Apache Kafka.
    Java,
    /// librdkafka, through its Python binding.
    Librdkafka,
    /// franz-go, for Go.
    FranzGo,
    /// KafkaJS, for Node.
    KafkaJs,
    /// kafka-python, for Python.
    KafkaPython,
    /// aiokafka, for Python's asyncio.
    Aiokafka,
    /// Kafka Streams, on the Java client.
    Streams,
}

impl Family {
    /// All families whose program is a client of its own.
    pub const CLIENTS: [Self; 6] =
        [Self::Java, Self::Librdkafka, Self::FranzGo, Self::KafkaJs, Self::KafkaPython, Self::Aiokafka];

    /// The command that runs its program, without the program's arguments.
    pub(super) fn command(self) -> Result<Command> {
        match self {
            Self::Java => java("skein.Probe"),
            Self::Streams => java("skein.StreamsProbe"),
            Self::Librdkafka => python(&["librdkafka/probe.py"]),
            Self::KafkaPython => python(&["kafka-python/probe.py", "kafka-python"]),
            Self::Aiokafka => python(&["kafka-python/probe.py", "aiokafka"]),
            Self::FranzGo => tethered(&artifacts::go_client()?.join("probe")),
            Self::KafkaJs => {
                let mut command = process::tethered("node");
                command.arg(artifacts::node_client()?.join("probe.js"));
                Ok(command)
            }
        }
    }
}

fn java(main: &str) -> Result<Command> {
    let client = artifacts::java_client()?;
    let path = [client.join("classes"), client.join("libs/*")];
    let mut command = process::tethered("java");
    command.args(["-Xmx768m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp"]);
    command.arg(std::env::join_paths(path)?);
    command.arg("-Dorg.slf4j.simpleLogger.defaultLogLevel=warn");
    // What it makes of telemetry it says in passing.
    command.arg("-Dorg.slf4j.simpleLogger.log.org.apache.kafka.common.telemetry=info");
    command.arg("-Dorg.slf4j.simpleLogger.log.org.apache.kafka.clients.NetworkClient=info");
    command.arg("-Dorg.slf4j.simpleLogger.showDateTime=true");
    command.arg("-Dorg.slf4j.simpleLogger.dateTimeFormat=HH:mm:ss.SSS");
    command.arg(main);
    Ok(command)
}

/// A program below `clients/python`, and its first arguments.
fn python(program: &[&str]) -> Result<Command> {
    let sources = workplace::sources().join("clients/python");
    let mut command = tethered(&artifacts::python_client()?.join("bin/python"))?;
    command.env("PYTHONPATH", sources.join("kit")).args(["-B", "-u"]);
    let (file, arguments) = program.split_first().context("no program")?;
    command.arg(sources.join(file)).args(arguments);
    Ok(command)
}

fn tethered(program: &Path) -> Result<Command> {
    Ok(process::tethered(program.to_str().context("a path that is not UTF-8")?))
}
