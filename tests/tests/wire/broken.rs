//! Brokers that answer wrongly, slowly or not at all: the link is closed, the client hears of it, nobody hangs.

use std::time::Duration;

use anyhow::{Context, Result};
use bytes::Bytes;
use kafka_protocol::messages::{FetchRequest, ProduceRequest};
use skein_tests::apis::{API_VERSIONS, FETCH, INIT_PRODUCER_ID, METADATA, PRODUCE};
use skein_tests::batch::Batch;
use skein_tests::fake::Action;
use skein_tests::raw::request::{self, Session};
use skein_tests::raw::{Answer, Outcome, Request};

use crate::stage::{HANG, SOON, Stage, produced};

/// What no broker should do; `count` is the position of an array's count in the answer.
fn faults(count: usize) -> Vec<Action> {
    vec![
        Action::WrongCorrelation,
        Action::Garble(count),
        Action::Length(i32::MAX),
        Action::Length(-1),
        Action::Length(3),
        Action::Frame(Bytes::from_static(&[0, 0, 0, 0])),
        Action::Frame(Bytes::from_static(b"HTTP/1.1 400 Bad Request\r\n\r\n")),
        Action::Frame(Bytes::from_static(&[0x15, 3, 3, 0, 2, 2, 40])),
        Action::CloseAfter(10),
        Action::HalfClose,
    ]
}

/// One request whose next answer is at fault; how it ended for the client. The link it went over must end, too.
fn meet(stage: &Stage, request: &Request, action: Action) -> Result<Outcome> {
    let what = format!("{action:?}");
    let is_fault = !matches!(action, Action::HalfClose);
    stage.fake.forget();
    stage.fake.on_next(request.key, action);
    let mut raw = stage.node(1)?;
    raw.send(request)?;
    let outcome = raw.outcome(HANG).with_context(|| what.clone())?;
    let link = stage.fake.wait_for(|received| received.key == request.key, SOON)?.connection;
    if is_fault {
        stage.fake.wait_closed(link, HANG).with_context(|| format!("{what}: the link is still open"))?;
    }
    stage.serves_others().with_context(|| what)?;
    Ok(outcome)
}

fn code_of(outcome: Outcome, read: impl FnOnce(&Answer) -> Result<i16>) -> Result<Option<i16>> {
    match outcome {
        Outcome::Answered(answer) => read(&answer).map(Some),
        Outcome::Closed(_) | Outcome::Cut(_) => Ok(None),
    }
}

#[test]
fn a_produce_answered_wrongly_is_an_unknown_outcome() -> Result<()> {
    let stage = Stage::new()?;
    let request = Request::of(8, &request::produce(8, &stage.place(0)?, -1, Batch::small(1).build()))?;
    for action in faults(4) {
        let (what, whole) = (format!("{action:?}"), matches!(action, Action::HalfClose));
        let outcome = meet(&stage, &request, action)?;
        let code = code_of(outcome, |answer| Ok(produced(&answer.decode::<ProduceRequest>(8)?)))?;
        let expected: &[_] = if whole { &[Some(0)] } else { &[Some(7), None] };
        assert!(expected.contains(&code), "{what}: {code:?}");
    }
    Ok(())
}

#[test]
fn a_fetch_answered_wrongly_is_refused_or_cut_off() -> Result<()> {
    let stage = Stage::new()?;
    let request = Request::of(11, &request::fetch(11, Session::None, &[stage.place(0)?]))?;
    for action in faults(14) {
        let (what, whole) = (format!("{action:?}"), matches!(action, Action::HalfClose));
        let outcome = meet(&stage, &request, action)?;
        let read = |answer: &Answer| -> Result<i16> {
            Ok(answer.decode::<FetchRequest>(11)?.responses[0].partitions[0].error_code)
        };
        let code = code_of(outcome, read)?;
        let expected: &[_] = if whole { &[Some(0)] } else { &[Some(6), None] };
        assert!(expected.contains(&code), "{what}: {code:?}");
    }
    Ok(())
}

#[test]
fn a_producer_id_answered_wrongly_is_never_made_up() -> Result<()> {
    let stage = Stage::new()?;
    let request = Request::of(4, &request::init_producer_id(None))?;
    for action in [Action::WrongCorrelation, Action::Length(i32::MAX), Action::Length(-1), Action::Close, Action::Reset]
    {
        let what = format!("{action:?}");
        let outcome = meet(&stage, &request, action)?;
        let read = |answer: &Answer| -> Result<i16> {
            let given = answer.decode::<kafka_protocol::messages::InitProducerIdRequest>(4)?;
            assert_eq!(given.producer_id.0, -1, "{what}");
            Ok(given.error_code)
        };
        assert_ne!(code_of(outcome, read)?, Some(0), "{what}");
    }
    assert!(stage.fake.requests_of(INIT_PRODUCER_ID).len() <= 1, "never asked twice by the proxy itself");
    Ok(())
}

#[test]
fn metadata_is_asked_again_when_it_was_answered_wrongly() -> Result<()> {
    let mut stage = Stage::new()?;
    for action in faults(9) {
        let what = format!("{action:?}");
        stage.fake.behave();
        // The first question is the proxy's own, when it starts.
        stage.fake.on_next(METADATA, action);
        stage.skein.restart()?;
        let answer = stage.bootstrap()?.call(12, &request::metadata(12, Some(&["t"]))).with_context(|| what.clone())?;
        assert_eq!((answer.brokers.len(), answer.topics[0].error_code), (2, 0), "{what}");
    }
    Ok(())
}

