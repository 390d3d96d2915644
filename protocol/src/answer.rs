//! Answers that Skein makes itself, for any API: its response filled with defaults, naming what the request named, with
//! one error code in every place that has one for an item; or, where a response has no items, in its single place.

mod named;

use crate::code::Code;
use crate::frame::Head;
use crate::ids::{ApiKey, Direction};
use crate::meaning::{Meaning, Meanings};
use crate::outline::{OUTLINED, Outline};
use crate::table::{Api, Arity, Default, Field, Kind, Table};
use crate::varint::{self, narrow};
use named::Named;

/// The answer to a request that gives `code` for all that it asked; a whole frame without its length.
///
/// `None`: the outline is not whole, or there is no place for the code. That is so where a response has places beside its
/// items only and the request named none, and where its items cannot be told from an outline: AlterReplicaLogDirs,
/// AlterClientQuotas, AlterUserScramCredentials, WriteTxnMarkers.
pub fn refusal(key: ApiKey, version: i16, correlation: i32, outline: &Outline, code: Code) -> Option<Vec<u8>> {
    let api = Table::get().api(key)?;
    let layout = api.request.layout(version)?;
    if !outline.is_whole() {
        return None;
    }
    let named = named::read(layout, outline);
    let (mut out, writer) = begun(api, version, correlation, code);
    out.reserve(2 * outline.size());
    let (fields, asked) = (&api.response.fields, &api.request.fields);
    let place = if writer.has_items(fields, asked, &named) { Place::Items } else { Place::Top };
    if place == Place::Top && !writer.has_error(fields) {
        return None;
    }
    writer.structure(&mut out, fields, asked, &named, place);
    Some(out)
}

/// The answer to a request that asked for nothing: no items, and no error. A whole frame without its length.
pub fn empty(key: ApiKey, version: i16, correlation: i32) -> Option<Vec<u8>> {
    let api = Table::get().api(key)?;
    api.request.layout(version)?;
    let (mut out, writer) = begun(api, version, correlation, Code::NONE);
    writer.structure(&mut out, &api.response.fields, &[], &Named::default(), Place::Items);
    Some(out)
}

/// The header of an answer, and what writes the rest.
fn begun(api: &Api, version: i16, correlation: i32, code: Code) -> (Vec<u8>, Writer) {
    let flexible = api.request.is_flexible(version);
    let mut out = Vec::with_capacity(64);
    out.extend_from_slice(&correlation.to_be_bytes());
    if flexible && api.key != ApiKey::API_VERSIONS {
        out.push(0);
    }
    (out, Writer { version, flexible, code })
}

/// Whether a request says null for something that it names outside of its arrays. What it does not say is not null.
pub fn is_null(head: &Head, outline: &Outline, meaning: Meaning) -> bool {
    let layout = Table::get().layout(head.key, head.version, Direction::ToBroker);
    layout.is_some_and(|layout| named::read(layout, outline).value(meaning) == Some(None))
}

/// Where the code goes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// In the place of the struct that is being written.
    Top,
    /// Beside each item below it; what is above stays good.
    Items,
}

