//! The kit itself.

use std::time::Duration;

use anyhow::{Result, ensure};
use skein_tests::{
    client::{self, Family},
    cluster::{self, Cluster, Spec},
    process,
};

#[test]
#[ignore = "of the kit only"]
fn a_broker_comes_back_with_its_address() -> Result<()> {
    let cluster = Cluster::start(&Spec::new("comeback", &[1], cluster::Security::Open))?;
    let before = cluster.nodes();
    cluster.kill(1)?;
    ensure!(cluster.pid(1).is_none() && cluster.kill(1).is_err());
    cluster.restart(1)?;
    cluster.stop(1)?;
    cluster.restart(1)?;
    ensure!(cluster.nodes() == before);
    Ok(())
}

#[test]
#[ignore = "of the kit only"]
fn what_takes_too_long_is_killed_and_what_fails_says_why() -> Result<()> {
    let nobody = "127.0.0.1:1";
    // These go on trying where nobody answers.
    for family in [Family::Java, Family::Librdkafka] {
        let started = client::Running::start(family, "seek", nobody, &[], &[])?;
        let told = format!("{:#}", started.result(Duration::from_secs(1)).unwrap_err());
        ensure!(told.contains("not within 1s"), "{told}");
    }
    let others = [Family::FranzGo, Family::KafkaJs, Family::KafkaPython, Family::Aiokafka, Family::Streams];
    for family in [Family::Java, Family::Librdkafka].into_iter().chain(others) {
        let told = format!("{:#}", client::run(family, "no such scenario", nobody, &[]).unwrap_err());
        ensure!(told.contains("has to be one of"), "{told}");
    }
    let mut sleeper = process::tethered("sleep");
    sleeper.arg("60");
    let mut sleeper = process::spawn(sleeper)?;
    ensure!(process::finish(&mut sleeper, Duration::from_millis(50)).is_err());
    ensure!(sleeper.try_wait()?.is_some());
    Ok(())
}
