//! Answers leave in the order of the questions, whoever gives them and however many there are.

use std::time::Duration;

use anyhow::{Result, ensure};
use kafka_protocol::messages::ProduceRequest;
use skein_tests::apis::{API_VERSIONS, PRODUCE};
use skein_tests::batch::Batch;
use skein_tests::fake::{Action, Gate};
use skein_tests::raw::request::{self, Introduction, Place, Session};
use skein_tests::raw::{Raw, Request};

use crate::stage::{HANG, SOON, Stage, produced};

fn produce(place: &Place, acks: i16) -> Result<Request> {
    Request::of(9, &request::produce(9, place, acks, Batch::small(1).build()))
}

/// One request of each kind: streamed, gathered, completed, answered here.
fn mixed(place: &Place) -> Result<Vec<Request>> {
    Ok(vec![
        produce(place, 1)?,
        Request::of(12, &request::metadata(12, None))?,
        Request::of(12, &request::fetch(12, Session::None, std::slice::from_ref(place)))?,
        request::api_versions(3, &Introduction::default()),
        Request::of(4, &request::init_producer_id(None))?,
    ])
}

fn numbered(requests: Vec<Request>) -> Vec<Request> {
    (0..).zip(requests).map(|(id, request)| request.id(id)).collect()
}

fn answered_in_order(raw: &mut Raw, requests: &[Request]) -> Result<()> {
    let answers = raw.receive_all(requests.len(), HANG)?;
    let ids: Vec<_> = answers.iter().map(|answer| answer.correlation_id).collect();
    let asked: Vec<_> = requests.iter().map(|request| request.correlation_id).collect();
    ensure!(ids == asked, "asked {asked:?}, answered {ids:?}");
    Ok(())
}

#[test]
fn ten_requests_sent_at_once_before_the_link_is_up_are_answered_in_order() -> Result<()> {
    let stage = Stage::new()?;
    let place = stage.place(0)?;
    // Each new link begins with this question.
    stage.fake.on_every(API_VERSIONS, Action::Delay(Duration::from_millis(400)));
    let requests = numbered([mixed(&place)?, mixed(&place)?].concat());
    let mut raw = stage.node(1)?;
    raw.send_all(&requests)?;
    answered_in_order(&mut raw, &requests)?;
    raw.silent(Duration::from_millis(200))
}

#[test]
fn a_produce_is_the_first_frame_of_a_cold_proxy() -> Result<()> {
    let mut stage = Stage::new()?;
    let place = stage.place(0)?;
    stage.skein.restart()?;
    let answer = stage.node(1)?.call::<ProduceRequest>(9, &request::produce(9, &place, 1, Batch::small(1).build()))?;
    assert_eq!(produced(&answer), 0);
    Ok(())
}

#[test]
fn a_fetch_is_the_first_frame_of_a_cold_proxy() -> Result<()> {
    let mut stage = Stage::new()?;
    let place = stage.place(0)?;
    for version in [4, 12, 13, 18] {
        stage.skein.restart()?;
        let asked = request::fetch(version, Session::None, std::slice::from_ref(&place));
        let answer = stage.node(1)?.call(version, &asked)?;
        assert_eq!((answer.error_code, answer.responses[0].partitions[0].error_code), (0, 0));
    }
    Ok(())
}

#[test]
fn answers_do_not_overtake_a_slow_one() -> Result<()> {
    let stage = Stage::new()?;
    let requests = numbered(mixed(&stage.place(0)?)?);
    let gate = Gate::new();
    stage.fake.on_next(PRODUCE, Action::Hold(gate.clone()));
    let mut raw = stage.node(1)?;
    raw.send_all(&requests)?;
    raw.silent(Duration::from_millis(300))?;
    gate.open();
    answered_in_order(&mut raw, &requests)
}

#[test]
fn pipelined_requests_are_answered_in_order() -> Result<()> {
    let stage = Stage::new()?;
    let place = stage.place(0)?;
    let mut many = Vec::new();
    for _ in 0..200 {
        many.extend(mixed(&place)?);
    }
    let requests = numbered(many);
    let mut raw = stage.node(1)?;
    for some in requests.chunks(100) {
        raw.send_all(some)?;
    }
    answered_in_order(&mut raw, &requests)
}

