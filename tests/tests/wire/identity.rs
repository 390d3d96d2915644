//! What clients see of the cluster: Skein's addresses, the virtual cluster's id, the declared nodes; never more.

use anyhow::Result;
use kafka_protocol::messages::{DescribeClusterRequest, FetchRequest, FindCoordinatorRequest, ProduceRequest};
use skein_tests::apis::METADATA;
use skein_tests::batch::Batch;
use skein_tests::fake::Fake;
use skein_tests::fake::model::topic_id;
use skein_tests::raw::Request;
use skein_tests::raw::request::{self, Coordinated, Session};
use uuid::Uuid;

use crate::stage::{DECLARED, REAL_CLUSTER, SOON, Stage};

/// (node, host, port) as an answer must show a node.
fn shown(stage: &Stage, node: i32) -> Result<(i32, String, i32)> {
    Ok((node, "127.0.0.1".to_owned(), i32::from(stage.address(node)?.port())))
}

fn all_shown(stage: &Stage) -> Result<Vec<(i32, String, i32)>> {
    [1, 7].into_iter().map(|node| shown(stage, node)).collect()
}

#[test]
fn metadata_shows_only_skein_in_every_version() -> Result<()> {
    let stage = Stage::new()?;
    for version in 0..=13 {
        for mut raw in [stage.bootstrap()?, stage.node(7)?] {
            let answer = stage.ask_without_leak(&mut raw, version, &request::metadata(version, None))?;
            let mut nodes: Vec<_> =
                answer.brokers.iter().map(|one| (one.node_id.0, one.host.to_string(), one.port)).collect();
            nodes.sort();
            assert_eq!(nodes, all_shown(&stage)?, "v{version}");
            assert_eq!(answer.cluster_id.is_some(), version >= 2);
            let topic = &answer.topics[0];
            assert_eq!((topic.error_code, topic.partitions.len()), (0, 2));
            assert_eq!((topic.partitions[0].leader_id.0, topic.partitions[1].leader_id.0), (1, 7));
            assert!(version < 1 || [1, 7].contains(&answer.controller_id.0));
            let id = if version >= 10 { topic_id("t") } else { Uuid::nil() };
            assert_eq!(topic.topic_id, id, "a bare cluster target passes the id");
        }
    }
    Ok(())
}

#[test]
fn metadata_asks_for_what_the_client_asks_for() -> Result<()> {
    let stage = Stage::new()?;
    let mut raw = stage.bootstrap()?;
    for version in 0..=13 {
        let some = raw.call(version, &request::metadata(version, Some(&["nobody", "t"])))?;
        let codes: Vec<_> = some.topics.iter().map(|topic| topic.error_code).collect();
        assert_eq!(codes, [3, 0], "v{version}");
        if version >= 1 {
            assert_eq!(raw.call(version, &request::metadata(version, Some(&[])))?.topics, []);
        }
    }
    let by_id = |id| {
        let topic = kafka_protocol::messages::metadata_request::MetadataRequestTopic::default();
        request::metadata(12, None).with_topics(Some(vec![topic.with_topic_id(id).with_name(None)]))
    };
    let known = raw.call(12, &by_id(topic_id("t")))?;
    assert_eq!(known.topics[0].name.as_ref().map(|name| name.0.as_str()), Some("t"));
    let unknown = raw.call(12, &by_id(topic_id("nobody")))?;
    assert_eq!((unknown.topics[0].error_code, unknown.topics[0].name.is_none()), (100, true));
    Ok(())
}

#[test]
fn the_cluster_id_follows_from_the_declared_id_alone() -> Result<()> {
    let mut stage = Stage::new()?;
    let id = stage.metadata()?.cluster_id.unwrap();
    assert!(!id.is_empty() && id.as_str() != REAL_CLUSTER && id.as_str() != "main-1", "{id}");
    for version in 2..=13 {
        assert_eq!(stage.node(1)?.call(version, &request::metadata(version, None))?.cluster_id, Some(id.clone()));
    }
    stage.skein.restart()?;
    assert_eq!(stage.metadata()?.cluster_id, Some(id.clone()));
    let again = Stage::before(Fake::start("another-real-cluster", &[1])?)?;
    assert_eq!(again.metadata()?.cluster_id, Some(id.clone()));
    let other = Stage::called("main-2", Fake::start(REAL_CLUSTER, &[1])?)?;
    assert_ne!(other.metadata()?.cluster_id, Some(id));
    Ok(())
}

