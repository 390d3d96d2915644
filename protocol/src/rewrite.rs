//! A frame that is complete: what keeps its length is changed in place, and other edits are collected in one walk, then
//! put between untouched slices. No edit gives back the input.

use smallvec::SmallVec;

use crate::batch;
use crate::edit::{self, Done, Editor};
use crate::malformed::Malformed;
use crate::meaning::Meanings;
use crate::outline::Outline;
use crate::table::Layout;
use crate::varint::{self, Inline, narrow, wide};
use crate::walker::{Flow, Open, Sink, Spot, Stop, TagHead, Walker, Way};

/// What became of a frame.
#[derive(Debug, PartialEq, Eq)]
pub enum Rewritten {
    /// It has its length still; what was changed was changed in place.
    InPlace,
    /// It has another length: these are its bytes, without the four of the length in front.
    Anew(Vec<u8>),
}

/// Walks `frame`, a whole frame without its length, and lets `editor` change it.
///
/// Allocates only for edits that change a length: the frame's new bytes, and some 16 for each such edit beside what it
/// puts.
///
/// # Errors
/// [`Malformed`]; the frame is of no use then, as some of it may have been changed.
pub fn rewrite<E: Editor + ?Sized>(
    layout: &'static Layout, wanted: Meanings, mut frame: &mut [u8], editor: &mut E, outline: &mut Outline,
) -> Result<Rewritten, Malformed> {
    let length = narrow(frame.len());
    let mut walker = Walker::new(layout, length, wanted.with_batches());
    let mut work = Rewrite {
        editor,
        outline,
        patches: Patches::default(),
        holders: SmallVec::new(),
        dropping: 0,
        flexible: layout.is_flexible(),
    };
    match walker.run(&mut frame, &mut work)? {
        Stop::End => Ok(work.patches.put(frame)),
        // A complete frame has all that could be needed, unless it ends inside a field.
        Stop::Need(_) | Stop::Passed | Stop::Told => Err(Malformed::Short { at: length }),
    }
}

/// The patches of a frame, and the arrays and tags that the walk is in.
struct Rewrite<'a, E: ?Sized> {
    editor: &'a mut E,
    outline: &'a mut Outline,
    patches: Patches,
    holders: SmallVec<[Holder; 6]>,
    /// In how many nested elements the walk is that are left out.
    dropping: u32,
    /// Whether counts are varints.
    flexible: bool,
}

/// An array or tag that the walk is in.
enum Holder {
    Array(Array),
    Tag { at: u32, len: u32, size: u32, delta: i64 },
}

struct Array {
    at: u32,
    /// Bytes of the count.
    len: u32,
    count: u32,
    removed: u32,
    /// Where the current element starts, and what had been patched by then.
    element: u32,
    mark: Mark,
    dropping: bool,
}

impl<E: Editor + ?Sized> Sink<&mut [u8]> for Rewrite<'_, E> {
    #[inline]
    fn value(&mut self, spot: &Spot, input: &mut &mut [u8], ahead: usize) -> Result<Flow, Malformed> {
        let encoded = input.get_mut(ahead..ahead + wide(spot.len)).unwrap_or(&mut []);
        self.outline.value(spot, encoded);
        if self.dropping > 0 {
            return Ok(Flow::On);
        }
        match edit::apply(spot, encoded, self.editor) {
            Done::InPlace => {}
            Done::Instead(put) => self.patches.add(spot.at, spot.len, &put),
            Done::Drop => {
                self.innermost_array().ok_or(Malformed::Unfit { at: spot.at })?.dropping = true;
                self.dropping += 1;
            }
            Done::Unfit | Done::Hold => return Err(Malformed::Unfit { at: spot.at }),
        }
        Ok(Flow::On)
    }

    fn batch(&mut self, length: u32, input: &mut &mut [u8], ahead: usize) {
        batch::translate(input.get_mut(ahead..).unwrap_or(&mut []), length, |id| self.editor.producer_id(id));
    }

    #[inline]
    fn open(&mut self, array: &Open) -> Flow {
        self.outline.open(array.index);
        let Open { at, len, count, .. } = *array;
        let mark = self.patches.mark();
        self.holders.push(Holder::Array(Array {
            at,
            len,
            count,
            removed: 0,
            element: at + len,
            mark,
            dropping: false,
        }));
        Flow::On
    }

    /// The element before, if any, has ended.
    #[inline]
    fn element(&mut self, at: u32) {
        self.outline.element();
        if let Some(Holder::Array(array)) = self.holders.last_mut() {
            if std::mem::take(&mut array.dropping) {
                self.dropping -= 1;
                self.patches.leave_out(array, at);
            }
            array.element = at;
            array.mark = self.patches.mark();
        }
    }

    #[inline]
    fn close(&mut self, at: u32) {
        self.outline.close();
        let Some(Holder::Array(mut array)) = self.holders.pop() else { return };
        if array.dropping {
            self.dropping -= 1;
            self.patches.leave_out(&mut array, at);
        }
        if array.removed > 0 {
            self.count(&array);
        }
    }

    fn tag(&mut self, tag: &TagHead, _: &mut &mut [u8], _: usize) -> Way {
        let TagHead { at, number_len, size_len: len, size, .. } = *tag;
        self.holders.push(Holder::Tag { at: at + number_len, len, size, delta: self.patches.delta });
        Way::Into
    }

    fn tag_end(&mut self) {
        let Some(Holder::Tag { at, len, size, delta }) = self.holders.pop() else { return };
        let grown = self.patches.delta - delta;
        if grown != 0 {
            let mut put = Inline::new();
            varint::put(&mut put, u32::try_from(i64::from(size) + grown).unwrap_or(0));
            self.patches.add(at, len, &put);
        }
    }
}

