//! Values: fixed widths, strings, bytes, record batches, and the lengths in front of them.

use super::{Spot, Token, Told, Walker};
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
    fn fact(&self, index: u16) -> &'static Fact {
        self.layout.facts.get(usize::from(index)).copied().unwrap_or(&NOTHING)
    }

    pub(super) fn fixed(&mut self, index: u16, width: u8, input: &[u8], passed: u32) -> Told {
        let fact = self.fact(index);
        let len = u32::from(width);
        if !self.wanted.has(fact.meaning) {
            self.pc += 1;
            return Told::Passed(len);
        }
        if passed > 0 {
            return Told::First;
        }
        self.whole(Spot { fact, index, len, prefix: 0, null: false, encoding: Encoding::Fixed }, input)
    }

    /// Tells of a value once all of it is there. The caller has made sure that nothing is left to pass first.
    fn whole(&mut self, spot: Spot, input: &[u8]) -> Told {
        if input.len() < wide(spot.len) {
            return Told::Need(wide(spot.len));
        }
        self.pc += 1;
        Told::Token(Token::Value(spot), spot.len)
    }

    /// A string, or bytes.
    pub(super) fn counted(
        &mut self, index: u16, encoding: Encoding, input: &[u8], passed: u32,
    ) -> Result<Told, Malformed> {
        let (form, width, most) = match encoding {
            Encoding::Text(form) => (form, Width::Two, LONGEST_TEXT),
            Encoding::Blob(form) => (form, Width::Four, u32::MAX),
            Encoding::Fixed => return Err(Malformed::Short { at: self.at }),
        };
        let (prefix, length, null) = match self.length(form, width, input)? {
            Length::Need(bytes) => return Ok(Told::Need(bytes)),
            Length::Is { prefix, value } => (prefix, value, false),
            Length::Null { prefix } => (prefix, 0, true),
        };
        if length > most {
            return Err(Malformed::LongText { at: self.at, length, most });
        }
        self.fits(prefix, length)?;
        let fact = self.fact(index);
        if !self.wanted.has(fact.meaning) {
            self.pc += 1;
            return Ok(Told::Passed(prefix + length));
        }
        if passed > 0 {
            return Ok(Told::First);
        }
        let [prefix_byte, ..] = prefix.to_le_bytes();
        Ok(self.whole(Spot { fact, index, len: prefix + length, prefix: prefix_byte, null, encoding }, input))
    }

    pub(super) fn open_records(&mut self, index: u16, form: Form, input: &[u8]) -> Result<Told, Malformed> {
        let (prefix, length) = match self.length(form, Width::Four, input)? {
            Length::Need(bytes) => return Ok(Told::Need(bytes)),
            Length::Is { prefix, value } => (prefix, value),
            Length::Null { prefix } => (prefix, 0),
        };
        self.fits(prefix, length)?;
        self.pc += 1;
        if self.wanted.has(Meaning::Records) && self.fact(index).meaning == Meaning::Records {
            self.records = length;
            return Ok(Told::Passed(prefix));
        }
        Ok(Told::Passed(prefix + length))
    }

    /// The next of the batches at this place.
    pub(super) fn batch(&mut self, input: &[u8], passed: u32) -> Result<Told, Malformed> {
        if self.records < narrow(batch::HEADER) {
            return Ok(self.all_records());
        }
        if passed > 0 {
            return Ok(Told::First);
        }
        let Some(header) = input.get(..batch::HEADER) else { return Ok(Told::Need(batch::HEADER)) };
        match batch::length(header) {
            // The batch is told of without its bytes; whoever looks at it takes them as one.
            Some(length) if length <= self.records => {
                self.records -= length;
                Ok(Told::Token(Token::Batch(length), length))
            }
            // An old message set, or a batch that is cut off or corrupt: the broker, or the client, judges.
            _ => Ok(self.all_records()),
        }
    }

    fn all_records(&mut self) -> Told {
        Told::Passed(std::mem::take(&mut self.records))
    }

    /// Whether the tag or frame can hold so many bytes behind a length of `prefix` bytes.
    fn fits(&self, prefix: u32, length: u32) -> Result<(), Malformed> {
        let rest = self.rest_behind(prefix);
        if length > rest {
            return Err(Malformed::Beyond { at: self.at, length, rest });
        }
        Ok(())
    }

    /// Reads a length or count.
    pub(super) fn length(&self, form: Form, width: Width, input: &[u8]) -> Result<Length, Malformed> {
        let (prefix, signed, nullable) = match form {
            Form::Classic(nullable) => match (width, input) {
                (Width::Two, [a, b, ..]) => (2, i32::from(i16::from_be_bytes([*a, *b])), nullable),
                (Width::Two, _) => return Ok(Length::Need(2)),
                (Width::Four, [a, b, c, d, ..]) => (4, i32::from_be_bytes([*a, *b, *c, *d]), nullable),
                (Width::Four, _) => return Ok(Length::Need(4)),
            },
            Form::Compact(nullable) => match self.uvarint(input)? {
                None => return Ok(Length::Need(input.len() + 1)),
                Some((0, prefix)) => (prefix, -1, nullable),
                Some((more, prefix)) => return Ok(Length::Is { prefix, value: more - 1 }),
            },
        };
        match u32::try_from(signed) {
            Ok(value) => Ok(Length::Is { prefix, value }),
            Err(_) if signed == -1 && nullable == Nullable::Yes => Ok(Length::Null { prefix }),
            Err(_) if signed == -1 => Err(Malformed::Null { at: self.at }),
            Err(_) => Err(Malformed::Negative { at: self.at, length: signed }),
        }
    }

    /// Reads a varint: its value, and how many bytes it takes. `None`: it is not all there.
    #[inline]
    pub(super) fn uvarint(&self, input: &[u8]) -> Result<Option<(u32, u32)>, Malformed> {
        match varint::read(input) {
            Uvarint::Read(value, len) => Ok(Some((value, u32::from(len)))),
            Uvarint::Short => Ok(None),
            Uvarint::TooLong => Err(Malformed::Varint { at: self.at }),
        }
    }
}

static NOTHING: Fact = Fact { meaning: Meaning::Plain, role: Role::Alone, path: String::new() };
