//! Many who guess at once: each waits, and nobody who is in notices.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use skein_tests::raw::{Raw, request};

use super::door::{Door, FAILED, choose, is_served, say, words};
use crate::stage::SOON;

/// Logins of a flood: 10,000 with `SKEIN_FLOOD=10000`.
fn logins() -> Result<usize> {
    Ok(std::env::var("SKEIN_FLOOD").map_or(Ok(600), |logins| logins.parse())?)
}

/// How long a client waits at the worst, of a hundred questions.
fn slowest(raw: &mut Raw) -> Result<Duration> {
    let mut slowest = Vec::new();
    for _ in 0..100 {
        let begun = Instant::now();
        raw.call::<kafka_protocol::messages::MetadataRequest>(12, &request::metadata(12, Some(&["t"])))?;
        slowest.push(begun.elapsed());
        thread::sleep(Duration::from_millis(5));
    }
    slowest.sort_unstable();
    // The worst of a hundred is the machine's.
    Ok(slowest[94])
}

#[test]
fn a_flood_of_logins_is_bounded_and_who_is_in_does_not_notice() -> Result<()> {
    const AT_ONCE: usize = 100;
    let door = Door::new("", "")?;
    let logins = logins()?;
    let mut kept = door.alice()?;
    let quiet = slowest(&mut kept)?;
    let (memory, descriptors) = (door.stage.skein.memory()?, door.stage.skein.descriptors()?);
    let (next, address) = (AtomicUsize::new(0), door.stage.address(1)?);
    let (busy, most) = thread::scope(|scope| -> Result<_> {
        let attackers: Vec<_> =
            (0..4)
                .map(|_| {
                    scope.spawn(|| -> Result<()> {
                        while next.fetch_add(AT_ONCE / 4, Ordering::Relaxed) < logins {
                            let mut raws = Vec::new();
                            for number in 0..AT_ONCE / 4 {
                                let number = u32::try_from(next.load(Ordering::Relaxed) + number)?;
                                let [_, high, middle, low] = number.to_be_bytes();
                                let source = std::net::Ipv4Addr::new(127, 3 + high, middle, low.max(1));
                                let mut raw = Raw::connect_from(source, address)?;
                                choose(&mut raw, "PLAIN")?;
                                raw.send(&skein_tests::raw::Request::of(
                                    2,
                                    &kafka_protocol::messages::SaslAuthenticateRequest::default()
                                        .with_auth_bytes(words("", "alice", "guessed-secret")),
                                )?)?;
                                raws.push(raw);
                            }
                            for raw in &mut raws {
                                let answer = raw.receive(6 * SOON)?;
                                ensure!(answer.rest[1..3] == FAILED.to_be_bytes(), "{answer:?}");
                            }
                        }
                        Ok(())
                    })
                })
                .collect();
        let busy = slowest(&mut kept)?;
        let most = (door.stage.skein.memory()?, door.stage.skein.descriptors()?);
        for attacker in attackers {
            attacker.join().map_err(|_| anyhow::anyhow!("an attacker panicked"))??;
        }
        Ok((busy, most))
    })?;
    let after = door.stage.skein.memory()?.saturating_sub(memory);
    println!("{logins} logins: {quiet:?} in a quiet time, {busy:?} in the flood; {most:?}, {after} KiB more after it");
    ensure!(busy < Duration::from_millis(250), "{busy:?}");
    ensure!(most.0.saturating_sub(memory) < 40 << 10 && after < 40 << 10, "{most:?} of {memory}, {after} KiB after it");
    ensure!(most.1 <= descriptors + AT_ONCE + 20, "{} descriptors of {descriptors}", most.1);
    is_served(&mut kept)?;
    door.serves_others()
}

#[test]
fn a_source_that_fails_often_waits_and_others_do_not() -> Result<()> {
    let door = Door::new("", "")?;
    let from = |last: u8| Raw::connect_from(std::net::Ipv4Addr::new(127, 9, 9, last), door.stage.address(1)?);
    let guess = |last: u8, password: &str| -> Result<(i16, Duration)> {
        let mut raw = from(last)?;
        choose(&mut raw, "PLAIN")?;
        let begun = Instant::now();
        let told = say(&mut raw, words("", "alice", password))?;
        Ok((told.error_code, begun.elapsed()))
    };
    // A few at a time, as whoever guesses does.
    thread::scope(|scope| -> Result<()> {
        let guesses: Vec<_> = (0..24).map(|_| scope.spawn(|| guess(1, "guessed-secret"))).collect();
        for guessed in guesses {
            let (code, _) = guessed.join().map_err(|_| anyhow::anyhow!("a guess panicked"))??;
            ensure!(code == FAILED);
        }
        Ok(())
    })?;
    let (code, waited) = guess(1, "wire-secret-of-alice")?;
    ensure!(code == 0 && waited > Duration::from_secs(1), "who guesses waits, even when it is right: {waited:?}");
    let (code, waited) = guess(2, "wire-secret-of-alice")?;
    ensure!(code == 0 && waited < Duration::from_secs(1), "{waited:?}");
    Ok(())
}
