//! Every way in to a guarded cluster, by every family: it lets in whom it should, and says so to those whom it should not.
//!
//! `connects` and `login` take where a client connects to, so that a proxy can be asked what the cluster is asked.

use std::{fs, time::Duration};

use anyhow::{Context, Result, ensure};
use kafka_protocol::messages::{ApiKey, ApiVersionsRequest};
use serde_json::{Value, json};
use skein_tests::{
    client::{self, Access, Endpoint, Family, Mechanism, Running, WRONG_PASSWORD, Way},
    cluster::{self, Acl, Cluster, Operation, PASSWORD, Release, Resource, Scram, Security, Spec},
    issuer::Signature,
    process,
    raw::Raw,
    workplace,
};

/// How long a program may take to hear that it is refused.
const PATIENCE: Duration = Duration::from_secs(40);

/// That a client gets in there, writes, reads and commits.
pub(crate) fn connects(family: Family, endpoint: Endpoint) -> Result<()> {
    let seen = client::run(family, "connect", endpoint, &[])?;
    let values = |partition| (0..10).map(|number| format!("value {}", 2 * number + partition)).collect::<Vec<_>>();
    let seen = seen.get("connect").cloned().unwrap_or_default();
    client::same(&json!({"0": values(0), "1": values(1)}), seen.get("read").unwrap_or(&Value::Null))?;
    client::same(&json!({"0": 10, "1": 10}), seen.get("committed").unwrap_or(&Value::Null))
}

/// What a client prints that asks whether it gets in there. It says nothing of its password.
pub(crate) fn login(family: Family, endpoint: Endpoint) -> Result<Value> {
    let running = Running::start(family, "login", endpoint, &[], &[])?;
    let dir = running.dir().to_owned();
    let result = running.result(PATIENCE);
    for file in ["stdout", "stderr"] {
        let said = fs::read_to_string(dir.join(file))?;
        ensure!(!said.contains(WRONG_PASSWORD), "the password is in {file}: {said}");
    }
    result
}

/// Has a client write and read there for so long, and gives what waits for its end: it has had no error.
pub(crate) fn stays(family: Family, endpoint: Endpoint, time: Duration) -> Result<impl FnOnce() -> Result<()>> {
    let seconds = time.as_secs().to_string();
    let running = Running::start(family, "stay", endpoint, &[], &["--seconds", &seconds])?;
    Ok(move || {
        let seen = running.result(time + PATIENCE).with_context(|| format!("{family:?}"))?;
        let wanted = json!({"stay": {"answers": ["no error"], "errors": [], "read": true}});
        client::same(&wanted, &seen).with_context(|| format!("{family:?} stays"))
    })
}

/// What `login` prints of whom `Way::refused` gives.
pub(crate) fn refusal(family: Family, way: Way) -> Value {
    let (by_sasl, by_tls) = match family {
        Family::Java | Family::Streams => ("SaslAuthenticationException", "SslAuthenticationException"),
        Family::Librdkafka => ("_AUTHENTICATION", "_TRANSPORT"),
        Family::FranzGo => ("SASL_AUTHENTICATION_FAILED", "*tls.permanentError"),
        Family::KafkaJs => ("KafkaJSSASLAuthenticationError", "KafkaJSConnectionError"),
        Family::KafkaPython => ("KafkaTimeoutError", "KafkaTimeoutError"),
        Family::Aiokafka => ("KafkaConnectionError", "KafkaConnectionError"),
    };
    let login = match (family, way) {
        (_, Way::Certificate) => by_tls,
        // These take the answer that a token is refused for a good one, and lose the connection afterwards.
        (Family::KafkaJs, Way::Token) => "KafkaJSBrokerNotFound",
        (Family::Aiokafka, Way::Token) => "NodeNotReadyError",
        _ => by_sasl,
    };
    let heard: &[&str] = match (family, way) {
        (_, Way::Certificate) | (Family::Aiokafka, Way::Token) => &[],
        (Family::KafkaPython, _) => &["SaslAuthenticationFailedError"],
        _ => &["SaslAuthenticationFailed"],
    };
    match family {
        Family::KafkaPython | Family::Aiokafka => json!({"login": login, "heard": heard}),
        _ => json!({"login": login}),
    }
}

