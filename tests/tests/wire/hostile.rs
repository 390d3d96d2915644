//! Clients that mean no good, or mean another protocol: a clear answer or a close, and nobody else notices.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use skein_tests::apis::{API_VERSIONS, FETCH, FIND_COORDINATOR, PRODUCE};
use skein_tests::batch::Batch;
use skein_tests::fake::Action;
use skein_tests::process;
use skein_tests::raw::request::{self, Introduction};
use skein_tests::raw::{Closing, Outcome, Raw, Request};

use crate::stage::{HANG, SOON, Stage, empty};

/// The lines of the log that say why this client's connection was closed.
fn reasons(stage: &Stage, client: &str) -> Vec<String> {
    let log = stage.skein.log();
    log.lines().filter(|line| line.contains(client) && line.contains("reason")).map(str::to_owned).collect()
}

/// Exactly one line says why; it is given back.
fn reason(stage: &Stage, raw: &Raw) -> Result<String> {
    let client = raw.address()?.to_string();
    process::until("a line in the log", SOON, || Ok(reasons(stage, &client).first().cloned()))?;
    std::thread::sleep(Duration::from_millis(100));
    let mut lines = reasons(stage, &client);
    ensure!(lines.len() == 1, "{} lines about {client}: {lines:#?}", lines.len());
    lines.pop().context("no line")
}

/// Sends bytes to both kinds of address; each connection must close within a second or so, with one line why.
fn is_closed(stage: &Stage, bytes: &[u8]) -> Result<Vec<String>> {
    let mut lines = Vec::new();
    for mut raw in [stage.bootstrap()?, stage.node(1)?] {
        let mut other = stage.node(1)?;
        other.call(12, &request::metadata(12, None))?;
        raw.send_bytes(bytes)?;
        raw.closed(Duration::from_secs(3)).with_context(|| format!("{:02x?}", &bytes[..bytes.len().min(16)]))?;
        lines.push(reason(stage, &raw)?);
        other.call(12, &request::metadata(12, None)).context("another connection has noticed")?;
    }
    stage.serves_others()?;
    Ok(lines)
}

#[test]
fn a_tls_hello_is_recognised_and_closed() -> Result<()> {
    let stage = Stage::new()?;
    let mut hello = vec![0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3];
    hello.resize(517, 0xab);
    for line in is_closed(&stage, &hello)? {
        assert!(line.to_lowercase().contains("tls"), "{line}");
    }
    Ok(())
}

#[test]
fn a_tls_hello_without_its_end_is_recognised_and_closed() -> Result<()> {
    let stage = Stage::new()?;
    for line in is_closed(&stage, &[0x16, 3, 1, 2, 0])? {
        assert!(line.to_lowercase().contains("tls"), "{line}");
    }
    Ok(())
}

#[test]
fn an_http_request_is_recognised_and_closed() -> Result<()> {
    let stage = Stage::new()?;
    for line in is_closed(&stage, b"GET / HTTP/1.1\r\nHost: kafka\r\n\r\n")? {
        assert!(line.to_lowercase().contains("http"), "{line}");
    }
    Ok(())
}

#[test]
fn lengths_that_no_frame_has_are_closed() -> Result<()> {
    let stage = Stage::new()?;
    for length in [i32::MAX, -1, i32::MIN, 0, 1, 7] {
        let mut bytes = length.to_be_bytes().to_vec();
        bytes.extend_from_slice(&[0, 18, 0, 0, 0, 0, 0]);
        is_closed(&stage, &bytes)?;
    }
    Ok(())
}

#[test]
fn garbage_is_closed() -> Result<()> {
    let stage = Stage::new()?;
    let mut state = 0x2545_f491_u32;
    for length in [64, 300, 5000] {
        let garbage: Vec<u8> = std::iter::repeat_with(|| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            state.to_be_bytes()[0] | 0x80
        })
        .take(length)
        .collect();
        is_closed(&stage, &garbage)?;
    }
    Ok(())
}

#[test]
fn a_header_that_is_none_is_closed() -> Result<()> {
    let stage = Stage::new()?;
    let bad_client_id = [0, 0, 0, 14, 0, 18, 0, 0, 0, 0, 0, 1, 0x7f, 0xff, b'a', b'b', b'c', b'd'];
    is_closed(&stage, &bad_client_id)?;
    let unending_tags = [0, 0, 0, 15, 0, 18, 0, 3, 0, 0, 0, 1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff];
    is_closed(&stage, &unending_tags)?;
    Ok(())
}

#[test]
fn an_unknown_api_is_closed() -> Result<()> {
    let stage = Stage::new()?;
    for key in [10_000, 4, 50, -1, i16::MIN] {
        is_closed(&stage, &Request::new(key, 0, empty()).frame())?;
    }
    Ok(())
}

