//! Compiles the fields of one version into the flat program that the walker runs.

use super::{Arity, Fact, Field, Kind, KnownTag, Layout, Role, Run};
use crate::ids::{ApiKey, Direction};
use crate::meaning::{Meaning, Meanings};

/// How a length or count is written, and whether it may be null.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// A signed big-endian length; null is −1, where it is allowed.
    Classic(Nullable),
    /// An unsigned varint, one more than the length; null is 0, where it is allowed.
    Compact(Nullable),
}

/// Whether null is allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Nullable {
    Yes,
    No,
}

/// How a value is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Encoding {
    /// In as many bytes as its type has.
    Fixed,
    /// As a string; its length, where it is no varint, takes two bytes.
    Text(Form),
    /// As bytes; the length takes four.
    Blob(Form),
}

/// Where a section of tagged fields stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// In the header, or in a struct within the message.
    Inner,
    /// At the end of the message itself: where a filler may go.
    Root,
}

/// A step of a layout.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Op {
    /// Bytes of a fixed width that mean nothing to us.
    Skip(u32),
    /// Values of fixed widths, one op each, behind this one: they pass in one go if nobody wants any.
    Run { run: u16 },
    /// A value of a fixed width.
    Value { fact: u16, width: u8, meaning: Meaning },
    /// A string.
    Text { fact: u16, form: Form, meaning: Meaning },
    /// Opaque bytes.
    Blob { fact: u16, form: Form, meaning: Meaning },
    /// Record batches: the length of all of them.
    Records { form: Form },
    /// The batches, one by one; behind `Records`.
    Batches,
    /// An array; its element is the ops up to `end`, of which the last is `EndElement`.
    Array { fact: u16, form: Form, end: u16, least: u32 },
    /// The end of an element.
    EndElement,
    /// All elements, each of a fixed width; stands for the element and its end.
    Values { fact: u16, width: u8, meaning: Meaning },
    /// A struct that may be null: one byte, below zero if it is; then on at `end`.
    Optional { end: u16 },
    /// A section of tagged fields: how many; then on at `end`.
    Tags { end: u16, place: Place },
    /// Between two tags; behind `Tags`. `table` says where the content of known ones starts; then on at `end`.
    NextTag { table: u16, end: u16, place: Place },
    /// The end of a known tag's content.
    EndTag,
    /// The end of the header.
    Body,
    /// The end of the message.
    End,
}

/// Bytes of a request header before the client id: key, version, correlation id.
const REQUEST_HEAD: u32 = 8;
/// Bytes of a response header: the correlation id.
const RESPONSE_HEAD: u32 = 4;

/// The program of one message.
pub(super) fn layout(key: ApiKey, direction: Direction, version: i16, flexible_from: i16, fields: &[Field]) -> Layout {
    let flexible = version >= flexible_from;
    let mut build = Build {
        version,
        flexible,
        ops: Vec::new(),
        facts: Vec::new(),
        tags: Vec::new(),
        runs: Vec::new(),
        meanings: Meanings::NONE,
        landing: 0,
    };
    build.header(key, direction);
    build.ops.push(Op::Body);
    build.structure(fields, Place::Root);
    build.ops.push(Op::End);
    Layout {
        ops: build.ops,
        facts: build.facts,
        tags: build.tags,
        runs: build.runs,
        direction,
        meanings: build.meanings,
        flexible,
    }
}

struct Build {
    version: i16,
    flexible: bool,
    ops: Vec<Op>,
    facts: Vec<&'static Fact>,
    tags: Vec<Vec<KnownTag>>,
    runs: Vec<Run>,
    meanings: Meanings,
    /// How many ops there were when something last got this place to jump to.
    landing: usize,
}

impl Build {
    fn header(&mut self, key: ApiKey, direction: Direction) {
        match direction {
            Direction::ToBroker => {
                self.ops.push(Op::Skip(REQUEST_HEAD));
                let fact = self.fact(&CLIENT_ID);
                // The one string of a flexible message that keeps its int16 length.
                self.ops.push(Op::Text { fact, form: Form::Classic(Nullable::Yes), meaning: Meaning::Plain });
            }
            Direction::ToClient => self.ops.push(Op::Skip(RESPONSE_HEAD)),
        }
        // ApiVersions answers have header v0 always: the client does not know yet what the broker can read.
        if self.flexible && !(key == ApiKey::API_VERSIONS && direction == Direction::ToClient) {
            self.tag_section(&[], Place::Inner);
        }
    }

    fn fact(&mut self, fact: &'static Fact) -> u16 {
        self.meanings = self.meanings.and(Meanings::of(&[fact.meaning]));
        self.facts.push(fact);
        index(self.facts.len() - 1)
    }

    /// Plain fields in order, then the tagged ones.
    fn structure(&mut self, fields: &[Field], place: Place) {
        let version = self.version;
        let here = |field: &&Field| field.versions.has(version);
        let tag = |field: &Field| field.tag.filter(|(_, versions)| versions.has(version)).map(|(number, _)| number);
        let plain: Vec<_> = fields.iter().filter(here).filter(|field| tag(field).is_none()).collect();
        for neighbours in plain.chunk_by(|one, next| is_fixed(one) && is_fixed(next)) {
            self.neighbours(neighbours);
        }
        if self.flexible {
            let tagged: Vec<_> = fields.iter().filter(here).filter_map(|field| Some((tag(field)?, field))).collect();
            self.tag_section(&tagged, place);
        }
    }

