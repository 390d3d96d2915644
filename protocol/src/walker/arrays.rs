//! Arrays: their counts, and the way from one element to the next.

use super::values::{Length, Width};
use super::{Level, Structure, Token, Told, Walker};
use crate::malformed::Malformed;
use crate::table::Form;

/// The most array elements in one frame: above what a cluster of a million partitions says of itself.
const ELEMENTS: u32 = 8_000_000;

impl Walker {
    pub(super) fn open_array(
        &mut self, index: u16, form: Form, (end, least): (u16, u32), input: &[u8], passed: u32,
    ) -> Result<Told, Malformed> {
        let (prefix, count) = match self.length(form, Width::Four, input)? {
            Length::Need(bytes) => return Ok(Told::Need(bytes)),
            Length::Is { prefix, value } => (prefix, value),
            Length::Null { prefix } => (prefix, 0),
        };
        if passed > 0 {
            return Ok(Told::First);
        }
        let rest = self.rest_behind(prefix);
        if u64::from(count) * u64::from(least) > u64::from(rest) {
            return Err(Malformed::Count { at: self.at, count, rest });
        }
        self.elements = self.elements.saturating_add(count);
        if self.elements > ELEMENTS {
            return Err(Malformed::TooManyElements { most: ELEMENTS });
        }
        self.levels.push(Level::Array { body: self.pc + 1, end, left: count });
        // An `EndElement` closes the array, or starts its first element.
        self.pc = end - 1;
        Ok(Told::Token(Token::Open { index, count, len: prefix }, prefix))
    }

    pub(super) fn next_element(&mut self, passed: u32) -> Result<Told, Malformed> {
        let told = self.structure == Structure::Told;
        if passed > 0 && told {
            return Ok(Told::First);
        }
        let Some(Level::Array { body, end, left }) = self.levels.last_mut() else {
            return Err(Malformed::Short { at: self.at });
        };
        let token = if *left == 0 {
            self.pc = *end;
            self.levels.pop();
            Token::Close
        } else {
            *left -= 1;
            self.pc = *body;
            Token::Element
        };
        Ok(if told { Told::Token(token, 0) } else { Told::Passed(0) })
    }
}
