//! What has to happen in time, and how old a connection may become.

use std::future::Future;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use skein_routing::engine::{Fault, LaneId};

use super::Session;
use super::draining::Intake;
use super::peer::{Moved, Peer};
use crate::events::{Ended, LinkLoss};
use crate::house::Settings;

/// How long a socket may take nothing of what is to go out.
const BLOCKED: Duration = Duration::from_secs(60);
/// Connections end at an age that differs by up to so much of it, both ways: they came together, perhaps, after a restart.
const SPREAD: f64 = 0.1;

/// The times of a client.
pub(super) struct Clock {
    settings: Arc<Settings>,
    /// When the first request must have begun. Set until it has; from then on the engine waits for it.
    first_by: Option<Instant>,
    /// When the client must have logged in. Unset once it has, or if it need not.
    login_by: Option<Instant>,
    /// When the client last did something, or was owed something.
    active: Instant,
    /// When the connection is old.
    old: Option<Instant>,
}

impl Clock {
    pub(super) fn new(settings: Arc<Settings>, now: Instant) -> Self {
        let limits = &settings.connections;
        let spread = 1.0 + SPREAD * (2.0 * fastrand::f64() - 1.0);
        Self {
            first_by: now.checked_add(limits.first_request_timeout),
            login_by: None,
            active: now,
            old: limits.most_age.and_then(|age| now.checked_add(age.mul_f64(spread))),
            settings,
        }
    }

    /// The client has to log in.
    pub(super) fn wants_login(&mut self, now: Instant) {
        self.login_by = now.checked_add(self.settings.connections.login_timeout);
    }

    /// Bytes have come from the client; `asks`: the head of a request is among what has come.
    pub(super) fn heard(&mut self, now: Instant, asks: Asks) {
        self.active = now;
        if asks == Asks::Yes {
            self.first_by = None;
        }
    }

    /// The client is owed something, or is given it.
    pub(super) fn busy(&mut self, now: Instant) {
        self.active = now;
    }

    fn idle_by(&self) -> Option<Instant> {
        self.active.checked_add(self.settings.connections.idle_timeout)
    }

    /// When something is to be looked at.
    pub(super) fn due(&self) -> Option<Instant> {
        self.first_by.into_iter().chain(self.login_by).chain(self.old).chain(self.idle_by()).min()
    }
}

/// Whether a client has begun to ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asks {
    /// It has.
    Yes,
    /// It may be about to.
    NotYet,
}

impl Session {
    /// Ends a connection whose client is late, or that is old.
    fn end_what_is_late(&mut self) -> Moved {
        if !self.engine.is_idle() || !self.client.outbox.is_empty() {
            self.clock.busy(self.now);
        }
        if self.engine.is_logged_in() {
            self.clock.login_by = None;
        }
        let is_past = |by: Option<Instant>, now: Instant| by.is_some_and(|by| by <= now);
        if is_past(self.clock.first_by, self.now) {
            self.end(Ended::Mute);
        } else if is_past(self.clock.login_by, self.now) {
            self.end(Ended::NoLogin);
        } else if is_past(self.clock.idle_by(), self.now) {
            self.end(Ended::Idle);
        } else if is_past(self.clock.old, self.now) {
            self.clock.old = None;
            if self.intake == Intake::Open {
                let by = self.now + self.clock.settings.process.drain_timeout;
                self.stop_taking(by);
                // What the client has written is to be looked for: it may be nothing.
                return Moved::Yes;
            }
        }
        Moved::No
    }

    /// A peer that takes nothing for long is gone, whatever its socket says.
    fn end_what_is_blocked(&mut self) {
        let too_long = |since: Option<Instant>, now: Instant| since.is_some_and(|since| since + BLOCKED <= now);
        if too_long(self.client.blocked, self.now) {
            self.end(Ended::Deaf);
        }
        for index in 0..self.lanes.len() {
            let blocked = self.lanes.get(index).and_then(|lane| lane.as_ref()?.blocked);
            if let (true, Ok(id)) = (too_long(blocked, self.now), u16::try_from(index)) {
                self.lose(LaneId(id), &LinkLoss::Fault(Fault::Late));
            }
        }
    }

    /// Counts what is waited for sockets that take nothing.
    fn count_waiting(&mut self) {
        let now = self.now;
        for peer in self.lanes.iter_mut().flatten().chain(std::iter::once(&mut self.client)) {
            if peer.counts_at().is_some_and(|at| at <= now) {
                peer.count_waiting(now);
            }
        }
    }

    /// When something is due, blocked sockets aside.
    fn next_deadline(&self) -> Option<Instant> {
        self.engine
            .next_deadline()
            .into_iter()
            .chain(self.leaves_by)
            .chain(self.intake.ends())
            .chain(self.clock.due())
            .min()
    }

    pub(super) fn poll_timer(&mut self, cx: &mut Context<'_>) -> Moved {
        self.end_what_is_blocked();
        if self.end_what_is_late() == Moved::Yes {
            return Moved::Yes;
        }
        self.count_waiting();
        let peers = || self.lanes.iter().flatten().chain(std::iter::once(&self.client));
        let blocked = peers().filter_map(|peer| peer.blocked).map(|since| since + BLOCKED);
        let counted = peers().filter_map(Peer::counts_at);
        let Some(due) = self.next_deadline().into_iter().chain(blocked).chain(counted).min() else {
            self.armed = None;
            return Moved::No;
        };
        if due <= self.now {
            self.engine.tick(self.now);
            self.carry_out_effects();
            return Moved::Yes;
        }
        // A timer that goes off early looks again; one that is set later than what is due would be late.
        if self.armed.is_none_or(|armed| armed > due || armed <= self.now) {
            self.timer.as_mut().reset(due.into());
            self.armed = Some(due);
        }
        match self.timer.as_mut().poll(cx) {
            Poll::Ready(()) => {
                self.armed = None;
                Moved::Yes
            }
            Poll::Pending => Moved::No,
        }
    }
}
