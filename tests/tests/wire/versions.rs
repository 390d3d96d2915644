//! ApiVersions: what is offered, to whom it is said, and how a question nobody understands ends.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::Result;
use bytes::Bytes;
use kafka_protocol::messages::ApiVersionsResponse;
use kafka_protocol::protocol::Decodable;
use skein_tests::apis::{self, API_VERSIONS, FETCH, LIST_OFFSETS, METADATA, PRODUCE, SHARE_FETCH};
use skein_tests::fake::{Action, Fake};
use skein_tests::raw::request::{self, Introduction};
use skein_tests::raw::{Closing, Raw, Request};

use crate::stage::{REAL_CLUSTER, SOON, Stage, empty};

/// The answer of any version; that of v5 has the layout of v4.
fn ask(raw: &mut Raw, version: i16, introduction: &Introduction<'_>) -> Result<ApiVersionsResponse> {
    let answer = raw.ask(&request::api_versions(version, introduction))?;
    let read = |body: &mut Bytes| ApiVersionsResponse::decode(body, version.min(4));
    answer.read(API_VERSIONS, version, read)
}

fn ranges(answer: &ApiVersionsResponse) -> BTreeMap<i16, (i16, i16)> {
    answer.api_keys.iter().map(|one| (one.api_key, (one.min_version, one.max_version))).collect()
}

fn offered(stage: &Stage) -> Result<BTreeMap<i16, (i16, i16)>> {
    Ok(ranges(&ask(&mut stage.bootstrap()?, 4, &Introduction::default())?))
}

#[test]
fn every_version_of_api_versions_is_answered_alike() -> Result<()> {
    let stage = Stage::new()?;
    for mut raw in [stage.bootstrap()?, stage.node(7)?] {
        let first = ranges(&ask(&mut raw, 0, &Introduction::default())?);
        assert!(first.len() > 20, "{first:?}");
        for version in 1..=5 {
            let answer = ask(&mut raw, version, &Introduction::default())?;
            assert_eq!((answer.error_code, ranges(&answer)), (0, first.clone()), "v{version}");
        }
    }
    Ok(())
}

#[test]
fn an_unknown_version_gets_a_v0_body_with_one_entry_and_the_connection_goes_on() -> Result<()> {
    let stage = Stage::new()?;
    let mut raw = stage.bootstrap()?;
    for version in [-1, 6, 99, i16::MIN, i16::MAX] {
        let answer = raw.ask(&request::api_versions(version, &Introduction::default()))?;
        assert_eq!(answer.rest[..], [0, 35, 0, 0, 0, 1, 0, 18, 0, 0, 0, 5], "v{version}");
    }
    assert_eq!(ask(&mut raw, 3, &Introduction::default())?.error_code, 0);
    raw.call(12, &request::metadata(12, None))?;
    Ok(())
}

#[test]
fn an_unknown_version_with_nothing_or_anything_behind_the_header_is_understood() -> Result<()> {
    let stage = Stage::new()?;
    let mut raw = stage.bootstrap()?;
    for body in [empty(), Bytes::from_static(&[0xff; 300])] {
        let request = Request::new(API_VERSIONS, 77, body).client_id(None);
        assert_eq!(raw.ask(&request)?.rest[..], [0, 35, 0, 0, 0, 1, 0, 18, 0, 0, 0, 5]);
    }
    Ok(())
}

#[test]
fn produce_is_offered_from_0() -> Result<()> {
    let offered = offered(&Stage::new()?)?;
    assert_eq!(offered[&PRODUCE].0, 0);
    assert!(offered[&PRODUCE].1 <= 13);
    Ok(())
}

#[test]
fn what_is_offered_is_what_both_the_table_and_the_broker_have() -> Result<()> {
    let fake = Fake::start(REAL_CLUSTER, &[1, 7])?.topic("t", &[1, 7]);
    fake.change(|model| {
        model.offer(FETCH, 7, 11);
        model.offer(LIST_OFFSETS, 3, 7);
        model.offer(METADATA, 0, 99);
        model.offer(10_000, 0, 3);
        model.offer(95, 0, 0);
        model.offer(PRODUCE, 3, 99);
        model.withhold(SHARE_FETCH);
        model.offer(apis::OFFSET_FOR_LEADER_EPOCH, 30, 40);
    });
    let offered = offered(&Stage::before(fake)?)?;
    assert_eq!(offered[&FETCH], (7, 11));
    assert_eq!(offered[&LIST_OFFSETS], (3, 7));
    assert!(offered[&METADATA].1 <= 13, "{:?}", offered[&METADATA]);
    assert_eq!(offered[&PRODUCE], (0, 13));
    for absent in [10_000, 95, SHARE_FETCH, apis::OFFSET_FOR_LEADER_EPOCH] {
        assert!(!offered.contains_key(&absent), "{absent} is offered");
    }
    Ok(())
}

#[test]
fn nothing_is_offered_that_a_broker_does_not_have() -> Result<()> {
    let offered = offered(&Stage::new()?)?;
    for (key, (min, max)) in offered {
        let api = apis::api(key).unwrap_or_else(|| panic!("{key} is offered"));
        assert!(min >= api.min && max <= api.max && min <= max, "{} {min}-{max}", api.name);
    }
    Ok(())
}

