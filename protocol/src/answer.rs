//! Answers that Skein makes itself, for any API: its response filled with defaults, naming what the request named, with
//! one error code in every place that has one for an item; or, where a response has no items, in its single place.

use std::collections::BTreeSet;

use crate::code::Code;
use crate::ids::{ApiKey, Direction};
use crate::meaning::Meaning;
use crate::outline::{Entry, OUTLINED, Outline};
use crate::table::{Arity, Default, Field, Kind, Layout, Message, Table};
use crate::varint::{self, Uvarint, narrow};

/// What a request named, as a tree: the values of one struct, and the elements of its arrays.
#[derive(Debug, Default)]
struct Named<'a> {
    values: Vec<(Meaning, &'a [u8])>,
    arrays: Vec<Vec<Named<'a>>>,
}

/// The answer to a request that gives `code` for all that it asked; a whole frame without its length.
///
/// `None`: the outline is not whole, or the response has no place for an error code.
pub fn refusal(key: ApiKey, version: i16, correlation: i32, outline: &Outline, code: Code) -> Option<Vec<u8>> {
    let api = Table::get().api(key)?;
    let layout = api.request.layout(version)?;
    let flexible = api.request.is_flexible(version);
    if !outline.is_whole() {
        return None;
    }
    let named = Tree { layout, flexible }.read(&mut outline.entries(), Depth(0));
    let mut out = Vec::with_capacity(64 + 2 * outline.size());
    out.extend_from_slice(&correlation.to_be_bytes());
    let writer = Writer { version, flexible, code };
    if flexible && key != ApiKey::API_VERSIONS {
        out.push(0);
    }
    let place = if writer.has_items(&api.response.fields, &named) { Place::Items } else { Place::Top };
    if place == Place::Top && !has_error(&api.response, version) {
        return None;
    }
    writer.structure(&mut out, &api.response.fields, &named, place, Depth(0));
    Some(out)
}

fn has_error(message: &Message, version: i16) -> bool {
    message.fields.iter().any(|field| field.fact.meaning == Meaning::Error && field.versions.has(version))
}

/// How deep a tree is: as deep as the layout nests, which the table bounds.
#[derive(Clone, Copy)]
struct Depth(u8);

impl Depth {
    const MOST: u8 = 8;

    fn below(self) -> Option<Self> {
        (self.0 < Self::MOST).then_some(Self(self.0 + 1))
    }
}

/// Where the code goes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// In the single place at the top.
    Top,
    /// Beside each item, the top stays good.
    Items,
}

struct Tree {
    layout: &'static Layout,
    flexible: bool,
}

impl Tree {
    /// Reads one struct, up to the end of its element.
    fn read<'a>(&self, entries: &mut (impl Iterator<Item = Entry<'a>> + Clone), depth: Depth) -> Named<'a> {
        let mut named = Named::default();
        loop {
            let before = entries.clone();
            match entries.next() {
                Some(Entry::Value(index, bytes)) => {
                    let meaning = self.layout.facts.get(usize::from(index)).map_or(Meaning::Plain, |fact| fact.meaning);
                    named.values.push((meaning, self.content(meaning, bytes)));
                }
                Some(Entry::Open(_)) => {
                    let mut elements = Vec::new();
                    while let Some(Entry::Element) = entries.next() {
                        match depth.below() {
                            Some(below) => elements.push(self.read(entries, below)),
                            None => return named,
                        }
                    }
                    named.arrays.push(elements);
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

    /// The bytes of a value without the length in front of a string.
    fn content<'a>(&self, meaning: Meaning, bytes: &'a [u8]) -> &'a [u8] {
        let prefix = match meaning {
            Meaning::TopicName
            | Meaning::GroupId
            | Meaning::TransactionalId
            | Meaning::CoordinatorKey
            | Meaning::ResourceName => match varint::read(bytes) {
                Uvarint::Read(_, len) if self.flexible => usize::from(len),
                _ => 2,
            },
            _ => 0,
        };
        bytes.get(prefix..).unwrap_or(&[])
    }
}

struct Writer {
    version: i16,
    flexible: bool,
    code: Code,
}

impl Writer {
    fn here(&self, field: &Field) -> bool {
        field.versions.has(self.version) && !field.tag.is_some_and(|(_, versions)| versions.has(self.version))
    }

