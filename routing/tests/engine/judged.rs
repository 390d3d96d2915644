//! A login that Skein judges, and logins of its own that are renewed.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use skein_protocol::Meaning;
use skein_protocol::ids::ApiKey;
use skein_routing::apis::sasl;
use skein_routing::engine::{Asked, Effect, Move, Reason, Verdict};
use skein_routing::graph::{LoginMode, Target};

use crate::kit::{CLUSTER, LANE, Story, answer, first, framed, offer, request};

fn stranger() -> Story {
    let mut story = Story::to(Target::Cluster(CLUSTER), LoginMode::Here);
    let known = skein_routing::topology::Topology { cluster_id: Some(Arc::from("cluster")), ..offer() };
    story.engine.learned(CLUSTER, Some(Arc::new(known)));
    story
}

/// Says a step, and has it judged.
fn step(story: &mut Story, mut says: Vec<u8>, verdict: Verdict) -> Asked {
    assert!(matches!(story.says(&mut says), Move::Need(_)));
    let Some(Effect::Judge(asked)) = story.told.pop() else { panic!("nothing is to be judged") };
    story.judged(verdict);
    asked
}

fn handshake() -> Vec<u8> {
    framed(&sasl::handshake("PLAIN"))
}

fn token() -> Vec<u8> {
    framed(&sasl::token(2, Bytes::from_static(b"secret")))
}

fn logged_in(principal: &str, lifetime: Option<u64>) -> Verdict {
    Verdict::LoggedIn {
        token: Bytes::new(),
        principal: Arc::from(principal),
        lifetime: lifetime.map(Duration::from_millis),
    }
}

fn log_in(story: &mut Story, principal: &str, lifetime: Option<u64>) {
    step(story, handshake(), Verdict::Chosen(vec![Arc::from("PLAIN")]));
    step(story, token(), logged_in(principal, lifetime));
}

/// The error code of the last answer.
fn code(story: &mut Story, key: ApiKey, version: i16) -> Option<i64> {
    first(key, version, &story.got().pop().unwrap(), Meaning::Error)
}

#[test]
fn each_step_is_judged_and_then_requests_pass_under_the_principal() {
    let mut story = stranger();
    let asked = step(&mut story, handshake(), Verdict::Chosen(vec![Arc::from("PLAIN")]));
    assert_eq!(asked, Asked::Mechanism(Arc::from("PLAIN")));
    let asked = step(&mut story, token(), Verdict::Challenge(Bytes::from_static(b"more")));
    assert_eq!(asked, Asked::Token(Bytes::from_static(b"secret")));
    assert!(!story.engine.is_logged_in());
    step(&mut story, token(), logged_in("alice", Some(5000)));
    assert_eq!(story.engine.client().principal.as_deref(), Some("alice"));
    let got = story.got();
    let answers: Vec<_> =
        got[1..].iter().map(|frame| sasl::answered(2, &Bytes::copy_from_slice(frame)).unwrap()).collect();
    assert_eq!((&*answers[0].token, answers[0].lifetime), (&b"more"[..], None));
    assert_eq!((answers[1].code, answers[1].lifetime), (0, Some(Duration::from_secs(5))));
    assert_eq!(story.says(&mut request(ApiKey::HEARTBEAT, 4)), Move::Wait, "its lane is dialled");
}

#[test]
fn what_a_client_sends_without_waiting_is_looked_at_in_its_turn() {
    let mut story = stranger();
    let mut all = [request(ApiKey::API_VERSIONS, 3), handshake(), token(), request(ApiKey::HEARTBEAT, 4)].concat();
    assert_eq!(story.says(&mut all), Move::Wait);
    story.judged(Verdict::Chosen(Vec::new()));
    assert_eq!(story.says(&mut all), Move::Wait);
    story.judged(logged_in("alice", None));
    assert_eq!(story.got().len(), 3);
    assert_eq!(story.says(&mut all), Move::Wait);
    story.is_up(LANE);
    story.says(&mut all);
    assert_eq!(story.reached(LANE).len(), 1);
}

#[test]
fn nothing_passes_before_a_login_or_in_the_middle_of_one() {
    let closed = Move::Close(Reason::BeforeLogin { key: ApiKey::METADATA });
    assert_eq!(stranger().says(&mut request(ApiKey::METADATA, 12)), closed);
    let mut story = stranger();
    step(&mut story, handshake(), Verdict::Chosen(Vec::new()));
    assert_eq!(story.says(&mut request(ApiKey::METADATA, 12)), closed);
    assert_eq!(story.got().len(), 2, "it is told, as by a broker");
    let mut story = stranger();
    log_in(&mut story, "alice", None);
    step(&mut story, handshake(), Verdict::Chosen(Vec::new()));
    assert_eq!(story.says(&mut request(ApiKey::METADATA, 12)), closed, "nor of a second one");
}

