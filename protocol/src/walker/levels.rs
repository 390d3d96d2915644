//! Where a walk stands in what is not flat.

use super::sections::Seen;

/// How deep a walk can be: twice as deep as any layout nests, which a test sees to.
pub(crate) const DEPTH: usize = 12;
/// How many sections with tags in them can be open: one per tag that holds a struct, and the innermost.
const SECTIONS: usize = 4;

/// An array, section or tag that the walk is in.
#[derive(Clone, Copy, Debug)]
pub(super) enum Level {
    /// In an array, whose element starts at the op `body`.
    Array { body: u16, end: u16, left: u32 },
    /// In a section of tags.
    Section { left: u32 },
    /// In a known tag of the section whose next tag is the op `next`. The limit outside it is kept.
    Tag { limit_before: u32, next: u16 },
}

/// A stack that needs no allocation.
#[derive(Debug)]
pub(super) struct Levels {
    depth: usize,
    levels: [Level; DEPTH],
    sections: usize,
    /// The tags that each open section has had.
    seen: [Seen; SECTIONS],
}

impl Default for Levels {
    #[inline]
    fn default() -> Self {
        let none = Level::Section { left: 0 };
        Self { depth: 0, levels: [none; DEPTH], sections: 0, seen: [Seen::default(); SECTIONS] }
    }
}

impl Levels {
    /// `None`: the stack is full.
    #[inline(always)]
    pub(super) fn push(&mut self, level: Level) -> Option<()> {
        *self.levels.get_mut(self.depth)? = level;
        self.depth += 1;
        Some(())
    }

    #[inline(always)]
    pub(super) fn pop(&mut self) {
        self.depth = self.depth.saturating_sub(1);
    }

    #[inline(always)]
    pub(super) fn last_mut(&mut self) -> Option<&mut Level> {
        self.levels.get_mut(self.depth.wrapping_sub(1))
    }

    /// `None`: too many sections are open.
    pub(super) fn open_section(&mut self, section: Level) -> Option<()> {
        *self.seen.get_mut(self.sections)? = Seen::default();
        self.sections += 1;
        self.push(section)
    }

    /// Closes the innermost section; says which tags it has had.
    pub(super) fn close_section(&mut self) -> Seen {
        self.pop();
        self.sections = self.sections.saturating_sub(1);
        self.seen.get(self.sections).copied().unwrap_or_default()
    }

    /// The tags that the innermost section has had.
    pub(super) fn seen(&mut self) -> Option<&mut Seen> {
        self.seen.get_mut(self.sections.wrapping_sub(1))
    }
}
