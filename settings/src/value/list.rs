//! Lists, and tables whose names are the operator's.

use std::collections::BTreeMap;

use toml::Spanned;
use toml::de::DeValue;

use super::{Called, Item, Value};
use crate::shape::Shape;

/// A list of values of one kind.
#[derive(Clone, Copy)]
pub struct List<V> {
    of: V,
    least: usize,
}

/// A list with at least so many values.
pub fn list<V: Value>(least: usize, of: V) -> List<V> {
    List { of, least }
}

impl<V: Value> Value for List<V> {
    /// Those that are right, each with its place: faults of the others have been told.
    type Out = Vec<Spanned<V::Out>>;

    fn shape(&self) -> Shape {
        Shape::List { of: Box::new(self.of.shape()), least: self.least }
    }

    fn wanted(&self) -> String {
        format!("a list in brackets, each {}", self.of.wanted())
    }

    fn read(&self, item: &Item<'_>) -> Option<Self::Out> {
        let DeValue::Array(found) = item.value.get_ref() else {
            item.is_no(&self.wanted());
            return None;
        };
        if found.len() < self.least {
            item.fault(format!("{} is an empty list", item.called), format!("write {}", self.wanted()));
            return None;
        }
        let read = found.iter().filter_map(|value| {
            let one = Item { called: Called::OneOf(item.called.key()), value, ..*item };
            self.of.read(&one).map(|read| Spanned::new(value.span(), read))
        });
        Some(read.collect())
    }
}

/// A table whose names are the operator's.
#[derive(Clone, Copy)]
pub struct Named<V> {
    of: V,
    least: usize,
}

/// A table from names to values of one kind, at least so many.
pub fn named<V: Value>(least: usize, of: V) -> Named<V> {
    Named { of, least }
}

impl<V: Value> Value for Named<V> {
    /// `None` for a name whose value has a fault, which has been told.
    type Out = BTreeMap<Spanned<String>, Option<V::Out>>;

    fn shape(&self) -> Shape {
        Shape::Named { of: Box::new(self.of.shape()), least: self.least }
    }

    fn wanted(&self) -> String {
        format!("{} for each name", self.of.wanted())
    }

    fn read(&self, item: &Item<'_>) -> Option<Self::Out> {
        let DeValue::Table(found) = item.value.get_ref() else {
            item.is_no(&self.wanted());
            return None;
        };
        if found.len() < self.least {
            item.fault(format!("{} is an empty table", item.called), format!("write {}", self.wanted()));
            return None;
        }
        let read = found.iter().map(|(name, value)| {
            let one = Item { called: Called::Key(name.get_ref()), value, ..*item };
            (Spanned::new(name.span(), name.get_ref().clone().into_owned()), self.of.read(&one))
        });
        Some(read.collect())
    }
}