#[test]
fn a_request_in_the_middle_of_a_login_is_told_of_it_and_ends_the_connection() {
    let between = || {
        let mut story = stranger();
        step(&mut story, handshake(), Verdict::Chosen(Vec::new()));
        step(&mut story, token(), Verdict::Challenge(Bytes::from_static(b"{}")));
        story.got();
        story
    };
    for (key, version) in [(ApiKey::HEARTBEAT, 4), (ApiKey::LIST_OFFSETS, 7), (ApiKey::FIND_COORDINATOR, 3)] {
        let mut story = between();
        assert_eq!(story.says(&mut request(key, version)), Move::Close(Reason::BeforeLogin { key }));
        let told = code(&mut story, key, version);
        assert!(told.is_none_or(|told| told == 34), "{key:?}: {told:?}");
    }
    let mut story = between();
    story.says(&mut request(ApiKey::HEARTBEAT, 4));
    assert_eq!(code(&mut story, ApiKey::HEARTBEAT, 4), Some(34));
}

#[test]
fn a_login_is_repeated_once_in_a_second_at_most() {
    let mut story = stranger();
    log_in(&mut story, "alice", Some(60_000));
    log_in(&mut story, "alice", Some(60_000));
    story.got();
    story.passes(Duration::from_millis(999));
    story.says(&mut handshake());
    assert_eq!(code(&mut story, ApiKey::SASL_HANDSHAKE, 1), Some(34), "as by a broker");
    story.says(&mut token());
    assert_eq!(code(&mut story, ApiKey::SASL_AUTHENTICATE, 2), Some(34));
    assert_eq!(story.says(&mut request(ApiKey::HEARTBEAT, 4)), Move::Wait, "the login that there is holds");
    let mut story = stranger();
    log_in(&mut story, "alice", Some(60_000));
    log_in(&mut story, "alice", Some(60_000));
    story.passes(Duration::from_secs(1));
    log_in(&mut story, "alice", Some(60_000));
    assert!(story.engine.is_over().is_none());
}

#[test]
fn steps_out_of_their_turn_are_told_and_end_the_connection() {
    let mut story = stranger();
    let closed = story.says(&mut token());
    assert_eq!(closed, Move::Close(Reason::LoginOutOfTurn { key: ApiKey::SASL_AUTHENTICATE }));
    assert_eq!(code(&mut story, ApiKey::SASL_AUTHENTICATE, 2), Some(34));
    let mut story = stranger();
    step(&mut story, handshake(), Verdict::Chosen(Vec::new()));
    let closed = story.says(&mut handshake());
    assert_eq!(closed, Move::Close(Reason::LoginOutOfTurn { key: ApiKey::SASL_HANDSHAKE }));
}

#[test]
fn a_refused_login_is_told_and_ends_the_connection() {
    let mut story = stranger();
    step(&mut story, handshake(), Verdict::NotOffered(vec![Arc::from("SCRAM-SHA-512")]));
    let said = sasl::handshaken(&Bytes::from(story.got().pop().unwrap())).unwrap().unwrap_err();
    assert_eq!((said.0.0, said.1), (33, vec!["SCRAM-SHA-512".to_owned()]));
    assert_eq!(story.engine.is_over(), Some(&Reason::LoginRefused));
    let mut story = stranger();
    step(&mut story, handshake(), Verdict::Chosen(Vec::new()));
    step(&mut story, token(), Verdict::Refused("no".to_owned()));
    let said = sasl::answered(2, &Bytes::from(story.got().pop().unwrap())).unwrap();
    assert_eq!((said.code, said.message.as_deref()), (58, Some("no")));
    assert_eq!(story.engine.is_over(), Some(&Reason::LoginRefused));
}

#[test]
fn a_step_that_nobody_judges_ends_the_connection_in_time_without_a_word() {
    let mut story = stranger();
    let mut says = handshake();
    story.says(&mut says);
    story.passes(Duration::from_secs(11));
    assert!(story.told.iter().any(|told| matches!(told, Effect::Close(Reason::LoginUnjudged))));
    assert!(story.got().is_empty());
    // A verdict that comes later changes nothing.
    story.judged(Verdict::Chosen(Vec::new()));
}

#[test]
fn the_old_handshake_is_refused_where_skein_judges() {
    let mut story = stranger();
    let closed = story.says(&mut request(ApiKey::SASL_HANDSHAKE, 0));
    assert_eq!(closed, Move::Close(Reason::OldHandshake));
    assert_eq!(code(&mut story, ApiKey::SASL_HANDSHAKE, 0), Some(35));
}

