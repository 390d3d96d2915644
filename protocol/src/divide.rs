//! A complete request falls into parts: what goes here, what goes there, and what is refused with each code.
//!
//! Items stand in arrays; what names an item decides where it goes, and takes the item with it. All else of the request is in
//! every part.

use crate::answer;
use crate::code::Code;
use crate::edit::{Edit, Editor, Value};
use crate::frame::Head;
use crate::malformed::Malformed;
use crate::meaning::Meanings;
use crate::outline::{OUTLINED, Outline};
use crate::rewrite::{Rewritten, rewrite};
use crate::table::{Fact, Layout};

/// What becomes of something that a request names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lot {
    /// It goes on, in the part of this number.
    Goes(u16),
    /// It is refused.
    Refused(Code),
    /// It goes nowhere, and nobody is told.
    Dropped,
    /// It holds items that go different ways, and goes with each of them.
    Around,
}

/// Who decides.
pub trait Allot {
    /// What becomes of what a field names; `None`: it names nothing that decides.
    ///
    /// Fields are shown in the order of the wire, as often as the request is walked.
    fn lot(&mut self, fact: &'static Fact, value: Value<'_>) -> Option<Lot>;

    /// What is changed in the part of a number.
    fn change(&mut self, part: u16, fact: &'static Fact, value: Value<'_>) -> Edit {
        let _ = (part, fact, value);
        Edit::Keep
    }
}

/// A request under division.
#[derive(Clone, Copy)]
pub struct Divided {
    /// Its head.
    pub head: Head,
    /// Its layout.
    pub layout: &'static Layout,
    /// The fields that decide, or change.
    pub wants: Meanings,
}

/// The parts that a request falls into.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parts {
    /// The numbers of those that go on, in the order in which the request names something of them.
    pub goes: Vec<u16>,
    /// The codes that something is refused with.
    pub refused: Vec<Code>,
    /// Whether something goes nowhere.
    pub dropped: Dropped,
    /// What becomes of the whole, by something that is no item.
    pub whole: Option<Lot>,
}

/// Whether something of a request goes nowhere.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Dropped {
    /// Nothing.
    #[default]
    Nothing,
    /// Something.
    Something,
}

/// Whether a field stands in an array: it is one of several.
pub fn is_item(fact: &Fact) -> bool {
    fact.path.contains("[]")
}

struct Look<'a> {
    allot: &'a mut dyn Allot,
    parts: Parts,
}

impl Editor for Look<'_> {
    fn edit(&mut self, fact: &'static Fact, value: Value<'_>) -> Edit {
        let Some(lot) = self.allot.lot(fact, value) else { return Edit::Keep };
        let parts = &mut self.parts;
        match lot {
            _ if !is_item(fact) => {
                let refuses = matches!(lot, Lot::Refused(_));
                if parts.whole.is_none() || refuses && !matches!(parts.whole, Some(Lot::Refused(_))) {
                    parts.whole = Some(lot);
                }
            }
            Lot::Goes(part) if !parts.goes.contains(&part) => parts.goes.push(part),
            Lot::Refused(code) if !parts.refused.contains(&code) => parts.refused.push(code),
            Lot::Dropped => parts.dropped = Dropped::Something,
            Lot::Goes(_) | Lot::Refused(_) | Lot::Around => {}
        }
        Edit::Keep
    }

    fn producer_id(&mut self, _id: i64) -> Option<i64> {
        None
    }
}

struct Take<'a> {
    allot: &'a mut dyn Allot,
    /// The lot of what is taken; `None`: all of it.
    lot: Option<Lot>,
}

impl Editor for Take<'_> {
    fn edit(&mut self, fact: &'static Fact, value: Value<'_>) -> Edit {
        let Some(taken) = self.lot else { return Edit::Keep };
        match self.allot.lot(fact, value) {
            Some(lot) if is_item(fact) && lot != taken && lot != Lot::Around => Edit::Drop,
            Some(_) => Edit::Keep,
            None => match taken {
                Lot::Goes(part) => self.allot.change(part, fact, value),
                Lot::Refused(_) | Lot::Dropped | Lot::Around => Edit::Keep,
            },
        }
    }

    fn producer_id(&mut self, _id: i64) -> Option<i64> {
        None
    }
}

impl Divided {
    /// Finds the parts of `frame`, a whole frame without its length, which stays as it is.
    ///
    /// # Errors
    /// [`Malformed`].
    pub fn look(&self, frame: &mut [u8], allot: &mut dyn Allot) -> Result<Parts, Malformed> {
        let mut look = Look { allot, parts: Parts::default() };
        rewrite(self.layout, self.wants, frame, &mut look, &mut Outline::off())?;
        Ok(look.parts)
    }

    /// The part of a request that has this lot: a whole frame without its length.
    ///
    /// # Errors
    /// [`Malformed`].
    pub fn take(&self, frame: &[u8], lot: Lot, allot: &mut dyn Allot) -> Result<Vec<u8>, Malformed> {
        let mut bytes = frame.to_vec();
        let mut take = Take { allot, lot: Some(lot) };
        match rewrite(self.layout, self.wants, &mut bytes, &mut take, &mut Outline::off())? {
            Rewritten::InPlace => Ok(bytes),
            Rewritten::Anew(other) => Ok(other),
        }
    }

    /// The answer that refuses what is refused with a code; `None`: no answer could.
    ///
    /// # Errors
    /// [`Malformed`].
    pub fn refusal(&self, frame: &[u8], code: Code, allot: &mut dyn Allot) -> Result<Option<Vec<u8>>, Malformed> {
        let mut part = self.take(frame, Lot::Refused(code), allot)?;
        self.refusal_of(&mut part, code, allot)
    }

    /// The answer that gives a code to all that a request names; `None`: no answer could.
    ///
    /// # Errors
    /// [`Malformed`].
    pub fn refusal_of(
        &self, frame: &mut [u8], code: Code, allot: &mut dyn Allot,
    ) -> Result<Option<Vec<u8>>, Malformed> {
        let mut outline = Outline::default();
        rewrite(self.layout, OUTLINED, frame, &mut Take { allot, lot: None }, &mut outline)?;
        Ok(answer::refusal(self.head.key, self.head.version, self.head.correlation, &outline, code))
    }
}
