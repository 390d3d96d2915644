//! A body that streams: bytes pass as they arrive, and a field is changed where it stands.
//!
//! Edits of the same width are made in place, in the buffer that the bytes were read into, so that what leaves is one
//! contiguous run of what came. A name of another length changes the frame's length, which stands in front of it all: the
//! frame is announced longer than it is ([`announce`]), and the difference is filled with a tagged field that nobody
//! knows, which every flexible reader skips.

mod room;

use crate::batch;
use crate::edit::{self, Done};
pub use crate::edit::{Edit, Editor, Value};
use crate::malformed::Malformed;
use crate::meaning::{Meaning, Meanings};
use crate::outline::Outline;
use crate::table::Layout;
use crate::varint::{self, Inline, narrow, wide};
use crate::walker::{Flow, Open, Sink, Spot, Stop, TagHead, Walker, Way};
use room::Room;
pub use room::{Announce, announce};

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
    /// The editor cannot decide yet about what comes next.
    Hold,
    /// The message has ended.
    End,
}

/// A message on its way through.
#[derive(Debug)]
pub struct Passage {
    walker: Walker,
    state: State,
}

/// What a passage knows beside where it is.
#[derive(Debug)]
struct State {
    room: Room,
    /// Set when the walk stopped for it: bytes of the input that are left out, and what takes their place.
    put: Option<(u32, Inline)>,
    /// Bytes of the filler's content that are still to go out, behind what is put.
    zeros: u32,
    /// Bytes of a tag's content still to be blanked. The walk is behind them.
    blank: u32,
    /// Whether tags that hold brokers' addresses are blanked.
    hide_addresses: bool,
    /// Set when the walk stopped in front of what the editor could not decide about.
    held: bool,
}

/// How far a tag that is blanked is moved up: above the known ones, and still one byte long.
pub(crate) const BLANKED: u32 = 100;

impl Passage {
    /// A passage of a frame of `length` bytes in which no edit changes a length.
    ///
    /// Where hosts are wanted, known tags that hold them are blanked: the editor does not see what is in them.
    pub fn new(layout: &'static Layout, length: u32, wanted: Meanings) -> Self {
        let hide_addresses = wanted.has(Meaning::Host);
        Self {
            walker: Walker::new(layout, length, wanted.with_batches()),
            state: State { room: Room::None, put: None, zeros: 0, blank: 0, hide_addresses, held: false },
        }
    }

    /// The same for a frame that was announced `longer` bytes longer, as [`announce`] said.
    #[must_use]
    pub fn with_room(mut self, longer: u32) -> Self {
        self.state.room = Room::Left(longer);
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
        &mut self, mut input: &mut [u8], editor: &mut E, outline: &mut Outline,
    ) -> Result<Next, Malformed> {
        if let Some(next) = self.state.before() {
            return Ok(next);
        }
        if self.state.blank > 0 {
            return Ok(self.state.blank(input));
        }
        let start = self.walker.at();
        let stop = self.walker.run(&mut input, &mut Work { state: &mut self.state, editor, outline })?;
        let walked = self.walker.at() - start;
        match stop {
            Stop::Told if std::mem::take(&mut self.state.held) => {
                Ok(if walked > 0 { Next::Keep(walked) } else { Next::Hold })
            }
            Stop::Told => {
                let skipped = self.state.put.as_ref().map_or(self.state.blank, |(skip, _)| *skip);
                match walked - skipped {
                    0 => Ok(self.state.before().unwrap_or(Next::Keep(0))),
                    kept => Ok(Next::Keep(kept)),
                }
            }
            Stop::Need(_) | Stop::End if walked > 0 => Ok(Next::Keep(walked)),
            Stop::Passed => Ok(Next::Keep(walked)),
            Stop::Need(bytes) => Ok(Next::Need(bytes)),
            // Only the end of a layout without a place for the filler comes with room left.
            Stop::End if self.state.room != Room::None => Err(Malformed::Unfit { at: self.walker.at() }),
            Stop::End => Ok(Next::End),
        }
    }
}

impl State {
    /// What goes out before any further byte of the input is looked at.
    fn before(&mut self) -> Option<Next> {
        if let Some((skip, put)) = self.put.take() {
            return Some(Next::Put { skip, put });
        }
        match std::mem::take(&mut self.zeros) {
            0 => None,
            zeros => Some(Next::Zeros(zeros)),
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

    /// Puts bytes of another length, if there is room.
    fn replace(&mut self, at: u32, skip: u32, put: Inline) -> Result<Flow, Malformed> {
        self.room.take(skip, narrow(put.len())).ok_or(Malformed::Outgrown { at })?;
        self.put = Some((skip, put));
        Ok(Flow::Stop)
    }
}

/// A passage while it runs over some input.
struct Work<'a, E: ?Sized> {
    state: &'a mut State,
    editor: &'a mut E,
    outline: &'a mut Outline,
}

impl<E: Editor + ?Sized> Sink<&mut [u8]> for Work<'_, E> {
    #[inline]
    fn value(&mut self, spot: &Spot, input: &mut &mut [u8], ahead: usize) -> Result<Flow, Malformed> {
        let encoded = input.get_mut(ahead..ahead + wide(spot.len)).unwrap_or(&mut []);
        let mark = self.outline.size();
        self.outline.value(spot, encoded);
        match edit::apply(spot, encoded, self.editor) {
            Done::InPlace => Ok(Flow::On),
            Done::Hold => {
                self.outline.back_to(mark);
                self.state.held = true;
                Ok(Flow::Hold)
            }
            Done::Instead(put) => self.state.replace(spot.at, spot.len, put),
            Done::Drop | Done::Unfit => Err(Malformed::Unfit { at: spot.at }),
        }
    }

    #[inline]
    fn batch(&mut self, length: u32, input: &mut &mut [u8], ahead: usize) {
        batch::translate(input.get_mut(ahead..).unwrap_or(&mut []), length, |id| self.editor.producer_id(id));
    }

    #[inline]
    fn open(&mut self, array: &Open) -> Flow {
        self.outline.open(array.index);
        Flow::On
    }

    #[inline]
    fn element(&mut self, _: u32) {
        self.outline.element();
    }

    #[inline]
    fn close(&mut self, _: u32) {
        self.outline.close();
    }

    fn root(&mut self, at: u32, count: u32, len: u32) -> Result<Flow, Malformed> {
        if self.state.room == Room::None {
            return Ok(Flow::On);
        }
        let mut put = Inline::new();
        varint::put(&mut put, count + 1);
        self.state.replace(at, len, put)
    }

    fn root_end(&mut self, at: u32, free: Option<u32>) -> Result<Flow, Malformed> {
        if self.state.room == Room::None {
            return Ok(Flow::On);
        }
        let (put, zeros) = self.state.room.fill(free).ok_or(Malformed::Outgrown { at })?;
        self.state.put = Some((0, put));
        self.state.zeros = zeros;
        Ok(Flow::Stop)
    }

    fn tag(&mut self, tag: &TagHead, input: &mut &mut [u8], ahead: usize) -> Way {
        if !self.state.hide_addresses || !tag.holds.has(Meaning::Host) {
            return Way::Into;
        }
        self.state.blank = tag.size;
        let instead = tag.number + BLANKED;
        varint::write(input.get_mut(ahead..ahead + wide(tag.number_len)).unwrap_or(&mut []), instead);
        Way::Past { instead }
    }
}