    /// The array of the request that an array of the response answers, item by item.
    fn answered<'n, 'a>(&self, field: &Field, named: &'n Named<'a>) -> Option<&'n [Named<'a>]> {
        let identities = |fields: &[Field]| -> BTreeSet<&str> {
            let fields = fields.iter().filter(|field| self.here(field) && OUTLINED.has(field.fact.meaning));
            fields.map(|field| field.fact.meaning.word()).collect()
        };
        let wanted = identities(&field.fields);
        let fits = |elements: &&Vec<Named<'a>>| {
            elements
                .first()
                .is_some_and(|first| first.values.iter().any(|(meaning, _)| wanted.contains(meaning.word())))
        };
        named.arrays.iter().find(fits).map(Vec::as_slice)
    }

    /// Whether the response has a place for the code beside some item.
    fn has_items(&self, fields: &[Field], named: &Named<'_>) -> bool {
        fields.iter().filter(|field| self.here(field) && field.kind == Kind::Struct).any(|field| {
            let Some(items) = self.answered(field, named) else { return false };
            let direct = field.fields.iter().any(|inner| self.here(inner) && inner.fact.meaning == Meaning::Error);
            direct || items.iter().any(|item| self.has_items(&field.fields, item))
        })
    }

    fn structure(&self, out: &mut Vec<u8>, fields: &[Field], named: &Named<'_>, place: Place, depth: Depth) {
        for field in fields.iter().filter(|field| self.here(field)) {
            match field.arity {
                Arity::One => self.value(out, field, named, place, depth),
                Arity::Many => self.array(out, field, named, depth),
            }
        }
        if self.flexible {
            out.push(0);
        }
    }

    fn array(&self, out: &mut Vec<u8>, field: &Field, named: &Named<'_>, depth: Depth) {
        let items = if field.kind == Kind::Struct { self.answered(field, named).unwrap_or(&[]) } else { &[] };
        let below = depth.below();
        let items = if below.is_some() { items } else { &[] };
        self.length(out, narrow(items.len()), 4);
        for item in items {
            // Partitions below a topic carry the code if they have a place for it; the topic then stays good.
            let deeper = self.has_items(&field.fields, item);
            let place = if deeper { Place::Items } else { Place::Top };
            self.structure(out, &field.fields, item, place, below.unwrap_or(depth));
        }
    }

    fn length(&self, out: &mut Vec<u8>, length: u32, width: u8) {
        match (self.flexible, width) {
            (true, _) => varint::put(out, length + 1),
            (false, 2) => out.extend_from_slice(&u16::try_from(length).unwrap_or(u16::MAX).to_be_bytes()),
            (false, _) => out.extend_from_slice(&length.to_be_bytes()),
        }
    }

    fn null(&self, out: &mut Vec<u8>, width: u8) {
        match (self.flexible, width) {
            (true, _) => out.push(0),
            (false, 2) => out.extend_from_slice(&[0xff; 2]),
            (false, _) => out.extend_from_slice(&[0xff; 4]),
        }
    }

    fn value(&self, out: &mut Vec<u8>, field: &Field, named: &Named<'_>, place: Place, depth: Depth) {
        let meaning = field.fact.meaning;
        let known =
            named.values.iter().find(|(known, _)| OUTLINED.has(meaning) && *known == meaning).map(|(_, bytes)| *bytes);
        let width = if field.kind == Kind::Text { 2 } else { 4 };
        match field.kind {
            Kind::Fixed(_) if meaning == Meaning::Error && place == Place::Top => {
                out.extend_from_slice(&self.code.0.to_be_bytes())
            }
            Kind::Fixed(bytes) => match known {
                Some(known) if known.len() == usize::from(bytes) => out.extend_from_slice(known),
                _ => number(out, field.default, bytes),
            },
            Kind::Struct if field.nullable.has(self.version) => out.push(0xff),
            Kind::Struct => {
                let below = depth.below();
                if let Some(below) = below {
                    self.structure(out, &field.fields, &Named::default(), Place::Items, below);
                }
            }
            Kind::Text | Kind::Blob | Kind::Records => match known {
                Some(known) => {
                    self.length(out, narrow(known.len()), width);
                    out.extend_from_slice(known);
                }
                None if field.nullable.has(self.version) => self.null(out, width),
                None => self.length(out, 0, width),
            },
        }
    }
}

/// The default of a field of a fixed width.
fn number(out: &mut Vec<u8>, default: Default, bytes: u8) {
    let value = match default {
        Default::Number(value) => i128::from(value),
        Default::Empty | Default::Null => 0,
    };
    let all = value.to_be_bytes();
    out.extend_from_slice(all.get(all.len() - usize::from(bytes)..).unwrap_or(&[]));
}

/// Whether a response of this API can be made by [`refusal`] at all: for tests of what is refused.
pub fn has_place_for_error(key: ApiKey, version: i16) -> bool {
    let layout = Table::get().layout(key, version, Direction::ToClient);
    layout.is_some_and(|layout| layout.meanings().has(Meaning::Error))
}
