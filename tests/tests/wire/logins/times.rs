//! How long a login may take, and how long it holds.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use skein_tests::apis::METADATA;
use skein_tests::fake::Action;
use skein_tests::issuer::Claims;
use skein_tests::raw::request::{self, Introduction};
use skein_tests::raw::{Closing, Outcome, Request};

use super::door::{self, ALICE, Door, choose, is_closed, is_served, log_in, plain, say};
use crate::stage::SOON;

#[test]
fn a_session_ends_with_its_lifetime_between_two_requests() -> Result<()> {
    let door = Door::new(", session-lifetime = \"2s\"", "")?;
    let mut raw = door.stranger()?;
    let told = log_in(&mut raw, &plain(ALICE.0, ALICE.1))?;
    ensure!((1500..=2000).contains(&told.session_lifetime_ms), "{told:?}");
    let begun = Instant::now();
    // A token that lasts longer does not last longer than the session may.
    let mut other = door.stranger()?;
    let told = log_in(&mut other, &door::bearer(&door.issuer.mint(&Claims::of("alice"))?))?;
    ensure!((1500..=2000).contains(&told.session_lifetime_ms), "{told:?}");
    // Whoever logs in again in time stays, and has each of its answers.
    for _ in 0..4 {
        std::thread::sleep(Duration::from_secs(1));
        is_served(&mut raw)?;
        assert_eq!(log_in(&mut raw, &plain(ALICE.0, ALICE.1))?.error_code, 0);
    }
    ensure!(begun.elapsed() > Duration::from_secs(4));
    // Whoever does not is cut at its next request, and not within an answer.
    let late = Request::of(12, &request::metadata(12, Some(&["t"])))?;
    if other.send(&late).is_ok() {
        is_closed(&mut other)?;
    }
    door.logs("reason=\"login_expired\"")?;
    door.stage.fake.on_next(METADATA, Action::Delay(Duration::from_millis(4000)));
    raw.send_all(&[late.clone().id(1)])?;
    std::thread::sleep(Duration::from_millis(3500));
    raw.send(&late.id(2))?;
    let (answers, closing) = raw.until_closed(SOON)?;
    assert_eq!((answers.len(), closing), (1, Closing::Clean), "what was asked in time is answered");
    Ok(())
}

#[test]
fn a_login_that_does_not_end_in_time_is_closed_whatever_comes_meanwhile() -> Result<()> {
    let door = Door::new("", "\n[connections]\nlogin-timeout = \"2s\"\n")?;
    let versions = request::api_versions(3, &Introduction::default());
    let begun = Instant::now();
    let mut halves = Vec::new();
    for mechanism in [None, Some("PLAIN"), Some("SCRAM-SHA-256")] {
        let mut raw = door.stranger()?;
        raw.ask(&versions)?;
        if let Some(mechanism) = mechanism {
            choose(&mut raw, mechanism)?;
        }
        if mechanism == Some("SCRAM-SHA-256") {
            assert_eq!(say(&mut raw, "n,,n=alice,r=abc")?.error_code, 0);
        }
        halves.push(raw);
    }
    let mut kept = door.alice()?;
    let mut busy = door.stranger()?;
    let closed = loop {
        std::thread::sleep(Duration::from_millis(100));
        if busy.send(&versions).is_err() || matches!(busy.outcome(SOON)?, Outcome::Closed(_) | Outcome::Cut(_)) {
            break begun.elapsed();
        }
        ensure!(begun.elapsed() < SOON, "who asks for versions again and again stays a stranger");
    };
    ensure!(closed > Duration::from_millis(1500), "{closed:?}");
    for mut raw in halves {
        is_closed(&mut raw)?;
    }
    is_served(&mut kept)?;
    door.serves_others()
}