#[test]
fn bodies_that_lie_about_their_counts_are_closed_or_refused() -> Result<()> {
    let stage = Stage::new()?;
    for key in [PRODUCE, FETCH, FIND_COORDINATOR] {
        // Should one get through: the fake does not decode what would abort it.
        stage.fake.on_every(key, Action::StopReading);
    }
    let bodies: [(i16, i16, &'static [u8]); 5] = [
        (3, 1, &[0x7f, 0xff, 0xff, 0xff]),
        (3, 9, &[0xff, 0xff, 0xff, 0xff, 0x0f, 0, 0, 0]),
        (1, 4, &[0; 3]),
        (0, 9, &[0, 0, 1, 0, 0, 3, 0xe8, 0xff, 0xff, 0xff, 0xff, 0x0f]),
        (10, 4, &[0, 0xff, 0xff, 0xff, 0xff, 0x0f]),
    ];
    for (key, version, body) in bodies {
        is_closed(&stage, &Request::new(key, version, body).frame())?;
    }
    Ok(())
}

#[test]
fn half_a_frame_and_silence_disturbs_nobody() -> Result<()> {
    let stage = Stage::new()?;
    let place = stage.place(0)?;
    let whole = Request::of(9, &request::produce(9, &place, -1, Batch::large(100_000).build()))?.frame();
    let mut halves = Vec::new();
    for bytes in [1, 3, 4, 9, 20, 200, 50_000] {
        let mut raw = stage.node(1)?;
        raw.send_bytes(&whole[..bytes])?;
        stage.serves_others()?;
        raw.silent(Duration::from_millis(50))?;
        halves.push(raw);
    }
    for mut raw in halves {
        raw.finish()?;
        raw.closed(SOON)?;
        reason(&stage, &raw)?;
    }
    Ok(())
}

#[test]
fn half_a_frame_behind_a_whole_one_does_not_hold_its_answer_back() -> Result<()> {
    let stage = Stage::new()?;
    let place = stage.place(0)?;
    let ask = Request::of(9, &request::produce(9, &place, -1, Batch::small(1).build()))?;
    let mut raw = stage.node(1)?;
    let mut bytes = ask.frame().to_vec();
    bytes.extend_from_slice(&ask.frame()[..30]);
    raw.send_bytes(&bytes)?;
    raw.receive(SOON)?;
    raw.silent(Duration::from_millis(50))
}

#[test]
fn a_client_that_sends_no_more_gets_what_it_is_owed() -> Result<()> {
    let stage = Stage::new()?;
    let place = stage.place(0)?;
    let ask = Request::of(9, &request::produce(9, &place, -1, Batch::small(1).build()))?;
    stage.fake.on_next(PRODUCE, Action::Delay(Duration::from_millis(300)));
    let mut raw = stage.node(1)?;
    raw.send_all(&[ask.clone().id(1), ask.id(2)])?;
    raw.finish()?;
    let (answers, closing) = raw.until_closed(SOON)?;
    assert_eq!((answers.len(), closing), (2, Closing::Clean));
    Ok(())
}

#[test]
fn a_frame_may_arrive_byte_by_byte() -> Result<()> {
    let stage = Stage::new()?;
    let place = stage.place(0)?;
    let requests = [
        request::api_versions(3, &Introduction::default()),
        Request::of(12, &request::metadata(12, None))?,
        Request::of(13, &request::produce(13, &place, -1, Batch::small(2).build()))?,
        Request::of(4, &request::init_producer_id(None))?,
    ];
    let mut raw = stage.node(1)?;
    for request in requests {
        raw.trickle(&request.frame(), 1, Duration::from_millis(1))?;
        raw.receive(SOON).with_context(|| format!("key {}", request.key))?;
    }
    Ok(())
}

#[test]
fn one_byte_a_second_is_answered_or_closed_and_disturbs_nobody() -> Result<()> {
    let stage = Stage::new()?;
    let frame = Request::new(API_VERSIONS, 0, empty()).client_id(None).frame();
    let mut raw = stage.node(1)?;
    for byte in frame {
        if raw.send_bytes(&[byte]).is_err() {
            break;
        }
        std::thread::sleep(Duration::from_secs(1));
        stage.serves_others()?;
    }
    match raw.outcome(HANG)? {
        Outcome::Answered(answer) => assert_eq!(answer.rest[..2], [0, 0]),
        Outcome::Closed(_) => drop(reason(&stage, &raw)?),
        Outcome::Cut(_) => panic!("closed within an answer"),
    }
    Ok(())
}

#[test]
fn a_thousand_connections_that_say_nothing_disturb_nobody() -> Result<()> {
    let stage = Stage::new()?;
    let silent = (0..1000).map(|_| stage.bootstrap()).collect::<Result<Vec<_>>>()?;
    stage.serves_others()?;
    drop(silent);
    stage.serves_others()
}
