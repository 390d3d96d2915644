//! Arrays: their counts, and the way from one element to the next.

use std::ops::Deref;

use super::levels::Level;
use super::values::{Length, Width};
use super::{Flow, Here, Open, Sink, Spot, Step, Stepped, Stop, Walker};
use crate::malformed::Malformed;
use crate::meaning::Meaning;
use crate::table::{Encoding, Form};
use crate::varint::wide;

/// The most array elements in one frame: above what a cluster of a million partitions says of itself.
const ELEMENTS: u32 = 8_000_000;

impl Walker {
    #[inline(always)]
    pub(super) fn open_array<B, S: Sink<B>>(
        &mut self, index: u16, form: Form, (end, least): (u16, u32), here: Here, input: &[u8], sink: &mut S,
    ) -> Stepped {
        let (len, count) = match self.length(form, Width::Four, here, input)? {
            Length::Need(bytes) => return Ok(Step::Stop(Stop::Need(bytes))),
            Length::Is { prefix, value } => (prefix, value),
            Length::Null { prefix } => (prefix, 0),
        };
        let at = self.at;
        let rest = self.rest_behind(len);
        if u64::from(count) * u64::from(least) > u64::from(rest) {
            return Err(Malformed::Count { at, count, rest });
        }
        self.elements = self.elements.saturating_add(count);
        if self.elements > ELEMENTS {
            return Err(Malformed::TooManyElements { most: ELEMENTS });
        }
        let level = Level::Array { body: self.pc + 1, end, left: count };
        self.levels.push(level).ok_or(Malformed::TooDeep { at })?;
        // The last op of an element closes the array, or starts its first element.
        self.pc = end - 1;
        self.forward(len)?;
        match sink.open(&Open { at, len, count, index }) {
            Flow::On => Ok(Step::On),
            Flow::Stop | Flow::Hold => Ok(Step::Stop(Stop::Told)),
        }
    }

    #[inline(always)]
    pub(super) fn next_element<B, S: Sink<B>>(&mut self, sink: &mut S) -> Stepped {
        let Some(Level::Array { body, end, left }) = self.levels.last_mut() else {
            return Err(Malformed::Short { at: self.at });
        };
        if *left == 0 {
            let end = *end;
            return self.close_array(end, sink);
        }
        *left -= 1;
        self.pc = *body;
        sink.element(self.at);
        Ok(Step::On)
    }

    /// The elements of an array, all of a fixed width, as many as are there.
    #[inline(always)]
    pub(super) fn values<B: Deref<Target = [u8]>, S: Sink<B>>(
        &mut self, index: u16, width: u8, meaning: Meaning, here: Here, input: &mut B, sink: &mut S,
    ) -> Stepped {
        let Some(&mut Level::Array { left, end, .. }) = self.levels.last_mut() else {
            return Err(Malformed::Short { at: self.at });
        };
        if !self.wanted.has(meaning) {
            // The count has been held against what is left, so that this cannot overflow.
            self.forward(left * u32::from(width))?;
            return self.close_array(end, sink);
        }
        let (fact, len) = (self.fact(index), u32::from(width));
        for still in (0..left).rev() {
            let (at, ahead) = (self.at, here.ahead(self.at));
            if ahead + wide(len) > here.len {
                return Ok(Step::Stop(Stop::Need(wide(len))));
            }
            if let Some(Level::Array { left, .. }) = self.levels.last_mut() {
                *left = still;
            }
            self.forward(len)?;
            sink.element(at);
            let spot = Spot { fact, at, len, index, prefix: 0, null: false, encoding: Encoding::Fixed };
            if sink.value(&spot, input, ahead)? == Flow::Stop {
                return Ok(Step::Stop(Stop::Told));
            }
        }
        self.close_array(end, sink)
    }

    #[inline(always)]
    fn close_array<B, S: Sink<B>>(&mut self, end: u16, sink: &mut S) -> Stepped {
        self.pc = end;
        self.levels.pop();
        sink.close(self.at);
        Ok(Step::On)
    }
}