fn lets_in(family: Family, way: Way) -> Result<()> {
    let cluster = cluster::guarded()?;
    connects(family, Endpoint::new(&way.bootstrap(cluster), way.access(cluster)?))
}

fn refuses(family: Family, way: Way) -> Result<()> {
    let cluster = cluster::guarded()?;
    let access = way.refused(cluster, &workplace::run_dir("refused")?)?;
    client::same(&refusal(family, way), &login(family, Endpoint::new(&way.bootstrap(cluster), access))?)
}

macro_rules! families {
    ($($module:ident $family:ident;)+) => {
        $(mod $module {
            use super::{Family, Mechanism, Result, Way, lets_in, refuses};

            families!(@ways $family
                plain Way::Password(Mechanism::Plain);
                scram_sha_256 Way::Password(Mechanism::ScramSha256);
                scram_sha_512 Way::Password(Mechanism::ScramSha512);
                oauthbearer Way::Token;
                certificate Way::Certificate;
            );
        })+
    };
    (@ways $family:ident $($way:ident $value:expr;)+) => {
        $(mod $way {
            use super::*;

            #[test]
            #[ignore = "long, and says nothing of the proxy: `cargo xtask soak` runs it"]
            fn lets_alice_in() -> Result<()> {
                lets_in(Family::$family, $value)
            }

            #[test]
            #[ignore = "long, and says nothing of the proxy: `cargo xtask soak` runs it"]
            fn refuses_what_is_wrong() -> Result<()> {
                refuses(Family::$family, $value)
            }
        })+
    };
}

families! {
    java Java;
    librdkafka Librdkafka;
    franz_go FranzGo;
    kafkajs KafkaJs;
    kafka_python KafkaPython;
    aiokafka Aiokafka;
}

/// By a password, at the shared guarded cluster.
fn as_user(mechanism: Mechanism, user: &str, password: &str) -> Result<Endpoint> {
    let cluster = cluster::guarded()?;
    let access = Access::password(mechanism, user, password).trusting(&cluster.guard()?.authority.certificate());
    Ok(Endpoint::new(&cluster.bootstrap(), access))
}

#[test]
fn rules_decide_what_a_user_may_do() -> Result<()> {
    let bob = || as_user(Mechanism::Plain, "bob", &cluster::password("bob"));
    let tries = || connects(Family::FranzGo, bob()?);
    let told = format!("{:#}", tries().unwrap_err());
    ensure!(told.contains("TOPIC_AUTHORIZATION_FAILED"), "{told}");
    let topics = Acl::allow("bob", Operation::All, Resource::topic("t").prefix());
    let groups = Acl::allow("bob", Operation::Read, Resource::group("*"));
    let admin = cluster::guarded()?.admin()?;
    admin.add(&[topics.clone(), groups.clone()])?;
    tries()?;
    let denied = Acl::deny("bob", Operation::Create, Resource::topic("*"));
    admin.add(std::slice::from_ref(&denied))?;
    ensure!(tries().is_err());
    admin.remove(&[topics, groups, denied])
}

#[test]
fn a_password_can_be_changed() -> Result<()> {
    let admin = cluster::guarded()?.admin()?;
    let outcome = |mechanism, password: &str| {
        let seen = login(Family::FranzGo, as_user(mechanism, "carol", password)?)?;
        Ok::<_, anyhow::Error>(seen.get("login").and_then(Value::as_str) == Some("no error"))
    };
    let first = cluster::password("carol");
    for scram in [Scram::Sha256, Scram::Sha512] {
        ensure!(outcome(scram.into(), &first)?);
        admin.set_password("carol", scram, "another")?;
        ensure!(outcome(scram.into(), "another")? && !outcome(scram.into(), &first)?);
        admin.remove_user("carol", scram)?;
        ensure!(!outcome(scram.into(), "another")?);
    }
    // PLAIN does not know of it.
    ensure!(outcome(Mechanism::Plain, &first)?);
    Ok(())
}

