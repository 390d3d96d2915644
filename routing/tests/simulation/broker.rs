//! A model of a broker: reads whole requests, and answers in their order after a while.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use skein_protocol::ids::ApiKey;
use skein_protocol::sample::Dice;

use crate::frames;

/// One connection of it.
#[derive(Debug, Default)]
pub(crate) struct Broker {
    input: Vec<u8>,
    next_correlation: i32,
    /// Answers, and when they go out.
    answers: VecDeque<(Instant, Vec<u8>)>,
    /// Set if it answers no more.
    pub(crate) mute: bool,
    /// Requests that it has read.
    pub(crate) requests: u64,
    /// Whether a login has begun and not ended: nothing else may come.
    is_logging_in: bool,
}

impl Broker {
    /// Bytes have come. They must be requests that are valid and in order.
    pub(crate) fn take(&mut self, now: Instant, bytes: &[u8], dice: &mut Dice) -> Result<(), String> {
        self.input.extend(bytes);
        while let Some(frame) = frames::take(&mut self.input) {
            let seen = frames::read_request(&frame)?;
            if seen.correlation != self.next_correlation {
                return Err(format!("{seen:?} came where {} was due", self.next_correlation));
            }
            self.next_correlation += 1;
            if self.is_logging_in != (seen.key == ApiKey::SASL_AUTHENTICATE) {
                return Err(format!("{seen:?} came out of the order of a login"));
            }
            self.is_logging_in = seen.key == ApiKey::SASL_HANDSHAKE;
            self.requests += 1;
            if !seen.silent && !self.mute {
                let delay = u64::from(dice.below(20)) + if dice.chance(32) { seen.wait_ms } else { 0 };
                let at = now + Duration::from_millis(delay);
                self.answers.push_back((at, frames::answer(&seen, dice)));
            }
        }
        Ok(())
    }

    /// When its next answer goes out.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.answers.front().map(|(at, _)| *at)
    }

    /// A piece of what is to go out by now.
    pub(crate) fn piece(&mut self, now: Instant, most: usize) -> Vec<u8> {
        let Some((at, answer)) = self.answers.front_mut() else { return Vec::new() };
        if *at > now {
            return Vec::new();
        }
        let piece = answer.drain(..most.min(answer.len())).collect();
        if answer.is_empty() {
            self.answers.pop_front();
        }
        piece
    }
}
