//! Much of it: a large Fetch byte by byte, and memory that stays bounded whoever does not read.

use std::fs;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use kafka_protocol::messages::ProduceRequest;
use skein_tests::apis::{FETCH, PRODUCE};
use skein_tests::batch::Batch;
use skein_tests::fake::{Action, Fake, Stored};
use skein_tests::process;
use skein_tests::raw::request::{self, Place, Session};
use skein_tests::raw::{PATIENCE, Raw, Request};

use crate::stage::{HANG, REAL_CLUSTER, SOON, Stage, produced};

const MIB: usize = 1 << 20;

/// What one connection, or a few, may add to the memory of the proxy.
const BOUND: usize = 48 * MIB;

/// Resident memory of the proxy, in bytes.
fn resident(stage: &Stage) -> Result<usize> {
    let pid = stage.skein.pid().context("the proxy is not running")?;
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("no VmRSS")?;
    let kib: usize = line.trim().trim_end_matches(" kB").parse()?;
    Ok(kib << 10)
}

fn fetch(version: i16, place: &Place) -> Result<Request> {
    Request::of(version, &request::fetch(version, Session::None, std::slice::from_ref(place)))
}

/// Reads one answer to its end; length and CRC-32C of what follows the correlation id.
fn checksum(raw: &mut Raw, mut each: impl FnMut()) -> Result<(u64, u32)> {
    let (mut seen, mut crc) = (0, 0);
    let length = raw.receive_through(PATIENCE, |piece| {
        let skip = 4_usize.saturating_sub(seen).min(piece.len());
        crc = crc32c::crc32c_append(crc, &piece[skip..]);
        seen += piece.len();
        each();
    })?;
    Ok((length - 4, crc))
}

#[test]
fn a_fetch_answer_of_100_mb_passes_byte_for_byte() -> Result<()> {
    let stage = Stage::new()?;
    let place = stage.place(0)?;
    stage.fake.change(|model| model.partition("t", 0).stored = Stored::about(100 * MIB));
    let mut raw = stage.node(1)?;
    let before = resident(&stage)?;
    for version in [4, 11, 12, 13, 18] {
        stage.fake.forget();
        raw.send(&fetch(version, &place)?)?;
        let received = checksum(&mut raw, || {})?;
        let sent = stage.fake.wait_for_sent(|sent| sent.key == FETCH, SOON)?;
        assert_eq!(received, (sent.bytes, sent.crc), "v{version}");
        assert!(received.0 > 100 << 20);
    }
    let grown = resident(&stage)?.saturating_sub(before);
    assert!(grown < BOUND, "{} MiB more", grown / MIB);
    Ok(())
}

#[test]
fn a_produce_of_50_mb_passes_byte_for_byte() -> Result<()> {
    let stage = Stage::new()?;
    let place = stage.place(0)?;
    let asked = Request::of(9, &request::produce(9, &place, -1, Batch::large(50 * MIB).build()))?;
    let before = resident(&stage)?;
    let mut raw = stage.node(1)?;
    raw.send(&asked)?;
    assert_eq!(produced(&raw.receive(HANG)?.decode::<ProduceRequest>(9)?), 0);
    let received = stage.fake.wait_for(|request| request.key == PRODUCE, SOON)?;
    assert!(received.body == asked.body, "the body differs");
    let grown = resident(&stage)?.saturating_sub(before);
    assert!(grown < BOUND, "{} MiB more", grown / MIB);
    Ok(())
}

#[test]
fn slow_readers_cost_bounded_memory_and_get_every_byte() -> Result<()> {
    let stage = Stage::new()?;
    let place = stage.place(0)?;
    stage.fake.change(|model| model.partition("t", 0).stored = Stored::about(60 * MIB));
    let before = resident(&stage)?;
    let mut readers = (0..4).map(|_| stage.node(1)).collect::<Result<Vec<_>>>()?;
    for raw in &mut readers {
        raw.send(&fetch(12, &place)?)?;
    }
    let (until, mut most) = (Instant::now() + Duration::from_secs(2), 0);
    while Instant::now() < until {
        most = most.max(resident(&stage)?);
        stage.serves_others()?;
        std::thread::sleep(Duration::from_millis(50));
    }
    for raw in &mut readers {
        let mut pieces = 0;
        let received = checksum(raw, || {
            pieces += 1;
            if pieces < 100 {
                std::thread::sleep(Duration::from_millis(2));
            }
        })?;
        most = most.max(resident(&stage)?);
        let sent = stage.fake.wait_for_sent(|sent| sent.key == FETCH, SOON)?;
        assert_eq!(received, (sent.bytes, sent.crc));
    }
    let grown = most.saturating_sub(before);
    assert!(grown < BOUND, "{} MiB more", grown / MIB);
    Ok(())
}

