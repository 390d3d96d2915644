//! A body that streams: bytes pass as they arrive, and a field is changed where it stands.
//!
//! Edits of the same width are made in place, in the buffer that the bytes were read into, so that what leaves is one
//! contiguous run of what came. A name of another length changes the frame's length, which stands in front of it all: the
//! frame is announced longer than it is ([`announce`]), and the difference is filled with a tagged field that nobody
//! knows, which every flexible reader skips.

use crate::batch;
use crate::malformed::Malformed;
use crate::meaning::{Meaning, Meanings};
use crate::outline::Outline;
use crate::table::{Fact, Form, Layout};
use crate::varint::{self, Inline, narrow, wide};
use crate::walker::{Spot, Structure, Token, Walker};

/// A value of a field, as the wire holds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value<'a> {
    /// An integer of any width, sign-extended.
    Int(i64),
    /// A uuid.
    Id([u8; 16]),
    /// A string, or bytes.
    Text(&'a [u8]),
    /// Null.
    Null,
}

/// What becomes of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Edit {
    /// It stays.
    Keep,
    /// Another integer of the same width.
    Int(i64),
    /// Another uuid.
    Id([u8; 16]),
    /// Another string.
    Text(Inline),
    /// Null; only where the version allows it.
    Null,
    /// The array element that it is, or stands in, is left out. Only in a frame that is complete.
    Drop,
}

/// Who decides about the fields of a message.
pub trait Editor {
    /// Decides about one field.
    fn edit(&mut self, fact: &'static Fact, value: Value<'_>) -> Edit;

    /// Another producer id for a transactional batch; `None` leaves it.
    fn producer_id(&mut self, id: i64) -> Option<i64>;
}

/// What to do with the next bytes.
#[derive(Debug, PartialEq, Eq)]
pub enum Next {
    /// So many contiguous bytes are needed first.
    Need(usize),
    /// So many bytes pass; they may reach beyond the input.
    Keep(u32),
    /// So many bytes of the input are left out, and these take their place.
    Put {
        /// Bytes of the input.
        skip: u32,
        /// What goes in their place.
        put: Inline,
    },
    /// So many zero bytes go out; nothing of the input is taken.
    Zeros(u32),
    /// The message has ended.
    End,
}

/// A message on its way through.
#[derive(Debug)]
pub struct Passage {
    walker: Walker,
    room: Room,
    /// Bytes of a tag's content still to be blanked.
    blank: u32,
    /// What was found behind the bytes that were told to be kept.
    pending: Option<Next>,
    /// Whether tags that hold brokers' addresses become filler.
    hide_addresses: bool,
}

/// Room that was announced for names that grow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Room {
    /// No edit may change a length.
    None,
    /// So many bytes are left, to be filled in the end.
    Left(u32),
}

/// The tag number of the filler: far above those that Kafka has, and one byte long.
const FILLER: u32 = 127;
/// How far a tag that is blanked is moved up.
const BLANKED: u32 = 100;
/// A filler without content: its number, its size in four bytes, and a tag count that may take one byte more.
const FILLER_LEAST: u32 = 6;
/// The most that a filler takes: beyond it the frame had better be completed.
const FILLER_MOST: u32 = 4 << 20;

/// How much longer a frame must be announced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Announce {
    /// So many bytes of the frame must be there to tell.
    Need(usize),
    /// So many bytes.
    Longer(u32),
    /// So many names could grow that the frame must be completed.
    TooLong,
}

/// By how much a frame must be announced longer if each element of its first array can grow by `growth` bytes.
///
/// # Errors
/// [`Malformed`], as [`Walker::step`].
pub fn announce(layout: &'static Layout, length: u32, growth: u32, input: &[u8]) -> Result<Announce, Malformed> {
    let mut walker = Walker::new(layout, length, Meanings::NONE, Structure::Untold);
    let mut at = 0usize;
    loop {
        match walker.step(input.get(at..).unwrap_or(&[]))? {
            Token::Need(more) => return Ok(Announce::Need(at + more)),
            Token::Pass(bytes) if at + wide(bytes) > input.len() => return Ok(Announce::Need(at + wide(bytes))),
            Token::Pass(bytes) | Token::Section { len: bytes, .. } => at += wide(bytes),
            Token::Open { count, .. } => {
                let longer = count.checked_mul(growth).and_then(|bytes| bytes.checked_add(FILLER_LEAST));
                return Ok(longer.filter(|bytes| *bytes <= FILLER_MOST).map_or(Announce::TooLong, Announce::Longer));
            }
            Token::Value(Spot { len, .. }) | Token::Batch(len) => at += wide(len),
            Token::Tag { number_len, size_len, .. } => at += wide(number_len + size_len),
            Token::Element | Token::Close | Token::SectionEnd { .. } | Token::TagEnd => {}
            Token::End => return Ok(Announce::Longer(FILLER_LEAST)),
        }
    }
}

