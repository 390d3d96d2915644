//! Produce, as it passes: a partition that may not be written gets an index that no broker has, of the same width, and the
//! answer is put right.
//!
//! ```text
//!   bit 31 = 0   bit 30 = 1: spoilt   bits 29..28: which code   bits 27..0: the partition
//! ```
//!
//! A broker answers such an entry with UNKNOWN_TOPIC_OR_PARTITION, and nothing of it is written. With acks=0 it closes the
//! connection, as it does for what it refuses itself.

use skein_protocol::Meaning;
use skein_protocol::code::Code;
use skein_protocol::passage::{Edit, Value};
use skein_protocol::table::Fact;

use super::names::Id;
use super::operation::{Operation, Resource};
use super::{ById, Judge, MOST_IDS};
use crate::edge::Memo;

const SPOILT: i64 = 1 << 30;
const WHICH: u32 = 28;
const INDEX: i64 = (1 << WHICH) - 1;
/// The codes, by their number in a spoilt index.
const CODES: [Code; 3] =
    [Code::TOPIC_AUTHORIZATION_FAILED, Code::TRANSACTIONAL_ID_AUTHORIZATION_FAILED, Code::UNKNOWN_TOPIC_ID];

/// The index that takes the place of `index`, which is refused with `code`.
fn spoilt(index: i64, code: Code) -> i64 {
    let which = CODES.iter().zip(0i64..).find(|(known, _)| **known == code).map_or(0, |(_, which)| which);
    SPOILT | which << WHICH | index & INDEX
}

/// The index that was spoilt, and the code.
fn restored(index: i64) -> Option<(i64, Code)> {
    let spoilt = index >= 0 && index & SPOILT != 0;
    let which = usize::try_from((index & !SPOILT) >> WHICH).ok()?;
    spoilt.then(|| CODES.get(which).map(|code| (index & INDEX, *code)))?
}

impl Judge {
    /// A field of a request.
    #[inline]
    pub(super) fn produce(&mut self, memo: &mut Memo, fact: &'static Fact, value: Value<'_>) -> Edit {
        match (fact.meaning, value) {
            (Meaning::Partition, Value::Int(index)) => match memo.refused {
                None => Edit::Keep,
                Some(code) => {
                    memo.denied = Some(code);
                    Edit::Int(spoilt(index, code))
                }
            },
            (Meaning::TopicId, Value::Id(id)) => {
                memo.refused = memo.refused_all.or_else(|| self.write_by_id(id));
                Edit::Keep
            }
            (Meaning::TopicName, Value::Text(name)) => {
                let may = || self.may(Operation::Write, Resource::Topic, name);
                memo.refused = memo.refused_all.or_else(|| (!may()).then_some(Code::TOPIC_AUTHORIZATION_FAILED));
                Edit::Keep
            }
            (Meaning::TransactionalId, Value::Text(id)) => {
                let may = self.may(Operation::Write, Resource::TransactionalId, id);
                memo.refused_all = (!may).then_some(Code::TRANSACTIONAL_ID_AUTHORIZATION_FAILED);
                Edit::Keep
            }
            _ => Edit::Keep,
        }
    }

    /// What refuses to write to the topic with this id.
    fn write_by_id(&mut self, id: Id) -> Option<Code> {
        if let Some(may) = self.writable.get(&id) {
            return (!may).then_some(Code::TOPIC_AUTHORIZATION_FAILED);
        }
        let may = match self.by_id(Operation::Write, id) {
            ById::Allowed => true,
            ById::Denied => false,
            // Clients ask for metadata then, and try again; by then the id has been asked for.
            ById::Unknown | ById::Nameless => return Some(Code::UNKNOWN_TOPIC_ID),
        };
        if self.writable.len() >= MOST_IDS {
            self.writable.clear();
        }
        self.writable.insert(id, may);
        (!may).then_some(Code::TOPIC_AUTHORIZATION_FAILED)
    }
}

/// A field of an answer.
#[inline]
pub(super) fn produced(memo: &mut Memo, fact: &'static Fact, value: Value<'_>) -> Edit {
    match (fact.meaning, value) {
        (Meaning::Partition, Value::Int(index)) => match restored(index) {
            None => {
                memo.refused = None;
                Edit::Keep
            }
            Some((index, code)) => {
                memo.refused = Some(code);
                Edit::Int(index)
            }
        },
        (Meaning::Error, Value::Int(_)) => memo.refused.map_or(Edit::Keep, |code| Edit::Int(i64::from(code.0))),
        _ => Edit::Keep,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_spoilt_is_restored_with_its_code() {
        for index in [0, 1, 9_999, INDEX] {
            for code in CODES {
                let spoilt = spoilt(index, code);
                assert!(spoilt > 1 << 30 || spoilt == 1 << 30 && index == 0);
                assert!(i32::try_from(spoilt).is_ok());
                assert_eq!(restored(spoilt), Some((index, code)));
            }
        }
    }

    #[test]
    fn what_was_not_spoilt_stays() {
        for index in [0, 7, INDEX, i64::from(i32::MIN), -1] {
            assert_eq!(restored(index), None);
        }
    }
}
