//! Logins that Skein judges, and logins of its own at the cluster, without TLS.

use std::{fs, time::Duration};

use anyhow::{Result, ensure};
use skein_tests::{
    client::{self, Access, Endpoint, Family, Mechanism},
    cluster::{self, Cluster, Security, Spec},
    process,
    skein::{Form, Front, Skein, Users},
    workplace,
};

use crate::chaos::Load;
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

/// How long logins last on both sides, and how long writing goes on: a minute of ten-second logins with `SKEIN_LOGINS=60`.
fn lifetimes() -> Result<(Duration, Duration)> {
    let seconds = std::env::var("SKEIN_LOGINS").map_or(Ok(12), |seconds| seconds.parse())?;
    Ok((Duration::from_secs(seconds / 6), Duration::from_secs(seconds)))
}

/// Passwords change on both sides while clients write, and logins are over again and again: no client notices.
fn logins_are_renewed(family: Family) -> Result<()> {
    let (lifetime, writing) = lifetimes()?;
    let spec = Spec::new("expiring", &[1, 7, 1001], Security::Sasl).logins_last(lifetime);
    let cluster = Cluster::start(&spec)?;
    let users = Users::of(&[("alice", AT_SKEIN)])?;
    let secret = workplace::run_dir("service")?.join("password");
    fs::write(&secret, cluster::password("bob"))?;
    let login =
        format!("login = {{ mechanism = \"PLAIN\", username = \"bob\", password = \"file:{}\" }}", secret.display());
    let seconds = lifetime.as_secs();
    let listener = listener(&users).replace("users =", &format!("session-lifetime = \"{seconds}s\", users ="));
    let skein = Skein::start(&Front::of(&cluster).cluster(&login).listener(&listener).text()?)?;
    let mut load = Load::start(family, alice(&skein, Mechanism::ScramSha256, AT_SKEIN))?;
    load.goes_on()?;
    let begun = std::time::Instant::now();
    process::until("the time of writing is over", writing * 3, || {
        load.goes_on()?;
        Ok((begun.elapsed() >= writing).then_some(()))
    })?;
    let direct = Access::password(Mechanism::Plain, "alice", cluster::PASSWORD);
    load.compare(Endpoint::new(&cluster.bootstrap(), direct), Form::Bare)?;
    let log = skein.log();
    for sign in ["login_expired", "link lost", "link not logged in again", "broker not reached", "secret"] {
        ensure!(!log.contains(sign), "`{sign}` in {log}");
    }
    Ok(())
}

#[test]
fn java_does_not_notice_that_logins_expire() -> Result<()> {
    logins_are_renewed(Family::Java)
}

#[test]
#[ignore = "long: `cargo xtask soak` runs it"]
fn librdkafka_does_not_notice_that_logins_expire() -> Result<()> {
    logins_are_renewed(Family::Librdkafka)
}

/// Rules of Skein's own, for those who have logged in there: what each may do on topics is its own.
#[test]
fn rules_are_about_the_principal_that_has_logged_in() -> Result<()> {
    let cluster = cluster::secured()?;
    let users = Users::of(&[("alice", AT_SKEIN), ("bob", AT_SKEIN)])?;
    let rules = r#"
[[virtual-clusters.main.filters]]
kind = "authorize"
rules = [
    { allow = ["ALL"], principals = ["alice"], topics = ["*"], groups = ["*"], cluster = "kafka-cluster" },
    { allow = ["DESCRIBE"], principals = ["bob"], topics = ["others-*"] },
]
"#;
    let front = Front::of(cluster).cluster(&service(Mechanism::Plain)).listener(&listener(&users)).tables(rules);
    let skein = Skein::start(&front.text()?)?;
    let way = |user: &str| Endpoint::new(&skein.bootstrap(), Access::password(Mechanism::ScramSha512, user, AT_SKEIN));
    connects(Family::FranzGo, way("alice"))?;
    let told = format!("{:#}", connects(Family::FranzGo, way("bob")).unwrap_err());
    ensure!(told.contains("AUTHORIZATION_FAILED"), "{told}");
    Ok(())
}