impl Passage {
    /// A passage of a frame of `length` bytes in which no edit changes a length.
    pub fn new(layout: &'static Layout, length: u32, wanted: Meanings) -> Self {
        let wanted =
            if wanted.has(Meaning::ProducerId) { wanted.and(Meanings::of(&[Meaning::Records])) } else { wanted };
        Self {
            walker: Walker::new(layout, length, wanted, Structure::Told),
            room: Room::None,
            blank: 0,
            pending: None,
            hide_addresses: wanted.has(Meaning::Host),
        }
    }

    /// The same for a frame that was announced `longer` bytes longer, as [`announce`] said.
    #[must_use]
    pub fn with_room(mut self, longer: u32) -> Self {
        self.room = Room::Left(longer);
        self
    }

    /// Bytes of the frame that have not been walked.
    pub fn rest(&self) -> u32 {
        self.walker.rest()
    }

    /// Says what becomes of the next bytes; edits of the same width have been made in `input` by then.
    ///
    /// # Errors
    /// [`Malformed`]: the passage is over, and so is the connection that the bytes went to.
    pub fn next<E: Editor + ?Sized>(
        &mut self, input: &mut [u8], editor: &mut E, outline: &mut Outline,
    ) -> Result<Next, Malformed> {
        if let Some(next) = self.pending.take() {
            return Ok(next);
        }
        let mut kept: u32 = 0;
        loop {
            let ahead = input.get_mut(wide(kept)..).unwrap_or(&mut []);
            let next = if self.blank > 0 { self.blank(ahead) } else { self.token(ahead, editor, outline)? };
            match next {
                Next::Keep(bytes) => {
                    kept += bytes;
                    if wide(kept) > input.len() {
                        return Ok(Next::Keep(kept));
                    }
                }
                Next::Need(_) if kept > 0 => return Ok(Next::Keep(kept)),
                other if kept > 0 => {
                    self.pending = Some(other);
                    return Ok(Next::Keep(kept));
                }
                other => return Ok(other),
            }
        }
    }

    /// Blanks what has come of a tag's content.
    fn blank(&mut self, input: &mut [u8]) -> Next {
        let bytes = input.len().min(wide(self.blank));
        if bytes == 0 {
            return Next::Need(1);
        }
        input.iter_mut().take(bytes).for_each(|byte| *byte = 0);
        self.blank -= narrow(bytes);
        Next::Keep(narrow(bytes))
    }

    fn token<E: Editor + ?Sized>(
        &mut self, input: &mut [u8], editor: &mut E, outline: &mut Outline,
    ) -> Result<Next, Malformed> {
        let token = self.walker.step(input)?;
        outline.note(&token, input);
        match token {
            Token::Need(bytes) => Ok(Next::Need(bytes)),
            Token::Pass(bytes) | Token::Open { len: bytes, .. } => Ok(Next::Keep(bytes)),
            Token::Element | Token::Close | Token::TagEnd => Ok(Next::Keep(0)),
            Token::Value(spot) => self.value(spot, input, editor),
            Token::Batch(length) => {
                if let Some(id) = batch::transactional_producer(input).and_then(|id| editor.producer_id(id)) {
                    batch::put_producer_id(input, length, id);
                }
                Ok(Next::Keep(length))
            }
            Token::Section { count, len, root } => match self.room {
                Room::Left(_) if root => {
                    let mut put = Inline::new();
                    varint::put(&mut put, count + 1);
                    self.replace(len, put)
                }
                Room::Left(_) | Room::None => Ok(Next::Keep(len)),
            },
            Token::SectionEnd { root } => match self.room {
                Room::Left(left) if root => Ok(self.fill(left)),
                Room::Left(_) | Room::None => Ok(Next::Keep(0)),
            },
            Token::Tag { number, number_len, size_len, size, holds } => {
                if self.hide_addresses && holds.has(Meaning::Host) {
                    self.walker.leave_tag();
                    self.blank = size;
                    write_padded(input, number_len, number + BLANKED);
                }
                Ok(Next::Keep(number_len + size_len))
            }
            Token::End => Ok(Next::End),
        }
    }

