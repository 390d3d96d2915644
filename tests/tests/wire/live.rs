//! `skein check --live`: a file against clusters as they are.

use std::process::Output;

use anyhow::Result;
use bytes::BytesMut;
use kafka_protocol::messages::ApiVersionsResponse;
use kafka_protocol::messages::api_versions_response::ApiVersion;
use kafka_protocol::protocol::Encodable;
use skein_tests::apis::{API_VERSIONS, FETCH, METADATA};
use skein_tests::fake::{Action, Fake};
use skein_tests::skein;

use crate::stage::{REAL_CLUSTER, config};

fn check(fake: &Fake) -> Result<(String, Output)> {
    let output = skein::command(&config("main-1", fake, 9000)?, "check", &["--live"])?;
    Ok((String::from_utf8(output.stdout.clone())?, output))
}

#[test]
fn what_is_as_declared_is_good() -> Result<()> {
    let (text, output) = check(&Fake::start(REAL_CLUSTER, &[1, 7, 1001])?)?;
    assert!(output.status.success(), "{output:?}");
    for node in [1, 7, 1001] {
        assert!(text.contains(&format!("good    cluster `one`: node {node} at 127.0.0.1:")), "{text}");
    }
    assert!(!text.contains("warning") && !text.contains("fault"), "{text}");
    Ok(())
}

#[test]
fn a_broker_that_is_not_declared_is_a_fault() -> Result<()> {
    let (text, output) = check(&Fake::start(REAL_CLUSTER, &[1, 7, 1001, 8])?)?;
    assert_eq!(output.status.code(), Some(1));
    assert!(text.contains("fault   cluster `one`: node 8 at 127.0.0.1:"), "{text}");
    assert!(text.contains("Add 8 at the end of `nodes`"), "{text}");
    Ok(())
}

#[test]
fn one_that_is_declared_and_not_there_is_a_warning() -> Result<()> {
    let (text, output) = check(&Fake::start(REAL_CLUSTER, &[1, 7])?)?;
    assert!(output.status.success(), "{output:?}");
    assert!(text.contains("warning cluster `one`: node 1001 is declared, and is not there now"), "{text}");
    Ok(())
}

#[test]
fn a_cluster_that_nobody_answers_for_is_a_fault() -> Result<()> {
    let mut fake = Fake::start(REAL_CLUSTER, &[1, 7])?;
    fake.kill(1)?;
    let (text, output) = check(&fake)?;
    assert!(text.contains("warning cluster `one`: bootstrap address 127.0.0.1:"), "{text}");
    assert_eq!(output.status.code(), Some(1), "node 1 is listed, and out of reach: {text}");
    fake.kill(7)?;
    let (text, output) = check(&fake)?;
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(text.matches("fault   cluster `one`: bootstrap address").count(), 2, "{text}");
    Ok(())
}

#[test]
fn what_only_some_brokers_can_do_is_told() -> Result<()> {
    let fake = Fake::start(REAL_CLUSTER, &[1, 7, 1001])?;
    let range = |key, from, to| ApiVersion::default().with_api_key(key).with_min_version(from).with_max_version(to);
    let old = ApiVersionsResponse::default().with_api_keys(vec![range(METADATA, 0, 12), range(FETCH, 4, 12)]);
    // Once at its bootstrap address, once where the cluster says that it is.
    for _ in 0..2 {
        let mut body = BytesMut::new();
        old.encode(&mut body, 4)?;
        fake.on_next_at(7, API_VERSIONS, Action::Answer(body.freeze()));
    }
    let (text, output) = check(&fake)?;
    assert!(output.status.success(), "{text}");
    let told = |what: &str| text.lines().any(|line| line.starts_with("warning") && line.contains(what));
    assert!(told("Fetch above version 12 is not offered: only") && told("Produce is not offered"), "{text}");
    Ok(())
}

#[test]
fn an_address_that_is_another_brokers_is_a_fault() -> Result<()> {
    let fake = Fake::start(REAL_CLUSTER, &[1, 7, 1001])?;
    let declared = format!("\n[clusters.one.addresses]\n7 = \"{}\"\n", fake.address(1001)?);
    let output = skein::command(&(config("main-1", &fake, 9000)? + &declared), "check", &["--live"])?;
    let text = String::from_utf8(output.stdout)?;
    assert_eq!(output.status.code(), Some(1));
    assert!(text.contains("where the cluster says that node 1001 is"), "{text}");
    Ok(())
}

#[test]
fn what_closes_the_connection_is_told_by_what_it_was_asked() -> Result<()> {
    for (key, meaning) in [(API_VERSIONS, "a listener with TLS, or no Kafka?"), (METADATA, "it probably wants a login")]
    {
        let fake = Fake::start(REAL_CLUSTER, &[1, 7, 1001])?;
        fake.on_every(key, Action::Close);
        let (text, output) = check(&fake)?;
        assert_eq!(output.status.code(), Some(1));
        assert!(text.contains(meaning), "{text}");
    }
    Ok(())
}
