//! Cutting a byte stream into frames, and writing many frames at once.

use anyhow::{Context, Result};
use std::io::{self, IoSlice, Read, Write};
use std::ops::Range;
use std::sync::Arc;

/// Bytes asked for in one read.
const READ: usize = 256 * 1024;
/// Bytes at the beginning of a frame that are kept for its reader.
pub const HEAD: usize = 512;
/// Bodies below this many bytes are copied together; longer ones are written from where they lie.
const COPY_BELOW: usize = 16 * 1024;

/// Finds frames by their length prefix; of each it keeps the first `HEAD` bytes and drops the rest.
#[derive(Debug)]
pub struct Skimmer {
    buffer: Vec<u8>,
    held: Range<usize>,
    /// The frame that is passing, if its head has been taken off and its end has not arrived.
    head: Vec<u8>,
    length: usize,
    missing: usize,
}

/// A frame that has arrived whole.
#[derive(Debug)]
pub struct Frame<'a> {
    /// Bytes after the length prefix.
    pub length: usize,
    /// The first of them, at most `HEAD`.
    pub head: &'a [u8],
}

impl Default for Skimmer {
    fn default() -> Self {
        Self { buffer: vec![0; READ], held: 0..0, head: Vec::new(), length: 0, missing: 0 }
    }
}

impl Skimmer {
    /// Reads once; 0 is the end of the stream. To be called when `frame` has nothing.
    pub fn fill(&mut self, stream: &mut impl Read) -> io::Result<usize> {
        self.buffer.copy_within(self.held.clone(), 0);
        self.held = 0..self.held.len();
        let read = stream.read(&mut self.buffer[self.held.end..])?;
        self.held.end += read;
        Ok(read)
    }

    /// The next frame that has arrived whole, or `None` if more bytes are needed.
    ///
    /// # Errors
    /// If a length is negative.
    pub fn frame(&mut self) -> Result<Option<Frame<'_>>> {
        if self.missing > 0 {
            let passed = self.missing.min(self.held.len());
            self.held.start += passed;
            self.missing -= passed;
            let frame = Frame { length: self.length, head: &self.head };
            return Ok((self.missing == 0).then_some(frame));
        }
        let held = &self.buffer[self.held.clone()];
        let Some((prefix, held)) = held.split_first_chunk::<4>() else { return Ok(None) };
        let length = usize::try_from(i32::from_be_bytes(*prefix)).context("a frame of negative length")?;
        let Some(head) = held.get(..length.min(HEAD)) else { return Ok(None) };
        if held.len() >= length {
            self.held.start += 4 + length;
            return Ok(Some(Frame { length, head }));
        }
        self.head.clear();
        self.head.extend_from_slice(head);
        self.length = length;
        self.missing = length - held.len();
        self.held = 0..0;
        Ok(None)
    }
}

/// Frames that wait to be written together.
#[derive(Debug, Default)]
pub struct Outbox {
    bytes: Vec<u8>,
    pieces: Vec<Piece>,
}

#[derive(Debug)]
enum Piece {
    Own(Range<usize>),
    Lent(Arc<[u8]>),
}

impl Piece {
    fn slice<'a>(&'a self, own: &'a [u8]) -> IoSlice<'a> {
        match self {
            Self::Own(range) => IoSlice::new(&own[range.clone()]),
            Self::Lent(body) => IoSlice::new(body),
        }
    }
}

impl Outbox {
    /// Adds a frame made of `head` and `body`.
    pub fn push(&mut self, head: &[u8], body: &Arc<[u8]>) {
        self.copy(head);
        if body.len() < COPY_BELOW {
            self.copy(body);
        } else {
            self.pieces.push(Piece::Lent(Arc::clone(body)));
        }
    }

    /// Adds bytes.
    pub fn copy(&mut self, bytes: &[u8]) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(bytes);
        match self.pieces.last_mut() {
            Some(Piece::Own(range)) => range.end = self.bytes.len(),
            _ => self.pieces.push(Piece::Own(start..self.bytes.len())),
        }
    }

    /// Writes all that waits, in as few calls as the socket takes.
    pub fn flush(&mut self, stream: &mut impl Write) -> io::Result<()> {
        let mut slices: Vec<_> = self.pieces.iter().map(|piece| piece.slice(&self.bytes)).collect();
        let mut left = slices.as_mut_slice();
        while !left.is_empty() {
            match stream.write_vectored(left) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => IoSlice::advance_slices(&mut left, written),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.pieces.clear();
        self.bytes.clear();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives a few bytes at each read.
    struct Drip<'a>(&'a [u8], usize);

    impl Read for Drip<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let given = self.1.min(self.0.len()).min(buffer.len());
            buffer[..given].copy_from_slice(&self.0[..given]);
            self.0 = &self.0[given..];
            Ok(given)
        }
    }

    #[test]
    fn frames_are_found_wherever_the_reads_end() {
        let lengths = [0, 1, 511, 512, 513, 4, 70_000, 9];
        let mut outbox = Outbox::default();
        for (mark, &length) in lengths.iter().enumerate() {
            outbox
                .push(&i32::try_from(length).unwrap().to_be_bytes(), &vec![u8::try_from(mark).unwrap(); length].into());
        }
        let mut stream = Vec::new();
        outbox.flush(&mut stream).unwrap();
        for step in [1, 2, 3, 7, 515, 516, 517, 100_000] {
            let (mut drip, mut skimmer, mut seen) = (Drip(&stream, step), Skimmer::default(), Vec::new());
            loop {
                while let Some(frame) = skimmer.frame().unwrap() {
                    let mark = u8::try_from(seen.len()).unwrap();
                    assert_eq!(frame.head, vec![mark; frame.length.min(HEAD)]);
                    seen.push(frame.length);
                }
                if skimmer.fill(&mut drip).unwrap() == 0 {
                    break;
                }
            }
            assert_eq!(seen, lengths);
        }
    }
}
