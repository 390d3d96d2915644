//! A frame that is complete: what keeps its length is changed in place, and other edits are collected in one walk, then
//! put between untouched slices. No edit gives back the input.

use smallvec::SmallVec;

use crate::batch;
use crate::edit::{self, Done, Editor};
use crate::malformed::Malformed;
use crate::meaning::{Meaning, Meanings};
use crate::outline::Outline;
use crate::table::Layout;
use crate::varint::{self, Inline, narrow, wide};
use crate::walker::{Spot, Structure, Token, Walker};

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
    layout: &'static Layout, wanted: Meanings, frame: &mut [u8], editor: &mut E, outline: &mut Outline,
) -> Result<Rewritten, Malformed> {
    let wanted = if wanted.has(Meaning::ProducerId) { wanted.and(Meanings::of(&[Meaning::Records])) } else { wanted };
    let mut walker = Walker::new(layout, narrow(frame.len()), wanted, Structure::Told);
    let mut work = Rewrite { patches: Patches::default(), holders: SmallVec::new(), at: 0, flexible: layout.is_flexible() };
    loop {
        work.at = walker.at();
        let ahead = frame.get_mut(wide(work.at)..).unwrap_or(&mut []);
        let token = walker.step(ahead)?;
        outline.note(&token, ahead);
        match token {
            Token::End => break,
            // A complete frame has all that could be needed, unless it ends inside a field.
            Token::Need(_) => return Err(Malformed::Short { at: narrow(frame.len()) }),
            Token::Value(spot) => work.value(&spot, ahead, editor)?,
            Token::Batch(length) => {
                if let Some(id) = batch::transactional_producer(ahead).and_then(|id| editor.producer_id(id)) {
                    batch::put_producer_id(ahead, length, id);
                }
            }
            Token::Open { count, len, .. } => work.open(count, len),
            Token::Element => work.element(),
            Token::Close => work.close(),
            Token::Tag { number_len, size_len, size, .. } => work.tag(number_len, size_len, size),
            Token::TagEnd => work.tag_end(),
            Token::Pass(_) | Token::Root { .. } | Token::RootEnd { .. } => {}
        }
    }
    Ok(work.patches.put(frame))
}

/// The patches of a frame, and the arrays and tags that the walk is in.
struct Rewrite {
    patches: Patches,
    holders: SmallVec<[Holder; 6]>,
    at: u32,
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

impl Rewrite {
    fn value<E: Editor + ?Sized>(&mut self, spot: &Spot, ahead: &mut [u8], editor: &mut E) -> Result<(), Malformed> {
        if self.holders.iter().any(|holder| matches!(holder, Holder::Array(Array { dropping: true, .. }))) {
            return Ok(());
        }
        let encoded = ahead.get_mut(..wide(spot.len)).unwrap_or(&mut []);
        let unfit = Malformed::Unfit { at: self.at };
        match edit::apply(spot, encoded, editor) {
            Done::InPlace => {}
            Done::Instead(put) => self.patches.add(self.at, spot.len, &put),
            Done::Drop => self.innermost_array().ok_or(unfit)?.dropping = true,
            Done::Unfit => return Err(unfit),
        }
        Ok(())
    }

    fn innermost_array(&mut self) -> Option<&mut Array> {
        self.holders.iter_mut().rev().find_map(|holder| match holder {
            Holder::Array(array) => Some(array),
            Holder::Tag { .. } => None,
        })
    }

    fn open(&mut self, count: u32, len: u32) {
        let (at, mark) = (self.at, self.patches.mark());
        self.holders.push(Holder::Array(Array { at, len, count, removed: 0, element: at + len, mark, dropping: false }));
    }

    /// The element before, if any, has ended.
    fn element(&mut self) {
        self.end_element();
        let (now, marked) = (self.at, self.patches.mark());
        if let Some(Holder::Array(array)) = self.holders.last_mut() {
            array.element = now;
            array.mark = marked;
        }
    }

    fn end_element(&mut self) {
        let Some(Holder::Array(array)) = self.holders.last_mut() else { return };
        if std::mem::take(&mut array.dropping) {
            array.removed += 1;
            self.patches.back_to(array.mark);
            self.patches.add(array.element, self.at - array.element, &[]);
        }
    }

    fn close(&mut self) {
        self.end_element();
        let Some(Holder::Array(Array { at, len, count, removed, .. })) = self.holders.pop() else { return };
        if removed > 0 {
            let left = count - removed;
            let mut put = Inline::new();
            if self.flexible {
                varint::put(&mut put, left + 1);
            } else {
                put.extend_from_slice(&left.to_be_bytes());
            }
            self.patches.add(at, len, &put);
        }
    }

    fn tag(&mut self, number_len: u32, size_len: u32, size: u32) {
        let delta = self.patches.delta;
        self.holders.push(Holder::Tag { at: self.at + number_len, len: size_len, size, delta });
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