#[test]
fn features_with_a_lowest_level_of_0_are_left_out_below_v4() -> Result<()> {
    let stage = Stage::new()?;
    let answer = ask(&mut stage.bootstrap()?, 3, &Introduction::default())?;
    assert!(answer.supported_features.iter().all(|feature| feature.min_version > 0), "{answer:?}");
    Ok(())
}

#[test]
fn the_right_cluster_and_node_in_v5_get_the_keys() -> Result<()> {
    let stage = Stage::new()?;
    let cluster = stage.metadata()?.cluster_id.unwrap();
    for node_id in [1, 7] {
        let meant = Introduction { cluster_id: Some(cluster.as_str()), node_id, ..Introduction::default() };
        let answer = ask(&mut stage.node(node_id)?, 5, &meant)?;
        assert_eq!(answer.error_code, 0);
        assert!(!answer.api_keys.is_empty());
    }
    Ok(())
}

#[test]
fn a_wrong_cluster_or_node_in_v5_is_told_to_bootstrap_again() -> Result<()> {
    let stage = Stage::new()?;
    let cluster = stage.metadata()?.cluster_id.unwrap();
    let mut raw = stage.node(1)?;
    for (cluster_id, node_id) in [(cluster.as_str(), 7), ("another", 1), (REAL_CLUSTER, 1), ("", 1)] {
        let meant = Introduction { cluster_id: Some(cluster_id), node_id, ..Introduction::default() };
        assert_eq!(ask(&mut raw, 5, &meant)?.error_code, 129, "{meant:?}");
    }
    assert_eq!(ask(&mut raw, 5, &Introduction::default())?.error_code, 0);
    Ok(())
}

#[test]
fn only_one_of_cluster_and_node_in_v5_is_invalid() -> Result<()> {
    let stage = Stage::new()?;
    let cluster = stage.metadata()?.cluster_id.unwrap();
    let mut raw = stage.node(1)?;
    for (cluster_id, node_id) in [(Some(cluster.as_str()), -1), (None, 1)] {
        let answer = ask(&mut raw, 5, &Introduction { cluster_id, node_id, ..Introduction::default() })?;
        assert_eq!((answer.error_code, answer.api_keys.len()), (42, 0));
    }
    raw.call(12, &request::metadata(12, None))?;
    Ok(())
}

#[test]
fn a_software_name_or_version_that_is_none_is_invalid() -> Result<()> {
    let stage = Stage::new()?;
    let mut raw = stage.bootstrap()?;
    for wrong in ["", " ", "a b", "-a", "a-", ".a", "a.", "a/b", "ä"] {
        for version in 3..=5 {
            let name = Introduction { software_name: wrong, ..Introduction::default() };
            assert_eq!(ask(&mut raw, version, &name)?.error_code, 42, "name {wrong:?} v{version}");
            let number = Introduction { software_version: wrong, ..Introduction::default() };
            assert_eq!(ask(&mut raw, version, &number)?.error_code, 42, "version {wrong:?} v{version}");
        }
    }
    let right =
        Introduction { software_name: "apache-kafka.java", software_version: "4.4.0-x", ..Introduction::default() };
    assert_eq!(ask(&mut raw, 3, &right)?.error_code, 0);
    Ok(())
}

#[test]
fn a_request_nobody_understands_closes_after_the_earlier_answers() -> Result<()> {
    let stage = Stage::new()?;
    let place = stage.place(0)?;
    let unknown = [
        Request::new(PRODUCE, 0, produce_v0()),
        Request::new(PRODUCE, 1, produce_v0()),
        Request::new(PRODUCE, 2, produce_v0()),
        Request::new(10_000, 0, empty()),
        Request::new(-1, 0, empty()),
        Request::new(METADATA, 14, Bytes::from_static(&[0, 0, 0])),
        Request::new(METADATA, -1, empty()),
        Request::new(FETCH, 3, empty()),
        Request::new(4, 0, empty()),
    ];
    for last in unknown {
        let batch = skein_tests::batch::Batch::small(1).build();
        stage.fake.on_next(PRODUCE, Action::Delay(Duration::from_millis(200)));
        let mut raw = stage.node(1)?;
        raw.send_all(&[
            Request::of(9, &request::produce(9, &place, 1, batch))?.id(5),
            Request::of(1, &request::metadata(1, None))?.id(6),
            last.clone().id(7),
        ])?;
        let (answers, closing) = raw.until_closed(SOON)?;
        let ids: Vec<_> = answers.iter().map(|answer| answer.correlation_id).collect();
        assert_eq!((ids, closing), (vec![5, 6], Closing::Clean), "{} v{}", last.key, last.version);
    }
    stage.serves_others()
}

/// acks 1, timeout 1 s, no topics: the layout of v0 to v2.
fn produce_v0() -> Bytes {
    Bytes::from_static(&[0, 1, 0, 0, 3, 0xe8, 0, 0, 0, 0])
}