    fn value<E: Editor + ?Sized>(&mut self, spot: Spot, input: &mut [u8], editor: &mut E) -> Result<Next, Malformed> {
        let encoded = input.get_mut(..wide(spot.len)).unwrap_or(&mut []);
        let edit = editor.edit(spot.fact, value(&spot, encoded));
        let Some(put) = encode(&spot, encoded, edit) else { return Ok(Next::Keep(spot.len)) };
        if put.len() == encoded.len() {
            encoded.copy_from_slice(&put);
            return Ok(Next::Keep(spot.len));
        }
        self.replace(spot.len, put)
    }

    fn replace(&mut self, skip: u32, put: Inline) -> Result<Next, Malformed> {
        let Room::Left(left) = self.room else { return Err(Malformed::Outgrown { at: self.walker.at() }) };
        let left = (left + skip).checked_sub(narrow(put.len())).ok_or(Malformed::Outgrown { at: self.walker.at() })?;
        self.room = Room::Left(left);
        Ok(Next::Put { skip, put })
    }

    /// The filler: what was announced and not used, as one tag.
    fn fill(&mut self, left: u32) -> Next {
        self.room = Room::None;
        let zeros = left.saturating_sub(5);
        let mut put = Inline::new();
        varint::put(&mut put, FILLER);
        varint::put_padded(&mut put, zeros);
        if zeros > 0 {
            self.pending = Some(Next::Zeros(zeros));
        }
        Next::Put { skip: 0, put }
    }
}

/// Reads a value that is wholly in `encoded`.
pub(crate) fn value<'a>(spot: &Spot, encoded: &'a [u8]) -> Value<'a> {
    if spot.null {
        return Value::Null;
    }
    if spot.form.is_some() {
        return Value::Text(encoded.get(usize::from(spot.prefix)..).unwrap_or(&[]));
    }
    match *encoded {
        [a] => Value::Int(i64::from(i8::from_be_bytes([a]))),
        [a, b] => Value::Int(i64::from(i16::from_be_bytes([a, b]))),
        [a, b, c, d] => Value::Int(i64::from(i32::from_be_bytes([a, b, c, d]))),
        [a, b, c, d, e, f, g, h] => Value::Int(i64::from_be_bytes([a, b, c, d, e, f, g, h])),
        _ => encoded.try_into().map_or(Value::Null, Value::Id),
    }
}

/// The bytes that take the place of `encoded`; `None` if it stays.
pub(crate) fn encode(spot: &Spot, encoded: &[u8], edit: Edit) -> Option<Inline> {
    match (edit, spot.form) {
        (Edit::Int(number), None) => {
            let bytes = number.to_be_bytes();
            Some(Inline::from_slice(bytes.get(8usize.checked_sub(encoded.len())?..)?))
        }
        (Edit::Id(id), None) => Some(Inline::from_slice(&id)),
        (Edit::Text(text), Some(form)) => Some(text_bytes(form, &text)),
        (Edit::Null, Some(form)) => Some(match form {
            Form::Classic(_) => Inline::from_slice(&(-1i16).to_be_bytes()),
            Form::Compact(_) => Inline::from_slice(&[0]),
        }),
        _ => None,
    }
}

/// A string of at most 32,767 bytes as `form` writes it.
fn text_bytes(form: Form, text: &[u8]) -> Inline {
    let mut out = Inline::new();
    match form {
        Form::Classic(_) => out.extend_from_slice(&i16::try_from(text.len()).unwrap_or(i16::MAX).to_be_bytes()),
        Form::Compact(_) => varint::put(&mut out, narrow(text.len()) + 1),
    }
    out.extend_from_slice(text);
    out
}

/// Writes a number into the first `len` bytes as a varint of just that many.
fn write_padded(input: &mut [u8], len: u32, number: u32) {
    let mut rest = number;
    let last = wide(len).saturating_sub(1);
    for (index, byte) in input.iter_mut().take(wide(len)).enumerate() {
        let [low, ..] = rest.to_le_bytes();
        *byte = low & 0x7f | if index < last { 0x80 } else { 0 };
        rest >>= 7;
    }
}
