//! Integers in a range.

use std::marker::PhantomData;

use serde_json::{Value as Json, json};
use toml::de::DeValue;

use super::{Item, Value, Written};
use crate::fault::quoted;
use crate::shape::Shape;

/// An integer from a range.
#[derive(Clone, Copy)]
pub struct Integer<T> {
    from: i64,
    to: i64,
    stands_for: PhantomData<T>,
}

/// An integer, both bounds included. `T` has to hold both.
pub fn integer<T>(from: i64, to: i64) -> Integer<T> {
    Integer { from, to, stands_for: PhantomData }
}

impl<T: TryFrom<i64>> Value for Integer<T> {
    type Out = T;

    fn shape(&self) -> Shape {
        Shape::Plain {
            schema: json!({ "type": "integer", "minimum": self.from, "maximum": self.to }),
            range: format!("From {} to {}.", grouped(self.from), grouped(self.to)),
        }
    }

    fn wanted(&self) -> String {
        format!("a whole number from {} to {}", grouped(self.from), grouped(self.to))
    }

    fn read(&self, item: &Item<'_>) -> Option<T> {
        let DeValue::Integer(found) = item.value.get_ref() else {
            item.is_no(&self.wanted());
            return None;
        };
        let number = i64::from_str_radix(found.as_str(), found.radix()).ok();
        let number = number.filter(|number| (self.from..=self.to).contains(number));
        let number = number.and_then(|number| T::try_from(number).ok());
        if number.is_none() {
            let what = format!("{} cannot be {}", item.called, quoted(&found.to_string()));
            item.fault(what, format!("write {}", self.wanted()));
        }
        number
    }
}

impl<T: TryFrom<i64> + TryInto<i64> + Copy> Written for Integer<T> {
    fn write(&self, value: &T) -> Json {
        (*value).try_into().map_or(Json::Null, |number: i64| Json::from(number))
    }
}

/// With commas between thousands.
fn grouped(number: i64) -> String {
    let digits = number.unsigned_abs().to_string();
    let mut grouped = if number < 0 { "-".to_owned() } else { String::new() };
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_grouped() {
        for (number, wanted) in
            [(0, "0"), (999, "999"), (-1000, "-1,000"), (65_535, "65,535"), (1_000_000, "1,000,000")]
        {
            assert_eq!(grouped(number), wanted);
        }
    }
}