#[test]
fn an_undeclared_node_is_left_out_of_metadata() -> Result<()> {
    let fake = Fake::start(REAL_CLUSTER, &[1, 7, 9])?.topic("t", &[1, 9]);
    let stage = Stage::before(fake)?;
    for version in 0..=13 {
        let answer = stage.ask_without_leak(&mut stage.bootstrap()?, version, &request::metadata(version, None))?;
        let mut nodes: Vec<_> = answer.brokers.iter().map(|one| one.node_id.0).collect();
        nodes.sort_unstable();
        assert_eq!(nodes, [1, 7], "v{version}");
        for partition in &answer.topics[0].partitions {
            let lists = [&partition.replica_nodes, &partition.isr_nodes, &partition.offline_replicas];
            let mut named: Vec<_> = lists.into_iter().flatten().map(|node| node.0).collect();
            named.push(partition.leader_id.0);
            assert!(!named.contains(&9), "v{version}: {partition:?}");
        }
        assert_eq!(answer.topics[0].partitions.len(), 2, "a partition is never hidden");
        assert!(version == 0 || [1, 7, -1].contains(&answer.controller_id.0));
    }
    Ok(())
}

#[test]
fn a_node_of_a_dead_address_still_bootstraps() -> Result<()> {
    let stage = Stage::new()?;
    let answer = stage.node(1001)?.call(12, &request::metadata(12, None))?;
    assert_eq!(answer.brokers.len(), 2);
    Ok(())
}

#[test]
fn find_coordinator_shows_only_skein_in_every_version() -> Result<()> {
    let stage = Stage::new()?;
    for (real, of) in [(1, Coordinated::Group), (7, Coordinated::Transaction)] {
        stage.fake.change(|model| model.coordinator = Some(real));
        for version in 0..=6 {
            // v0 has no key type.
            let of = if version == 0 { Coordinated::Group } else { of };
            let key = format!("{of:?}-{version}");
            let asked = request::find_coordinator(version, &key, of);
            let answer = stage.ask_without_leak::<FindCoordinatorRequest>(&mut stage.bootstrap()?, version, &asked)?;
            let found = match answer.coordinators.first() {
                Some(one) => (one.node_id.0, one.host.to_string(), one.port),
                None => (answer.node_id.0, answer.host.to_string(), answer.port),
            };
            assert_eq!(found, shown(&stage, real)?, "v{version}");
        }
    }
    Ok(())
}

#[test]
fn a_batched_find_coordinator_is_answered_key_by_key() -> Result<()> {
    let stage = Stage::new()?;
    let mut asked = request::find_coordinator(4, "a", Coordinated::Group);
    asked.coordinator_keys.extend(["b", "c"].map(|key| key.to_owned().into()));
    let answer = stage.ask_without_leak::<FindCoordinatorRequest>(&mut stage.bootstrap()?, 4, &asked)?;
    let keys: Vec<_> = answer.coordinators.iter().map(|one| (one.key.to_string(), one.error_code)).collect();
    assert_eq!(keys, ["a", "b", "c"].map(|key| (key.to_owned(), 0)));
    Ok(())
}

#[test]
fn describe_cluster_shows_only_skein_in_every_version() -> Result<()> {
    let stage = Stage::new()?;
    let cluster = stage.metadata()?.cluster_id.unwrap();
    for version in 0..=2 {
        let asked = DescribeClusterRequest::default();
        let answer = stage.ask_without_leak(&mut stage.bootstrap()?, version, &asked)?;
        let mut nodes: Vec<_> =
            answer.brokers.iter().map(|one| (one.broker_id.0, one.host.to_string(), one.port)).collect();
        nodes.sort();
        assert_eq!(nodes, all_shown(&stage)?, "v{version}");
        assert_eq!((answer.error_code, &answer.cluster_id), (0, &cluster));
        assert!([1, 7].contains(&answer.controller_id.0));
    }
    Ok(())
}