#[test]
fn a_broker_that_reads_no_more_costs_bounded_memory() -> Result<()> {
    let stage = Stage::new()?;
    let place = stage.place(0)?;
    let before = resident(&stage)?;
    stage.fake.on_next(PRODUCE, Action::StopReading);
    let frame = Request::of(9, &request::produce(9, &place, -1, Batch::large(MIB).build()))?.frame();
    let many: Vec<u8> = frame.repeat(100);
    let mut raw = stage.node(1)?;
    let taken = raw.offer(&many, Duration::from_secs(2))?;
    assert!(taken < many.len(), "100 MiB were taken in though nobody reads them");
    let grown = resident(&stage)?.saturating_sub(before);
    assert!(grown < BOUND, "{} MiB more", grown / MIB);
    stage.serves_others()
}

#[test]
fn ten_thousand_requests_whose_answers_nobody_reads_cost_bounded_memory() -> Result<()> {
    let leaders: Vec<_> = (0..200).map(|n| if n % 2 == 0 { 1 } else { 7 }).collect();
    let stage = Stage::before(Fake::start(REAL_CLUSTER, &[1, 7])?.topic("t", &leaders))?;
    let mut raw = stage.node(1)?;
    let one = Request::of(12, &request::metadata(12, None))?.frame();
    let before = resident(&stage)?;
    let taken = raw.offer(&one.repeat(10_000), Duration::from_secs(3))?;
    stage.serves_others()?;
    let grown = resident(&stage)?.saturating_sub(before);
    assert!(grown < BOUND, "{} MiB more", grown / MIB);
    // Whoever reads after all gets everything that was asked for, in order.
    let whole = taken / one.len();
    assert!(whole > 0);
    raw.receive_all(whole, HANG)?;
    Ok(())
}

#[test]
fn a_frame_that_is_announced_is_not_allocated() -> Result<()> {
    let stage = Stage::new()?;
    let place = stage.place(0)?;
    let before = resident(&stage)?;
    let mut clients = Vec::new();
    for (key, version) in [(3, 12), (0, 9), (1, 12), (18, 3), (22, 4)] {
        let body = match key {
            0 => Request::of(9, &request::produce(9, &place, 1, Batch::small(1).build()))?.body,
            _ => bytes::Bytes::new(),
        };
        let mut frame = Request::new(key, version, body).frame().to_vec();
        frame[..4].copy_from_slice(&(100_i32 << 20).to_be_bytes());
        for _ in 0..10 {
            let mut raw = stage.node(1)?;
            raw.send_bytes(&frame)?;
            clients.push(raw);
        }
    }
    std::thread::sleep(Duration::from_millis(300));
    stage.serves_others()?;
    let grown = resident(&stage)?.saturating_sub(before);
    assert!(grown < BOUND, "{} MiB more", grown / MIB);
    Ok(())
}

/// Links that are lost in the middle of something, half of them with a Produce, half with a Fetch outstanding.
const LOST: usize = 1000;

#[test]
fn a_thousand_lost_links_leave_nothing_behind() -> Result<()> {
    let stage = Stage::new()?;
    let place = stage.place(0)?;
    let asked = Request::of(9, &request::produce(9, &place, -1, Batch::small(1).build()))?;
    let fetched = fetch(12, &place)?;
    let mut raw = stage.node(1)?;
    let mut lose = |count: usize| -> Result<()> {
        for number in 0..count {
            let (key, lost) = if number % 2 == 0 { (PRODUCE, &asked) } else { (FETCH, &fetched) };
            stage.fake.on_next(key, Action::Reset);
            raw.send(lost)?;
            raw.receive(HANG)?;
            // An answer in between: what is lost again and again is left alone for a while.
            raw.send(&asked)?;
            assert_eq!(produced(&raw.receive(HANG)?.decode::<ProduceRequest>(9)?), 0);
        }
        Ok(())
    };
    lose(100)?;
    let (before, open) = (resident(&stage)?, descriptors(&stage)?);
    lose(LOST)?;
    let grown = resident(&stage)?.saturating_sub(before);
    assert!(grown < 2 * MIB, "{} KiB more", grown >> 10);
    // Somebody may ask a broker just now how it is.
    process::until("the descriptors of before", HANG, || Ok((descriptors(&stage)? <= open).then_some(())))
}

/// File descriptors of the proxy.
fn descriptors(stage: &Stage) -> Result<usize> {
    let pid = stage.skein.pid().context("the proxy is not running")?;
    Ok(fs::read_dir(format!("/proc/{pid}/fd"))?.count())
}
