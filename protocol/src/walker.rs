//! Walks a frame against its layout: checks each length and count, and tells of what somebody asked to see.
//!
//! The walker holds no bytes. It is given what has arrived, tells a [`Sink`] what it finds in them, and can stop at any
//! byte: [`Stop::Need`] asks for contiguous bytes, and what means nothing is passed even if it has not arrived. Its stack
//! is explicit and as deep as the layout nests. It allocates nothing, whatever a length claims.

mod arrays;
mod levels;
mod sections;
mod sink;
mod values;

use std::ops::Deref;

use crate::ids::Direction;
use crate::malformed::Malformed;
use crate::meaning::Meanings;
use crate::table::{Layout, Op};
use crate::varint::wide;
#[cfg(test)]
pub(crate) use levels::DEPTH;
use levels::Levels;
pub use sink::{Flow, Open, Sink, Spot, TagHead, Way};
pub(crate) use values::LONGEST_TEXT;

/// Why a walk went no further.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// So many contiguous bytes are needed, from where the walk is; fewer are there.
    Need(usize),
    /// All that is there has passed, and perhaps more: the input goes on where the walk is.
    Passed,
    /// The sink said so.
    Told,
    /// The message has ended; what a request holds behind it has passed.
    End,
}

/// A walk over one frame, from the first byte behind the frame's length.
#[derive(Debug)]
pub struct Walker {
    layout: &'static Layout,
    wanted: Meanings,
    at: u32,
    end: u32,
    /// The end of the innermost tag, or of the frame. Never below `at`.
    limit: u32,
    /// The number of the op that is next.
    pc: u16,
    /// Unknown tags so far.
    unknown_tags: u16,
    /// Bytes of record batches still ahead at this place.
    records: u32,
    /// Array elements so far.
    elements: u32,
    /// Where the body starts; set at the end of the header.
    body: u32,
    levels: Levels,
}

/// What one op came to.
enum Step {
    /// The next one can be looked at.
    On,
    /// None can.
    Stop(Stop),
}

/// What a step gives: the walk is over at the first that is malformed.
type Stepped = Result<Step, Malformed>;

impl Walker {
    /// A walk over a frame of `end` bytes, header included, that tells of the meanings in `wanted`.
    pub fn new(layout: &'static Layout, end: u32, wanted: Meanings) -> Self {
        Self {
            layout,
            wanted,
            at: 0,
            end,
            limit: end,
            pc: 0,
            unknown_tags: 0,
            records: 0,
            elements: 0,
            body: 0,
            levels: Levels::default(),
        }
    }

    /// The layout that it walks by.
    pub fn layout(&self) -> &'static Layout {
        self.layout
    }

    /// Bytes walked so far.
    pub fn at(&self) -> u32 {
        self.at
    }

    /// Bytes of the header, once it has been walked.
    pub fn body(&self) -> u32 {
        self.body
    }

    /// Bytes of the frame still ahead.
    pub fn rest(&self) -> u32 {
        self.end - self.at
    }

    /// Walks on. `input` starts where the walk is, and may hold more than this frame.
    ///
    /// Once at the end, it stays there.
    ///
    /// # Errors
    /// [`Malformed`]: what breaks the encoding or a bound, or what the sink makes an error. The walk is over then.
    #[inline]
    pub fn run<B: Deref<Target = [u8]>, S: Sink<B>>(&mut self, input: &mut B, sink: &mut S) -> Result<Stop, Malformed> {
        let here = Here { start: self.at, len: input.len().min(wide(self.rest())) };
        let ops = self.layout.ops.as_slice();
        loop {
            let op = ops.get(usize::from(self.pc)).unwrap_or(&Op::End);
            if let Step::Stop(stop) = self.step(op, here, input, sink)? {
                return match stop {
                    Stop::Need(_) if here.ahead(self.at) > here.len => Ok(Stop::Passed),
                    Stop::Need(bytes) if bytes > wide(self.rest()) => Err(Malformed::Short { at: self.end }),
                    Stop::Need(_) | Stop::Passed | Stop::Told | Stop::End => Ok(stop),
                };
            }
        }
    }

    /// One op. It may be that what has arrived ends before it.
    #[inline(always)]
    fn step<B: Deref<Target = [u8]>, S: Sink<B>>(
        &mut self, op: &Op, here: Here, input: &mut B, sink: &mut S,
    ) -> Stepped {
        match *op {
            Op::Skip(bytes) => self.pass(bytes),
            Op::Run { run } => self.run_of_values(run),
            Op::Value { fact, width, meaning } if self.wanted.has(meaning) => {
                self.fixed(fact, width, here, input, sink)
            }
            Op::Value { width, .. } => self.pass(u32::from(width)),
            Op::Text { fact, form, meaning } => self.text(fact, form, meaning, here, input, sink),
            Op::Blob { fact, form, meaning } => self.blob(fact, form, meaning, here, input, sink),
            Op::Records { form } => self.open_records(form, here, input),
            Op::Batches => self.batch(here, input, sink),
            Op::Array { fact, form, end, least } => self.open_array(fact, form, (end, least), here, input, sink),
            Op::EndElement => self.next_element(sink),
            Op::Values { fact, width, meaning } => self.values(fact, width, meaning, here, input, sink),
            Op::Optional { end } => self.optional(end, here, input),
            Op::Tags { end, place } => self.open_section(end, place, here, input, sink),
            Op::NextTag { table, end, place } => self.next_tag(table, end, place, here, input, sink),
            Op::EndTag => self.close_tag(sink),
            Op::Body => {
                self.pc += 1;
                self.body = self.at;
                Ok(Step::On)
            }
            Op::End => self.finish(),
        }
    }

    /// Moves on, but not out of the innermost tag.
    #[inline(always)]
    fn forward(&mut self, bytes: u32) -> Result<(), Malformed> {
        let rest = self.limit - self.at;
        if bytes > rest {
            return Err(Malformed::Beyond { at: self.at, length: bytes, rest });
        }
        self.at += bytes;
        Ok(())
    }

    /// Moves on, and to the next op.
    #[inline(always)]
    fn pass(&mut self, bytes: u32) -> Stepped {
        self.pc += 1;
        self.forward(bytes)?;
        Ok(Step::On)
    }

    /// Bytes that the innermost tag, or the frame, has left behind the next `bytes`; none if it ends within them.
    #[inline(always)]
    fn rest_behind(&self, bytes: u32) -> u32 {
        (self.limit - self.at).saturating_sub(bytes)
    }

    fn finish(&mut self) -> Stepped {
        let rest = self.rest();
        if rest == 0 {
            return Ok(Step::Stop(Stop::End));
        }
        // Kafka ignores what a request holds behind its last field, and librdkafka sends such: its Metadata v9+ of all
        // topics ends in an int32 zero where one byte belongs.
        match self.layout.direction() {
            Direction::ToBroker => {
                self.at = self.end;
                Ok(Step::On)
            }
            Direction::ToClient => Err(Malformed::Trailing { rest }),
        }
    }
}

/// What has arrived, and where the walk was when it started in it.
#[derive(Clone, Copy)]
struct Here {
    start: u32,
    /// Bytes that are there and of this frame.
    len: usize,
}

impl Here {
    /// How far into the input a place in the frame is.
    #[inline(always)]
    fn ahead(self, at: u32) -> usize {
        wide(at - self.start)
    }

    /// What has arrived from a place in the frame on.
    #[inline(always)]
    fn from(self, at: u32, input: &[u8]) -> &[u8] {
        input.get(self.ahead(at)..self.len).unwrap_or(&[])
    }
}
