//! Values: fixed widths, strings, bytes, record batches, and the lengths in front of them.

use std::ops::Deref;

use super::{Flow, Here, Sink, Spot, Step, Stepped, Stop, Walker};
use crate::batch;
use crate::malformed::Malformed;
use crate::meaning::Meaning;
use crate::table::{Encoding, Fact, Form, Nullable, Role};
use crate::varint::{self, Uvarint, narrow, wide};

/// The longest string that Kafka has, in bytes.
pub(crate) const LONGEST_TEXT: u32 = 0x7fff;

/// A length or count, and how many bytes it takes.
pub(super) enum Length {
    Is { prefix: u32, value: u32 },
    Null { prefix: u32 },
    Need(usize),
}

/// How many bytes a length takes where it is no varint.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Width {
    Two,
    Four,
}

impl Walker {
    #[inline(always)]
    pub(super) fn fact(&self, index: u16) -> &'static Fact {
        self.layout.facts.get(usize::from(index)).copied().unwrap_or(&NOTHING)
    }

    /// Neighbours of fixed widths: passed in one go if none is wanted.
    #[inline(always)]
    pub(super) fn run_of_values(&mut self, run: u16) -> Stepped {
        self.pc += 1;
        if let Some(run) = self.layout.runs.get(usize::from(run)).filter(|run| !self.wanted.meets(run.holds)) {
            self.pc = run.end;
            self.forward(run.bytes)?;
        }
        Ok(Step::On)
    }

    /// A value of a fixed width that is wanted.
    #[inline(always)]
    pub(super) fn fixed<B: Deref<Target = [u8]>, S: Sink<B>>(
        &mut self, index: u16, width: u8, here: Here, input: &mut B, sink: &mut S,
    ) -> Stepped {
        let (fact, len) = (self.fact(index), u32::from(width));
        let spot = Spot { fact, at: self.at, len, index, prefix: 0, null: false, encoding: Encoding::Fixed };
        self.whole(&spot, here, input, sink)
    }

    /// Tells of a value once all of it is there.
    #[inline(always)]
    fn whole<B: Deref<Target = [u8]>, S: Sink<B>>(
        &mut self, spot: &Spot, here: Here, input: &mut B, sink: &mut S,
    ) -> Stepped {
        let ahead = here.ahead(self.at);
        if ahead + wide(spot.len) > here.len {
            return Ok(Step::Stop(Stop::Need(wide(spot.len))));
        }
        self.pc += 1;
        self.forward(spot.len)?;
        match sink.value(spot, input, ahead)? {
            Flow::On => Ok(Step::On),
            Flow::Stop => Ok(Step::Stop(Stop::Told)),
            Flow::Hold => {
                self.pc -= 1;
                self.at -= spot.len;
                Ok(Step::Stop(Stop::Told))
            }
        }
    }

    #[inline(always)]
    pub(super) fn text<B: Deref<Target = [u8]>, S: Sink<B>>(
        &mut self, index: u16, form: Form, meaning: Meaning, here: Here, input: &mut B, sink: &mut S,
    ) -> Stepped {
        let (prefix, length, null) = match self.length(form, Width::Two, here, input)? {
            Length::Need(bytes) => return Ok(Step::Stop(Stop::Need(bytes))),
            Length::Is { prefix, value } => (prefix, value, false),
            Length::Null { prefix } => (prefix, 0, true),
        };
        if length > LONGEST_TEXT {
            return Err(Malformed::LongText { at: self.at, length, most: LONGEST_TEXT });
        }
        self.counted(index, (prefix, length, null), (Encoding::Text(form), meaning), here, input, sink)
    }

    pub(super) fn blob<B: Deref<Target = [u8]>, S: Sink<B>>(
        &mut self, index: u16, form: Form, meaning: Meaning, here: Here, input: &mut B, sink: &mut S,
    ) -> Stepped {
        let (prefix, length, null) = match self.length(form, Width::Four, here, input)? {
            Length::Need(bytes) => return Ok(Step::Stop(Stop::Need(bytes))),
            Length::Is { prefix, value } => (prefix, value, false),
            Length::Null { prefix } => (prefix, 0, true),
        };
        self.counted(index, (prefix, length, null), (Encoding::Blob(form), meaning), here, input, sink)
    }

    /// A string, or bytes, whose length has been read.
    #[inline(always)]
    fn counted<B: Deref<Target = [u8]>, S: Sink<B>>(
        &mut self, index: u16, (prefix, length, null): (u32, u32, bool), (encoding, meaning): (Encoding, Meaning),
        here: Here, input: &mut B, sink: &mut S,
    ) -> Stepped {
        self.fits(prefix, length)?;
        let len = prefix + length;
        if !self.wanted.has(meaning) {
            return self.pass(len);
        }
        let [prefix_byte, ..] = prefix.to_le_bytes();
        let fact = self.fact(index);
        self.whole(&Spot { fact, at: self.at, len, index, prefix: prefix_byte, null, encoding }, here, input, sink)
    }

    /// Record batches: they are looked at one by one if somebody wants to see them.
    #[inline(always)]
    pub(super) fn open_records(&mut self, form: Form, here: Here, input: &[u8]) -> Stepped {
        let (prefix, length) = match self.length(form, Width::Four, here, input)? {
            Length::Need(bytes) => return Ok(Step::Stop(Stop::Need(bytes))),
            Length::Is { prefix, value } => (prefix, value),
            Length::Null { prefix } => (prefix, 0),
        };
        self.fits(prefix, length)?;
        self.pc += 1;
        if self.wanted.has(Meaning::Records) && length > 0 {
            self.records = length;
            return self.forward(prefix).map(|()| Step::On);
        }
        self.pass(prefix + length)
    }

    /// The next of the batches at this place.
    #[inline]
    pub(super) fn batch<B: Deref<Target = [u8]>, S: Sink<B>>(
        &mut self, here: Here, input: &mut B, sink: &mut S,
    ) -> Stepped {
        let mut passed = self.records;
        if self.records >= narrow(batch::HEADER) {
            let Some(header) = here.from(self.at, input).get(..batch::HEADER) else {
                return Ok(Step::Stop(Stop::Need(batch::HEADER)));
            };
            // An old message set, or a batch that is cut off or corrupt: the broker, or the client, judges.
            if let Some(length) = batch::length(header).filter(|length| *length <= self.records) {
                sink.batch(length, input, here.ahead(self.at));
                passed = length;
            }
        }
        self.records -= passed;
        if self.records == 0 {
            self.pc += 1;
        }
        self.forward(passed)?;
        Ok(Step::On)
    }

    /// A struct that may be null.
    pub(super) fn optional(&mut self, end: u16, here: Here, input: &[u8]) -> Stepped {
        let Some(presence) = here.from(self.at, input).first() else { return Ok(Step::Stop(Stop::Need(1))) };
        self.pc = if *presence & 0x80 == 0 { self.pc + 1 } else { end };
        self.forward(1)?;
        Ok(Step::On)
    }

    /// Whether the tag or frame can hold so many bytes behind a length of `prefix` bytes.
    #[inline(always)]
    fn fits(&self, prefix: u32, length: u32) -> Result<(), Malformed> {
        let rest = self.rest_behind(prefix);
        if length > rest {
            return Err(Malformed::Beyond { at: self.at, length, rest });
        }
        Ok(())
    }

    /// Reads a length or count.
    #[inline(always)]
    pub(super) fn length(&self, form: Form, width: Width, here: Here, input: &[u8]) -> Result<Length, Malformed> {
        let input = here.from(self.at, input);
        match form {
            Form::Compact(nullable) => match self.uvarint(input)? {
                None => Ok(Length::Need(input.len() + 1)),
                Some((0, prefix)) if nullable == Nullable::Yes => Ok(Length::Null { prefix }),
                Some((0, _)) => Err(Malformed::Null { at: self.at }),
                Some((more, prefix)) => Ok(Length::Is { prefix, value: more - 1 }),
            },
            Form::Classic(nullable) => self.classic_length(nullable, width, input),
        }
    }

    fn classic_length(&self, nullable: Nullable, width: Width, input: &[u8]) -> Result<Length, Malformed> {
        let (prefix, signed) = match (width, input) {
            (Width::Two, [a, b, ..]) => (2, i32::from(i16::from_be_bytes([*a, *b]))),
            (Width::Two, _) => return Ok(Length::Need(2)),
            (Width::Four, [a, b, c, d, ..]) => (4, i32::from_be_bytes([*a, *b, *c, *d])),
            (Width::Four, _) => return Ok(Length::Need(4)),
        };
        match u32::try_from(signed) {
            Ok(value) => Ok(Length::Is { prefix, value }),
            Err(_) if signed == -1 && nullable == Nullable::Yes => Ok(Length::Null { prefix }),
            Err(_) if signed == -1 => Err(Malformed::Null { at: self.at }),
            Err(_) => Err(Malformed::Negative { at: self.at, length: signed }),
        }
    }

    /// Reads a varint: its value, and how many bytes it takes. `None`: it is not all there.
    #[inline(always)]
    pub(super) fn uvarint(&self, input: &[u8]) -> Result<Option<(u32, u32)>, Malformed> {
        match input {
            [short @ 0..0x80, ..] => Ok(Some((u32::from(*short), 1))),
            _ => self.long_uvarint(input),
        }
    }

    fn long_uvarint(&self, input: &[u8]) -> Result<Option<(u32, u32)>, Malformed> {
        match varint::read(input) {
            Uvarint::Read(value, len) => Ok(Some((value, u32::from(len)))),
            Uvarint::Short => Ok(None),
            Uvarint::TooLong => Err(Malformed::Varint { at: self.at }),
        }
    }
}

static NOTHING: Fact = Fact { meaning: Meaning::Plain, role: Role::Alone, path: String::new() };
