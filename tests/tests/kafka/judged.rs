//! Logins that Skein judges, and logins of its own at the cluster, without TLS.

use anyhow::{Result, ensure};
use skein_tests::{
    client::{self, Access, Endpoint, Family, Mechanism},
    cluster,
    skein::{Front, Skein, Users},
};

use crate::secured::{connects, login};

/// Her password at Skein; that at the cluster is another.
const AT_SKEIN: &str = "another-secret-of-alice";

/// Skein's own login.
fn service(mechanism: Mechanism) -> String {
    let (name, password) = (mechanism.name(), cluster::password("skein"));
    format!("login = {{ mechanism = \"{name}\", username = \"skein\", password = \"{password}\" }}")
}

/// A listener whose clients log in at Skein.
fn listener(users: &Users) -> String {
    let path = users.path().display();
    format!("login = {{ mechanisms = [\"PLAIN\", \"SCRAM-SHA-256\", \"SCRAM-SHA-512\"], users = \"{path}\" }}")
}

fn alice(skein: &Skein, mechanism: Mechanism, password: &str) -> Endpoint {
    Endpoint::new(&skein.bootstrap(), Access::password(mechanism, "alice", password))
}

fn serves(family: Family, mechanism: Mechanism) -> Result<()> {
    let users = Users::of(&[("alice", AT_SKEIN)])?;
    let front = Front::of(cluster::secured()?).cluster(&service(mechanism)).listener(&listener(&users));
    let skein = Skein::start(&front.text()?)?;
    connects(family, alice(&skein, mechanism, AT_SKEIN))?;
    let refused = login(family, alice(&skein, mechanism, cluster::PASSWORD))?;
    client::same(&crate::secured::refusal(family, client::Way::Password(mechanism)), &refused)?;
    let log = skein.log();
    ensure!(!log.contains("secret"), "a secret is in the log: {log}");
    ensure!(log.contains("login refused"), "nothing is told: {log}");
    Ok(())
}

macro_rules! serves {
    ($($test:ident $family:ident $mechanism:ident;)+) => {
        $(#[test]
        fn $test() -> Result<()> {
            serves(Family::$family, Mechanism::$mechanism)
        })+
    };
}

serves! {
    java_logs_in_at_skein_and_skein_at_the_cluster Java ScramSha512;
    librdkafka_logs_in_at_skein_and_skein_at_the_cluster Librdkafka Plain;
    franz_go_logs_in_at_skein_and_skein_at_the_cluster FranzGo ScramSha256;
}