/// How each family stays: all ways are among them, and each token is of a key that was published while they stayed.
const STAYING: [(Family, Way); 6] = [
    (Family::Java, Way::Token),
    (Family::Librdkafka, Way::Password(Mechanism::ScramSha256)),
    (Family::FranzGo, Way::Token),
    (Family::KafkaJs, Way::Password(Mechanism::Plain)),
    (Family::KafkaPython, Way::Password(Mechanism::ScramSha512)),
    (Family::Aiokafka, Way::Token),
];

#[test]
#[ignore = "long, and says nothing of the proxy: `cargo xtask soak` runs it"]
fn nobody_notices_that_logins_end_and_keys_change() -> Result<()> {
    // Clients log in again when nine tenths of it have passed or less; what is left has to be enough for a busy machine.
    let lifetime = Duration::from_secs(10);
    let cluster = Cluster::start(&Spec::three_guarded().logins_last(lifetime))?;
    let names = [Resource::topic("t"), Resource::group("t")].map(Resource::prefix);
    cluster.admin()?.add(&names.map(|name| Acl::allow(cluster::USER, Operation::All, name)))?;
    // So its coordinators are there, and have nothing to load.
    let way = Way::Password(Mechanism::Plain);
    connects(Family::FranzGo, Endpoint::new(&way.bootstrap(&cluster), way.access(&cluster)?))?;
    let issuer = &cluster.guard()?.issuer;
    let mut staying = Vec::new();
    for (family, way) in STAYING {
        let endpoint = Endpoint::new(&way.bootstrap(&cluster), way.access(&cluster)?);
        staying.push(stays(family, endpoint, Duration::from_secs(25))?);
    }
    issuer.publish(Signature::Es256)?;
    let (asked, brokers) = (issuer.keys().requests(), u64::try_from(cluster.nodes().len())?);
    process::until("all brokers' look at the keys", PATIENCE, || {
        Ok((issuer.keys().requests() > asked + 2 * brokers).then_some(()))
    })?;
    issuer.sign_with_newest();
    staying.into_iter().try_for_each(|end| end())
}

#[test]
fn streams_get_in_with_tokens() -> Result<()> {
    let cluster = cluster::guarded()?;
    let endpoint = Endpoint::new(&Way::Token.bootstrap(cluster), Way::Token.access(cluster)?);
    let seen = client::run(Family::Streams, "connect", endpoint, &[])?;
    ensure!(seen.get("consume").and_then(Value::as_array).is_some_and(|read| !read.is_empty()), "{seen}");
    Ok(())
}

#[test]
fn a_cluster_of_3_9_serves_clients() -> Result<()> {
    let cluster = Cluster::start(&Spec::new("kafka-3.9", &[1], Security::Open).of(Release::V3_9))?;
    let node = cluster.nodes().into_values().next().unwrap_or(([127, 0, 0, 1], 0).into());
    let offered = Raw::connect(node)?.call(0, &ApiVersionsRequest::default())?;
    // 4.0 has taken the oldest versions away.
    let fetch = offered.api_keys.iter().find(|api| api.api_key == ApiKey::Fetch as i16);
    ensure!(fetch.is_some_and(|fetch| fetch.min_version == 0), "{fetch:?}");
    for family in [Family::FranzGo, Family::Librdkafka] {
        connects(family, Endpoint::from(&cluster.bootstrap()))?;
    }
    Ok(())
}

#[test]
fn a_secured_cluster_without_tls_lets_alice_in() -> Result<()> {
    let cluster = cluster::secured()?;
    for (family, mechanism) in [(Family::FranzGo, Mechanism::Plain), (Family::KafkaJs, Mechanism::ScramSha512)] {
        let access = Access::password(mechanism, cluster::USER, PASSWORD);
        connects(family, Endpoint::new(&cluster.bootstrap(), access))?;
    }
    Ok(())
}
