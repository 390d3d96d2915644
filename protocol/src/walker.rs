//! Walks a frame against its layout: checks each length and count, and names what somebody asked to see.
//!
//! The walker holds no bytes. It is given what has arrived, says what it makes of the next few, and can stop at any byte:
//! [`Token::Need`] asks for that many contiguous bytes, [`Token::Pass`] may reach beyond what has arrived. Its stack is
//! explicit and as deep as the layout nests, at most a dozen levels. It allocates nothing by a claimed length.

use smallvec::SmallVec;

use crate::batch;
use crate::ids::Direction;
use crate::malformed::Malformed;
use crate::meaning::{Meaning, Meanings};
use crate::table::{Fact, Form, Layout, Nullable, Op, Place, Role};
use crate::varint::{self, Uvarint, narrow, wide};

/// The most unknown tags in one frame. Clients send none; a newer peer sends a few per element.
const UNKNOWN_TAGS: u16 = 1024;
/// The most array elements in one frame: above what a cluster of a million partitions says of itself.
const ELEMENTS: u32 = 8_000_000;

/// A value that somebody asked to see. Its encoding is the next `len` bytes of the input.
#[derive(Clone, Copy, Debug)]
pub struct Spot {
    /// What is known of the field.
    pub fact: &'static Fact,
    /// The field's number in the layout.
    pub index: u16,
    /// Bytes of the whole encoding, the length in front of a string included.
    pub len: u32,
    /// Bytes of the length in front of a string; 0 for fixed widths.
    pub prefix: u8,
    /// Whether it is null.
    pub null: bool,
    pub(crate) form: Option<Form>,
}

/// What comes next in a frame. Each but `Need` and those without a length takes its bytes from the input.
#[derive(Clone, Copy, Debug)]
pub enum Token {
    /// So many contiguous bytes are needed before anything can be said; fewer are there.
    Need(usize),
    /// So many bytes mean nothing to whoever is looking. They may reach beyond the input.
    Pass(u32),
    /// A value.
    Value(Spot),
    /// A record batch of so many bytes, of which the header is in the input and the rest may be ahead.
    Batch(u32),
    /// An array of `count` elements, its count written in `len` bytes.
    Open {
        /// The array's number in the layout.
        index: u16,
        /// How many elements; null counts as none.
        count: u32,
        /// Bytes of the count.
        len: u32,
    },
    /// The next element of the innermost array.
    Element,
    /// The end of the innermost array.
    Close,
    /// A section of `count` tagged fields, its count written in `len` bytes.
    Section {
        /// How many tags.
        count: u32,
        /// Bytes of the count.
        len: u32,
        /// Whether it is the one at the end of the message.
        root: bool,
    },
    /// The end of a section.
    SectionEnd {
        /// Whether it is the one at the end of the message.
        root: bool,
    },
    /// A known tag; its content follows.
    Tag {
        /// The tag's number.
        number: u32,
        /// Bytes of the number.
        number_len: u32,
        /// Bytes of the size behind it.
        size_len: u32,
        /// Bytes of the content.
        size: u32,
        /// What its content means.
        holds: Meanings,
    },
    /// The end of a known tag's content.
    TagEnd,
    /// The end of the message; what a request holds behind it has passed.
    End,
}

/// Where the walk stands in what is not flat.
#[derive(Clone, Copy, Debug)]
enum Level {
    Array { body: u16, end: u16, left: u32 },
    Section { table: u16, end: u16, place: Place, left: u32, seen: Seen },
    Tag { limit_before: u32 },
}

/// A walk over one frame, from the first byte behind the frame's length.
#[derive(Debug)]
pub struct Walker {
    layout: &'static Layout,
    wanted: Meanings,
    structure: Structure,
    pc: u16,
    at: u32,
    end: u32,
    /// The end of the innermost tag, or of the frame.
    limit: u32,
    levels: SmallVec<[Level; 6]>,
    /// Bytes of record batches still ahead at this place.
    records: u32,
    unknown_tags: u16,
    elements: u32,
    /// Where the body starts; set at the end of the header.
    body: u32,
}

/// The tags that a section has had: each may stand once. Kafka takes them in any order.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    low: [u64; 2],
    /// The highest tag from 128 on; such tags must ascend, which nobody's encoder fails to do.
    high: u32,
}

