//! A frame that is complete: edits are collected in one walk, and put between untouched slices. No edit gives back the
//! input; edits that keep every length are made in place.

use smallvec::SmallVec;

use crate::batch;
use crate::malformed::Malformed;
use crate::meaning::{Meaning, Meanings};
use crate::outline::Outline;
use crate::passage::{Edit, Editor, encode, value};
use crate::table::Layout;
use crate::varint::{self, Inline, narrow, wide};
use crate::walker::{Spot, Structure, Token, Walker};

/// Bytes of a frame that are replaced by others.
#[derive(Debug)]
struct Patch {
    at: u32,
    len: u32,
    put: Inline,
}

/// What became of a frame.
#[derive(Debug, PartialEq, Eq)]
pub enum Rewritten {
    /// It has its length still; what was changed was changed in place.
    InPlace,
    /// It has another length: these are its bytes, without the four of the length in front.
    Anew(Vec<u8>),
}

/// An array or tag that the walk is in.
enum Holder {
    Array { at: u32, len: u32, count: u32, removed: u32, element: u32, patches: usize, delta: i64, dropping: bool },
    Tag { at: u32, len: u32, size: u32, delta: i64 },
}

struct Rewrite {
    patches: SmallVec<[Patch; 8]>,
    holders: SmallVec<[Holder; 6]>,
    /// By how many bytes the patches so far change the length.
    delta: i64,
    at: u32,
    /// Whether counts are varints.
    flexible: bool,
}

/// Walks `frame`, a whole frame without its length, and lets `editor` change it.
///
/// # Errors
/// [`Malformed`]; the frame has then not been changed but for record batches.
pub fn rewrite<E: Editor + ?Sized>(
    layout: &'static Layout, wanted: Meanings, frame: &mut [u8], editor: &mut E, outline: &mut Outline,
) -> Result<Rewritten, Malformed> {
    let wanted = if wanted.has(Meaning::ProducerId) { wanted.and(Meanings::of(&[Meaning::Records])) } else { wanted };
    let mut walker = Walker::new(layout, narrow(frame.len()), wanted, Structure::Told);
    let mut work =
        Rewrite { patches: SmallVec::new(), holders: SmallVec::new(), delta: 0, at: 0, flexible: layout.is_flexible() };
    loop {
        work.at = walker.at();
        let ahead = frame.get_mut(wide(work.at)..).unwrap_or(&mut []);
        let token = walker.step(ahead)?;
        outline.note(&token, ahead);
        match token {
            Token::End => break,
            // A complete frame has all that could be needed, unless it ends inside a field.
            Token::Need(_) => return Err(Malformed::Short { at: narrow(frame.len()) }),
            Token::Value(spot) => work.value(&spot, ahead, editor),
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
            Token::Pass(_) | Token::Section { .. } | Token::SectionEnd { .. } => {}
        }
    }
    Ok(work.apply(frame))
}

impl Rewrite {
    fn value<E: Editor + ?Sized>(&mut self, spot: &Spot, ahead: &[u8], editor: &mut E) {
        if self.dropping() {
            return;
        }
        let encoded = ahead.get(..wide(spot.len)).unwrap_or(&[]);
        let edit = editor.edit(spot.fact, value(spot, encoded));
        if edit == Edit::Drop {
            if let Some(Holder::Array { dropping, .. }) = self.innermost_array() {
                *dropping = true;
            }
            return;
        }
        if let Some(put) = encode(spot, encoded, edit) {
            self.patch(self.at, spot.len, put);
        }
    }

    fn innermost_array(&mut self) -> Option<&mut Holder> {
        self.holders.iter_mut().rev().find(|holder| matches!(holder, Holder::Array { .. }))
    }

    fn dropping(&self) -> bool {
        self.holders.iter().any(|holder| matches!(holder, Holder::Array { dropping: true, .. }))
    }

    fn patch(&mut self, at: u32, len: u32, put: Inline) {
        self.delta += i64::from(narrow(put.len())) - i64::from(len);
        self.patches.push(Patch { at, len, put });
    }

    fn open(&mut self, count: u32, len: u32) {
        let (at, patches, delta) = (self.at, self.patches.len(), self.delta);
        self.holders.push(Holder::Array {
            at,
            len,
            count,
            removed: 0,
            element: at + len,
            patches,
            delta,
            dropping: false,
        });
    }

    /// The element before, if any, has ended.
    fn element(&mut self) {
        self.end_element();
        let (now, marks) = (self.at, (self.patches.len(), self.delta));
        if let Some(Holder::Array { element, patches, delta, .. }) = self.holders.last_mut() {
            *element = now;
            (*patches, *delta) = marks;
        }
    }

    fn end_element(&mut self) {
        let now = self.at;
        let Some(Holder::Array { removed, element, patches, delta, dropping, .. }) = self.holders.last_mut() else {
            return;
        };
        if !std::mem::take(dropping) {
            return;
        }
        *removed += 1;
        let (from, patches, delta) = (*element, *patches, *delta);
        self.patches.truncate(patches);
        self.delta = delta;
        self.patch(from, now - from, Inline::new());
    }

    fn close(&mut self) {
        self.end_element();
        let Some(Holder::Array { at, len, count, removed, .. }) = self.holders.pop() else { return };
        if removed > 0 {
            let left = count - removed;
            let mut put = Inline::new();
            if self.flexible {
                varint::put(&mut put, left + 1);
            } else {
                put.extend_from_slice(&left.to_be_bytes());
            }
            self.patch(at, len, put);
        }
    }

    fn tag(&mut self, number_len: u32, size_len: u32, size: u32) {
        self.holders.push(Holder::Tag { at: self.at + number_len, len: size_len, size, delta: self.delta });
    }

    fn tag_end(&mut self) {
        let Some(Holder::Tag { at, len, size, delta }) = self.holders.pop() else { return };
        let grown = self.delta - delta;
        if grown != 0 {
            let mut put = Inline::new();
            varint::put(&mut put, u32::try_from(i64::from(size) + grown).unwrap_or(0));
            self.patch(at, len, put);
        }
    }

    fn apply(mut self, frame: &mut [u8]) -> Rewritten {
        let same = self.patches.iter().all(|patch| wide(patch.len) == patch.put.len());
        if same {
            for patch in &self.patches {
                if let Some(slot) = frame.get_mut(wide(patch.at)..wide(patch.at + patch.len)) {
                    slot.copy_from_slice(&patch.put);
                }
            }
            return Rewritten::InPlace;
        }
        // Counts and sizes are known only behind what they count, so their patches come late.
        self.patches.sort_by_key(|patch| patch.at);
        let length = i64::from(narrow(frame.len())) + self.delta;
        let mut out = Vec::with_capacity(usize::try_from(length).unwrap_or(frame.len()));
        let mut from = 0;
        for patch in &self.patches {
            out.extend_from_slice(frame.get(from..wide(patch.at)).unwrap_or(&[]));
            out.extend_from_slice(&patch.put);
            from = wide(patch.at + patch.len);
        }
        out.extend_from_slice(frame.get(from..).unwrap_or(&[]));
        Rewritten::Anew(out)
    }
}
