//! What the shell holds for a socket: bytes that have come in, bytes that are to go out.

use bytes::Bytes;
use skein_protocol::varint::{narrow, wide};
use skein_routing::engine::Out;

/// What is still to come of bytes that were decided about before they came.
#[derive(Clone, Copy, Debug)]
enum Ahead {
    Nothing,
    Goes(u32, Out),
    Dropped(u32),
}

/// One side of a socket.
#[derive(Debug)]
pub(crate) struct Peer {
    /// What the other end has sent and nobody has read.
    pub(crate) wire: Vec<u8>,
    /// What was read and is not decided about.
    buffer: Vec<u8>,
    ahead: Ahead,
    /// How many bytes must be there before another look; 0: look in any case.
    needs: usize,
    /// What is to go out.
    pub(crate) outbox: Vec<u8>,
    /// Whether the other end takes nothing.
    pub(crate) blocked: bool,
}

impl Peer {
    pub(crate) fn new() -> Self {
        Self {
            wire: Vec::new(),
            buffer: Vec::new(),
            ahead: Ahead::Nothing,
            needs: 1,
            outbox: Vec::new(),
            blocked: false,
        }
    }

    pub(crate) fn is_ripe(&self) -> bool {
        self.buffer.len() >= self.needs
    }

    pub(crate) fn is_ahead(&self) -> bool {
        !matches!(self.ahead, Ahead::Nothing)
    }

    /// What was read and is not decided about.
    pub(crate) fn input_mut(&mut self) -> &mut Vec<u8> {
        &mut self.buffer
    }

    pub(crate) fn holds(&self) -> usize {
        self.buffer.len()
    }

    pub(crate) fn need(&mut self, bytes: usize) {
        self.needs = bytes.max(self.buffer.len() + 1);
    }

    pub(crate) fn look(&mut self) {
        self.needs = 0;
    }

    pub(crate) fn keep(&mut self, bytes: u32, out: Out) -> Bytes {
        self.needs = 0;
        let here = wide(bytes).min(self.buffer.len());
        let still = bytes - narrow(here);
        self.ahead = if still > 0 { Ahead::Goes(still, out) } else { Ahead::Nothing };
        self.buffer.drain(..here).collect()
    }

    pub(crate) fn skip(&mut self, bytes: u32) {
        self.needs = 0;
        let here = wide(bytes).min(self.buffer.len());
        let still = bytes - narrow(here);
        self.ahead = if still > 0 { Ahead::Dropped(still) } else { Ahead::Nothing };
        self.buffer.drain(..here);
    }

    /// Bytes that have come and were decided about before.
    pub(crate) fn decided(&mut self) -> Option<(Bytes, Out)> {
        if self.buffer.is_empty() {
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

    /// What goes out later than it comes would go to a lane that is lost.
    pub(crate) fn drop_ahead(&mut self, lost: Out) {
        if let Ahead::Goes(bytes, out) = self.ahead
            && out == lost
        {
            self.ahead = Ahead::Dropped(bytes);
        }
    }

    /// Reads at most so many bytes of what was sent; whether there were any.
    pub(crate) fn read(&mut self, most: usize) -> bool {
        let here = most.min(self.wire.len());
        self.buffer.extend(self.wire.drain(..here));
        here > 0
    }
}
