//! A virtual cluster ends, and its connections with it: each between two requests, once all its answers have left.

use std::task::{Context, Poll};
use std::time::Instant;

use skein_protocol::varint::narrow;

use super::Session;
use crate::events::Ended;
use crate::frames::Frames;

/// What a client had written when the drain began is still taken, at most so many bytes: one that never stops writing would
/// keep its connection otherwise.
const WRITTEN: u32 = 4 << 20;

/// What is taken from the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Intake {
    /// Everything.
    Open,
    /// What it had written; so many bytes at most.
    Written(u32, Instant),
    /// The end of a request of which a part has come.
    Last(Instant),
}

impl Intake {
    /// How many bytes may be read now; `None`: nothing is.
    pub(super) fn most(self, requests: &Frames) -> Option<u64> {
        match self {
            Self::Open => Some(u64::MAX),
            Self::Written(left, _) => Some(u64::from(left)),
            Self::Last(_) if requests.is_between() => None,
            Self::Last(_) => Some(u64::from(narrow(requests.to_end()))),
        }
    }

    /// So many bytes were read.
    pub(super) fn took(&mut self, bytes: usize) {
        if let Self::Written(left, by) = *self {
            *self = match left.saturating_sub(narrow(bytes)) {
                0 => Self::Last(by),
                left => Self::Written(left, by),
            };
        }
    }

    /// Nothing more had been written. Ready if that is to be looked at.
    pub(super) fn found_nothing(&mut self) -> Poll<()> {
        let Self::Written(_, by) = *self else { return Poll::Pending };
        *self = Self::Last(by);
        Poll::Ready(())
    }

    /// When the connection ends, whatever is open.
    pub(super) fn ends(self) -> Option<Instant> {
        match self {
            Self::Open => None,
            Self::Written(_, by) | Self::Last(by) => Some(by),
        }
    }
}

impl Session {
    /// Takes nothing new from the client once its virtual cluster ends.
    pub(super) fn hear_of_drain(&mut self, cx: &Context<'_>) {
        let by = self.place.drained_by(cx);
        self.is_drained = by.is_some();
        match (by, self.intake) {
            (Some(by), Intake::Open) => self.stop_taking(by),
            // It was ending by itself, and has less time now.
            (Some(by), Intake::Written(left, other)) => self.intake = Intake::Written(left, by.min(other)),
            (Some(by), Intake::Last(other)) => self.intake = Intake::Last(by.min(other)),
            (None, _) => {}
        }
    }

    /// Takes nothing new from the client, and ends once nothing is open, or when `by` has come.
    pub(super) fn stop_taking(&mut self, by: Instant) {
        self.intake = Intake::Written(WRITTEN, by);
    }

    /// Ends the connection once nothing is open on it, and everything has left: also requests that have no answer.
    pub(super) fn leave_if_drained(&mut self) {
        let Some(by) = self.intake.ends() else { return };
        let is_last = matches!(self.intake, Intake::Last(_)) && self.requests.is_between();
        let is_done = self.engine.is_idle() && !self.client.source.holds_bytes();
        if is_last && is_done && !self.lanes_are_full() && self.client.outbox.is_empty() {
            self.end(if self.is_drained { Ended::Drained } else { Ended::Old });
        } else if by <= self.now {
            self.end(if self.is_drained { Ended::Cut } else { Ended::Old });
        }
    }
}
