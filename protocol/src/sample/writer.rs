//! Writes a frame field by field, as the table has them.

use super::{
    Batch, BatchKind, Dice, Expected, Length, Recipe, Sample, SampleValue, TagAt, Written, batch_producer, batches,
};
use crate::ids::{ApiKey, Direction};
use crate::meaning::Meaning;
use crate::table::{Arity, Fact, Field, Kind, Layout, Nullable};
use crate::varint::{narrow, wide};

pub(super) struct Writer<'a> {
    version: i16,
    flexible: bool,
    direction: Direction,
    recipe: &'a Recipe,
    dice: &'a mut Dice,
    marker: &'a mut dyn FnMut(&'static Fact) -> SampleValue,
    sample: Sample,
}

impl<'a> Writer<'a> {
    pub(super) fn new(
        version: i16, layout: &Layout, recipe: &'a Recipe, dice: &'a mut Dice,
        marker: &'a mut dyn FnMut(&'static Fact) -> SampleValue,
    ) -> Self {
        let (flexible, direction) = (layout.is_flexible(), layout.direction());
        Self { version, flexible, direction, recipe, dice, marker, sample: Sample::default() }
    }

    pub(super) fn finish(self) -> Sample {
        self.sample
    }

    pub(super) fn header(&mut self, key: ApiKey) {
        let correlation = self.dice.below(u32::MAX).to_be_bytes();
        if self.direction == Direction::ToBroker {
            self.sample.frame.extend(key.0.to_be_bytes());
            self.sample.frame.extend(self.version.to_be_bytes());
            self.sample.frame.extend(correlation);
            self.client_id();
        } else {
            self.sample.frame.extend(correlation);
        }
        if self.flexible && !(key == ApiKey::API_VERSIONS && self.direction == Direction::ToClient) {
            self.section(&[]);
        }
    }

    /// A nullable string whose length is an int16 in every version.
    fn client_id(&mut self) {
        self.place(Written::Two);
        if self.dice.chance(self.recipe.nulls) {
            self.sample.frame.extend([0xff, 0xff]);
            return;
        }
        let len = self.dice.index(12);
        self.sample.frame.extend([0, u8::try_from(len).unwrap_or_default()]);
        self.dice.letters(len, &mut self.sample.frame);
    }

    /// Bytes behind a request's last field.
    pub(super) fn trail(&mut self) {
        if self.direction == Direction::ToBroker && self.dice.chance(self.recipe.trailing) {
            let len = 1 + self.dice.index(9);
            self.sample.frame.resize(self.sample.frame.len() + len, 0);
            self.sample.trailing = len;
        }
    }

    fn tag_of(&self, field: &Field) -> Option<u32> {
        field.tag.filter(|(_, versions)| versions.has(self.version)).map(|(number, _)| number)
    }

    /// The plain fields in order, then the tagged ones.
    pub(super) fn structure(&mut self, fields: &[Field]) {
        let version = self.version;
        let here = |field: &&Field| field.versions.has(version);
        for field in fields.iter().filter(here) {
            if self.tag_of(field).is_none() {
                self.field(field);
            }
        }
        if self.flexible {
            let tagged: Vec<_> =
                fields.iter().filter(here).filter_map(|field| Some((self.tag_of(field)?, field))).collect();
            self.section(&tagged);
        }
    }

    fn section(&mut self, known: &[(u32, &Field)]) {
        let mut tags: Vec<(u32, Option<&Field>)> = Vec::new();
        for (number, field) in known {
            if self.dice.chance(self.recipe.tags) {
                tags.push((*number, Some(field)));
            }
        }
        while self.dice.chance(self.recipe.unknown_tags) && tags.len() < 6 {
            let number = self.dice.one_of(&[30, 63, 64, 99, 100, 126, 127, 128, 5000, 1 << 20, 0x7fff_ffff], 99);
            if tags.iter().all(|(taken, _)| *taken != number) {
                tags.push((number, None));
            }
        }
        // Kafka writes them in order, and reads them in any; those from 128 on are taken in order only.
        tags.sort_by_key(|(number, _)| *number);
        if self.dice.chance(64)
            && let [first, second, ..] = tags.as_mut_slice()
            && second.0 < 128
        {
            std::mem::swap(first, second);
        }
        let count_at = self.sample.frame.len();
        self.varint(narrow(tags.len()));
        for (number, field) in tags {
            self.tag(count_at, number, field);
        }
    }

    /// A tag: its content is written first, then moved up behind its number and size.
    fn tag(&mut self, count_at: usize, number: u32, field: Option<&Field>) {
        let start = self.sample.frame.len();
        let marks =
            (self.sample.expected.len(), self.sample.batches.len(), self.sample.lengths.len(), self.sample.tags.len());
        match field {
            Some(field) => self.field(field),
            None => {
                let len = self.dice.index(20);
                self.dice.letters(len, &mut self.sample.frame);
            }
        }
        let content = self.sample.frame.split_off(start);
        let inner_lengths = self.sample.lengths.split_off(marks.2);
        self.varint_unplaced(number);
        self.varint(narrow(content.len()));
        let moved = self.sample.frame.len() - start;
        self.sample.frame.extend(content);
        self.sample.lengths.extend(inner_lengths.into_iter().map(|length| Length { at: length.at + moved, ..length }));
        self.sample.expected.iter_mut().skip(marks.0).for_each(|expected| expected.at += moved);
        self.sample.batches.iter_mut().skip(marks.1).for_each(|batch| batch.at += moved);
        for inner in self.sample.tags.iter_mut().skip(marks.3) {
            inner.at += moved;
            inner.count_at += moved;
        }
        self.sample.tags.push(TagAt { count_at, at: start, len: self.sample.frame.len() - start });
    }

    fn field(&mut self, field: &Field) {
        let nullable = if field.nullable.has(self.version) { Nullable::Yes } else { Nullable::No };
        match field.arity {
            Arity::One => self.one(field, nullable),
            Arity::Many if nullable == Nullable::Yes && self.dice.chance(self.recipe.nulls) => self.null(Written::Four),
            Arity::Many => {
                let count = self.dice.below(self.recipe.elements + 1);
                self.count(count, Written::Four);
                for _ in 0..count {
                    self.one(field, Nullable::No);
                }
            }
        }
    }

    fn one(&mut self, field: &Field, nullable: Nullable) {
        match field.kind {
            Kind::Fixed(width) => self.fixed(field, width),
            Kind::Text => self.string(field, nullable, Written::Two),
            Kind::Blob => self.string(field, nullable, Written::Four),
            Kind::Records => self.records(nullable),
            Kind::Struct => {
                if nullable == Nullable::Yes {
                    let present = !self.dice.chance(self.recipe.nulls);
                    self.sample.frame.push(if present { 1 } else { 0xff });
                    if !present {
                        return;
                    }
                }
                self.structure(&field.fields);
            }
        }
    }

    fn fixed(&mut self, field: &Field, width: u8) {
        let at = self.sample.frame.len();
        let wanted = if field.fact.meaning == Meaning::Plain { SampleValue::Any } else { (self.marker)(field.fact) };
        let value = match (width, wanted) {
            (16, SampleValue::Id(id)) => SampleValue::Id(id),
            (16, _) => SampleValue::Id(self.dice.id()),
            (_, SampleValue::Int(number)) => SampleValue::Int(cut(number, width)),
            _ => {
                let number = i64::from_ne_bytes(self.dice.roll().to_ne_bytes());
                SampleValue::Int(cut(number >> self.dice.below(63), width))
            }
        };
        match &value {
            SampleValue::Id(id) => self.sample.frame.extend(id),
            SampleValue::Int(number) => {
                self.sample.frame.extend(number.to_be_bytes().iter().skip(8 - usize::from(width)));
            }
            SampleValue::Any | SampleValue::Text(_) | SampleValue::Null => {}
        }
        self.expect(field, value, at);
    }

    fn string(&mut self, field: &Field, nullable: Nullable, written: Written) {
        let at = self.sample.frame.len();
        let wanted = if field.fact.meaning == Meaning::Plain { SampleValue::Any } else { (self.marker)(field.fact) };
        let value = match wanted {
            SampleValue::Null if nullable == Nullable::Yes => SampleValue::Null,
            SampleValue::Null => SampleValue::Text(Vec::new()),
            SampleValue::Text(text) => SampleValue::Text(text),
            SampleValue::Any | SampleValue::Int(_) | SampleValue::Id(_) => {
                if nullable == Nullable::Yes && self.dice.chance(self.recipe.nulls) {
                    SampleValue::Null
                } else {
                    let len = self.dice.one_of(&[0, 1, 3, 8, 12, 20, 125, 126, 127, 128], 1);
                    let mut text = Vec::with_capacity(len);
                    self.dice.letters(len, &mut text);
                    SampleValue::Text(text)
                }
            }
        };
        match &value {
            SampleValue::Text(text) => {
                self.count(narrow(text.len()), written);
                self.sample.frame.extend(text);
            }
            SampleValue::Null | SampleValue::Any | SampleValue::Int(_) | SampleValue::Id(_) => self.null(written),
        }
        self.expect(field, value, at);
    }

    fn expect(&mut self, field: &Field, value: SampleValue, at: usize) {
        if field.fact.meaning != Meaning::Plain {
            let len = self.sample.frame.len() - at;
            self.sample.expected.push(Expected { fact: field.fact, value, at, len });
        }
    }

    fn records(&mut self, nullable: Nullable) {
        if nullable == Nullable::Yes && self.dice.chance(self.recipe.nulls) {
            return self.null(Written::Four);
        }
        let mut bytes = Vec::new();
        let mut found = Vec::new();
        if self.dice.chance(self.recipe.old) {
            self.batch(&mut bytes, &mut found, BatchKind::Old);
        } else {
            for _ in 0..self.dice.below(4) {
                let kind = self.dice.one_of(&[BatchKind::Transactional, BatchKind::Plain], BatchKind::Plain);
                self.batch(&mut bytes, &mut found, kind);
            }
            if self.direction == Direction::ToClient && self.dice.chance(self.recipe.cut) {
                self.batch(&mut bytes, &mut found, BatchKind::Cut);
            }
        }
        self.count(narrow(bytes.len()), Written::Four);
        let start = self.sample.frame.len();
        self.sample.batches.extend(found.into_iter().map(|batch| Batch { at: batch.at + start, ..batch }));
        self.sample.frame.extend(bytes);
    }

    fn batch(&mut self, bytes: &mut Vec<u8>, found: &mut Vec<Batch>, kind: BatchKind) {
        let producer = match (self.marker)(batch_producer()) {
            SampleValue::Int(id) => id,
            SampleValue::Any | SampleValue::Id(_) | SampleValue::Text(_) | SampleValue::Null => {
                i64::from(self.dice.below(100_000))
            }
        };
        let at = bytes.len();
        let len = batches::put(bytes, self.dice, kind, producer);
        found.push(Batch { at, len, kind, producer });
    }

    fn place(&mut self, written: Written) {
        self.sample.lengths.push(Length { at: self.sample.frame.len(), written });
    }

    /// A length or count; `written`: how, where it is no varint.
    fn count(&mut self, count: u32, written: Written) {
        if self.flexible {
            return self.varint(count + 1);
        }
        self.place(written);
        let bytes = count.to_be_bytes();
        let skipped = if written == Written::Two { 2 } else { 0 };
        self.sample.frame.extend(bytes.iter().skip(skipped));
    }

    fn null(&mut self, written: Written) {
        if self.flexible {
            return self.varint(0);
        }
        self.place(written);
        let width = if written == Written::Two { 2 } else { 4 };
        self.sample.frame.resize(self.sample.frame.len() + width, 0xff);
    }

    fn varint(&mut self, value: u32) {
        let at = self.sample.frame.len();
        self.varint_unplaced(value);
        let width = u8::try_from(self.sample.frame.len() - at).unwrap_or_default();
        self.sample.lengths.push(Length { at, written: Written::Varint(width) });
    }

    /// A varint, sometimes of more bytes than it needs.
    fn varint_unplaced(&mut self, value: u32) {
        let at = self.sample.frame.len();
        crate::varint::put(&mut self.sample.frame, value);
        let width = narrow(self.sample.frame.len() - at);
        if width < 5 && self.dice.chance(self.recipe.padded) {
            let more = 1 + self.dice.below(5 - width);
            if let Some(last) = self.sample.frame.last_mut() {
                *last |= 0x80;
            }
            self.sample.frame.resize(self.sample.frame.len() + wide(more - 1), 0x80);
            self.sample.frame.push(0);
        }
    }
}

/// The value that a field of `width` bytes holds of `number`.
fn cut(number: i64, width: u8) -> i64 {
    let unused = 64 - 8 * u32::from(width.clamp(1, 8));
    number << unused >> unused
}