/// Fields that name something again in an answer, itself or in an element of it.
fn identities<'f>(fields: impl Iterator<Item = &'f Field>) -> Meanings {
    let meanings = fields.map(|field| field.fact.meaning).filter(|meaning| OUTLINED.has(*meaning));
    meanings.fold(Meanings::NONE, |all, meaning| all.and(Meanings::of(&[meaning])))
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

    fn has_error(&self, fields: &[Field]) -> bool {
        fields.iter().any(|field| self.here(field) && field.fact.meaning == Meaning::Error)
    }

    /// What an element of an array names.
    fn names(&self, array: &Field) -> Meanings {
        match array.kind {
            Kind::Struct => identities(array.fields.iter().filter(|field| self.here(field))),
            Kind::Fixed(_) | Kind::Text | Kind::Blob | Kind::Records => identities(std::iter::once(array)),
        }
    }

    /// The array of the request, among the fields `asked`, that an array among the `fields` of the response answers item
    /// by item: one that names the same; or the only one, where items have nothing but their order.
    fn partner<'f>(&self, array: &Field, fields: &[Field], asked: &'f [Field]) -> Option<&'f Field> {
        let names = self.names(array);
        let arrays = || asked.iter().filter(|field| field.arity == Arity::Many && self.here(field));
        let same = arrays().find(|asked| self.names(asked).meets(names));
        if same.is_some() || names != Meanings::NONE {
            return same;
        }
        let mut rest = arrays();
        let only = rest.next().filter(|asked| self.names(asked) != Meanings::NONE)?;
        let ordered = rest.next().is_none() && self.has_error(&array.fields) && !self.has_error(fields);
        ordered.then_some(only)
    }

    /// The items that an array of the response has, and the fields of the request that named them.
    fn items<'f, 'n, 'a>(
        &self, array: &Field, fields: &[Field], asked: &'f [Field], named: &'n Named<'a>,
    ) -> (&'f [Field], &'n [Named<'a>]) {
        if array.kind != Kind::Struct {
            return (&[], &[]);
        }
        self.partner(array, fields, asked).map_or((&[], &[]), |partner| (&partner.fields, named.elements(partner.fact)))
    }

    /// Whether the response has a place for the code beside some item.
    fn has_items(&self, fields: &[Field], asked: &[Field], named: &Named<'_>) -> bool {
        fields.iter().filter(|field| field.arity == Arity::Many && self.here(field)).any(|array| {
            let (asked, items) = self.items(array, fields, asked, named);
            let direct = self.has_error(&array.fields);
            items.iter().any(|item| direct || self.has_items(&array.fields, asked, item))
        })
    }

    fn structure(&self, out: &mut Vec<u8>, fields: &[Field], asked: &[Field], named: &Named<'_>, place: Place) {
        for field in fields.iter().filter(|field| self.here(field)) {
            match field.arity {
                Arity::One => self.value(out, field, named, place),
                Arity::Many => {
                    let (asked, items) = self.items(field, fields, asked, named);
                    self.length(out, narrow(items.len()), 4);
                    for item in items {
                        // Partitions below a topic carry the code if they have a place for it; the topic then stays good.
                        let deeper = self.has_items(&field.fields, asked, item);
                        let place = if deeper { Place::Items } else { Place::Top };
                        self.structure(out, &field.fields, asked, item, place);
                    }
                }
            }
        }
        if self.flexible {
            out.push(0);
        }
    }

    fn value(&self, out: &mut Vec<u8>, field: &Field, named: &Named<'_>, place: Place) {
        let meaning = field.fact.meaning;
        let known = if OUTLINED.has(meaning) { named.value(meaning) } else { None };
        let nullable = field.nullable.has(self.version);
        match field.kind {
            Kind::Fixed(_) if meaning == Meaning::Error && place == Place::Top => {
                out.extend_from_slice(&self.code.0.to_be_bytes());
            }
            Kind::Fixed(bytes) => match known.flatten() {
                Some(known) if known.len() == usize::from(bytes) => out.extend_from_slice(known),
                _ => number(out, field, bytes),
            },
            Kind::Struct if nullable => out.push(0xff),
            Kind::Struct => self.structure(out, &field.fields, &[], &Named::default(), Place::Items),
            // Null records are legal, and librdkafka takes an answer that has them for a broken one.
            Kind::Records => self.length(out, 0, 4),
            Kind::Text | Kind::Blob => {
                let width = if field.kind == Kind::Text { 2 } else { 4 };
                let unset = if field.default == Default::Null { None } else { Some(&[][..]) };
                match known.unwrap_or(unset) {
                    None if nullable => self.null(out, width),
                    text => self.text(out, text.unwrap_or(&[]), width),
                }
            }
        }
    }

    fn text(&self, out: &mut Vec<u8>, text: &[u8], width: u8) {
        self.length(out, narrow(text.len()), width);
        out.extend_from_slice(text);
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
}

/// What an answer says of which nothing is known: no offset, no node, no epoch. Kafka itself says −1 there.
const UNKNOWN: Meanings = Meanings::of(&[
    Meaning::Offset,
    Meaning::BrokerId,
    Meaning::Port,
    Meaning::LeaderEpoch,
    Meaning::ProducerId,
    Meaning::ProducerEpoch,
]);

/// What a field of a fixed width holds if nothing is known.
fn number(out: &mut Vec<u8>, field: &Field, bytes: u8) {
    let value = match field.default {
        Default::Number(value) => i128::from(value),
        Default::Empty | Default::Null => -i128::from(UNKNOWN.has(field.fact.meaning)),
    };
    let all = value.to_be_bytes();
    out.extend_from_slice(all.get(all.len() - usize::from(bytes)..).unwrap_or(&[]));
}

/// Whether a response of this API has a place for an error code at all.
pub fn has_place_for_error(key: ApiKey, version: i16) -> bool {
    let layout = Table::get().layout(key, version, Direction::ToClient);
    layout.is_some_and(|layout| layout.meanings().has(Meaning::Error))
}
