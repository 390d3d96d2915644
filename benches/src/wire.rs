//! The few types of Kafka's wire that the comparison needs, by hand.

use anyhow::{Context, Result, bail};

/// Appends big-endian values to a growing message.
#[derive(Debug, Default)]
pub struct Encoder(Vec<u8>);

impl Encoder {
    /// An empty message.
    pub fn new() -> Self {
        Self::default()
    }

    /// Bytes as they are.
    pub fn raw(&mut self, bytes: &[u8]) -> &mut Self {
        self.0.extend_from_slice(bytes);
        self
    }

    /// One byte.
    pub fn i8(&mut self, value: i8) -> &mut Self {
        self.raw(&value.to_be_bytes())
    }

    /// Two bytes.
    pub fn i16(&mut self, value: i16) -> &mut Self {
        self.raw(&value.to_be_bytes())
    }

    /// Four bytes.
    pub fn i32(&mut self, value: i32) -> &mut Self {
        self.raw(&value.to_be_bytes())
    }

    /// Eight bytes.
    pub fn i64(&mut self, value: i64) -> &mut Self {
        self.raw(&value.to_be_bytes())
    }

    /// LEB128 without sign: lengths, counts and tags of flexible versions.
    pub fn uvarint(&mut self, mut value: usize) -> &mut Self {
        while value >= 0x80 {
            self.0.push((value & 0x7f) as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
        self
    }

    /// Zigzag LEB128: the numbers inside a record.
    pub fn varint(&mut self, value: i64) -> &mut Self {
        self.uvarint(((value << 1) ^ (value >> 63)) as usize)
    }

    /// A string that is not null, compact in flexible versions.
    pub fn string(&mut self, shape: Shape, text: &str) -> &mut Self {
        match shape {
            Shape::Classic => self.i16(text.len() as i16),
            Shape::Flexible => self.uvarint(text.len() + 1),
        };
        self.raw(text.as_bytes())
    }

    /// A null string.
    pub fn null_string(&mut self, shape: Shape) -> &mut Self {
        match shape {
            Shape::Classic => self.i16(-1),
            Shape::Flexible => self.uvarint(0),
        }
    }

    /// The count that opens an array.
    pub fn count(&mut self, shape: Shape, elements: usize) -> &mut Self {
        match shape {
            Shape::Classic => self.i32(elements as i32),
            Shape::Flexible => self.uvarint(elements + 1),
        }
    }

    /// No tagged fields: a zero in flexible versions, nothing in others.
    pub fn no_tags(&mut self, shape: Shape) -> &mut Self {
        match shape {
            Shape::Classic => self,
            Shape::Flexible => self.uvarint(0),
        }
    }

    /// Bytes so far.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether nothing has been written.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The message, without a length prefix.
    pub fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    /// The message as the beginning of a frame of which `later` bytes follow: the length prefix counts both.
    pub fn into_frame(self, later: usize) -> Vec<u8> {
        let mut frame = ((self.0.len() + later) as i32).to_be_bytes().to_vec();
        frame.extend_from_slice(&self.0);
        frame
    }
}

/// How strings, arrays and structs of a version are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Fixed-width lengths, no tagged fields.
    Classic,
    /// Compact lengths and tagged fields (KIP-482).
    Flexible,
}

impl Shape {
    /// The shape of `version` of an API that is flexible from `flexible_from` on.
    pub fn of(version: i16, flexible_from: i16) -> Self {
        if version >= flexible_from { Self::Flexible } else { Self::Classic }
    }
}

/// Reads values from the front of a message; every method fails if the message is too short.
#[derive(Debug)]
pub struct Decoder<'a>(&'a [u8]);

impl<'a> Decoder<'a> {
    /// Reads `bytes` from their beginning.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// The next `length` bytes.
    pub fn raw(&mut self, length: usize) -> Result<&'a [u8]> {
        let (front, rest) = self.0.split_at_checked(length).context("a message ended too early")?;
        self.0 = rest;
        Ok(front)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let (front, rest) = self.0.split_first_chunk::<N>().context("a message ended too early")?;
        self.0 = rest;
        Ok(*front)
    }

    /// One byte.
    pub fn i8(&mut self) -> Result<i8> {
        Ok(i8::from_be_bytes(self.array()?))
    }

    /// Two bytes.
    pub fn i16(&mut self) -> Result<i16> {
        Ok(i16::from_be_bytes(self.array()?))
    }

    /// Four bytes.
    pub fn i32(&mut self) -> Result<i32> {
        Ok(i32::from_be_bytes(self.array()?))
    }

    /// Sixteen bytes.
    pub fn uuid(&mut self) -> Result<[u8; 16]> {
        self.array()
    }

    /// LEB128 without sign, at most five bytes.
    pub fn uvarint(&mut self) -> Result<usize> {
        let mut value = 0;
        for shift in [0, 7, 14, 21, 28] {
            let [byte] = self.array()?;
            value |= usize::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        bail!("an unsigned varint of more than five bytes")
    }

    /// A string; `None` if it is null.
    pub fn string(&mut self, shape: Shape) -> Result<Option<&'a str>> {
        let length = match shape {
            Shape::Classic => usize::try_from(self.i16()?).ok(),
            Shape::Flexible => self.uvarint()?.checked_sub(1),
        };
        length.map(|length| Ok(std::str::from_utf8(self.raw(length)?)?)).transpose()
    }

    /// The count that opens an array; `None` if the array is null.
    pub fn count(&mut self, shape: Shape) -> Result<Option<usize>> {
        match shape {
            Shape::Classic => Ok(usize::try_from(self.i32()?).ok()),
            Shape::Flexible => Ok(self.uvarint()?.checked_sub(1)),
        }
    }

    /// Passes over tagged fields.
    pub fn tags(&mut self, shape: Shape) -> Result<()> {
        if shape == Shape::Flexible {
            for _ in 0..self.uvarint()? {
                self.uvarint()?;
                let size = self.uvarint()?;
                self.raw(size)?;
            }
        }
        Ok(())
    }
}