#[test]
fn the_hints_of_produce_name_only_skein() -> Result<()> {
    let stage = Stage::new()?;
    let elsewhere = stage.place(1)?;
    for version in 3..=13 {
        let asked = request::produce(version, &elsewhere, 1, Batch::small(1).build());
        let answer = stage.ask_without_leak::<ProduceRequest>(&mut stage.node(1)?, version, &asked)?;
        let part = &answer.responses[0].partition_responses[0];
        assert_eq!((part.index, part.error_code), (1, 6), "v{version}");
        assert!([-1, 7].contains(&part.current_leader.leader_id.0), "v{version}: {part:?}");
        for one in &answer.node_endpoints {
            let found = (one.node_id.0, one.host.to_string(), one.port);
            assert_eq!(found, shown(&stage, 7)?, "v{version}");
        }
    }
    Ok(())
}

#[test]
fn the_hints_of_fetch_name_only_skein() -> Result<()> {
    let stage = Stage::new()?;
    let (here, elsewhere) = (stage.place(0)?, stage.place(1)?);
    for version in 4..=18 {
        let asked = request::fetch(version, Session::None, &[here.clone(), elsewhere.clone()]);
        let answer = stage.ask_without_leak::<FetchRequest>(&mut stage.node(1)?, version, &asked)?;
        let codes: Vec<_> =
            answer.responses.iter().flat_map(|topic| &topic.partitions).map(|part| part.error_code).collect();
        assert_eq!(codes, [0, 6], "v{version}");
        for part in answer.responses.iter().flat_map(|topic| &topic.partitions) {
            assert!([-1, 7].contains(&part.current_leader.leader_id.0), "v{version}: {part:?}");
        }
        for one in &answer.node_endpoints {
            let found = (one.node_id.0, one.host.to_string(), one.port);
            assert_eq!(found, shown(&stage, 7)?, "v{version}");
        }
    }
    Ok(())
}

#[test]
fn an_undeclared_leader_is_not_hinted_at() -> Result<()> {
    let stage = Stage::before(Fake::start(REAL_CLUSTER, &[1, 7, 9])?.topic("t", &[1, 9]))?;
    let elsewhere = stage.place(1)?;
    let asked = request::produce(12, &elsewhere, 1, Batch::small(1).build());
    let answer = stage.ask_without_leak::<ProduceRequest>(&mut stage.node(1)?, 12, &asked)?;
    assert_eq!(answer.responses[0].partition_responses[0].current_leader.leader_id.0, -1);
    assert_eq!(answer.node_endpoints, []);
    Ok(())
}

#[test]
fn every_node_that_any_answer_names_is_in_metadata() -> Result<()> {
    let stage = Stage::new()?;
    let listed: Vec<_> = stage.metadata()?.brokers.iter().map(|one| one.node_id.0).collect();
    assert!(listed.iter().all(|node| DECLARED.contains(node)));
    let found = stage.bootstrap()?.call(3, &request::find_coordinator(3, "g", Coordinated::Group))?;
    assert!(listed.contains(&found.node_id.0));
    Ok(())
}

#[test]
fn a_storm_of_clients_costs_the_cluster_few_questions() -> Result<()> {
    let stage = Stage::new()?;
    stage.metadata()?;
    let before = stage.fake.requests_of(METADATA).len();
    let mut clients = (0..200).map(|_| stage.bootstrap()).collect::<Result<Vec<_>>>()?;
    for client in &mut clients {
        client.send(&Request::of(12, &request::metadata(12, None))?)?;
    }
    for client in &mut clients {
        client.receive(SOON)?;
    }
    // Each client's own question goes to the cluster, which judges what that client may see; Skein's own are few.
    let asked = stage.fake.requests_of(METADATA).len().saturating_sub(before + clients.len());
    assert!(asked <= 5, "200 clients caused {asked} questions of the proxy's own");
    Ok(())
}