impl<E: ?Sized> Rewrite<'_, E> {
    fn innermost_array(&mut self) -> Option<&mut Array> {
        self.holders.iter_mut().rev().find_map(|holder| match holder {
            Holder::Array(array) => Some(array),
            Holder::Tag { .. } => None,
        })
    }

    /// The count of an array that has lost elements.
    fn count(&mut self, array: &Array) {
        let left = array.count - array.removed;
        let mut put = Inline::new();
        if self.flexible {
            varint::put(&mut put, left + 1);
        } else {
            put.extend_from_slice(&left.to_be_bytes());
        }
        self.patches.add(array.at, array.len, &put);
    }
}

/// Bytes of a frame that are replaced by others.
#[derive(Clone, Copy, Debug)]
struct Patch {
    at: u32,
    len: u32,
    /// Where the others stand among all that is put, and how many they are.
    from: u32,
    put: u32,
}

/// What had been patched at some time.
#[derive(Clone, Copy)]
struct Mark {
    patches: usize,
    bytes: usize,
    delta: i64,
}

#[derive(Default)]
struct Patches {
    patches: SmallVec<[Patch; 8]>,
    bytes: SmallVec<[u8; 128]>,
    /// By how many bytes they change the frame's length.
    delta: i64,
}

impl Patches {
    fn add(&mut self, at: u32, len: u32, put: &[u8]) {
        let (from, put_len) = (narrow(self.bytes.len()), narrow(put.len()));
        self.delta += i64::from(put_len) - i64::from(len);
        self.bytes.extend_from_slice(put);
        self.patches.push(Patch { at, len, from, put: put_len });
    }

    fn mark(&self) -> Mark {
        Mark { patches: self.patches.len(), bytes: self.bytes.len(), delta: self.delta }
    }

    fn back_to(&mut self, mark: Mark) {
        self.patches.truncate(mark.patches);
        self.bytes.truncate(mark.bytes);
        self.delta = mark.delta;
    }

    /// Leaves out the element of an array that ends at `end`, and what had been patched in it.
    fn leave_out(&mut self, array: &mut Array, end: u32) {
        array.removed += 1;
        self.back_to(array.mark);
        self.add(array.element, end - array.element, &[]);
    }

    fn put(mut self, frame: &[u8]) -> Rewritten {
        if self.patches.is_empty() {
            return Rewritten::InPlace;
        }
        // Counts and sizes are known only behind what they count, so their patches come late.
        self.patches.sort_unstable_by_key(|patch| patch.at);
        let length = i64::from(narrow(frame.len())) + self.delta;
        let mut out = Vec::with_capacity(usize::try_from(length).unwrap_or(frame.len()));
        let mut from = 0;
        for patch in &self.patches {
            out.extend_from_slice(frame.get(from..wide(patch.at)).unwrap_or(&[]));
            out.extend_from_slice(self.bytes.get(wide(patch.from)..wide(patch.from + patch.put)).unwrap_or(&[]));
            from = wide(patch.at + patch.len);
        }
        out.extend_from_slice(frame.get(from..).unwrap_or(&[]));
        Rewritten::Anew(out)
    }
}