#[test]
fn a_login_ends_with_its_time_unless_it_is_repeated_as_the_same_principal() {
    let mut story = stranger();
    log_in(&mut story, "alice", Some(1000));
    story.passes(Duration::from_millis(900));
    log_in(&mut story, "alice", Some(1000));
    story.passes(Duration::from_millis(900));
    assert_eq!(story.says(&mut request(ApiKey::HEARTBEAT, 4)), Move::Wait);
    story.is_up(LANE);
    let mut two = request(ApiKey::HEARTBEAT, 4);
    story.says(&mut two);
    story.passes(Duration::from_millis(1200));
    // What was asked in time is answered, and a repeated login would still be taken: it comes too late for anything else.
    let mut late = request(ApiKey::HEARTBEAT, 4);
    story.says(&mut late);
    story.answers(LANE, &mut answer(ApiKey::HEARTBEAT, 4, 0, 0));
    assert_eq!(code(&mut story, ApiKey::HEARTBEAT, 4), Some(0));
    assert_eq!(story.engine.is_over(), Some(&Reason::LoginExpired));

    let mut story = stranger();
    log_in(&mut story, "alice", Some(1000));
    story.passes(Duration::from_millis(3000));
    log_in(&mut story, "alice", Some(1000));
    assert!(story.engine.is_over().is_none(), "as with a broker, a login that is over can be repeated");
    story.passes(Duration::from_millis(1000));
    log_in(&mut story, "mallory", None);
    assert_eq!(story.engine.is_over(), Some(&Reason::LoginRefused));
    assert_eq!(story.engine.client().principal.as_deref(), Some("alice"));
}

/// A connection with one request under way, whose lane's login is to be renewed in a second.
fn under_way() -> Story {
    let mut story = Story::new();
    let mut says = request(ApiKey::HEARTBEAT, 4);
    story.says(&mut says);
    story.engine.lane_renewed(story.now, LANE, Some(story.now + Duration::from_secs(1)));
    story.says(&mut says);
    assert_eq!(story.reached(LANE).len(), 1);
    story
}

#[test]
fn a_lane_is_renewed_between_two_requests_and_its_answers_come_in_order() {
    let mut story = under_way();
    story.told.clear();
    story.passes(Duration::from_secs(2));
    assert!(story.told.is_empty(), "while there is nothing to send, nothing is renewed");
    let mut next = [request(ApiKey::HEARTBEAT, 4), request(ApiKey::HEARTBEAT, 4)].concat();
    assert_eq!(story.says(&mut next), Move::Wait);
    assert!(matches!(story.told.pop(), Some(Effect::Renew(LANE))));
    story.engine.lane_says(story.now, LANE, &sasl::handshake("PLAIN"));
    story.passes(Duration::ZERO);
    story.answers(LANE, &mut answer(ApiKey::HEARTBEAT, 4, 0, 0));
    assert_eq!(story.got().len(), 1, "what was asked before is answered meanwhile");
    story.answers(LANE, &mut answer(ApiKey::SASL_HANDSHAKE, 1, 1, 0));
    assert!(matches!(story.told.pop(), Some(Effect::Renewing(LANE, _))));
    assert_eq!(story.says(&mut next), Move::Wait);
    story.engine.lane_says(story.now, LANE, &sasl::token(2, Bytes::new()));
    story.passes(Duration::ZERO);
    story.answers(LANE, &mut answer(ApiKey::SASL_AUTHENTICATE, 2, 2, 0));
    story.engine.lane_renewed(story.now, LANE, None);
    story.says(&mut next);
    let keys: Vec<_> = story.reached(LANE).iter().map(|frame| i16::from_be_bytes([frame[0], frame[1]])).collect();
    assert_eq!(keys, [17, 36, 12, 12]);
}

#[test]
fn a_lane_that_is_lost_while_it_is_renewed_answers_for_what_was_on_it() {
    let mut story = under_way();
    story.passes(Duration::from_secs(2));
    let mut next = request(ApiKey::HEARTBEAT, 4);
    story.says(&mut next);
    story.engine.lane_says(story.now, LANE, &sasl::handshake("PLAIN"));
    story.passes(Duration::ZERO);
    story.is_lost(LANE);
    assert_eq!(code(&mut story, ApiKey::HEARTBEAT, 4), Some(16));
    assert_eq!(story.says(&mut next), Move::Wait, "it is dialled again");
    story.is_up(LANE);
    story.says(&mut next);
    assert_eq!(story.reached(LANE).len(), 1);
}

#[test]
fn a_broker_that_does_not_renew_in_time_is_hung_up() {
    let mut story = under_way();
    story.answers(LANE, &mut answer(ApiKey::HEARTBEAT, 4, 0, 0));
    story.passes(Duration::from_secs(2));
    story.says(&mut request(ApiKey::HEARTBEAT, 4));
    story.engine.lane_says(story.now, LANE, &sasl::handshake("PLAIN"));
    story.passes(Duration::from_secs(31));
    assert!(story.told.iter().any(|told| matches!(told, Effect::Hang(LANE, _))));
}
