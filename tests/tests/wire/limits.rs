//! Limits of the file have their effect: each of these would be waited for much longer by default, or let through.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use skein_tests::apis::FIND_COORDINATOR;
use skein_tests::fake::Action;
use skein_tests::raw::Request;
use skein_tests::raw::request::{self, Coordinated};

use crate::stage::{SOON, Stage};

/// The begin of a Produce request that claims to be so long.
fn begun(length: u32) -> Vec<u8> {
    let mut bytes = length.to_be_bytes().to_vec();
    bytes.extend_from_slice(&[0, 0, 0, 9, 0, 0, 0, 1, 0, 0]);
    bytes
}

#[test]
fn a_request_longer_than_frame_is_closed() -> Result<()> {
    let stage = Stage::limited("frame = \"1MiB\"")?;
    let mut within = stage.node(1)?;
    within.send_bytes(&begun(1 << 20))?;
    let mut beyond = stage.node(1)?;
    beyond.send_bytes(&begun((1 << 20) + 1))?;
    beyond.closed(SOON)?;
    within.silent(Duration::from_millis(50))?;
    stage.serves_others()
}

#[test]
fn a_request_that_does_not_arrive_within_frame_arrival_is_closed() -> Result<()> {
    let stage = Stage::limited("frame-arrival = \"1s\"")?;
    let mut raw = stage.node(1)?;
    raw.send_bytes(&begun(1024))?;
    raw.closed(SOON)?;
    stage.serves_others()
}

#[test]
fn a_broker_that_does_not_answer_is_given_answer_margin() -> Result<()> {
    let stage = Stage::limited("answer-margin = \"1s\"")?;
    let mut raw = stage.node(1)?;
    stage.fake.on_next(FIND_COORDINATOR, Action::Drop);
    let asked = Instant::now();
    raw.send(&Request::of(3, &request::find_coordinator(3, "g", Coordinated::Group))?)?;
    raw.receive(SOON)?;
    ensure!(asked.elapsed() >= Duration::from_millis(900), "answered after {:?}", asked.elapsed());
    Ok(())
}
