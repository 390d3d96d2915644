//! A body that streams: bytes pass as they arrive, and a field is changed where it stands.
//!
//! Edits of the same width are made in place, in the buffer that the bytes were read into, so that what leaves is one
//! contiguous run of what came. A name of another length changes the frame's length, which stands in front of it all: the
//! frame is announced longer than it is ([`announce`]), and the difference is filled with a tagged field that nobody
//! knows, which every flexible reader skips.

use crate::batch;
use crate::edit::{self, Done};
pub use crate::edit::{Edit, Editor, Value};
use crate::frame;
use crate::malformed::Malformed;
use crate::meaning::{Meaning, Meanings};
use crate::outline::Outline;
use crate::table::Layout;
use crate::varint::{self, Inline, narrow, wide};
use crate::walker::{Spot, Structure, Token, Walker};

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
    /// Bytes of the filler's content that are still to go out, behind what is pending.
    zeros: u32,
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

/// How far a tag that is blanked is moved up: above the known ones, and still one byte long.
const BLANKED: u32 = 100;
/// A filler without content: its number, and its size in four bytes.
const FILLER: u32 = 5;
/// What a filler and the tag that it adds to a count take at least.
const FILLER_LEAST: u32 = FILLER + 1;
/// The most that a filler takes: beyond it the frame had better be completed.
const FILLER_MOST: u32 = 4 << 20;

/// How much longer a frame must be announced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Announce {
    /// So many bytes of the frame must be there to tell.
    Need(usize),
    /// So many bytes.
    Longer(u32),
    /// The frame must be completed: so many names could grow, or its version has no place for a filler.
    TooLong,
}

/// By how much a frame must be announced longer if each name in the elements of its first array, one in each, and the
/// transactional id in front of it can grow by `growth` bytes; their lengths are counted in.
///
/// # Errors
/// [`Malformed`], as [`Walker::step`].
pub fn announce(layout: &'static Layout, length: u32, growth: u32, input: &[u8]) -> Result<Announce, Malformed> {
    if !layout.is_flexible() {
        return Ok(Announce::TooLong);
    }
    let mut walker = Walker::new(layout, length, Meanings::of(&[Meaning::TransactionalId]), Structure::Untold);
    let mut names: u32 = 0;
    loop {
        let at = wide(walker.at());
        match walker.step(input.get(at..).unwrap_or(&[]))? {
            Token::Need(more) => return Ok(Announce::Need(at + more)),
            Token::Pass(_) if wide(walker.at()) > input.len() => return Ok(Announce::Need(wide(walker.at()))),
            Token::Value(spot) => names += u32::from(!spot.null),
            Token::Open { count, .. } => {
                names = names.saturating_add(count);
                break;
            }
            Token::End => break,
            _ => {}
        }
    }
    let longer = u64::from(names) * u64::from(grown(growth)) + u64::from(FILLER_LEAST);
    let whole = longer + u64::from(length);
    let fits = longer <= u64::from(FILLER_MOST) && whole <= u64::from(frame::LONGEST);
    Ok(u32::try_from(longer).ok().filter(|_| fits).map_or(Announce::TooLong, Announce::Longer))
}

/// By how much a string's encoding grows at most if the string does by `growth` bytes.
fn grown(growth: u32) -> u32 {
    let before = varint::width(0x7f);
    growth.saturating_add(narrow(varint::width(growth.saturating_add(0x7f)).saturating_sub(before)))
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
            zeros: 0,
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
        if self.zeros > 0 {
            return Ok(Next::Zeros(std::mem::take(&mut self.zeros)));
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
            Token::Root { count, len } => match self.room {
                Room::Left(_) => {
                    let mut put = Inline::new();
                    varint::put(&mut put, count + 1);
                    self.replace(len, put)
                }
                Room::None => Ok(Next::Keep(len)),
            },
            Token::RootEnd { free } => match self.room {
                Room::Left(left) => self.fill(left, free),
                Room::None => Ok(Next::Keep(0)),
            },
            Token::Tag { number, number_len, size_len, size, holds } => {
                if self.hide_addresses && holds.has(Meaning::Host) {
                    self.walker.leave_tag(number + BLANKED)?;
                    self.blank = size;
                    write_padded(input, number_len, number + BLANKED);
                }
                Ok(Next::Keep(number_len + size_len))
            }
            // Only the end of a layout without a place for the filler comes with room left.
            Token::End if self.room != Room::None => Err(Malformed::Unfit { at: self.walker.at() }),
            Token::End => Ok(Next::End),
        }
    }

    fn value<E: Editor + ?Sized>(&mut self, spot: Spot, input: &mut [u8], editor: &mut E) -> Result<Next, Malformed> {
        let encoded = input.get_mut(..wide(spot.len)).unwrap_or(&mut []);
        match edit::apply(&spot, encoded, editor) {
            Done::InPlace => Ok(Next::Keep(spot.len)),
            Done::Instead(put) => self.replace(spot.len, put),
            Done::Drop | Done::Unfit => Err(Malformed::Unfit { at: self.walker.at() - spot.len }),
        }
    }

    /// Puts bytes of another length, if there is room; what the filler needs for itself is not.
    fn replace(&mut self, skip: u32, put: Inline) -> Result<Next, Malformed> {
        let outgrown = Malformed::Outgrown { at: self.walker.at() - skip };
        let Room::Left(left) = self.room else { return Err(outgrown) };
        let left = (left + skip).checked_sub(narrow(put.len())).filter(|left| *left >= FILLER).ok_or(outgrown)?;
        self.room = Room::Left(left);
        Ok(Next::Put { skip, put })
    }

    /// The filler: what was announced and not used, as one tag.
    fn fill(&mut self, left: u32, free: Option<u32>) -> Result<Next, Malformed> {
        self.room = Room::None;
        let outgrown = Malformed::Outgrown { at: self.walker.at() };
        let number = free.ok_or(outgrown)?;
        let zeros = left.checked_sub(FILLER).filter(|zeros| *zeros <= varint::MOST_PADDED).ok_or(outgrown)?;
        let mut put = Inline::new();
        varint::put(&mut put, number);
        varint::put_padded(&mut put, zeros);
        self.zeros = zeros;
        Ok(Next::Put { skip: 0, put })
    }
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
