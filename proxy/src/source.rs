//! Bytes that have come in on one socket and are not decided about yet.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::{Buf, Bytes, BytesMut};
use skein_protocol::varint::wide;
use skein_routing::engine::Out;
use tokio::io::{AsyncRead, AsyncReadExt};
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

    /// The last bytes that have come.
    pub(crate) fn last(&self, bytes: usize) -> &[u8] {
        let buffer = self.buffer.as_deref().unwrap_or(&[]);
        buffer.get(buffer.len().saturating_sub(bytes)..).unwrap_or(&[])
    }

    /// Whether it holds no buffer.
    pub(crate) fn is_at_rest(&self) -> bool {
        self.buffer.is_none()
    }

    /// Reads once, at most so many bytes, which are more than none. An idle source holds no buffer.
    pub(crate) fn poll_read<S: AsyncRead + Unpin>(
        &mut self, stream: &mut S, most: u64, pool: &Pool, cx: &mut Context<'_>,
    ) -> Poll<io::Result<usize>> {
        if self.ended {
            return Poll::Pending;
        }
        let mut buffer = self.buffer.take().unwrap_or_else(|| pool.take());
        if buffer.capacity() - buffer.len() < LEAST_ROOM {
            // It grows with what has come, not by what a frame claims.
            buffer.reserve(BUFFER - (buffer.len() % BUFFER).min(BUFFER - LEAST_ROOM));
        }
        let read = poll_read_buf(Pin::new(&mut stream.take(most)), cx, &mut buffer);
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

#[cfg(test)]
mod tests {
    use super::*;

    async fn read(source: &mut Source, pool: &Pool, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let read = std::future::poll_fn(|cx| source.poll_read(&mut bytes, u64::MAX, pool, cx)).await;
            assert!(read.unwrap() > 0);
        }
    }

    #[tokio::test]
    async fn what_is_kept_is_a_slice_of_the_buffer_that_it_was_read_into() {
        let (mut source, pool) = (Source::default(), Pool::new(1));
        read(&mut source, &pool, &[7; 100_000]).await;
        let buffer = source.input().as_ptr_range();
        let kept = source.keep(60_000, Out::Client);
        let rest = source.keep(40_000, Out::Client);
        assert_eq!(kept.as_ptr_range().start, buffer.start);
        assert_eq!(rest.as_ptr_range().end, buffer.end);
    }

    #[tokio::test]
    async fn what_is_decided_ahead_goes_out_as_it_comes_and_a_look_follows() {
        let (mut source, pool) = (Source::default(), Pool::new(1));
        read(&mut source, &pool, b"abc").await;
        assert_eq!(&*source.keep(5, Out::Client), b"abc");
        assert!(source.is_ahead() && source.decided().is_none());
        read(&mut source, &pool, b"defg").await;
        assert_eq!(source.decided().map(|(bytes, _)| bytes).as_deref(), Some(&b"de"[..]));
        assert!(!source.is_ahead() && source.is_ripe());
        assert_eq!(source.input(), b"fg");
    }

    #[tokio::test]
    async fn the_end_of_what_was_decided_is_told_even_if_nothing_else_has_come() {
        let (mut source, pool) = (Source::default(), Pool::new(1));
        read(&mut source, &pool, b"abc").await;
        source.keep(3, Out::Client);
        assert!(source.is_ripe());
        source.need(4);
        assert!(!source.is_ripe());
    }

    #[tokio::test]
    async fn what_would_go_to_a_lost_lane_is_thrown_away() {
        let (mut source, pool) = (Source::default(), Pool::new(1));
        let lane = Out::Lane(skein_routing::engine::LaneId(0));
        read(&mut source, &pool, b"abc").await;
        source.keep(5, lane);
        source.drop_ahead(lane);
        read(&mut source, &pool, b"defg").await;
        assert!(source.decided().is_none());
        assert_eq!(source.input(), b"fg");
    }

    #[tokio::test]
    async fn an_idle_source_holds_no_buffer() {
        let (mut source, pool) = (Source::default(), Pool::new(1));
        read(&mut source, &pool, b"abc").await;
        drop(source.keep(3, Out::Client));
        let (mut idle, _peer) = tokio::io::duplex(16);
        let pending = std::future::poll_fn(|cx| {
            std::task::Poll::Ready(source.poll_read(&mut idle, u64::MAX, &pool, cx).is_pending())
        });
        assert!(pending.await);
        assert!(source.buffer.is_none());
    }
}
