//! One end of a session: a client, or a broker.

use std::io;
use std::task::{Context, Poll};
use std::time::Instant;

use bytes::Bytes;
use tokio::net::TcpStream;

use crate::outbox::Outbox;
use crate::pool::Pool;
use crate::source::Source;

/// A socket with what has come in and what is to go out.
pub(super) struct Peer {
    pub(super) stream: TcpStream,
    pub(super) source: Source,
    pub(super) outbox: Outbox,
    /// Since when the socket has taken nothing of what is to go out. Unset when it takes something.
    pub(super) blocked: Option<Instant>,
    /// Why nothing can be sent any more. What had come before may still be there to be read.
    deaf: Option<io::Error>,
}

impl Peer {
    pub(super) fn new(stream: TcpStream) -> Self {
        Self { stream, source: Source::default(), outbox: Outbox::default(), blocked: None, deaf: None }
    }

    /// Puts bytes out.
    pub(super) fn push(&mut self, bytes: Bytes) {
        if self.deaf.is_none() {
            self.outbox.push(bytes);
        }
    }

    /// Puts so many zero bytes out.
    pub(super) fn push_zeros(&mut self, count: usize) {
        if self.deaf.is_none() {
            self.outbox.push_zeros(count);
        }
    }

    /// Nothing can be sent any more.
    pub(super) fn is_deaf(&mut self, error: io::Error) -> Moved {
        (self.deaf, self.blocked) = (Some(error), None);
        self.outbox = Outbox::default();
        Moved::Yes
    }

    /// Reads once; an error once all has been read that will ever come, with the cause if there is one but the peer's wish.
    pub(super) fn poll_read(&mut self, pool: &Pool, cx: &mut Context<'_>) -> Poll<Result<usize, Option<io::Error>>> {
        if self.source.has_ended() {
            return Poll::Ready(Err(self.deaf.take()));
        }
        match self.source.poll_read(&mut self.stream, u64::MAX, pool, cx) {
            Poll::Ready(read) => Poll::Ready(read.map_err(|error| Some(self.deaf.take().unwrap_or(error)))),
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
        match self.outbox.poll_flush(&mut self.stream, cx) {
            Poll::Ready(flushed) => {
                self.blocked = None;
                flushed.map(|()| Moved::Yes)
            }
            Poll::Pending => {
                let since = self.blocked.filter(|_| self.outbox.bytes() == before);
                self.blocked = Some(since.unwrap_or(now));
                Ok(Moved::No)
            }
        }
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
