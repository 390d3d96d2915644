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

    /// Takes back what was taken down since it had this size.
    pub(crate) fn back_to(&mut self, size: usize) {
        self.len = self.len.min(size);
        self.many.truncate(self.len);
        if let Some(few) = self.few.get_mut(..self.many.len()) {
            few.copy_from_slice(&self.many);
            self.many.clear();
        }
    }

    /// Of the elements of arrays within arrays, such as the partitions of topics, only those whose number `keep` says yes to.
    #[must_use]
    pub fn only(&self, keep: impl Fn(usize) -> bool) -> Self {
        let (mut only, mut depth, mut seen, mut keeps) =
            (Self { state: self.state, ..Self::default() }, 0_u32, 0, true);
        for entry in self.entries() {
            match entry {
                Entry::Open(_) => depth += 1,
                Entry::Element if depth == 2 => {
                    keeps = keep(seen);
                    seen += 1;
                }
                Entry::Close => {
                    keeps |= depth == 2;
                    depth = depth.saturating_sub(1);
                }
                Entry::Element | Entry::Value(..) => {}
            }
            match entry {
                _ if !keeps => {}
                Entry::Open(index) => only.open(index),
                Entry::Element => only.element(),
                Entry::Close => only.close(),
                Entry::Value(index, encoded) => only.put_value(index, encoded),
            }
        }
        only
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Topics with so many partitions each, and what the log says of them.
    fn outline(topics: &[usize]) -> Outline {
        let mut outline = Outline::default();
        outline.open(1);
        for partitions in topics {
            outline.element();
            outline.put_value(2, b"a-topic-with-a-name");
            outline.open(3);
            for partition in 0..*partitions {
                outline.element();
                outline.put_value(4, &[u8::try_from(partition).unwrap()]);
            }
            outline.close();
        }
        outline.close();
        outline
    }

    fn entries(outline: &Outline) -> Vec<String> {
        outline.entries().map(|entry| format!("{entry:?}")).collect()
    }

    #[test]
    fn what_is_taken_back_was_never_there() {
        let whole = outline(&[1, 2, 1]);
        for size in 0..200 {
            let mut other = Outline::default();
            other.open(1);
            let mark = other.size();
            other.put_value(2, &vec![7; size]);
            other.back_to(mark);
            for entry in whole.entries().skip(1) {
                match entry {
                    Entry::Open(index) => other.open(index),
                    Entry::Element => other.element(),
                    Entry::Close => other.close(),
                    Entry::Value(index, encoded) => other.put_value(index, encoded),
                }
            }
            assert_eq!(entries(&other), entries(&whole), "{size}");
        }
    }

    #[test]
    fn only_the_partitions_that_are_asked_for_are_kept() {
        let some = outline(&[2, 0, 3]).only(|number| number == 1 || number == 4);
        let partitions = entries(&some).into_iter().filter(|entry| entry.starts_with("Value(4")).collect::<Vec<_>>();
        assert_eq!(partitions, ["Value(4, [1])", "Value(4, [2])"]);
        assert_eq!(entries(&outline(&[2, 1]).only(|_| true)), entries(&outline(&[2, 1])));
    }
}