impl Seen {
    fn first_time(&mut self, number: u32) -> bool {
        let bit = 1u64 << (number % 64);
        let word = match number {
            0..64 => &mut self.low[0],
            64..128 => &mut self.low[1],
            _ => {
                let ascends = number > self.high;
                self.high = number;
                return ascends;
            }
        };
        let first = *word & bit == 0;
        *word |= bit;
        first
    }
}

/// Whether arrays and tags are told of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Structure {
    /// Every array, element, section and tag is a token.
    Told,
    /// Only sections at the root are, since a filler may go there; and arrays, since a filler is sized by a count.
    Untold,
}

/// What a look at a length found.
enum Length {
    Is(u32, u32),
    Null(u32),
    Need(usize),
}

impl Walker {
    /// The layout that it walks by.
    pub fn layout(&self) -> &'static Layout {
        self.layout
    }

    /// A walk over a frame of `end` bytes, header included, that tells of the meanings in `wanted`.
    pub fn new(layout: &'static Layout, end: u32, wanted: Meanings, structure: Structure) -> Self {
        Self {
            layout,
            wanted,
            structure,
            pc: 0,
            at: 0,
            end,
            limit: end,
            levels: SmallVec::new(),
            records: 0,
            unknown_tags: 0,
            elements: 0,
            body: 0,
        }
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

    /// Says what the next bytes are. `input` starts where the last token ended, and may hold more than this frame.
    ///
    /// # Errors
    /// [`Malformed`]: what breaks the encoding or a bound. The walk is over then.
    pub fn step(&mut self, input: &[u8]) -> Result<Token, Malformed> {
        let input = input.get(..wide(self.rest())).unwrap_or(input);
        let mut passed: u32 = 0;
        loop {
            let ahead = input.get(wide(passed)..).unwrap_or(&[]);
            let told = if self.records > 0 { self.batch(ahead, passed)? } else { self.op(ahead, passed)? };
            match told {
                Told::Passed(bytes) => {
                    self.forward(bytes)?;
                    passed += bytes;
                    if wide(passed) > input.len() {
                        return Ok(Token::Pass(passed));
                    }
                }
                Told::Token(token, bytes) => {
                    self.forward(bytes)?;
                    return Ok(token);
                }
                Told::First if passed > 0 => return Ok(Token::Pass(passed)),
                Told::First => {}
                Told::Need(_) if passed > 0 => return Ok(Token::Pass(passed)),
                Told::Need(bytes) if bytes > wide(self.rest()) => return Err(Malformed::Short { at: self.end }),
                Told::Need(bytes) => return Ok(Token::Need(bytes)),
            }
        }
    }

    fn forward(&mut self, bytes: u32) -> Result<(), Malformed> {
        let rest = self.limit - self.at;
        if bytes > rest {
            return Err(Malformed::Beyond { at: self.at, length: bytes, rest });
        }
        self.at += bytes;
        Ok(())
    }

    /// One op. `passed`: bytes that this step has passed already; a token must not be told before they are.
    fn op(&mut self, input: &[u8], passed: u32) -> Result<Told, Malformed> {
        if self.pc == SECTION {
            return self.next_tag(input, passed);
        }
        let op = self.layout.ops.get(usize::from(self.pc)).copied().unwrap_or(Op::End);
        match op {
            Op::Skip(bytes) => {
                self.pc += 1;
                Ok(Told::Passed(bytes))
            }
            Op::Value { fact, width } => self.value(fact, width, input, passed),
            Op::Text { fact, form } => self.counted(fact, form, 2, input, passed),
            Op::Blob { fact, form } => self.counted(fact, form, 4, input, passed),
            Op::Records { fact, form } => self.open_records(fact, form, input),
            Op::Array { fact, form, end, least } => self.open_array(fact, form, (end, least), input, passed),
            Op::EndElement => self.next_element(passed),
            Op::Optional { end } => match input.first() {
                None => Ok(Told::Need(1)),
                Some(presence) => {
                    self.pc = if *presence & 0x80 == 0 { self.pc + 1 } else { end };
                    Ok(Told::Passed(1))
                }
            },
            Op::Tags { table, end, place } => self.open_section(table, end, place, input, passed),
            Op::EndTag => self.close_tag(passed),
            Op::Body => {
                self.pc += 1;
                self.body = self.at;
                Ok(Told::Passed(0))
            }
            Op::End => self.finish(passed),
        }
    }

    fn fact(&self, index: u16) -> &'static Fact {
        self.layout.facts.get(usize::from(index)).copied().unwrap_or(&NOTHING)
    }

    fn value(&mut self, fact: u16, width: u8, input: &[u8], passed: u32) -> Result<Told, Malformed> {
        let index = fact;
        let fact = self.fact(index);
        let len = u32::from(width);
        if !self.wanted.has(fact.meaning) {
            self.pc += 1;
            return Ok(Told::Passed(len));
        }
        if passed > 0 {
            return Ok(Told::First);
        }
        Ok(self.whole(Spot { fact, index, len, prefix: 0, null: false, form: None }, input))
    }

    /// Tells of a value once all of it is there. The caller has made sure that nothing is left to pass first.
    fn whole(&mut self, spot: Spot, input: &[u8]) -> Told {
        if input.len() < wide(spot.len) {
            return Told::Need(wide(spot.len));
        }
        self.pc += 1;
        Told::Token(Token::Value(spot), spot.len)
    }

    fn counted(&mut self, fact: u16, form: Form, width: u8, input: &[u8], passed: u32) -> Result<Told, Malformed> {
        let (prefix, length, null) = match self.length(form, width, input)? {
            Length::Need(bytes) => return Ok(Told::Need(bytes)),
            Length::Is(prefix, length) => (prefix, length, false),
            Length::Null(prefix) => (prefix, 0, true),
        };
        let index = fact;
        let fact = self.fact(index);
        let rest = (self.limit - self.at).saturating_sub(prefix);
        if length > rest {
            return Err(Malformed::Beyond { at: self.at, length, rest });
        }
        if !self.wanted.has(fact.meaning) {
            self.pc += 1;
            return Ok(Told::Passed(prefix + length));
        }
        if passed > 0 {
            return Ok(Told::First);
        }
        let prefix_bytes = u8::try_from(prefix).unwrap_or(u8::MAX);
        Ok(self.whole(Spot { fact, index, len: prefix + length, prefix: prefix_bytes, null, form: Some(form) }, input))
    }

    fn open_records(&mut self, fact: u16, form: Form, input: &[u8]) -> Result<Told, Malformed> {
        let (prefix, length) = match self.length(form, 4, input)? {
            Length::Need(bytes) => return Ok(Told::Need(bytes)),
            Length::Is(prefix, length) => (prefix, length),
            Length::Null(prefix) => (prefix, 0),
        };
        let rest = (self.limit - self.at).saturating_sub(prefix);
        if length > rest {
            return Err(Malformed::Beyond { at: self.at, length, rest });
        }
        self.pc += 1;
        if self.wanted.has(self.fact(fact).meaning) {
            self.records = length;
            return Ok(Told::Passed(prefix));
        }
        Ok(Told::Passed(prefix + length))
    }

    /// The next of the batches at this place.
    fn batch(&mut self, input: &[u8], passed: u32) -> Result<Told, Malformed> {
        let header = narrow(batch::HEADER);
        if self.records < header {
            return Ok(self.all_records());
        }
        if passed > 0 {
            return Ok(Told::First);
        }
        let Some(bytes) = input.get(..batch::HEADER) else { return Ok(Told::Need(batch::HEADER)) };
        match batch::length(bytes) {
            Some(length) if length <= self.records => {
                self.records -= length;
                self.pending_batch(length)
            }
            // An old message set, or a batch that is cut off or corrupt: the broker, or the client, judges.
            _ => Ok(self.all_records()),
        }
    }

    fn all_records(&mut self) -> Told {
        Told::Passed(std::mem::take(&mut self.records))
    }

    fn pending_batch(&mut self, length: u32) -> Result<Told, Malformed> {
        // The batch is told of without its bytes; whoever looks at it takes them as one.
        let rest = self.limit - self.at;
        if length > rest {
            return Err(Malformed::Beyond { at: self.at, length, rest });
        }
        Ok(Told::Token(Token::Batch(length), length))
    }

    fn open_array(
        &mut self, fact: u16, form: Form, (end, least): (u16, u32), input: &[u8], passed: u32,
    ) -> Result<Told, Malformed> {
        let (prefix, count) = match self.length(form, 4, input)? {
            Length::Need(bytes) => return Ok(Told::Need(bytes)),
            Length::Is(prefix, count) => (prefix, count),
            Length::Null(prefix) => (prefix, 0),
        };
        if passed > 0 {
            return Ok(Told::First);
        }
        let rest = (self.limit - self.at).saturating_sub(prefix);
        if count > rest / least {
            return Err(Malformed::Count { at: self.at, count, rest });
        }
        self.elements = self.elements.saturating_add(count);
        if self.elements > ELEMENTS {
            return Err(Malformed::TooManyElements { most: ELEMENTS });
        }
        let body = self.pc + 1;
        self.levels.push(Level::Array { body, end, left: count });
        // An `EndElement` closes the array, or starts its first element.
        self.pc = end - 1;
        Ok(Told::Token(Token::Open { index: fact, count, len: prefix }, prefix))
    }

    fn next_element(&mut self, passed: u32) -> Result<Told, Malformed> {
        if passed > 0 && self.structure == Structure::Told {
            return Ok(Told::First);
        }
        let Some(Level::Array { body, end, left }) = self.levels.last_mut() else {
            return Err(Malformed::Short { at: self.at });
        };
        let token = if *left == 0 {
            self.pc = *end;
            self.levels.pop();
            Token::Close
        } else {
            *left -= 1;
            self.pc = *body;
            Token::Element
        };
        Ok(if self.structure == Structure::Told { Told::Token(token, 0) } else { Told::Passed(0) })
    }

    fn open_section(
        &mut self, table: u16, end: u16, place: Place, input: &[u8], passed: u32,
    ) -> Result<Told, Malformed> {
        let (count, len) = match self.uvarint(input)? {
            None => return Ok(Told::Need(input.len() + 1)),
            Some(read) => read,
        };
        let rest = (self.limit - self.at).saturating_sub(len);
        if count > rest / 2 {
            return Err(Malformed::Count { at: self.at, count, rest });
        }
        let root = place == Place::Root;
        let told = root || self.structure == Structure::Told;
        if told && passed > 0 {
            return Ok(Told::First);
        }
        self.levels.push(Level::Section { table, end, place, left: count, seen: Seen::default() });
        // The first tag, if any, is read by `EndTag` of the section, as the next ones are.
        self.pc = SECTION;
        if !told {
            return Ok(Told::Passed(len));
        }
        Ok(Told::Token(Token::Section { count, len, root }, len))
    }

    /// Between two tags of a section, or behind its last.
    fn next_tag(&mut self, input: &[u8], passed: u32) -> Result<Told, Malformed> {
        let Some(Level::Section { table, end, place, left, mut seen }) = self.levels.last().copied() else {
            return Err(Malformed::Short { at: self.at });
        };
        let told = self.structure == Structure::Told;
        if left == 0 {
            let root = place == Place::Root;
            if (told || root) && passed > 0 {
                return Ok(Told::First);
            }
            self.levels.pop();
            self.pc = end;
            return Ok(if told || root { Told::Token(Token::SectionEnd { root }, 0) } else { Told::Passed(0) });
        }
        let Some((number, number_len)) = self.uvarint(input)? else { return Ok(Told::Need(input.len() + 1)) };
        let behind = input.get(wide(number_len)..).unwrap_or(&[]);
        let Some((size, size_len)) = self.uvarint(behind)? else { return Ok(Told::Need(input.len() + 1)) };
        if !seen.first_time(number) {
            return Err(Malformed::TagAgain { at: self.at, tag: number });
        }
        let rest = (self.limit - self.at).saturating_sub(number_len + size_len);
        if size > rest {
            return Err(Malformed::Beyond { at: self.at, length: size, rest });
        }
        let known = self.known(table, number);
        if known.is_some() && told && passed > 0 {
            return Ok(Told::First);
        }
        if let Some(Level::Section { left, seen: kept, .. }) = self.levels.last_mut() {
            *left -= 1;
            *kept = seen;
        }
        let Some((content, holds)) = known else { return self.unknown_tag(number_len + size_len + size) };
        self.levels.push(Level::Tag { limit_before: self.limit });
        self.pc = content;
        self.limit = self.at + number_len + size_len + size;
        let token = Token::Tag { number, number_len, size_len, size, holds };
        Ok(if told { Told::Token(token, number_len + size_len) } else { Told::Passed(number_len + size_len) })
    }

    /// Where the content of a known tag starts, and what it holds.
    fn known(&self, table: u16, number: u32) -> Option<(u16, Meanings)> {
        let known = self.layout.tags.get(usize::from(table))?;
        known.iter().find(|tag| tag.number == number).map(|tag| (tag.start, tag.holds))
    }

    /// Leaves out the content of the tag that was told last: the caller takes its `size` bytes.
    pub fn leave_tag(&mut self) {
        if let Some(Level::Tag { limit_before }) = self.levels.pop() {
            self.at = self.limit;
            self.limit = limit_before;
            self.pc = SECTION;
        }
    }

    fn unknown_tag(&mut self, bytes: u32) -> Result<Told, Malformed> {
        self.unknown_tags += 1;
        if self.unknown_tags > UNKNOWN_TAGS {
            return Err(Malformed::TooManyTags { most: UNKNOWN_TAGS });
        }
        Ok(Told::Passed(bytes))
    }

    fn close_tag(&mut self, passed: u32) -> Result<Told, Malformed> {
        if passed > 0 && self.structure == Structure::Told {
            return Ok(Told::First);
        }
        if self.at != self.limit {
            return Err(Malformed::TagSize { at: self.at, end: self.limit });
        }
        if let Some(Level::Tag { limit_before }) = self.levels.pop() {
            self.limit = limit_before;
        }
        self.pc = SECTION;
        Ok(if self.structure == Structure::Told { Told::Token(Token::TagEnd, 0) } else { Told::Passed(0) })
    }

    fn finish(&mut self, passed: u32) -> Result<Told, Malformed> {
        let rest = self.rest();
        if rest > 0 {
            // Kafka ignores what a request holds behind its last field, and librdkafka sends such (PROTOCOL: walker).
            return match self.layout.direction() {
                Direction::ToBroker => Ok(Told::Passed(rest)),
                Direction::ToClient => Err(Malformed::Trailing { rest }),
            };
        }
        if passed > 0 {
            return Ok(Told::First);
        }
        Ok(Told::Token(Token::End, 0))
    }

    /// A length or count: (bytes that it takes, value).
    fn length(&self, form: Form, width: u8, input: &[u8]) -> Result<Length, Malformed> {
        let (prefix, signed, nullable) = match form {
            Form::Classic(nullable) => match (width, input) {
                (2, [a, b, ..]) => (2, i32::from(i16::from_be_bytes([*a, *b])), nullable),
                (2, _) => return Ok(Length::Need(2)),
                (_, [a, b, c, d, ..]) => (4, i32::from_be_bytes([*a, *b, *c, *d]), nullable),
                _ => return Ok(Length::Need(4)),
            },
            Form::Compact(nullable) => match self.uvarint(input)? {
                None => return Ok(Length::Need(input.len() + 1)),
                Some((0, len)) => (len, -1, nullable),
                Some((more, len)) => return Ok(Length::Is(len, more - 1)),
            },
        };
        match u32::try_from(signed) {
            Ok(length) => Ok(Length::Is(prefix, length)),
            Err(_) if signed == -1 && nullable == Nullable::Yes => Ok(Length::Null(prefix)),
            Err(_) if signed == -1 => Err(Malformed::Null { at: self.at }),
            Err(_) => Err(Malformed::Negative { at: self.at, length: signed }),
        }
    }

    fn uvarint(&self, input: &[u8]) -> Result<Option<(u32, u32)>, Malformed> {
        match varint::read(input) {
            Uvarint::Read(value, len) => Ok(Some((value, u32::from(len)))),
            Uvarint::Short => Ok(None),
            Uvarint::TooLong => Err(Malformed::Varint { at: self.at }),
        }
    }
}

/// What one op made of the input.
enum Told {
    /// So many bytes of no interest.
    Passed(u32),
    /// A token, and the bytes that it takes.
    Token(Token, u32),
    /// What has been passed in this step must be told first.
    First,
    /// So many contiguous bytes are needed.
    Need(usize),
}

/// The program counter between two tags, where no op stands.
const SECTION: u16 = u16::MAX;

static NOTHING: Fact = Fact { meaning: Meaning::Plain, role: Role::Alone, path: String::new() };
