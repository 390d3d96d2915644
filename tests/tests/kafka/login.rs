//! Logins that the proxy relays: the cluster decides, and the client hears its answer.

use anyhow::Result;
use skein_tests::{
    client::{self, Access, Endpoint, Family, Mechanism},
    cluster::{self, PASSWORD, USER},
    skein::{Form, Skein, config},
};

const MECHANISMS: [Mechanism; 3] = [Mechanism::Plain, Mechanism::ScramSha256, Mechanism::ScramSha512];

/// A mechanism after the other, since each costs a run without the proxy.
fn relayed(family: Family, scenario: &str, password: &str, mechanisms: &[Mechanism]) -> Result<()> {
    let cluster = cluster::secured()?;
    let skein = Skein::start(&config(cluster, Form::Bare)?)?;
    for mechanism in mechanisms {
        let at = |bootstrap: String| Endpoint::new(&bootstrap, Access::password(*mechanism, USER, password));
        let direct = client::run(family, scenario, at(cluster.bootstrap()), &[])?;
        let through = client::run_through(family, scenario, at(skein.bootstrap()), cluster, &[])?;
        client::same(&direct, &through)?;
    }
    Ok(())
}

#[test]
fn java_produces_after_each_kind_of_login() -> Result<()> {
    relayed(Family::Java, "login", PASSWORD, &MECHANISMS)?;
    relayed(Family::Java, "produce", PASSWORD, &MECHANISMS[..1])
}

#[test]
fn java_joins_a_group_after_a_login() -> Result<()> {
    relayed(Family::Java, "classic", PASSWORD, &MECHANISMS[2..])
}

#[test]
fn java_hears_that_a_password_is_wrong() -> Result<()> {
    relayed(Family::Java, "login", "wrong", &MECHANISMS)
}

#[test]
fn librdkafka_produces_after_each_kind_of_login() -> Result<()> {
    relayed(Family::Librdkafka, "login", PASSWORD, &MECHANISMS)?;
    relayed(Family::Librdkafka, "produce", PASSWORD, &MECHANISMS[1..2])
}

#[test]
fn librdkafka_joins_a_group_after_a_login() -> Result<()> {
    relayed(Family::Librdkafka, "classic", PASSWORD, &MECHANISMS[..1])
}

#[test]
fn librdkafka_hears_that_a_password_is_wrong() -> Result<()> {
    relayed(Family::Librdkafka, "login", "wrong", &MECHANISMS)
}
