//! One end of a session: a client, or a broker.

use std::io;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use bytes::Bytes;
use skein_link::Stream;
use skein_link::dial::LoggedIn;
use skein_protocol::varint::narrow;

use crate::admission::Held;
use crate::meters::{OpenLink, SideMeters};
use crate::outbox::{Outbox, ZEROS};
use crate::pool::Pool;
use crate::source::Source;

/// How long waiting goes on between two times that it is counted.
const COUNTED: Duration = Duration::from_secs(1);

/// A socket with what has come in and what is to go out.
pub(super) struct Peer {
    pub(super) stream: Stream,
    pub(super) source: Source,
    pub(super) outbox: Outbox,
    /// Since when the socket has taken nothing of what is to go out. Unset when it takes something.
    pub(super) blocked: Option<Instant>,
    /// Why nothing can be sent any more. What had come before may still be there to be read.
    deaf: Option<io::Error>,
    /// Since when something is to go out that the socket does not take, or when that was last counted. Unset when all of it
    /// has.
    waiting: Option<Instant>,
    meters: Arc<SideMeters>,
    /// The login of ours on it. Of a broker only.
    pub(super) login: Option<LoggedIn>,
    /// When that is over; `None`: never.
    pub(super) login_ends: Option<Instant>,
    /// Of a broker only.
    pub(super) link: Option<OpenLink>,
    _descriptor: Held,
}

impl Peer {
    pub(super) fn new(stream: Stream, held: Held, meters: Arc<SideMeters>, link: Option<OpenLink>) -> Self {
        Self {
            stream,
            source: Source::default(),
            outbox: Outbox::default(),
            blocked: None,
            waiting: None,
            deaf: None,
            meters,
            login: None,
            login_ends: None,
            link,
            _descriptor: held,
        }
    }

    /// Skein has logged in on it.
    pub(super) fn logged_in(&mut self, login: LoggedIn, now: Instant) {
        self.login = Some(login);
        self.login_ends = login.lifetime.and_then(|lifetime| now.checked_add(lifetime));
    }

    /// Puts bytes out.
    pub(super) fn push(&mut self, bytes: Bytes) {
        if self.deaf.is_some() {
            return;
        }
        self.outbox.push(bytes);
    }

    /// Puts so many zero bytes out.
    pub(super) fn push_zeros(&mut self, mut count: usize) {
        while let Some(piece) = Some(count.min(ZEROS.len())).filter(|piece| *piece > 0) {
            self.push(Bytes::from_static(ZEROS.get(..piece).unwrap_or(&[])));
            count -= piece;
        }
    }

    /// Nothing can be sent any more.
    pub(super) fn is_deaf(&mut self, error: io::Error) -> Moved {
        (self.deaf, self.blocked) = (Some(error), None);
        self.outbox = Outbox::default();
        Moved::Yes
    }

    /// Reads once, at most so many bytes. A buffer is taken once there is something to read.
    pub(super) fn poll_source(&mut self, most: u64, pool: &Pool, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        if self.source.is_at_rest() && self.stream.poll_read_ready(cx)?.is_pending() {
            return Poll::Pending;
        }
        let read = self.source.poll_read(&mut self.stream, most, pool, cx);
        if let Poll::Ready(Ok(bytes)) = read {
            self.meters.received.inc_by(u64::from(narrow(bytes)));
        }
        read
    }

    /// Reads once; an error once all has been read that will ever come, with the cause if there is one but the peer's wish.
    pub(super) fn poll_read(&mut self, pool: &Pool, cx: &mut Context<'_>) -> Poll<Result<usize, Option<io::Error>>> {
        if self.source.has_ended() {
            return Poll::Ready(Err(self.deaf.take()));
        }
        match self.poll_source(u64::MAX, pool, cx) {
            Poll::Ready(Ok(bytes)) => Poll::Ready(Ok(bytes)),
            Poll::Ready(Err(error)) => Poll::Ready(Err(Some(self.deaf.take().unwrap_or(error)))),
            // To a socket that cannot send, nothing comes any more either.
            Poll::Pending => self.deaf.take().map_or(Poll::Pending, |error| Poll::Ready(Err(Some(error)))),
        }
    }

    /// Sends what can be sent; whether that was the last of it.
    pub(super) fn flush(&mut self, now: Instant, cx: &mut Context<'_>) -> io::Result<Moved> {
        if self.outbox.is_empty() {
            return Ok(Moved::No);
        }
        let before = self.outbox.bytes();
        let flushed = self.outbox.poll_flush(&mut self.stream, cx);
        let left = self.outbox.bytes();
        self.meters.sent.inc_by(u64::from(narrow(before - left)));
        match flushed {
            Poll::Ready(flushed) => {
                self.blocked = None;
                self.let_go(now);
                flushed.map(|()| Moved::Yes)
            }
            Poll::Pending => {
                self.waiting.get_or_insert(now);
                let since = self.blocked.filter(|_| left == before);
                self.blocked = Some(since.unwrap_or(now));
                Ok(Moved::No)
            }
        }
    }

    /// Nothing is held back any more.
    pub(super) fn let_go(&mut self, now: Instant) {
        self.count_waiting(now);
        self.waiting = None;
    }

    /// What has been waited so far is counted: whoever watches need not wait for the end.
    pub(super) fn count_waiting(&mut self, now: Instant) {
        if let Some(since) = &mut self.waiting {
            self.meters.blocked.inc_by(now.saturating_duration_since(*since).as_secs_f64());
            *since = now;
        }
    }

    /// When that is to be counted again.
    pub(super) fn counts_at(&self) -> Option<Instant> {
        self.waiting?.checked_add(COUNTED)
    }
}

/// Whether something happened that may let something else go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Moved {
    Yes,
    No,
}

impl Moved {
    pub(super) fn note(&mut self, other: Self) {
        if other == Self::Yes {
            *self = Self::Yes;
        }
    }
}