#[test]
fn one_connection_does_not_wait_for_another() -> Result<()> {
    let stage = Stage::new()?;
    let place = stage.place(0)?;
    let gate = Gate::new();
    stage.fake.on_next(PRODUCE, Action::Hold(gate.clone()));
    let mut slow = stage.node(1)?;
    slow.send(&produce(&place, 1)?)?;
    stage.fake.wait_for_count(PRODUCE, 1, SOON)?;
    let mut quick = stage.node(1)?;
    quick.ask(&produce(&place, 1)?)?;
    slow.silent(Duration::from_millis(50))?;
    gate.open();
    slow.receive(SOON)?;
    Ok(())
}

#[test]
fn correlation_ids_may_be_any_int32_and_come_twice() -> Result<()> {
    let stage = Stage::new()?;
    let place = stage.place(0)?;
    let ids = [i32::MIN, -1, 0, i32::MAX, 7, 7, 7, -1];
    let requests: Vec<_> =
        mixed(&place)?.into_iter().flat_map(|request| ids.map(|id| request.clone().id(id))).collect();
    let mut raw = stage.node(1)?;
    raw.send_all(&requests)?;
    answered_in_order(&mut raw, &requests)?;
    for request in &requests {
        raw.ask(request)?;
    }
    Ok(())
}

#[test]
fn client_ids_may_be_null_empty_or_long() -> Result<()> {
    let stage = Stage::new()?;
    let place = stage.place(0)?;
    let mut raw = stage.node(1)?;
    let long = "x".repeat(1000);
    for id in [None, Some(""), Some(long.as_str()), Some("ünï")] {
        for request in mixed(&place)? {
            raw.ask(&request.client_id(id))?;
        }
    }
    Ok(())
}

/// How many requests with acks=0: a hundred thousand, or what `SKEIN_SOAK` says.
fn silent_requests() -> usize {
    std::env::var("SKEIN_SOAK").ok().and_then(|count| count.parse().ok()).unwrap_or(100_000)
}

#[test]
fn requests_without_an_answer_do_not_shift_those_with_one() -> Result<()> {
    let stage = Stage::new()?;
    let place = stage.place(0)?;
    let mut raw = stage.node(1)?;
    let (quiet, loud) = (produce(&place, 0)?, produce(&place, 1)?);
    let rounds = silent_requests() / 1000;
    let send = |raw: &mut Raw, round: usize| -> Result<()> {
        let id = i32::try_from(3 * round)?;
        let mut requests = vec![quiet.clone().id(id); 1000];
        requests.push(loud.clone().id(id + 1));
        requests.push(Request::of(1, &request::metadata(1, None))?.id(id + 2));
        raw.send_all(&requests)
    };
    send(&mut raw, 0)?;
    for round in 0..rounds {
        // The next round is under way before this one is answered.
        if round + 1 < rounds {
            send(&mut raw, round + 1)?;
        }
        let answers = raw.receive_all(2, HANG)?;
        let ids = [answers[0].correlation_id, answers[1].correlation_id];
        let first = i32::try_from(3 * round)?;
        assert_eq!(ids, [first + 1, first + 2], "round {round}");
        let part = answers[0].decode::<ProduceRequest>(9)?.responses[0].partition_responses[0].clone();
        // As many records lie before this one as were sent before it: none lost, none twice, none moved.
        assert_eq!((part.error_code, part.base_offset), (0, i64::try_from(1001 * round + 1000)?));
        stage.fake.forget();
    }
    raw.silent(Duration::from_millis(200))
}

#[test]
fn a_refused_request_without_an_answer_closes_the_connection() -> Result<()> {
    let stage = Stage::new()?;
    let elsewhere = stage.place(1)?;
    let mut raw = stage.node(1)?;
    raw.send(&produce(&elsewhere, 0)?)?;
    raw.closed(SOON)?;
    stage.serves_others()
}
