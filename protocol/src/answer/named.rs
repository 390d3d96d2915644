//! What a request named, as a tree.

use crate::meaning::Meaning;
use crate::outline::{Entry, Outline};
use crate::table::{Fact, Layout};
use crate::varint::{self, Uvarint};

/// The values of one struct, and the elements of its arrays.
#[derive(Debug, Default)]
pub(super) struct Named<'a> {
    /// `None` is null.
    values: Vec<(Meaning, Option<&'a [u8]>)>,
    arrays: Vec<(&'static Fact, Vec<Named<'a>>)>,
}

impl<'a> Named<'a> {
    /// The first value of a meaning; the inner `None` is null.
    pub(super) fn value(&self, meaning: Meaning) -> Option<Option<&'a [u8]>> {
        self.values.iter().find(|(known, _)| *known == meaning).map(|(_, value)| *value)
    }

    /// The elements of an array; none if it was null.
    pub(super) fn elements(&self, array: &'static Fact) -> &[Named<'a>] {
        self.arrays.iter().find(|(fact, _)| std::ptr::eq(*fact, array)).map_or(&[], |(_, elements)| elements)
    }
}

/// Reads the outline of a request.
pub(super) fn read<'a>(layout: &'static Layout, outline: &'a Outline) -> Named<'a> {
    Reader(layout).structure(&mut outline.entries())
}

struct Reader(&'static Layout);

impl Reader {
    /// Reads one struct, up to the end of its element. An outline nests as its layout does.
    fn structure<'a>(&self, entries: &mut (impl Iterator<Item = Entry<'a>> + Clone)) -> Named<'a> {
        let mut named = Named::default();
        loop {
            let before = entries.clone();
            match entries.next() {
                Some(Entry::Value(index, bytes)) => {
                    if let Some(fact) = self.0.facts.get(usize::from(index)) {
                        named.values.push((fact.meaning, self.content(fact.meaning, bytes)));
                    }
                }
                Some(Entry::Open(index)) => {
                    let mut elements = Vec::new();
                    while let Some(Entry::Element) = entries.next() {
                        elements.push(self.structure(entries));
                    }
                    if let Some(fact) = self.0.facts.get(usize::from(index)) {
                        named.arrays.push((fact, elements));
                    }
                }
                Some(Entry::Element | Entry::Close) => {
                    // The end of this struct belongs to the array that holds it.
                    *entries = before;
                    return named;
                }
                None => return named,
            }
        }
    }

    /// A value without the length in front of a string; `None` if it is null.
    fn content<'a>(&self, meaning: Meaning, bytes: &'a [u8]) -> Option<&'a [u8]> {
        let text = matches!(
            meaning,
            Meaning::TopicName
                | Meaning::GroupId
                | Meaning::TransactionalId
                | Meaning::CoordinatorKey
                | Meaning::ResourceName
        );
        let prefix = match (text, self.0.is_flexible(), bytes) {
            (false, _, _) => 0,
            (true, false, [0xff, 0xff, ..]) => return None,
            (true, false, _) => 2,
            (true, true, _) => match varint::read(bytes) {
                Uvarint::Read(0, _) => return None,
                Uvarint::Read(_, len) => usize::from(len),
                Uvarint::Short | Uvarint::TooLong => return None,
            },
        };
        bytes.get(prefix..)
    }
}
