//! Bytes on their way out of one socket: slices of the buffers that they were read into, and what was put between them.

use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use tokio::io::AsyncWrite;

/// Slices of one system call.
const SLICES: usize = 64;
/// Zero bytes that fillers are made of.
pub(crate) static ZEROS: [u8; 4096] = [0; 4096];

/// What is to be sent.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    chunks: VecDeque<Bytes>,
    /// Bytes of all chunks.
    bytes: usize,
    /// Whether the stream may still hold something that it took: under TLS, records that a full socket did not take.
    unflushed: bool,
}

impl Outbox {
    /// Whether all has gone to the system.
    pub(crate) fn is_empty(&self) -> bool {
        self.chunks.is_empty() && !self.unflushed
    }

    /// Bytes that have not been taken.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(crate) fn push(&mut self, chunk: Bytes) {
        if !chunk.is_empty() {
            self.bytes += chunk.len();
            self.chunks.push_back(chunk);
            self.unflushed = true;
        }
    }

    /// Sends what the socket takes. Ready once nothing is left, here or in the stream.
    pub(crate) fn poll_flush<S: AsyncWrite + Unpin>(
        &mut self, stream: &mut S, cx: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        while !self.chunks.is_empty() {
            let mut slices = [IoSlice::new(&[]); SLICES];
            let mut filled = 0;
            for (slot, chunk) in slices.iter_mut().zip(&self.chunks) {
                *slot = IoSlice::new(chunk);
                filled += 1;
            }
            let written = ready!(Pin::new(&mut *stream).poll_write_vectored(cx, slices.get(..filled).unwrap_or(&[])))?;
            if written == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.advance(written);
        }
        ready!(Pin::new(stream).poll_flush(cx))?;
        self.unflushed = false;
        if self.chunks.capacity() > SLICES {
            self.chunks = VecDeque::new();
        }
        Poll::Ready(Ok(()))
    }

    fn advance(&mut self, mut written: usize) {
        self.bytes -= written;
        while let Some(first) = self.chunks.front_mut() {
            if written < first.len() {
                first.advance(written);
                return;
            }
            written -= first.len();
            self.chunks.pop_front();
        }
    }
}
