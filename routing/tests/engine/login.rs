//! A login that the cluster judges.

use std::sync::Arc;
use std::time::Duration;

use skein_protocol::Meaning;
use skein_protocol::ids::ApiKey;
use skein_protocol::messages::{self, MetadataResponse, StrBytes};
use skein_routing::engine::{Effect, LaneId, Move, Reason};
use skein_routing::graph::{LoginMode, Target};
use skein_routing::topology::ClusterIndex;

use crate::kit::{CLUSTER, LANE, Story, answer, first, framed, request};

fn stranger() -> Story {
    Story::to(Target::Cluster(ClusterIndex(0)), LoginMode::Relay)
}

/// Has both steps of a login answered, the second with this code.
fn log_in(story: &mut Story, error: i64) {
    let mut handshake = request(ApiKey::SASL_HANDSHAKE, 1);
    story.says(&mut handshake);
    if story.engine.open_requests() == 0 {
        story.is_up(LANE);
        story.says(&mut handshake);
    }
    let correlation = |story: &mut Story| {
        let reached = story.reached(LANE);
        i32::from_be_bytes(reached[reached.len() - 1][4..8].try_into().unwrap())
    };
    let asked = correlation(story);
    story.answers(LANE, &mut answer(ApiKey::SASL_HANDSHAKE, 1, asked, 0));
    story.says(&mut request(ApiKey::SASL_AUTHENTICATE, 2));
    let asked = correlation(story);
    story.answers(LANE, &mut answer(ApiKey::SASL_AUTHENTICATE, 2, asked, error));
    let got = story.got();
    assert_eq!(got.len(), 2);
    assert_eq!(first(ApiKey::SASL_AUTHENTICATE, 2, &got[1], Meaning::Error), Some(error));
}

/// Answers the question of ours, which must have come.
fn tell(story: &mut Story, lane: LaneId, cluster: Option<&'static str>) {
    let question = story.reached(lane).pop().unwrap();
    let (key, version) =
        (i16::from_be_bytes([question[0], question[1]]), i16::from_be_bytes([question[2], question[3]]));
    assert_eq!(ApiKey(key), ApiKey::METADATA);
    let correlation = i32::from_be_bytes(question[4..8].try_into().unwrap());
    let told = MetadataResponse::default().with_cluster_id(cluster.map(StrBytes::from_static_str));
    let told = messages::response(ApiKey::METADATA, version, correlation, &told).unwrap();
    story.answers(lane, &mut framed(&told));
    let Some(Effect::Told(CLUSTER, topology)) = story.told.pop() else { panic!("nothing was told") };
    story.engine.learned(CLUSTER, Some(Arc::new(topology)));
}

#[test]
fn nothing_but_a_login_passes_before_it() {
    let mut story = stranger();
    let closed = story.says(&mut request(ApiKey::METADATA, 12));
    assert_eq!(closed, Move::Close(Reason::BeforeLogin { key: ApiKey::METADATA }));
}

#[test]
fn versions_are_told_to_strangers() {
    let mut story = stranger();
    story.says(&mut request(ApiKey::API_VERSIONS, 3));
    assert_eq!(story.got().len(), 1);
}

#[test]
fn behind_a_good_login_skein_asks_once_and_the_first_request_follows() {
    let mut story = stranger();
    log_in(&mut story, 0);
    let mut metadata = [request(ApiKey::HEARTBEAT, 4), request(ApiKey::HEARTBEAT, 4)].concat();
    assert_eq!(story.says(&mut metadata), Move::Wait);
    tell(&mut story, LANE, Some("cluster"));
    story.says(&mut metadata);
    let reached = story.reached(LANE);
    let keys: Vec<_> = reached.iter().map(|frame| i16::from_be_bytes([frame[0], frame[1]])).collect();
    assert_eq!(keys, [12, 12], "both heartbeats, and no second question");
    story.answers(LANE, &mut [answer(ApiKey::HEARTBEAT, 4, 3, 0), answer(ApiKey::HEARTBEAT, 4, 4, 0)].concat());
    assert_eq!(story.got().len(), 2);
}

#[test]
fn a_bad_login_can_be_tried_again_and_lets_nothing_else_pass() {
    let mut story = stranger();
    log_in(&mut story, 58);
    log_in(&mut story, 58);
    let closed = story.says(&mut request(ApiKey::HEARTBEAT, 4));
    assert_eq!(closed, Move::Close(Reason::BeforeLogin { key: ApiKey::HEARTBEAT }));
}

#[test]
fn the_old_handshake_is_refused_in_its_own_words() {
    let mut story = stranger();
    let closed = story.says(&mut request(ApiKey::SASL_HANDSHAKE, 0));
    assert_eq!(closed, Move::Close(Reason::OldHandshake));
    let got = story.got();
    assert_eq!(first(ApiKey::SASL_HANDSHAKE, 0, &got[0], Meaning::Error), Some(35));
}

#[test]
fn a_login_where_none_is_wanted_is_refused_as_by_a_broker() {
    let mut story = Story::new();
    story.says(&mut request(ApiKey::SASL_HANDSHAKE, 1));
    let got = story.got();
    assert_eq!(first(ApiKey::SASL_HANDSHAKE, 1, &got[0], Meaning::Error), Some(34));
    assert!(story.engine.is_idle());
}

#[test]
fn what_was_logged_in_ends_with_its_lane() {
    let mut story = stranger();
    log_in(&mut story, 0);
    story.is_lost(LANE);
    assert_eq!(story.engine.is_over(), Some(&Reason::LoginLost));
}

#[test]
fn a_broker_that_does_not_say_what_it_is_is_not_asked_for_ever() {
    let mut story = stranger();
    log_in(&mut story, 0);
    let mut heartbeat = request(ApiKey::HEARTBEAT, 4);
    for _ in 0..11 {
        if story.says(&mut heartbeat) != Move::Wait {
            break;
        }
        tell(&mut story, LANE, None);
        story.passes(Duration::from_secs(1));
    }
    assert_eq!(story.says(&mut heartbeat), Move::Close(Reason::Unreachable));
}

#[test]
fn a_large_frame_of_a_stranger_is_no_login() {
    let mut story = stranger();
    let mut large = framed(&[0; 100_000]);
    let closed = story.says(&mut large);
    assert!(matches!(closed, Move::Close(Reason::Malformed(_))), "{closed:?}");
}
