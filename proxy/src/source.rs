//! Bytes that have come in on one socket and are not decided about yet.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::{Buf, Bytes, BytesMut};
use skein_protocol::varint::wide;
use skein_routing::engine::Out;
use tokio::io::AsyncRead;
use tokio_util::io::poll_read_buf;

use crate::pool::{BUFFER, Pool};

/// The least room that a read is given.
const LEAST_ROOM: usize = 64 << 10;

/// What is still to come of bytes that were decided about before they came.
#[derive(Clone, Copy, Debug)]
enum Ahead {
    Nothing,
    /// So many go out.
    Goes(u32, Out),
    /// So many are done with.
    Dropped(u32),
}

/// The read side of a socket.
#[derive(Debug)]
pub(crate) struct Source {
    buffer: Option<BytesMut>,
    ahead: Ahead,
    /// How many bytes must be there before another look is worth it; 0: what was decided about has all come, and whoever
    /// decided is to be told so before anything else comes.
    needs: usize,
    /// Set when the peer has sent its last byte.
    ended: bool,
}

impl Default for Source {
    fn default() -> Self {
        Self { buffer: None, ahead: Ahead::Nothing, needs: 1, ended: false }
    }
}

impl Source {
    /// Whether the peer has sent its last byte.
    pub(crate) fn has_ended(&self) -> bool {
        self.ended
    }

    /// Whether enough has come for a look.
    pub(crate) fn is_ripe(&self) -> bool {
        self.len() >= self.needs
    }

    /// Whether bytes have come that nobody could decide about.
    pub(crate) fn holds_bytes(&self) -> bool {
        self.len() > 0
    }

    fn len(&self) -> usize {
        self.buffer.as_ref().map_or(0, BytesMut::len)
    }

    /// What has come and is not decided about.
    pub(crate) fn input(&mut self) -> &mut [u8] {
        self.buffer.as_deref_mut().unwrap_or(&mut [])
    }

    /// So many contiguous bytes are needed.
    pub(crate) fn need(&mut self, bytes: usize) {
        // A look at fewer bytes than are there would not end otherwise.
        self.needs = bytes.max(self.len() + 1);
    }

    /// Whatever is there is worth another look.
    pub(crate) fn look(&mut self) {
        self.needs = 0;
    }

    /// Takes so many bytes from the front, which go out; what has not come yet goes out when it does.
    pub(crate) fn keep(&mut self, bytes: u32, out: Out) -> Bytes {
        self.needs = 0;
        let taken = self.take(wide(bytes));
        let still = bytes - skein_protocol::varint::narrow(taken.len());
        self.ahead = if still > 0 { Ahead::Goes(still, out) } else { Ahead::Nothing };
        taken.freeze()
    }

    /// So many bytes are done with.
    pub(crate) fn skip(&mut self, bytes: u32) {
        self.needs = 0;
        let here = wide(bytes).min(self.len());
        if let Some(buffer) = &mut self.buffer {
            buffer.advance(here);
        }
        let still = bytes - skein_protocol::varint::narrow(here);
        self.ahead = if still > 0 { Ahead::Dropped(still) } else { Ahead::Nothing };
    }

    fn take(&mut self, bytes: usize) -> BytesMut {
        let here = bytes.min(self.len());
        self.buffer.as_mut().map(|buffer| buffer.split_to(here)).unwrap_or_default()
    }

    /// Bytes that have come and were decided about before; none once all of them have.
    pub(crate) fn decided(&mut self) -> Option<(Bytes, Out)> {
        if self.len() == 0 {
            return None;
        }
        match self.ahead {
            Ahead::Nothing => None,
            Ahead::Goes(bytes, out) => Some((self.keep(bytes, out), out)),
            Ahead::Dropped(bytes) => {
                self.skip(bytes);
                None
            }
        }
    }

    /// Whether what comes next is decided about already.
    pub(crate) fn is_ahead(&self) -> bool {
        !matches!(self.ahead, Ahead::Nothing)
    }

    /// What goes out later than it comes would go to a lane that is lost.
    pub(crate) fn drop_ahead(&mut self, lost: Out) {
        if let Ahead::Goes(bytes, out) = self.ahead
            && out == lost
        {
            self.ahead = Ahead::Dropped(bytes);
        }
    }

    /// Reads once. An idle source holds no buffer.
    pub(crate) fn poll_read<S: AsyncRead + Unpin>(
        &mut self, stream: &mut S, pool: &Pool, cx: &mut Context<'_>,
    ) -> Poll<io::Result<usize>> {
        if self.ended {
            return Poll::Pending;
        }
        let mut buffer = self.buffer.take().unwrap_or_else(|| pool.take());
        if buffer.capacity() - buffer.len() < LEAST_ROOM {
            // It grows with what has come, not by what a frame claims.
            buffer.reserve(BUFFER - (buffer.len() % BUFFER).min(BUFFER - LEAST_ROOM));
        }
        let read = poll_read_buf(Pin::new(stream), cx, &mut buffer);
        if let Poll::Ready(Ok(0)) = read {
            self.ended = true;
        }
        if buffer.is_empty() {
            pool.give(buffer);
        } else {
            self.buffer = Some(buffer);
        }
        read
    }

    /// Gives an empty buffer back.
    pub(crate) fn rest(&mut self, pool: &Pool) {
        if self.buffer.as_ref().is_some_and(BytesMut::is_empty)
            && let Some(buffer) = self.buffer.take()
        {
            pool.give(buffer);
        }
    }
}
