//! A table, asked for its keys.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

use crate::fault::{Fault, quoted};
use crate::nearest::nearest;
use crate::shape::{Key, Need, Presence, Shape};
use crate::value::{Called, Item, Reader, Value, Written};

/// A table that is being read, or described: in either case it is asked for each of its keys.
///
/// What a key gives is `None` if it has a fault or if the table is only described, so all keys are to be asked for before
/// the first `?`.
pub struct Table<'t> {
    side: Side<'t>,
}

enum Side<'t> {
    Reading {
        entries: &'t DeTable<'t>,
        at: Range<usize>,
        title: &'static str,
        known: Vec<&'static str>,
        rest: Rest,
        reader: &'t Reader<'t>,
    },
    Describing(Vec<Key>),
}

/// What becomes of keys that nobody has asked for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rest {
    Unknown,
    Left,
}

impl Table<'_> {
    /// A key that has to be there.
    pub fn required<V: Value>(&mut self, name: &'static str, value: V, about: &'static str) -> Option<Spanned<V::Out>> {
        match self.ask(name, &value, Need::Required, about) {
            Asked::Read(read) => read,
            Asked::Absent { at, title, reader } => {
                reader.tell(absent(title, at, name, &value.wanted()));
                None
            }
            Asked::Described => None,
        }
    }

    /// A key that need not be there; `Some(None)` if it is not.
    pub fn optional<V: Value>(
        &mut self, name: &'static str, value: V, about: &'static str,
    ) -> Option<Option<Spanned<V::Out>>> {
        match self.ask(name, &value, Need::Optional, about) {
            Asked::Read(read) => read.map(Some),
            Asked::Absent { .. } => Some(None),
            Asked::Described => None,
        }
    }

    /// A key with a default. Where it is not there, its place is that of the table.
    pub fn or<V: Written>(
        &mut self, name: &'static str, value: V, default: V::Out, about: &'static str,
    ) -> Option<Spanned<V::Out>> {
        match self.ask(name, &value, Need::Default(value.write(&default)), about) {
            Asked::Read(read) => read,
            Asked::Absent { at, .. } => Some(Spanned::new(at, default)),
            Asked::Described => None,
        }
    }

    /// Tells a fault of what stands in it.
    pub fn tell(&self, fault: Fault) {
        if let Side::Reading { reader, .. } = &self.side {
            reader.tell(fault);
        }
    }

    /// Tells that a key is not there, though others ask for it.
    pub fn lacks<V: Value>(&self, name: &str, value: &V) {
        if let Side::Reading { at, title, reader, .. } = &self.side {
            reader.tell(absent(title, at.clone(), name, &value.wanted()));
        }
    }

    /// What else stands in it cannot be judged: which keys there are depends on one that has a fault.
    pub fn leave(&mut self) {
        if let Side::Reading { rest, .. } = &mut self.side {
            *rest = Rest::Left;
        }
    }

    fn ask<V: Value>(&mut self, name: &'static str, value: &V, need: Need, about: &'static str) -> Asked<'_, V::Out> {
        match &mut self.side {
            Side::Describing(keys) => {
                keys.push(Key { name, about, need, shape: value.shape() });
                Asked::Described
            }
            Side::Reading { entries, at, title, known, reader, .. } => {
                known.push(name);
                match entries.get(name) {
                    Some(found) => {
                        let item = Item { called: Called::Key(name), value: found, reader };
                        Asked::Read(value.read(&item).map(|read| Spanned::new(found.span(), read)))
                    }
                    None => Asked::Absent { at: at.clone(), title, reader },
                }
            }
        }
    }
}

/// The fault of a key that is not there.
fn absent(title: &str, at: Range<usize>, name: &str, wanted: &str) -> Fault {
    Fault::new(format!("{title} without `{name}`"), at, format!("add `{name}`: {wanted}"))
}

/// What became of a question.
enum Asked<'t, T> {
    Read(Option<Spanned<T>>),
    Absent { at: Range<usize>, title: &'static str, reader: &'t Reader<'t> },
    Described,
}

/// A table with declared keys, as a value.
#[derive(Clone, Copy)]
pub struct Fields<F> {
    title: &'static str,
    shown: &'static str,
    presence: Presence,
    read: F,
}

/// A table with declared keys. `title`: what faults call it, such as "a listener"; `shown`: how one is written.
pub fn fields<T, F: Fn(&mut Table<'_>) -> Option<T>>(title: &'static str, shown: &'static str, read: F) -> Fields<F> {
    Fields { title, shown, presence: Presence::AsDeclared, read }
}

impl<F> Fields<F> {
    /// Exactly one of the keys is to be there.
    #[must_use]
    pub fn exactly_one(self) -> Self {
        Self { presence: Presence::ExactlyOne, ..self }
    }
}

impl<T, F: Fn(&mut Table<'_>) -> Option<T>> Value for Fields<F> {
    type Out = T;

    fn shape(&self) -> Shape {
        let mut table = Table { side: Side::Describing(Vec::new()) };
        // Of a table that is described there is nothing to be had.
        let _ = (self.read)(&mut table);
        match table.side {
            Side::Describing(keys) => Shape::Table { keys, presence: self.presence },
            Side::Reading { .. } => Shape::Table { keys: Vec::new(), presence: self.presence },
        }
    }

    fn wanted(&self) -> String {
        self.shown.to_owned()
    }

    fn read(&self, item: &Item<'_>) -> Option<T> {
        let DeValue::Table(entries) = item.value.get_ref() else {
            item.is_no(&self.wanted());
            return None;
        };
        let (at, title, reader) = (item.at(), self.title, item.reader);
        let mut table =
            Table { side: Side::Reading { entries, at, title, known: Vec::new(), rest: Rest::Unknown, reader } };
        let read = (self.read)(&mut table);
        let Side::Reading { known, rest, .. } = table.side else { return None };
        let is_stranger = |key: &&Spanned<DeString<'_>>| rest == Rest::Unknown && !known.contains(&&**key.get_ref());
        let strangers: Vec<_> = entries.keys().filter(is_stranger).collect();
        for (place, key) in strangers.iter().enumerate() {
            let meant = if place < HINTED { nearest(key.get_ref(), known.iter().copied()) } else { None };
            reader.tell(stranger(key, title, &known, meant));
        }
        if strangers.is_empty() && self.presence == Presence::ExactlyOne && entries.len() != 1 {
            let found = if entries.is_empty() { "names nothing" } else { "names more than one thing" };
            let keys: Vec<_> = known.iter().map(|key| format!("`{key}`")).collect();
            item.fault(format!("{} that {found}", self.title), format!("give it one of {}", keys.join(" and ")));
            return None;
        }
        read
    }
}

/// So many keys of one table are compared with those that there are: more than these are no slips of the pen.
const HINTED: usize = 50;

/// The fault of a key that nobody knows. `meant`: the one that may have been meant.
fn stranger(key: &Spanned<DeString<'_>>, title: &str, known: &[&'static str], meant: Option<&str>) -> Fault {
    let name = key.get_ref();
    let meant = meant.map(|known| format!("did you mean `{known}`? ")).unwrap_or_default();
    let keys: Vec<_> = known.iter().map(|key| format!("`{key}`")).collect();
    let right = format!("{meant}its keys are {}", keys.join(", "));
    Fault::new(format!("{} is no key of {title}", quoted(name)), key.span(), right)
}
