//! Sends made, spoilt and random frames through all that reads one: nothing panics, goes on for ever, or allocates more
//! than a multiple of what was sent. A failure says the round that makes it again, and the frame.
//!
//! ```text
//! cargo run --release -p skein-protocol --features sample --example hostile -- --frames 20000000 --seed 1
//! ```

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

use skein_protocol::ids::{ApiKey, Direction};
use skein_protocol::sample::{self, Dice, Recipe, ordeal, spoil};

/// How much one frame may have allocated at any time: so many bytes for each of its own, and so many more.
const ALLOCATED: (u64, u64) = (64, 4096);
/// Frames that are made of each sound one.
const SPOILT: u32 = 14;

/// What has been counted.
#[derive(Debug, Default)]
struct Tally {
    frames: u64,
    bytes: u64,
    walked: u64,
    passed: u64,
    rewritten: u64,
    answered: u64,
    /// The most that was allocated for a byte of a frame, above the part that needs no reason.
    most_per_byte: f64,
}

struct Run {
    tally: Tally,
    scratch: ordeal::Scratch,
}

impl Run {
    /// One frame; says what was wrong.
    fn frame(&mut self, message: (ApiKey, i16, Direction), frame: &[u8], dice: &mut Dice) -> Result<(), String> {
        let (key, version, direction) = message;
        let mut outcome = Err(String::new());
        let allocated = allocation_counter::measure(|| {
            let run = || ordeal::run(key, version, direction, frame, dice, &mut self.scratch);
            outcome = catch_unwind(AssertUnwindSafe(run)).map_err(|_| "it panicked".to_owned());
        });
        let outcome = outcome?;
        let length = u64::try_from(frame.len()).unwrap_or(u64::MAX);
        if allocated.bytes_max > ALLOCATED.0 * length + ALLOCATED.1 {
            return Err(format!("it allocated {} bytes", allocated.bytes_max));
        }
        let tally = &mut self.tally;
        tally.frames += 1;
        tally.bytes += length;
        tally.walked += u64::from(outcome.walked);
        tally.passed += u64::from(outcome.passed);
        tally.rewritten += u64::from(outcome.rewritten);
        tally.answered += u64::from(outcome.answered);
        let above = u32::try_from(allocated.bytes_max.saturating_sub(ALLOCATED.1)).unwrap_or(u32::MAX);
        let per_byte = f64::from(above) / f64::from(u32::try_from(length.max(1)).unwrap_or(u32::MAX));
        tally.most_per_byte = tally.most_per_byte.max(per_byte);
        Ok(())
    }

    /// A sound frame, what is spoilt of it, and noise.
    fn round(&mut self, messages: &[(ApiKey, i16, Direction)], seed: u64, bytes: &mut Vec<u8>) -> Result<(), String> {
        let mut dice = Dice::new(seed);
        let message = dice.one_of(messages, (ApiKey::PRODUCE, 9, Direction::ToBroker));
        let (key, version, direction) = message;
        let sample =
            sample::any(key, version, direction, &Recipe::WILD, &mut dice).ok_or("there is no such message")?;
        let told = |what: String, frame: &[u8]| {
            format!("round {seed:#x}, {key:?} v{version} {direction:?}: {what}\n{frame:02x?}")
        };
        self.frame(message, &sample.frame, &mut dice).map_err(|what| told(what, &sample.frame))?;
        for _ in 0..SPOILT {
            spoil::spoil(&sample, &mut dice, bytes);
            self.frame(message, bytes, &mut dice).map_err(|what| told(what, bytes))?;
        }
        spoil::noise(&mut dice, 200, bytes);
        self.frame(message, bytes, &mut dice).map_err(|what| told(what, bytes))
    }
}

fn main() -> ExitCode {
    let (frames, seed) = (sample::argument("--frames", 1_000_000), sample::argument("--seed", 1));
    let messages: Vec<_> = sample::messages().collect();
    let mut run = Run { tally: Tally::default(), scratch: ordeal::Scratch::new() };
    let mut bytes = Vec::new();
    let mut round = seed << 32;
    while run.tally.frames < frames {
        if let Err(what) = run.round(&messages, round, &mut bytes) {
            eprintln!("{what}");
            return ExitCode::FAILURE;
        }
        round += 1;
    }
    println!("{:#?}", run.tally);
    ExitCode::SUCCESS
}
