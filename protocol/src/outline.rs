//! What is remembered of a request on its way: which topics, partitions, groups it names. An answer of ours, if the
//! broker's never comes, is made from it.

use crate::meaning::{Meaning, Meanings};
use crate::walker::Spot;

/// The meanings that an outline keeps: what an answer of ours must name again.
pub const OUTLINED: Meanings = Meanings::of(&[
    Meaning::TopicName,
    Meaning::TopicId,
    Meaning::Partition,
    Meaning::GroupId,
    Meaning::TransactionalId,
    Meaning::CoordinatorKey,
    Meaning::ResourceType,
    Meaning::ResourceName,
]);

/// Bytes that an outline may take: a request that names some two thousand partitions.
const MOST: usize = 64 << 10;

/// A log of arrays, elements and values: small ones are kept without an allocation.
#[derive(Clone, Debug)]
pub struct Outline {
    /// The log, as long as it fits.
    few: [u8; FEW],
    len: usize,
    /// The log, once it does not.
    many: Vec<u8>,
    state: State,
}

/// Bytes of a log that are kept without an allocation: a Produce or OffsetCommit of one partition, its names long ones.
const FEW: usize = 88;

impl std::default::Default for Outline {
    #[inline]
    fn default() -> Self {
        Self { few: [0; FEW], len: 0, many: Vec::new(), state: State::Whole }
    }
}

/// Whether an outline can be used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Whole,
    /// The request named more than is kept: no answer can be made.
    Overflown,
    /// Nobody asked for one.
    Off,
}

/// An entry of an outline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Entry<'a> {
    Open(u16),
    Element,
    Close,
    /// A field's number in the layout, and its encoding.
    Value(u16, &'a [u8]),
}

const OPEN: u8 = 0;
const ELEMENT: u8 = 1;
const CLOSE: u8 = 2;
const VALUE: u8 = 3;

impl Outline {
    /// An outline that stays empty: for answers.
    pub fn off() -> Self {
        Self { state: State::Off, ..Self::default() }
    }

    /// Whether it names all that the request did.
    pub fn is_whole(&self) -> bool {
        self.state == State::Whole
    }

    /// Bytes that it takes.
    pub fn size(&self) -> usize {
        self.len
    }

    /// Bytes that it has allocated.
    pub fn allocated(&self) -> usize {
        self.many.capacity()
    }

    /// Takes down a value, not yet edited.
    #[inline]
    pub(crate) fn value(&mut self, spot: &Spot, encoded: &[u8]) {
        if self.state == State::Whole && OUTLINED.has(spot.fact.meaning) {
            self.put_value(spot.index, encoded);
        }
    }

    fn put_value(&mut self, index: u16, encoded: &[u8]) {
        let Ok(len) = u16::try_from(encoded.len()) else { return self.overflow() };
        let ([i0, i1], [l0, l1]) = (index.to_be_bytes(), len.to_be_bytes());
        self.put(&[VALUE, i0, i1, l0, l1]);
        self.put(encoded);
    }

    /// Takes down the start of an array.
    #[inline]
    pub(crate) fn open(&mut self, index: u16) {
        let [i0, i1] = index.to_be_bytes();
        self.put(&[OPEN, i0, i1]);
    }

    /// Takes down that an element starts.
    #[inline]
    pub(crate) fn element(&mut self) {
        self.put(&[ELEMENT]);
    }

    /// Takes down that an array ends.
    #[inline]
    pub(crate) fn close(&mut self) {
        self.put(&[CLOSE]);
    }

    #[inline]
    fn put(&mut self, entry: &[u8]) {
        if self.state != State::Whole {
            return;
        }
        let end = self.len + entry.len();
        match self.few.get_mut(self.len..end) {
            Some(slot) => slot.copy_from_slice(entry),
            None if end > MOST => return self.overflow(),
            None => {
                if self.many.is_empty() {
                    self.many.extend_from_slice(self.few.get(..self.len).unwrap_or(&[]));
                }
                self.many.extend_from_slice(entry);
            }
        }
        self.len = end;
    }

    fn overflow(&mut self) {
        *self = Self { state: State::Overflown, ..Self::default() };
    }

    pub(crate) fn entries(&self) -> Entries<'_> {
        Entries { log: if self.many.is_empty() { self.few.get(..self.len).unwrap_or(&[]) } else { &self.many } }
    }
}

/// Reads an outline from its start.
#[derive(Clone, Debug)]
pub(crate) struct Entries<'a> {
    log: &'a [u8],
}

impl<'a> Iterator for Entries<'a> {
    type Item = Entry<'a>;

    fn next(&mut self) -> Option<Entry<'a>> {
        match *self.log {
            [OPEN, a, b, ref rest @ ..] => {
                self.log = rest;
                Some(Entry::Open(u16::from_be_bytes([a, b])))
            }
            [ELEMENT, ref rest @ ..] => {
                self.log = rest;
                Some(Entry::Element)
            }
            [CLOSE, ref rest @ ..] => {
                self.log = rest;
                Some(Entry::Close)
            }
            [VALUE, a, b, c, d, ref rest @ ..] => {
                let (value, rest) = rest.split_at_checked(usize::from(u16::from_be_bytes([c, d])))?;
                self.log = rest;
                Some(Entry::Value(u16::from_be_bytes([a, b]), value))
            }
            _ => None,
        }
    }
}
