//! How long a step takes says nothing of who is a user.

#![expect(clippy::disallowed_methods, reason = "it is about the time that the crate takes, of which it knows nothing")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use skein_login::{Mechanism, Step};

use crate::stage::{judge, now};

/// In which share of all pairs the one took longer than the other: a half, if nothing tells them apart (Mann and Whitney).
fn longer(one: &[Duration], other: &[Duration]) -> f64 {
    let pairs = one.iter().flat_map(|one| other.iter().map(move |other| one.cmp(other)));
    let halves: u32 = pairs.map(|order| if order.is_gt() { 2 } else { u32::from(order.is_eq()) }).sum();
    f64::from(halves) / 2.0 / f64::from(u32::try_from(one.len() * other.len()).unwrap())
}

/// Times of steps for a user and for nobody, so many of each, in turns.
fn alike(what: &str, tries: u32, mut step: impl FnMut(&str) -> Duration) {
    let (mut known, mut unknown) = (Vec::new(), Vec::new());
    for turn in 0..tries {
        // Whose turn is first changes, so that what comes before is no difference.
        for is_known in [turn % 2 == 0, turn % 2 == 1] {
            let times = if is_known { &mut known } else { &mut unknown };
            times.push(step(if is_known { "alice" } else { "nobod" }));
        }
    }
    let share = longer(&known, &unknown);
    let tries = f64::from(tries);
    let deviation = ((2.0 * tries + 1.0) / (12.0 * tries * tries)).sqrt();
    // Beyond six deviations chance comes once in hundreds of millions of times.
    assert!((share - 0.5).abs() < 6.0 * deviation, "{what}: who is known takes longer in {share:.3} of all pairs");
}

#[test]
#[ignore = "it measures time, which a busy machine bends: `cargo xtask soak` runs it"]
fn a_step_takes_as_long_for_nobody_as_for_a_user() {
    let judge = Arc::new(judge(&[("alice", "word"), ("bob", "word")]));
    let first = |name: &str| format!("n,,n={name},r=abc");
    alike("PLAIN", 200, |name| {
        let (exchange, message) = (judge.begin(Mechanism::Plain).unwrap(), format!("\0{name}\0wrong"));
        let begun = Instant::now();
        assert!(matches!(exchange.step(now(), message.as_bytes()), Step::Failed(_)));
        begun.elapsed()
    });
    for mechanism in [Mechanism::ScramSha256, Mechanism::ScramSha512] {
        alike("the first step of SCRAM", 500, |name| {
            let (exchange, message) = (judge.begin(mechanism).unwrap(), first(name));
            let begun = Instant::now();
            assert!(matches!(exchange.step(now(), message.as_bytes()), Step::Challenge(..)));
            begun.elapsed()
        });
    }
    alike("the second step of SCRAM", 500, |name| {
        let exchange = judge.begin(Mechanism::ScramSha256).unwrap();
        let Step::Challenge(challenge, exchange) = exchange.step(now(), first(name).as_bytes()) else { panic!() };
        let challenge = String::from_utf8(challenge.to_vec()).unwrap();
        let proof = format!("c=biws,{},p={}=", challenge.split(',').next().unwrap(), "A".repeat(43));
        let begun = Instant::now();
        assert!(matches!(exchange.step(now(), proof.as_bytes()), Step::Failed(_)));
        begun.elapsed()
    });
}
