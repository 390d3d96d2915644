//! Room for names that grow: how much a frame is announced longer, and the filler that takes what was not needed.

use crate::frame;
use crate::malformed::Malformed;
use crate::meaning::{Meaning, Meanings};
use crate::table::Layout;
use crate::varint::{self, Inline, narrow, wide};
use crate::walker::{Flow, Open, Sink, Spot, Stop, Walker};

/// A filler without content: its number, and its size in four bytes.
const FILLER: u32 = 5;
/// What a filler and the tag that it adds to a count take at least.
const FILLER_LEAST: u32 = FILLER + 1;
/// The most that a filler takes: beyond it the frame had better be completed.
const FILLER_MOST: u32 = 4 << 20;

/// Room that was announced for names that grow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Room {
    /// No edit may change a length.
    None,
    /// So many bytes are left, the filler's own among them, to be filled in the end.
    Left(u32),
}

impl Room {
    /// Takes room for `put` bytes that replace `skip`; `None` if there is none, or the filler would have none.
    pub(super) fn take(&mut self, skip: u32, put: u32) -> Option<()> {
        let Self::Left(left) = *self else { return None };
        *self = Self::Left((left + skip).checked_sub(put).filter(|left| *left >= FILLER)?);
        Some(())
    }

    /// The filler, a tag of the number `free`: what was announced and not used. How many zeros follow it.
    pub(super) fn fill(&mut self, free: Option<u32>) -> Option<(Inline, u32)> {
        let Self::Left(left) = std::mem::replace(self, Self::None) else { return None };
        let zeros = left.checked_sub(FILLER).filter(|zeros| *zeros <= varint::MOST_PADDED)?;
        let mut put = Inline::new();
        varint::put(&mut put, free?);
        varint::put_padded(&mut put, zeros);
        Some((put, zeros))
    }
}

/// How much longer a frame must be announced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Announce {
    /// So many bytes of the frame must be there to tell.
    Need(usize),
    /// So many bytes.
    Longer(u32),
    /// The frame must be completed: so many names could grow, or its version has no place for a filler.
    TooLong,
}

/// By how much a frame must be announced longer if each name in the elements of its first array, one in each, and the
/// transactional id in front of it can grow by `growth` bytes; their lengths are counted in.
///
/// # Errors
/// [`Malformed`], as [`Walker::run`].
pub fn announce(layout: &'static Layout, length: u32, growth: u32, mut input: &[u8]) -> Result<Announce, Malformed> {
    if !layout.is_flexible() {
        return Ok(Announce::TooLong);
    }
    let mut walker = Walker::new(layout, length, Meanings::of(&[Meaning::TransactionalId]));
    let mut names = Names(0);
    match walker.run(&mut input, &mut names)? {
        Stop::Need(more) => return Ok(Announce::Need(wide(walker.at()) + more)),
        Stop::Passed => return Ok(Announce::Need(wide(walker.at()))),
        Stop::Told | Stop::End => {}
    }
    let longer = u64::from(names.0) * u64::from(grown(growth)) + u64::from(FILLER_LEAST);
    let whole = longer + u64::from(length);
    let fits = longer <= u64::from(FILLER_MOST) && whole <= u64::from(frame::LONGEST);
    Ok(u32::try_from(longer).ok().filter(|_| fits).map_or(Announce::TooLong, Announce::Longer))
}

/// By how much a string's encoding grows at most if the string does by `growth` bytes.
fn grown(growth: u32) -> u32 {
    let before = varint::width(0x7f);
    growth.saturating_add(narrow(varint::width(growth.saturating_add(0x7f)).saturating_sub(before)))
}

/// How many names there can be, up to the first array.
struct Names(u32);

impl Sink<&[u8]> for Names {
    fn value(&mut self, spot: &Spot, _: &mut &[u8], _: usize) -> Result<Flow, Malformed> {
        self.0 += u32::from(!spot.null);
        Ok(Flow::On)
    }

    fn open(&mut self, array: &Open) -> Flow {
        self.0 = self.0.saturating_add(array.count);
        Flow::Stop
    }
}
