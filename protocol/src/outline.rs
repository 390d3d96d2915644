//! What is remembered of a request on its way: which topics, partitions, groups it names. An answer of ours, if the
//! broker's never comes, is made from it.

use smallvec::SmallVec;

use crate::meaning::{Meaning, Meanings};
use crate::varint::wide;
use crate::walker::Token;

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
#[derive(Clone, Debug, Default)]
pub struct Outline {
    log: SmallVec<[u8; 72]>,
    state: State,
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
        Self { log: SmallVec::new(), state: State::Off }
    }

    /// Whether it names all that the request did.
    pub fn is_whole(&self) -> bool {
        self.state == State::Whole
    }

    /// Bytes that it takes.
    pub fn size(&self) -> usize {
        self.log.len()
    }

    /// Takes down what a walk told. `input` starts with the token's bytes, not yet edited.
    pub(crate) fn note(&mut self, token: &Token, input: &[u8]) {
        if self.state != State::Whole {
            return;
        }
        match token {
            Token::Open { index, .. } => {
                self.log.push(OPEN);
                self.log.extend_from_slice(&index.to_be_bytes());
            }
            Token::Element => self.log.push(ELEMENT),
            Token::Close => self.log.push(CLOSE),
            Token::Value(spot) if OUTLINED.has(spot.fact.meaning) => {
                let Ok(len) = u16::try_from(spot.len) else { return self.overflow() };
                self.log.push(VALUE);
                self.log.extend_from_slice(&spot.index.to_be_bytes());
                self.log.extend_from_slice(&len.to_be_bytes());
                self.log.extend_from_slice(input.get(..wide(spot.len)).unwrap_or(&[]));
            }
            _ => {}
        }
        if self.log.len() > MOST {
            self.overflow();
        }
    }

    fn overflow(&mut self) {
        self.state = State::Overflown;
        self.log = SmallVec::new();
    }

    pub(crate) fn entries(&self) -> Entries<'_> {
        Entries { log: &self.log }
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
