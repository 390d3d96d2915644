//! The kit itself: a second run without a proxy sees what the first one saw.
//!
//! A difference here is a scenario's, not the proxy's.

use std::time::Duration;

use anyhow::{Result, ensure};
use skein_tests::{
    client::{self, Family},
    cluster::{self, Cluster, Spec},
    process,
};

use crate::stage;

fn repeats(family: Family, scenario: &'static str) -> Result<()> {
    let first = stage::direct(family, scenario)?;
    let second = client::run(family, scenario, &cluster::three()?.bootstrap(), &[])?;
    client::same(&first, &second)
}

macro_rules! repeats {
    ($($name:ident: $family:ident $scenario:literal),+ $(,)?) => {$(
        #[test]
        #[ignore = "shows that results do not depend on the run; says nothing of the proxy"]
        fn $name() -> Result<()> {
            repeats(Family::$family, $scenario)
        }
    )+};
}

repeats! {
    java_produce: Java "produce",
    java_seek: Java "seek",
    java_classic: Java "classic",
    java_kip848: Java "kip848",
    java_idempotent: Java "idempotent",
    java_transactions: Java "transactions",
    java_admin: Java "admin",
    java_share: Java "share",
    librdkafka_produce: Librdkafka "produce",
    librdkafka_seek: Librdkafka "seek",
    librdkafka_classic: Librdkafka "classic",
    librdkafka_kip848: Librdkafka "kip848",
    librdkafka_idempotent: Librdkafka "idempotent",
    librdkafka_transactions: Librdkafka "transactions",
    librdkafka_admin: Librdkafka "admin",
    librdkafka_share: Librdkafka "share",
}

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
    for family in [Family::Java, Family::Librdkafka] {
        let started = client::Running::start(family, "seek", nobody, &[], &[])?;
        let told = format!("{:#}", started.result(Duration::from_secs(1)).unwrap_err());
        ensure!(told.contains("not within 1s"), "{told}");
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
