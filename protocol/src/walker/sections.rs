//! Sections of tagged fields (KIP-482): known tags are walked to exactly their size, unknown ones pass.

use std::ops::Deref;

use super::levels::Level;
use super::{Flow, Here, Sink, Step, Stepped, Stop, TagHead, Walker, Way};
use crate::malformed::Malformed;
use crate::meaning::Meanings;
use crate::table::Place;
use crate::varint::wide;

/// The most unknown tags in one frame. Clients send none; a newer peer sends a few per element.
const UNKNOWN_TAGS: u16 = 1024;

/// The highest tag number: peers keep it as an int32, and the `kafka-protocol` crate writes no negative ones again.
const HIGHEST_TAG: u32 = i32::MAX.unsigned_abs();

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
    #[inline(always)]
    pub(super) fn open_section<B, S: Sink<B>>(
        &mut self, end: u16, place: Place, here: Here, input: &[u8], sink: &mut S,
    ) -> Stepped {
        let input = here.from(self.at, input);
        let Some((count, len)) = self.uvarint(input)? else { return Ok(Step::Stop(Stop::Need(input.len() + 1))) };
        if count == 0 && place == Place::Inner {
            self.pc = end;
            self.forward(len)?;
            return Ok(Step::On);
        }
        self.enter_section(place, (count, len), sink)
    }

    fn enter_section<B, S: Sink<B>>(&mut self, place: Place, (count, len): (u32, u32), sink: &mut S) -> Stepped {
        let at = self.at;
        let rest = self.rest_behind(len);
        if count > rest / 2 {
            return Err(Malformed::Count { at, count, rest });
        }
        self.levels.open_section(Level::Section { left: count }).ok_or(Malformed::TooDeep { at })?;
        self.pc += 1;
        self.forward(len)?;
        if place == Place::Root && sink.root(at, count, len)? == Flow::Stop {
            return Ok(Step::Stop(Stop::Told));
        }
        Ok(Step::On)
    }

    /// Between two tags of a section, or behind its last.
    pub(super) fn next_tag<B: Deref<Target = [u8]>, S: Sink<B>>(
        &mut self, table: u16, end: u16, place: Place, here: Here, input: &mut B, sink: &mut S,
    ) -> Stepped {
        let at = self.at;
        let Some(&mut Level::Section { left }) = self.levels.last_mut() else {
            return Err(Malformed::Short { at });
        };
        if left == 0 {
            return self.close_section(end, place, sink);
        }
        let ahead = here.from(at, input);
        let missing = Ok(Step::Stop(Stop::Need(ahead.len() + 1)));
        let Some((number, number_len)) = self.uvarint(ahead)? else { return missing };
        let behind = ahead.get(wide(number_len)..).unwrap_or(&[]);
        let Some((size, size_len)) = self.uvarint(behind)? else { return missing };
        if number > HIGHEST_TAG {
            return Err(Malformed::TagNumber { at, tag: number });
        }
        let head = number_len + size_len;
        // The tag around this section may end within these two numbers; its limit must not be moved then.
        let rest = self.rest_behind(head);
        if size > rest || head > self.limit - at {
            return Err(Malformed::Beyond { at, length: size, rest });
        }
        self.first_time(number)?;
        if let Some(Level::Section { left }) = self.levels.last_mut() {
            *left -= 1;
        }
        let Some((content, holds)) = self.known(table, number) else { return self.unknown_tag(head + size) };
        match sink.tag(&TagHead { at, number, number_len, size_len, size, holds }, input, here.ahead(at)) {
            Way::Into => {
                self.levels
                    .push(Level::Tag { limit_before: self.limit, next: self.pc })
                    .ok_or(Malformed::TooDeep { at })?;
                self.pc = content;
                self.limit = at + head + size;
                self.forward(head)?;
                Ok(Step::On)
            }
            Way::Past { instead } => {
                self.first_time(instead)?;
                self.forward(head + size)?;
                Ok(Step::Stop(Stop::Told))
            }
        }
    }

    fn close_section<B, S: Sink<B>>(&mut self, end: u16, place: Place, sink: &mut S) -> Stepped {
        let seen = self.levels.close_section();
        self.pc = end;
        if place == Place::Root && sink.root_end(self.at, seen.free())? == Flow::Stop {
            return Ok(Step::Stop(Stop::Told));
        }
        Ok(Step::On)
    }

    fn first_time(&mut self, tag: u32) -> Result<(), Malformed> {
        let first = self.levels.seen().is_some_and(|seen| seen.first_time(tag));
        first.then_some(()).ok_or(Malformed::TagAgain { at: self.at, tag })
    }

    /// Where the content of a known tag starts, and what it holds.
    fn known(&self, table: u16, number: u32) -> Option<(u16, Meanings)> {
        let known = self.layout.tags.get(usize::from(table))?;
        known.iter().find(|tag| tag.number == number).map(|tag| (tag.start, tag.holds))
    }

    fn unknown_tag(&mut self, bytes: u32) -> Stepped {
        self.unknown_tags += 1;
        if self.unknown_tags > UNKNOWN_TAGS {
            return Err(Malformed::TooManyTags { most: UNKNOWN_TAGS });
        }
        self.forward(bytes)?;
        Ok(Step::On)
    }

    pub(super) fn close_tag<B, S: Sink<B>>(&mut self, sink: &mut S) -> Stepped {
        if self.at != self.limit {
            return Err(Malformed::TagSize { at: self.at, end: self.limit });
        }
        let Some(&mut Level::Tag { limit_before, next }) = self.levels.last_mut() else {
            return Err(Malformed::Short { at: self.at });
        };
        self.limit = limit_before;
        self.pc = next;
        self.levels.pop();
        sink.tag_end();
        Ok(Step::On)
    }
}
