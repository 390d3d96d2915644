//! Walks a frame against its layout: checks each length and count, and names what somebody asked to see.
//!
//! The walker holds no bytes. It is given what has arrived, says what it makes of the next few, and can stop at any byte:
//! [`Token::Need`] asks for that many contiguous bytes, [`Token::Pass`] may reach beyond what has arrived. Its stack is
//! explicit and as deep as the layout nests, at most a dozen levels. It allocates nothing by a claimed length.

mod arrays;
mod sections;
mod values;

use smallvec::SmallVec;

use crate::ids::Direction;
use crate::malformed::Malformed;
use crate::meaning::Meanings;
use crate::table::{Encoding, Fact, Layout, Op};
use crate::varint::wide;
use sections::Seen;
pub(crate) use values::LONGEST_TEXT;

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
    pub(crate) encoding: Encoding,
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
    /// The section of tagged fields at the end of the message, where a filler may go.
    Root {
        /// How many tags.
        count: u32,
        /// Bytes of that count.
        len: u32,
    },
    /// The end of the section at the end of the message.
    RootEnd {
        /// A tag number below 128 that the section has not had; `None` if it has had all from 64 on.
        free: Option<u32>,
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

/// Whether elements and tags are told of. Arrays and the section at the end of the message always are: a filler is sized
/// by a count of the one, and goes into the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Structure {
    /// Every element and known tag is a token.
    Told,
    /// None is.
    Untold,
}

/// Where the walk stands in what is not flat.
#[derive(Clone, Copy, Debug)]
enum Level {
    /// In an array, whose element starts at the op `body`.
    Array { body: u16, end: u16, left: u32 },
    /// In a section whose known tags are those of `table`.
    Section { table: u16, end: u16, left: u32, root: bool },
    /// In a known tag. The limit outside it is kept.
    Tag { limit_before: u32 },
}

/// A walk over one frame, from the first byte behind the frame's length.
#[derive(Debug)]
pub struct Walker {
    layout: &'static Layout,
    wanted: Meanings,
    structure: Structure,
    /// The number of the op that is next, or [`IN_SECTION`].
    pc: u16,
    /// Unknown tags so far.
    unknown_tags: u16,
    at: u32,
    end: u32,
    /// The end of the innermost tag, or of the frame. Never below `at`.
    limit: u32,
    /// Bytes of record batches still ahead at this place.
    records: u32,
    /// Array elements so far.
    elements: u32,
    /// Where the body starts; set at the end of the header.
    body: u32,
    levels: SmallVec<[Level; 6]>,
    /// The tags that were in each section of `levels`.
    seen: SmallVec<[Seen; 2]>,
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
const IN_SECTION: u16 = u16::MAX;

impl Walker {
    /// A walk over a frame of `end` bytes, header included, that tells of the meanings in `wanted`.
    pub fn new(layout: &'static Layout, end: u32, wanted: Meanings, structure: Structure) -> Self {
        Self {
            layout,
            wanted,
            structure,
            pc: 0,
            unknown_tags: 0,
            at: 0,
            end,
            limit: end,
            records: 0,
            elements: 0,
            body: 0,
            levels: SmallVec::new(),
            seen: SmallVec::new(),
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

    /// Says what the next bytes are. `input` starts where the last token ended, and may hold more than this frame.
    ///
    /// Told the end once, it tells it for ever.
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
                Told::First | Told::Need(_) if passed > 0 => return Ok(Token::Pass(passed)),
                // No op asks to be first when it is.
                Told::First => return Err(Malformed::Short { at: self.at }),
                Told::Need(bytes) if bytes > wide(self.rest()) => return Err(Malformed::Short { at: self.end }),
                Told::Need(bytes) => return Ok(Token::Need(bytes)),
            }
        }
    }

    /// Moves on, but not out of the innermost tag.
    fn forward(&mut self, bytes: u32) -> Result<(), Malformed> {
        let rest = self.limit - self.at;
        if bytes > rest {
            return Err(Malformed::Beyond { at: self.at, length: bytes, rest });
        }
        self.at += bytes;
        Ok(())
    }

    /// Bytes that the innermost tag, or the frame, has left behind the next `bytes`; none if it ends within them.
    fn rest_behind(&self, bytes: u32) -> u32 {
        (self.limit - self.at).saturating_sub(bytes)
    }

    /// One op. `passed`: bytes that this step has passed already; a token must not be told before they are.
    fn op(&mut self, input: &[u8], passed: u32) -> Result<Told, Malformed> {
        if self.pc == IN_SECTION {
            return self.next_tag(input, passed);
        }
        let op = self.layout.ops.get(usize::from(self.pc)).copied().unwrap_or(Op::End);
        match op {
            Op::Skip(bytes) => {
                self.pc += 1;
                Ok(Told::Passed(bytes))
            }
            Op::Value { fact, width } => Ok(self.fixed(fact, width, input, passed)),
            Op::Text { fact, form } => self.counted(fact, Encoding::Text(form), input, passed),
            Op::Blob { fact, form } => self.counted(fact, Encoding::Blob(form), input, passed),
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

    fn finish(&mut self, passed: u32) -> Result<Told, Malformed> {
        let rest = self.rest();
        if rest > 0 {
            // Kafka ignores what a request holds behind its last field, and librdkafka sends such: its Metadata v9+ of all
            // topics ends in an int32 zero where one byte belongs.
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
}
