//! What a client learns of coordinators and of what is offered, and what is learnt of it.

use bytes::Bytes;
use skein_protocol::Meaning;
use skein_protocol::ids::{ApiKey, Direction};
use skein_protocol::messages::{
    self, FindCoordinatorRequest, FindCoordinatorResponse, StrBytes, find_coordinator_response::Coordinator,
};
use skein_routing::engine::Effect;

use crate::kit::{LANE, Story, first, framed, request};

/// The answer of a broker which says that these nodes are the coordinators of two groups, to the request 0 of its lane.
fn coordinators(nodes: [i32; 2]) -> Vec<u8> {
    let coordinator = |(key, node): (&'static str, i32)| {
        let (key, host) = (StrBytes::from_static_str(key), StrBytes::from_static_str("broker"));
        Coordinator::default().with_key(key).with_node_id(node.into()).with_host(host).with_port(9092)
    };
    let answer = FindCoordinatorResponse::default()
        .with_coordinators(["a", "b"].into_iter().zip(nodes).map(coordinator).collect());
    framed(&messages::response(ApiKey::FIND_COORDINATOR, 4, 0, &answer).unwrap())
}

#[test]
fn a_coordinator_that_clients_cannot_reach_is_told_as_none_beside_one_that_they_can() {
    let mut story = Story::connected();
    let keys = ["a", "b"].map(StrBytes::from_static_str).to_vec();
    let question = FindCoordinatorRequest::default().with_coordinator_keys(keys);
    story.says(&mut framed(&messages::request(ApiKey::FIND_COORDINATOR, 4, 7, "client", &question).unwrap()));
    story.answers(LANE, &mut coordinators([1, 9]));
    let got = story.got();
    let frame = Bytes::from(got.concat());
    let answer: FindCoordinatorResponse =
        messages::decode(ApiKey::FIND_COORDINATOR, 4, Direction::ToClient, &frame).unwrap();
    let told: Vec<_> = answer.coordinators.iter().map(|told| (told.node_id.0, &*told.host, told.error_code)).collect();
    assert_eq!(told, [(1, "story", 0), (-1, "", 15)]);
    assert!(story.told.iter().any(|told| matches!(told, Effect::Note(_))), "{:?}", story.told);
}

#[test]
fn a_single_coordinator_that_clients_cannot_reach_is_told_as_none() {
    let mut story = Story::connected();
    story.says(&mut request(ApiKey::FIND_COORDINATOR, 2));
    let answer =
        FindCoordinatorResponse::default().with_node_id(9.into()).with_host(StrBytes::from_static_str("broker"));
    story.answers(LANE, &mut framed(&messages::response(ApiKey::FIND_COORDINATOR, 2, 0, &answer).unwrap()));
    let got = story.got();
    assert_eq!(first(ApiKey::FIND_COORDINATOR, 2, &got[0], Meaning::Error), Some(15));
    assert_eq!(first(ApiKey::FIND_COORDINATOR, 2, &got[0], Meaning::BrokerId), Some(-1));
}

#[test]
fn a_client_is_known_by_the_id_of_its_first_request() {
    let mut story = Story::new();
    let question = FindCoordinatorRequest::default();
    let [first, second] = ["first", "second"]
        .map(|name| framed(&messages::request(ApiKey::FIND_COORDINATOR, 4, 7, name, &question).unwrap()));
    let mut input = Vec::new();
    for byte in first {
        input.push(byte);
        story.says(&mut input);
    }
    story.is_up(LANE);
    input.extend(second);
    story.says(&mut input);
    assert_eq!(story.reached(LANE).len(), 2);
    assert_eq!(story.engine.client().client_id.as_deref(), Some("first"));
}