    fn tag_section(&mut self, tagged: &[(u32, &Field)], place: Place) {
        let table = self.tags.len();
        self.tags.push(Vec::new());
        let at = self.ops.len();
        self.ops.extend([Op::End, Op::End]);
        // The contents stand behind the section; the walker enters one where its tag is read, and leaves at `EndTag`.
        let mut starts = Vec::new();
        for (number, field) in tagged {
            starts.push(KnownTag { number: *number, start: index(self.ops.len()), holds: meanings(field) });
            self.field(field);
            self.ops.push(Op::EndTag);
        }
        if let Some(known) = self.tags.get_mut(table) {
            *known = starts;
        }
        self.close(at, |end| Op::Tags { end, place });
        self.close(at + 1, |end| Op::NextTag { table: index(table), end, place });
    }

    /// Fields in order: one of any kind, or some of fixed widths.
    fn neighbours(&mut self, fields: &[&Field]) {
        let holds = fields.iter().fold(Meanings::NONE, |all, field| all.and(Meanings::of(&[field.fact.meaning])));
        let known = holds != Meanings::of(&[Meaning::Plain]);
        if fields.len() < 2 || !known {
            fields.iter().for_each(|field| self.field(field));
            return;
        }
        let run = self.runs.len();
        self.ops.push(Op::Run { run: index(run) });
        fields.iter().for_each(|field| self.field(field));
        let bytes = fields.iter().map(|field| self.least(field)).sum();
        self.runs.push(Run { bytes, end: index(self.ops.len()), holds });
        self.landing = self.ops.len();
    }

    fn field(&mut self, field: &Field) {
        let nullable = if field.nullable.has(self.version) { Nullable::Yes } else { Nullable::No };
        let form = if self.flexible { Form::Compact(nullable) } else { Form::Classic(nullable) };
        match field.arity {
            Arity::One if field.kind == Kind::Struct && nullable == Nullable::Yes => {
                let at = self.ops.len();
                self.ops.push(Op::End);
                self.structure(&field.fields, Place::Inner);
                self.close(at, |end| Op::Optional { end });
            }
            Arity::One => self.value(field, form),
            Arity::Many => {
                let fact = self.fact(field.fact);
                let least = self.least(field).max(1);
                let at = self.ops.len();
                self.ops.push(Op::End);
                // Elements are never null themselves.
                let form_of_element =
                    if self.flexible { Form::Compact(Nullable::No) } else { Form::Classic(Nullable::No) };
                match field.kind {
                    Kind::Fixed(width) => {
                        let fact = self.fact(field.fact);
                        self.ops.push(Op::Values { fact, width, meaning: field.fact.meaning });
                    }
                    Kind::Text | Kind::Blob | Kind::Records | Kind::Struct => {
                        self.value(field, form_of_element);
                        self.ops.push(Op::EndElement);
                    }
                }
                self.close(at, |end| Op::Array { fact, form, end, least });
            }
        }
    }

    fn close(&mut self, at: usize, op: impl FnOnce(u16) -> Op) {
        let end = index(self.ops.len());
        if let Some(slot) = self.ops.get_mut(at) {
            *slot = op(end);
        }
        self.landing = self.ops.len();
    }

    fn value(&mut self, field: &Field, form: Form) {
        let meaning = field.fact.meaning;
        match field.kind {
            // Neighbours are passed in one go, unless something jumps to between them.
            Kind::Fixed(width) if meaning == Meaning::Plain => {
                let joins = self.landing < self.ops.len();
                match self.ops.last_mut() {
                    Some(Op::Skip(before)) if joins => *before += u32::from(width),
                    _ => self.ops.push(Op::Skip(u32::from(width))),
                }
            }
            Kind::Fixed(width) => {
                let fact = self.fact(field.fact);
                self.ops.push(Op::Value { fact, width, meaning });
            }
            Kind::Text => {
                let fact = self.fact(field.fact);
                self.ops.push(Op::Text { fact, form, meaning });
            }
            Kind::Blob => {
                let fact = self.fact(field.fact);
                self.ops.push(Op::Blob { fact, form, meaning });
            }
            Kind::Records => {
                self.fact(field.fact);
                self.ops.extend([Op::Records { form }, Op::Batches]);
            }
            Kind::Struct => self.structure(&field.fields, Place::Inner),
        }
    }

    /// The fewest bytes that an element of an array, or a field, can take.
    fn least(&self, field: &Field) -> u32 {
        match field.kind {
            Kind::Fixed(width) => u32::from(width),
            Kind::Text => {
                if self.flexible {
                    1
                } else {
                    2
                }
            }
            Kind::Blob | Kind::Records => {
                if self.flexible {
                    1
                } else {
                    4
                }
            }
            Kind::Struct => {
                let version = self.version;
                let plain = field.fields.iter().filter(|inner| {
                    inner.versions.has(version) && !inner.tag.is_some_and(|(_, versions)| versions.has(version))
                });
                let sum: u32 = plain
                    .map(|inner| match (inner.arity, inner.kind) {
                        (Arity::Many, _) => {
                            if self.flexible {
                                1
                            } else {
                                4
                            }
                        }
                        (Arity::One, Kind::Struct) if inner.nullable.has(version) => 1,
                        (Arity::One, _) => self.least(inner),
                    })
                    .sum();
                sum + u32::from(self.flexible)
            }
        }
    }
}

static CLIENT_ID: Fact = Fact { meaning: Meaning::Plain, role: Role::Alone, path: String::new() };

/// Whether a field is one value of a fixed width.
fn is_fixed(field: &Field) -> bool {
    field.arity == Arity::One && matches!(field.kind, Kind::Fixed(_))
}

/// Every meaning in a field.
fn meanings(field: &Field) -> Meanings {
    field.fields.iter().map(meanings).fold(Meanings::of(&[field.fact.meaning]), Meanings::and)
}

/// Layouts have a few hundred ops; a number beyond 16 bits cannot come from the checked-in table.
fn index(number: usize) -> u16 {
    u16::try_from(number).unwrap_or(u16::MAX)
}
