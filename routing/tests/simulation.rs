//! A client, an engine and brokers, run by dice: whatever happens, and in whatever order, the invariants hold, and each
//! request has its answer in its turn, or the connection is closed for a reason that there is.
//!
//! `SKEIN_STEPS` says how many steps are run; `SKEIN_SEED` runs one seed again.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::wildcard_enum_match_arm,
    reason = "a test that fails panics"
)]

#[path = "simulation/broker.rs"]
mod broker;
#[path = "simulation/client.rs"]
mod client;
#[path = "simulation/frames.rs"]
mod frames;
#[path = "simulation/graphs.rs"]
mod graphs;
#[path = "simulation/peer.rs"]
mod peer;
#[path = "simulation/shell.rs"]
mod shell;
#[path = "simulation/world.rs"]
mod world;

use world::{Tally, World};

/// Steps of a run, if nobody says how many.
const STEPS: u64 = 100_000;

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// One seed; panics with it if something is wrong.
fn run(seed: u64, tally: &mut Tally) {
    let mut world = World::new(seed);
    let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| world.run()));
    match ended {
        Ok(Ok(())) => world.count(tally),
        Ok(Err(what)) => panic!("SKEIN_SEED={seed}: {what}"),
        Err(_) => panic!("SKEIN_SEED={seed}: it panicked"),
    }
}

#[test]
fn each_request_has_its_answer_in_its_turn() {
    let mut tally = Tally::default();
    if let Some(seed) = number("SKEIN_SEED") {
        run(seed, &mut tally);
    } else {
        let steps = number("SKEIN_STEPS").unwrap_or(STEPS);
        let mut seed = 0;
        while tally.steps < steps {
            run(seed, &mut tally);
            seed += 1;
        }
        assert!(tally.whole > 0 && tally.closed > 0 && tally.refused > 0 && tally.renewed > 0, "{tally:?}");
    }
    println!("{tally:#?}");
}
