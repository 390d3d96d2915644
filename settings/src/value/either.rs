//! A value that is a table, or something else.

use serde_json::Value as Json;
use toml::de::DeValue;

use super::{Item, Value, Written};
use crate::shape::Shape;

/// A table, or something that is none.
#[derive(Clone, Copy)]
pub struct Either<P, T> {
    plain: P,
    table: T,
}

/// A table, or something that is none; both stand for the same kind of thing.
pub fn either<P: Value, T: Value<Out = P::Out>>(plain: P, table: T) -> Either<P, T> {
    Either { plain, table }
}

impl<P: Value, T: Value<Out = P::Out>> Value for Either<P, T> {
    type Out = P::Out;

    fn shape(&self) -> Shape {
        Shape::Either(vec![self.plain.shape(), self.table.shape()])
    }

    fn wanted(&self) -> String {
        format!("{} or {}", self.plain.wanted(), self.table.wanted())
    }

    fn read(&self, item: &Item<'_>) -> Option<Self::Out> {
        match item.value.get_ref() {
            DeValue::Table(_) => self.table.read(item),
            DeValue::String(_) => self.plain.read(item),
            DeValue::Integer(_)
            | DeValue::Float(_)
            | DeValue::Boolean(_)
            | DeValue::Datetime(_)
            | DeValue::Array(_) => {
                item.is_no(&self.wanted());
                None
            }
        }
    }
}

/// What has a default has one that is no table.
impl<P: Written, T: Value<Out = P::Out>> Written for Either<P, T> {
    fn write(&self, value: &Self::Out) -> Json {
        self.plain.write(value)
    }
}
