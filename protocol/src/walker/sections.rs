//! Sections of tagged fields (KIP-482): known tags are walked to exactly their size, unknown ones pass.

use super::{IN_SECTION, Level, Structure, Token, Told, Walker};
use crate::malformed::Malformed;
use crate::meaning::Meanings;
use crate::table::Place;
use crate::varint::wide;

/// The most unknown tags in one frame. Clients send none; a newer peer sends a few per element.
const UNKNOWN_TAGS: u16 = 1024;

/// The tags that a section has had: each may stand once. Kafka takes them in any order.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Seen {
    /// Tags 0 to 63.
    low: u64,
    /// Tags 64 to 127.
    middle: u64,
    /// The highest tag from 128 on; such tags must ascend, which nobody's encoder fails to do.
    high: u32,
}

impl Seen {
    fn first_time(&mut self, number: u32) -> bool {
        let word = match number {
            0..64 => &mut self.low,
            64..128 => &mut self.middle,
            _ => {
                let ascends = number > self.high;
                self.high = number;
                return ascends;
            }
        };
        let bit = 1u64 << (number % 64);
        let first = *word & bit == 0;
        *word |= bit;
        first
    }

    /// The highest number from 64 to 127 that has not been.
    fn free(self) -> Option<u32> {
        127u32.checked_sub((!self.middle).leading_zeros()).filter(|number| *number >= 64)
    }
}

impl Walker {
    pub(super) fn open_section(
        &mut self, table: u16, end: u16, place: Place, input: &[u8], passed: u32,
    ) -> Result<Told, Malformed> {
        let Some((count, len)) = self.uvarint(input)? else { return Ok(Told::Need(input.len() + 1)) };
        let root = place == Place::Root;
        if count == 0 && !root {
            self.pc = end;
            return Ok(Told::Passed(len));
        }
        let rest = self.rest_behind(len);
        if count > rest / 2 {
            return Err(Malformed::Count { at: self.at, count, rest });
        }
        if root && passed > 0 {
            return Ok(Told::First);
        }
        self.levels.push(Level::Section { table, end, left: count, root });
        self.seen.push(Seen::default());
        self.pc = IN_SECTION;
        Ok(if root { Told::Token(Token::Root { count, len }, len) } else { Told::Passed(len) })
    }

    /// Between two tags of a section, or behind its last.
    pub(super) fn next_tag(&mut self, input: &[u8], passed: u32) -> Result<Told, Malformed> {
        let Some(&Level::Section { table, end, left, root }) = self.levels.last() else {
            return Err(Malformed::Short { at: self.at });
        };
        if left == 0 {
            return Ok(self.close_section(end, root, passed));
        }
        let Some((number, number_len)) = self.uvarint(input)? else { return Ok(Told::Need(input.len() + 1)) };
        let behind = input.get(wide(number_len)..).unwrap_or(&[]);
        let Some((size, size_len)) = self.uvarint(behind)? else { return Ok(Told::Need(input.len() + 1)) };
        let head = number_len + size_len;
        // The tag around this section may end within these two numbers; its limit must not be moved then.
        let rest = self.rest_behind(head);
        if size > rest || head > self.limit - self.at {
            return Err(Malformed::Beyond { at: self.at, length: head + size.min(u32::MAX - head), rest });
        }
        let known = self.known(table, number);
        let told = self.structure == Structure::Told;
        if known.is_some() && told && passed > 0 {
            return Ok(Told::First);
        }
        self.first_time(number)?;
        if let Some(Level::Section { left, .. }) = self.levels.last_mut() {
            *left -= 1;
        }
        let Some((content, holds)) = known else { return self.unknown_tag(head + size) };
        self.levels.push(Level::Tag { limit_before: self.limit });
        self.pc = content;
        self.limit = self.at + head + size;
        let token = Token::Tag { number, number_len, size_len, size, holds };
        Ok(if told { Told::Token(token, head) } else { Told::Passed(head) })
    }

    fn close_section(&mut self, end: u16, root: bool, passed: u32) -> Told {
        if root && passed > 0 {
            return Told::First;
        }
        self.levels.pop();
        let seen = self.seen.pop().unwrap_or_default();
        self.pc = end;
        if root { Told::Token(Token::RootEnd { free: seen.free() }, 0) } else { Told::Passed(0) }
    }

    fn first_time(&mut self, tag: u32) -> Result<(), Malformed> {
        let first = self.seen.last_mut().is_some_and(|seen| seen.first_time(tag));
        first.then_some(()).ok_or(Malformed::TagAgain { at: self.at, tag })
    }

    /// Where the content of a known tag starts, and what it holds.
    fn known(&self, table: u16, number: u32) -> Option<(u16, Meanings)> {
        let known = self.layout.tags.get(usize::from(table))?;
        known.iter().find(|tag| tag.number == number).map(|tag| (tag.start, tag.holds))
    }

    /// Leaves out the content of the tag that was told last: the caller takes its `size` bytes, and makes it the tag
    /// `instead`.
    ///
    /// # Errors
    /// [`Malformed::TagAgain`] if the section has had that one too.
    pub(crate) fn leave_tag(&mut self, instead: u32) -> Result<(), Malformed> {
        if let Some(&Level::Tag { limit_before }) = self.levels.last() {
            self.levels.pop();
            self.at = self.limit;
            self.limit = limit_before;
            self.pc = IN_SECTION;
            self.first_time(instead)?;
        }
        Ok(())
    }

    fn unknown_tag(&mut self, bytes: u32) -> Result<Told, Malformed> {
        self.unknown_tags += 1;
        if self.unknown_tags > UNKNOWN_TAGS {
            return Err(Malformed::TooManyTags { most: UNKNOWN_TAGS });
        }
        Ok(Told::Passed(bytes))
    }

    pub(super) fn close_tag(&mut self, passed: u32) -> Result<Told, Malformed> {
        let told = self.structure == Structure::Told;
        if passed > 0 && told {
            return Ok(Told::First);
        }
        if self.at != self.limit {
            return Err(Malformed::TagSize { at: self.at, end: self.limit });
        }
        if let Some(Level::Tag { limit_before }) = self.levels.pop() {
            self.limit = limit_before;
        }
        self.pc = IN_SECTION;
        Ok(if told { Told::Token(Token::TagEnd, 0) } else { Told::Passed(0) })
    }
}
