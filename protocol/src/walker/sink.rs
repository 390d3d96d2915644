//! Who is told of what a walk finds.

use crate::malformed::Malformed;
use crate::meaning::Meanings;
use crate::table::{Encoding, Fact};

/// A value that somebody asked to see.
#[derive(Clone, Copy, Debug)]
pub struct Spot {
    /// What is known of the field.
    pub fact: &'static Fact,
    /// Where it stands in the frame.
    pub at: u32,
    /// Bytes of the whole encoding, the length in front of a string included.
    pub len: u32,
    /// The field's number in the layout.
    pub index: u16,
    /// Bytes of the length in front of a string; 0 for fixed widths.
    pub prefix: u8,
    /// Whether it is null.
    pub null: bool,
    pub(crate) encoding: Encoding,
}

/// The start of an array.
#[derive(Clone, Copy, Debug)]
pub struct Open {
    /// Where its count stands in the frame.
    pub at: u32,
    /// Bytes of the count.
    pub len: u32,
    /// How many elements; null counts as none.
    pub count: u32,
    /// The array's number in the layout.
    pub index: u16,
}

/// The start of a known tag.
#[derive(Clone, Copy, Debug)]
pub struct TagHead {
    /// Where it stands in the frame.
    pub at: u32,
    /// The tag's number.
    pub number: u32,
    /// Bytes of the number.
    pub number_len: u32,
    /// Bytes of the size behind it.
    pub size_len: u32,
    /// Bytes of the content.
    pub size: u32,
    /// What its content means.
    pub holds: Meanings,
}

/// Whether a walk goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// It does.
    On,
    /// It stops behind what it has just told.
    Stop,
    /// It stops in front of the value that it has just told, and tells of it again when it goes on.
    Hold,
}

/// What becomes of a known tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Its content is walked.
    Into,
    /// Its content passes as that of another tag, which the section must not have had; the walk stops behind it.
    Past {
        /// The number of the other tag.
        instead: u32,
    },
}

/// Who is told of what a walk finds. `input` is all that was given to the walk, and `ahead` where in it the thing stands.
pub trait Sink<B> {
    /// A value.
    ///
    /// # Errors
    /// The sink's own: the walk is over.
    fn value(&mut self, spot: &Spot, input: &mut B, ahead: usize) -> Result<Flow, Malformed> {
        let _ = (spot, input, ahead);
        Ok(Flow::On)
    }

    /// A record batch of `length` bytes, of which the header has arrived and the rest may be still to come.
    fn batch(&mut self, length: u32, input: &mut B, ahead: usize) {
        let _ = (length, input, ahead);
    }

    /// An array.
    fn open(&mut self, array: &Open) -> Flow {
        let _ = array;
        Flow::On
    }

    /// The next element of the innermost array, which starts at a place in the frame.
    fn element(&mut self, at: u32) {
        let _ = at;
    }

    /// The end of the innermost array.
    fn close(&mut self, at: u32) {
        let _ = at;
    }

    /// The section of tagged fields at the end of the message, where a filler may go: `count` tags, a number that takes
    /// `len` bytes.
    ///
    /// # Errors
    /// The sink's own: the walk is over.
    fn root(&mut self, at: u32, count: u32, len: u32) -> Result<Flow, Malformed> {
        let _ = (at, count, len);
        Ok(Flow::On)
    }

    /// The end of that section. `free`: a tag number below 128 that it has not had; `None` if it has had all from 64 on.
    ///
    /// # Errors
    /// The sink's own: the walk is over.
    fn root_end(&mut self, at: u32, free: Option<u32>) -> Result<Flow, Malformed> {
        let _ = (at, free);
        Ok(Flow::On)
    }

    /// A known tag.
    fn tag(&mut self, tag: &TagHead, input: &mut B, ahead: usize) -> Way {
        let _ = (tag, input, ahead);
        Way::Into
    }

    /// The end of a known tag's content.
    fn tag_end(&mut self) {}
}

/// Nobody: the walk only checks.
impl<B> Sink<B> for () {}