#[test]
fn metadata_that_is_always_wrong_does_not_hang_the_client() -> Result<()> {
    let mut stage = Stage::new()?;
    for action in [Action::WrongCorrelation, Action::Garble(9), Action::Length(i32::MAX), Action::Drop, Action::Close] {
        let what = format!("{action:?}");
        stage.fake.on_every(METADATA, action);
        stage.skein.restart()?;
        let mut raw = stage.bootstrap()?;
        raw.send(&Request::of(12, &request::metadata(12, Some(&["t"])))?)?;
        raw.outcome(HANG).with_context(|| what)?;
    }
    Ok(())
}

#[test]
fn a_broker_that_never_answers_meets_a_deadline() -> Result<()> {
    let stage = Stage::new()?;
    let place = stage.place(0)?;
    let requests = [
        Request::of(9, &request::produce(9, &place, -1, Batch::small(1).build()))?,
        Request::of(12, &request::fetch(12, Session::None, &[place]))?,
        Request::of(4, &request::init_producer_id(None))?,
    ];
    std::thread::scope(|scope| -> Result<()> {
        let waits: Vec<_> = [Action::Drop, Action::StopReading]
            .into_iter()
            .flat_map(|action| requests.iter().map(move |request| (action.clone(), request)))
            .map(|(action, request)| {
                stage.fake.on_next(request.key, action);
                let stage = &stage;
                scope.spawn(move || -> Result<()> {
                    let mut raw = stage.node(1)?;
                    raw.send(request)?;
                    raw.outcome(HANG).with_context(|| format!("key {}", request.key))?;
                    Ok(())
                })
            })
            .collect();
        waits.into_iter().try_for_each(|wait| wait.join().unwrap_or_else(|_| panic!("a wait failed")))
    })?;
    for request in stage.fake.requests() {
        if request.key == PRODUCE || request.key == FETCH {
            stage.fake.wait_closed(request.connection, HANG).context("a silent link is still open")?;
        }
    }
    stage.serves_others()
}

#[test]
fn a_broker_that_trickles_its_answer_does_not_hang_the_client() -> Result<()> {
    let stage = Stage::new()?;
    let place = stage.place(0)?;
    stage.fake.on_next(PRODUCE, Action::Trickle(1, Duration::from_millis(100)));
    stage.fake.on_next(FETCH, Action::Trickle(1, Duration::from_millis(100)));
    let mut producer = stage.node(1)?;
    let produce = request::produce(9, &place, -1, Batch::small(1).build());
    producer.send(&Request::of(9, &produce)?)?;
    let mut consumer = stage.node(1)?;
    consumer.send(&Request::of(12, &request::fetch(12, Session::None, &[place]))?)?;
    stage.serves_others()?;
    producer.outcome(HANG)?;
    consumer.outcome(HANG)?;
    Ok(())
}

#[test]
fn a_broker_that_lies_about_api_versions_does_not_hang_the_client() -> Result<()> {
    let mut stage = Stage::new()?;
    let place = stage.place(0)?;
    let lies = [
        Action::Drop,
        Action::Close,
        Action::WrongCorrelation,
        Action::Answer(Bytes::from_static(&[0, 35, 0, 0, 0, 0])),
        Action::Answer(Bytes::from_static(&[0xff; 40])),
        Action::Length(i32::MAX),
    ];
    for action in lies {
        let what = format!("{action:?}");
        stage.fake.on_every(API_VERSIONS, action);
        stage.skein.restart()?;
        let mut raw = stage.node(1)?;
        raw.send(&Request::of(9, &request::produce(9, &place, -1, Batch::small(1).build()))?)?;
        raw.outcome(HANG).with_context(|| what)?;
    }
    stage.fake.behave();
    let mut raw = stage.node(1)?;
    let ask = Request::of(9, &request::produce(9, &place, -1, Batch::small(1).build()))?;
    skein_tests::process::until("an accepted Produce", HANG, || {
        Ok((produced(&raw.ask(&ask)?.decode::<ProduceRequest>(9)?) == 0).then_some(()))
    })
}

#[test]
fn a_second_answer_that_nobody_asked_for_closes_the_link() -> Result<()> {
    let stage = Stage::new()?;
    let place = stage.place(0)?;
    let request = Request::of(9, &request::produce(9, &place, -1, Batch::small(1).build()))?;
    let mut raw = stage.node(1)?;
    raw.ask(&request)?;
    let twice = |received: &skein_tests::fake::Received| {
        // An answer without topics, and behind it another frame.
        let mut body = vec![1, 0, 0, 0, 0, 0];
        let end = body.len();
        body.splice(end..end, [0, 0, 0, 11]);
        body.extend_from_slice(&received.correlation_id.to_be_bytes());
        body.extend_from_slice(&[0, 1, 0, 0, 0, 0, 0]);
        Bytes::from(body)
    };
    stage.fake.forget();
    stage.fake.on_next(PRODUCE, [Action::with(twice), Action::Length(11)]);
    raw.send(&request)?;
    raw.outcome(HANG)?;
    let link = stage.fake.wait_for(|received| received.key == PRODUCE, SOON)?.connection;
    stage.fake.wait_closed(link, HANG)?;
    stage.serves_others()
}
