//! Two answers to parts of one request become one answer.
//!
//! The items of an answer stand in arrays. An element that only the second answer has joins the first's array; one that
//! both have, a group of which each has some topics, is merged in turn. All else is the first's.

use std::collections::{HashMap, VecDeque};

use crate::frame::Head;
use crate::ids::Direction;
use crate::malformed::Malformed;
use crate::outline::OUTLINED;
use crate::table::{Layout, Table};
use crate::varint::{self, Inline, narrow, wide};
use crate::walker::{Flow, Open, Sink, Spot, Stop, TagHead, Walker, Way};

/// One answer made of two to parts of one request, whose head this is.
///
/// # Errors
/// As [`merge`]; and if there is no such message.
pub fn together(head: &Head, first: &[u8], rest: &[u8]) -> Result<Vec<u8>, Malformed> {
    let unknown = Malformed::UnknownMessage { key: head.key.0, version: head.version };
    merge(Table::get().layout(head.key, head.version, Direction::ToClient).ok_or(unknown)?, first, rest)
}

/// Merges two answers of one layout, whole frames without their lengths. `rest` has the items that `first` lacks.
///
/// Arrays within tagged fields stay the first's: no answer has items there.
///
/// # Errors
/// [`Malformed`], of whichever is.
pub fn merge(layout: &'static Layout, first: &[u8], rest: &[u8]) -> Result<Vec<u8>, Malformed> {
    let (into, from) = (arrays(layout, first)?, arrays(layout, rest)?);
    let mut joined = Joined { flexible: layout.is_flexible(), rest, patches: Vec::new() };
    joined.all(first, &into, &from);
    Ok(joined.put(first))
}

/// An array of an answer.
struct Array {
    /// Its number in the layout.
    index: u16,
    /// Where its count stands, and how many bytes that takes.
    at: u32,
    len: u32,
    count: u32,
    /// Where it ends.
    end: u32,
    elements: Vec<Element>,
}

/// An element of one.
#[derive(Default)]
struct Element {
    at: u32,
    end: u32,
    /// Where the values are that name it.
    names: Vec<(u32, u32)>,
    arrays: Vec<Array>,
}

impl Element {
    fn bytes<'f>(&self, frame: &'f [u8]) -> &'f [u8] {
        frame.get(wide(self.at)..wide(self.end)).unwrap_or(&[])
    }

    /// What it is called; empty if nothing names it.
    fn name(&self, frame: &[u8]) -> Vec<u8> {
        let named = |(at, len): &(u32, u32)| frame.get(wide(*at)..wide(at + len)).unwrap_or(&[]);
        self.names.iter().flat_map(named).copied().collect()
    }
}

/// Finds the arrays of a frame.
fn arrays(layout: &'static Layout, mut frame: &[u8]) -> Result<Vec<Array>, Malformed> {
    let length = narrow(frame.len());
    let mut found = Found { open: Vec::new(), root: Element::default(), tags: 0 };
    match Walker::new(layout, length, OUTLINED).run(&mut frame, &mut found)? {
        Stop::End => Ok(found.root.arrays),
        Stop::Need(_) | Stop::Passed | Stop::Told => Err(Malformed::Short { at: length }),
    }
}

struct Found {
    /// The arrays that the walk is in.
    open: Vec<Array>,
    root: Element,
    /// In how many tags it is.
    tags: u32,
}

impl Found {
    /// The element that the walk is in.
    fn here(&mut self) -> Option<&mut Element> {
        match self.open.last_mut() {
            Some(array) => array.elements.last_mut(),
            None => Some(&mut self.root),
        }
    }
}

impl<'f> Sink<&'f [u8]> for Found {
    fn value(&mut self, spot: &Spot, _: &mut &'f [u8], _: usize) -> Result<Flow, Malformed> {
        if self.tags == 0
            && let Some(element) = self.here()
        {
            element.names.push((spot.at, spot.len));
        }
        Ok(Flow::On)
    }

    fn open(&mut self, array: &Open) -> Flow {
        if self.tags == 0 {
            let Open { at, len, count, index } = *array;
            self.open.push(Array { index, at, len, count, end: at + len, elements: Vec::new() });
        }
        Flow::On
    }

    fn element(&mut self, at: u32) {
        if self.tags > 0 {
            return;
        }
        let Some(array) = self.open.last_mut() else { return };
        if let Some(before) = array.elements.last_mut() {
            before.end = at;
        }
        array.elements.push(Element { at, end: at, ..Element::default() });
    }

    fn close(&mut self, at: u32) {
        if self.tags > 0 {
            return;
        }
        let Some(mut array) = self.open.pop() else { return };
        array.end = at;
        if let Some(last) = array.elements.last_mut() {
            last.end = at;
        }
        if let Some(element) = self.here() {
            element.arrays.push(array);
        }
    }

    fn tag(&mut self, _: &TagHead, _: &mut &'f [u8], _: usize) -> Way {
        self.tags += 1;
        Way::Into
    }

    fn tag_end(&mut self) {
        self.tags -= 1;
    }
}

/// What is put into the first answer.
struct Joined<'r> {
    flexible: bool,
    rest: &'r [u8],
    /// Where, how many bytes it takes the place of, and what.
    patches: Vec<(u32, u32, Vec<u8>)>,
}

impl Joined<'_> {
    fn all(&mut self, first: &[u8], into: &[Array], from: &[Array]) {
        for array in into {
            if let Some(other) = from.iter().find(|other| other.index == array.index) {
                self.array(first, array, other);
            }
        }
    }

    fn array(&mut self, first: &[u8], array: &Array, other: &Array) {
        if other.elements.is_empty() {
            return;
        }
        // What is named twice is twice there: each is met once.
        let mut known: HashMap<Vec<u8>, VecDeque<&Element>> = HashMap::new();
        for element in &array.elements {
            known.entry(element.name(first)).or_default().push_back(element);
        }
        let (mut count, mut bytes) = (array.count, Vec::new());
        for element in &other.elements {
            let name = element.name(self.rest);
            let same = known.get_mut(&name).filter(|_| !name.is_empty()).and_then(VecDeque::pop_front);
            match same {
                Some(same) => self.all(first, &same.arrays, &element.arrays),
                None => {
                    count += 1;
                    bytes.extend_from_slice(element.bytes(self.rest));
                }
            }
        }
        if count > array.count {
            let mut put = Inline::new();
            if self.flexible {
                varint::put(&mut put, count + 1);
            } else {
                put.extend_from_slice(&count.to_be_bytes());
            }
            self.patches.push((array.at, array.len, put.to_vec()));
            self.patches.push((array.end, 0, bytes));
        }
    }

    fn put(mut self, first: &[u8]) -> Vec<u8> {
        // An inner array may end where the one around it does: what joins the inner one comes first, as it was found first.
        self.patches.sort_by_key(|(at, ..)| *at);
        let more: usize = self.patches.iter().map(|(.., put)| put.len()).sum();
        let mut out = Vec::with_capacity(first.len() + more);
        let mut from = 0;
        for (at, len, put) in &self.patches {
            out.extend_from_slice(first.get(from..wide(*at)).unwrap_or(&[]));
            out.extend_from_slice(put);
            from = wide(at + len);
        }
        out.extend_from_slice(first.get(from..).unwrap_or(&[]));
        out
    }
}
