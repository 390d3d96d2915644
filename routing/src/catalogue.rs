//! What keeps a request to one broker to what is there: the last filter of a connection whose graph weaves.
//!
//! Topics of another route are refused as a broker refuses what it does not lead; a topic that no rule exposes as one that does
//! not exist; a group or transaction at home elsewhere as one that has another coordinator. A home is one cluster, so a group
//! or transaction that reaches beyond it is refused where clients show that to their users.

mod look;

use std::collections::HashSet;
use std::sync::Arc;

use skein_filters::{Beside, Filter, Flow, Interest, Memo};
use skein_protocol::answer;
use skein_protocol::code::Code;
use skein_protocol::divide::{Allot, Divided, Dropped, Lot, Parts};
use skein_protocol::frame::Head;
use skein_protocol::ids::{ApiKey, Direction, VirtualNodeId, VirtualTopicId};
use skein_protocol::merge::together;
use skein_protocol::outline::Outline;
use skein_protocol::passage::{Edit, Editor, Value};
use skein_protocol::rewrite::{Rewritten, rewrite};
use skein_protocol::table::{Fact, Table};
use skein_protocol::varint::Inline;
use skein_protocol::{Malformed, Meaning, Meanings};

use self::look::{HERE, Look};
use crate::apis::manner::{self, Place};
use crate::apis::woven::{self, Way};
use crate::book::Book;
use crate::graph::{Target, Whereabouts};
use crate::router::Owned;

/// The filter.
pub(crate) struct Catalogue {
    target: Target,
    /// The node that the connection is for.
    at: Option<VirtualNodeId>,
    book: Arc<Book>,
    /// Topic ids that must be learnt, and those for which that has been tried for this request.
    unknown: HashSet<[u8; 16]>,
    tried: HashSet<[u8; 16]>,
    /// The transactional id of a transaction of which something was refused here, until it ends.
    hurt: Option<Inline>,
    /// Whether what ends such a transaction is on its way.
    ends: bool,
}

/// What names things that have a place.
const DECIDE: Meanings = Meanings::of(&[
    Meaning::TopicName,
    Meaning::TopicId,
    Meaning::GroupId,
    Meaning::TransactionalId,
    Meaning::TopicRegex,
    Meaning::SessionEpoch,
    Meaning::Wait,
]);
const PRODUCED: Meanings = Meanings::of(&[Meaning::Partition]);
const PRODUCE: Meanings =
    Meanings::of(&[Meaning::TopicName, Meaning::TopicId, Meaning::Partition, Meaning::TransactionalId]);
const ENDED: Meanings = Meanings::of(&[Meaning::Error]);
const LISTED: Meanings = Meanings::of(&[Meaning::GroupId, Meaning::TransactionalId]);

/// An index that no broker has, in the place of the `n`th partition of a request.
fn spoilt(n: usize) -> i64 {
    SPOILT | i64::try_from(n).unwrap_or(SPOILT - 1) & (SPOILT - 1)
}

/// Topic ids of one connection that were tried to be learnt and are remembered for it.
const MOST_TRIED: usize = 1024;

const SPOILT: i64 = 1 << 30;

impl Catalogue {
    pub(crate) fn new(target: Target, at: Option<VirtualNodeId>, book: Arc<Book>) -> Self {
        Self { target, at, book, unknown: HashSet::new(), tried: HashSet::new(), hurt: None, ends: false }
    }

    fn is_here(&self, of: Owned, name: &[u8]) -> Whereabouts {
        self.target.whereabouts(of, name, self.at)
    }

    /// Where the topic with an id is; `None`: nobody knows it yet.
    fn by_id(&mut self, id: [u8; 16]) -> Option<Whereabouts> {
        match self.book.name(VirtualTopicId(id)) {
            Some(name) => Some(self.is_here(Owned::Topic, &name)),
            None if self.tried.contains(&id) => Some(Whereabouts::Nowhere),
            None => {
                self.unknown.insert(id);
                None
            }
        }
    }

    /// A field of a Produce as it passes.
    fn produce(&mut self, memo: &mut Memo, fact: &Fact, value: Value<'_>) -> Edit {
        match (fact.meaning, value) {
            (Meaning::TransactionalId, Value::Text(id)) => {
                let here = self.is_here(Owned::TransactionalId, id) == Whereabouts::Here;
                memo.refused_all = (!here).then_some(Code::TRANSACTION_ABORTABLE);
                Edit::Keep
            }
            (Meaning::TopicName, Value::Text(name)) => {
                let code = match self.is_here(Owned::Topic, name) {
                    Whereabouts::Here => None,
                    Whereabouts::Elsewhere => Some(Code::NOT_LEADER_OR_FOLLOWER),
                    Whereabouts::Nowhere => Some(Code::UNKNOWN_TOPIC_OR_PARTITION),
                };
                memo.elsewhere = code.or(memo.refused_all);
                Edit::Keep
            }
            (Meaning::TopicId, Value::Id(id)) => {
                let code = match self.by_id(id) {
                    Some(Whereabouts::Here) => None,
                    Some(Whereabouts::Elsewhere) => Some(Code::NOT_LEADER_OR_FOLLOWER),
                    Some(Whereabouts::Nowhere) => Some(Code::UNKNOWN_TOPIC_ID),
                    // The passage stops here until it is known.
                    None => return Edit::Hold,
                };
                memo.elsewhere = code.or(memo.refused_all);
                Edit::Keep
            }
            (Meaning::Partition, Value::Int(_)) => {
                let n = memo.partitions;
                memo.partitions += 1;
                match memo.elsewhere {
                    None => Edit::Keep,
                    Some(code) => {
                        memo.spoilt.push((n, code));
                        Edit::Int(spoilt(n))
                    }
                }
            }
            _ => Edit::Keep,
        }
    }

    fn layouts(head: &Head) -> Result<Divided, Malformed> {
        let unknown = Malformed::UnknownMessage { key: head.key.0, version: head.version };
        let layout = Table::get().layout(head.key, head.version, Direction::ToBroker).ok_or(unknown)?;
        Ok(Divided { head: *head, layout, wants: DECIDE })
    }

    fn judge(&mut self, head: &Head, frame: &mut [u8]) -> Result<Flow, Malformed> {
        let divided = Self::layouts(head)?;
        let mut look = Look::new(self, head);
        let parts = divided.look(frame, &mut look)?;
        let Look { epoch, foreign, pattern, transactional_id, .. } = look;
        if !self.unknown.is_empty() {
            return Ok(Flow::Learn);
        }
        self.tried.clear();
        let Parts { goes, refused, dropped, whole } = parts;
        if head.key == ApiKey::END_TXN {
            self.ends = self.hurt.is_some() && self.hurt == transactional_id;
            self.hurt = None;
        } else if woven::adds_to_transaction(head.key)
            && (!refused.is_empty() || matches!(whole, Some(Lot::Refused(_))))
        {
            self.hurt = transactional_id;
        }
        if pattern {
            return self.refuse_all(&divided, frame, Code::INVALID_REGULAR_EXPRESSION, &foreign);
        }
        if let Some(Lot::Refused(code)) = whole {
            return self.refuse_all(&divided, frame, code, &foreign);
        }
        if head.key == ApiKey::FETCH && epoch > 0 && !refused.is_empty() {
            let answer = top(head, Code::FETCH_SESSION_ID_NOT_FOUND);
            return Ok(answered(answer, Code::FETCH_SESSION_ID_NOT_FOUND));
        }
        match refused.first() {
            None if dropped == Dropped::Nothing => Ok(Flow::Forward),
            None => Ok(Flow::Part { frame: divided.take(frame, HERE, &mut Look::new(self, head))?, beside: None }),
            Some(code) if head.key == ApiKey::CONSUMER_GROUP_HEARTBEAT || head.key == ApiKey::SHARE_GROUP_HEARTBEAT => {
                self.refuse_all(&divided, frame, *code, &foreign)
            }
            Some(code) => self.divide(&divided, frame, &refused, (*code, goes.is_empty())),
        }
    }

    /// A request of which some is refused.
    fn divide(
        &mut self, divided: &Divided, frame: &[u8], refused: &[Code], (code, all): (Code, bool),
    ) -> Result<Flow, Malformed> {
        let head = divided.head;
        let mut parts: Vec<(Lot, Code)> = refused.iter().map(|code| (Lot::Refused(*code), *code)).collect();
        let is_one = head.key == ApiKey::ADD_PARTITIONS_TO_TXN;
        if is_one {
            parts.push((HERE, Code::OPERATION_NOT_ATTEMPTED));
        }
        let mut beside: Option<Vec<u8>> = None;
        for (lot, code) in parts {
            let mut part = divided.take(frame, lot, &mut Look::new(self, &head))?;
            let Some(refused) = divided.refusal_of(&mut part, code, &mut Everything)? else { continue };
            beside = Some(match beside {
                None => refused,
                Some(before) => together(&head, &before, &refused)?,
            });
        }
        if all || is_one {
            return Ok(answered(beside, code));
        }
        let Some(beside) = beside else { return Ok(Flow::Close) };
        let frame = divided.take(frame, HERE, &mut Look::new(self, &head))?;
        Ok(Flow::Part { frame, beside: Some(Beside { frame: beside, code }) })
    }

    /// All of a request is refused; `foreign`: the name that is the reason, for people.
    fn refuse_all(
        &mut self, divided: &Divided, frame: &mut [u8], code: Code, foreign: &[u8],
    ) -> Result<Flow, Malformed> {
        let head = divided.head;
        let refused = match top(&head, code) {
            Some(top) => Some(top),
            None => divided.refusal_of(frame, code, &mut Everything)?,
        };
        let Some(refused) = refused else { return Ok(Flow::Close) };
        Ok(answered(Some(told(&head, refused, code, foreign)?), code))
    }
}

/// All has one lot.
struct Everything;

impl Allot for Everything {
    fn lot(&mut self, _fact: &'static Fact, _value: Value<'_>) -> Option<Lot> {
        None
    }
}

fn top(head: &Head, code: Code) -> Option<Vec<u8>> {
    answer::refusal(head.key, head.version, head.correlation, &Outline::default(), code)
}

fn answered(frame: Option<Vec<u8>>, code: Code) -> Flow {
    frame.map_or(Flow::Close, |frame| Flow::Answer(Beside { frame, code }))
}

/// An answer that has a place for words says what is refused, and why.
fn told(head: &Head, mut frame: Vec<u8>, code: Code, foreign: &[u8]) -> Result<Vec<u8>, Malformed> {
    struct Words(Inline);
    impl Editor for Words {
        fn edit(&mut self, _fact: &'static Fact, _value: Value<'_>) -> Edit {
            Edit::Text(self.0.clone())
        }

        fn producer_id(&mut self, _id: i64) -> Option<i64> {
            None
        }
    }
    let words = match code {
        Code::TOPIC_AUTHORIZATION_FAILED => {
            "a group has the topics of its home cluster only, and this one is elsewhere: "
        }
        Code::INVALID_REGULAR_EXPRESSION => "patterns are matched by one cluster, and topics here are of several: ",
        _ => return Ok(frame),
    };
    let unknown = Malformed::UnknownMessage { key: head.key.0, version: head.version };
    let layout = Table::get().layout(head.key, head.version, Direction::ToClient).ok_or(unknown)?;
    let mut words = Words(Inline::from_slice(words.as_bytes()));
    words.0.extend_from_slice(foreign);
    match rewrite(layout, Meanings::of(&[Meaning::FreeText]), &mut frame, &mut words, &mut Outline::off())? {
        Rewritten::InPlace => Ok(frame),
        Rewritten::Anew(other) => Ok(other),
    }
}

impl Filter for Catalogue {
    fn interest(&self, key: ApiKey, way: Direction) -> Interest {
        let addressed = woven::way(key) == Way::Addressed && matches!(manner::place(key), Place::Broker(_));
        match (way, key) {
            _ if !addressed => Interest::None,
            (Direction::ToBroker, ApiKey::PRODUCE) => Interest::Fields(PRODUCE),
            (Direction::ToBroker, _) => Interest::Complete(Meanings::NONE),
            (Direction::ToClient, ApiKey::PRODUCE) => Interest::Fields(PRODUCED),
            (Direction::ToClient, ApiKey::END_TXN) => Interest::Fields(ENDED),
            (Direction::ToClient, key) if woven::lists_everything(key) => Interest::Complete(LISTED),
            (Direction::ToClient, _) => Interest::None,
        }
    }

    fn on_request(&mut self, head: &Head, frame: &mut [u8]) -> Result<Flow, Malformed> {
        self.judge(head, frame)
    }

    fn on_field(
        &mut self, memo: &mut Memo, (key, way): (ApiKey, Direction), fact: &'static Fact, value: Value<'_>,
    ) -> Edit {
        match (key, way, fact.meaning, value) {
            (ApiKey::PRODUCE, Direction::ToBroker, ..) => self.produce(memo, fact, value),
            // What was refused is not the broker's to answer; the answer to it is beside.
            (ApiKey::PRODUCE, Direction::ToClient, Meaning::Partition, Value::Int(index)) if index & SPOILT != 0 => {
                Edit::Drop
            }
            // The broker knows nothing of a transaction of which all was refused here: it has ended as the client wants it.
            (ApiKey::END_TXN, Direction::ToClient, Meaning::Error, Value::Int(code)) => {
                let nothing = code == i64::from(Code::INVALID_TXN_STATE.0);
                if std::mem::take(&mut self.ends) && nothing { Edit::Int(0) } else { Edit::Keep }
            }
            (_, Direction::ToClient, Meaning::GroupId, Value::Text(id)) => self.listed(Owned::Group, id),
            (_, Direction::ToClient, Meaning::TransactionalId, Value::Text(id)) => {
                self.listed(Owned::TransactionalId, id)
            }
            _ => Edit::Keep,
        }
    }

    fn unknown(&mut self) -> Vec<[u8; 16]> {
        let unknown: Vec<_> = self.unknown.drain().collect();
        if self.tried.len() >= MOST_TRIED {
            self.tried.clear();
        }
        self.tried.extend(&unknown);
        unknown
    }

    fn learned(&mut self, _id: [u8; 16], _name: &str) {}
}

impl Catalogue {
    /// What a cluster lists of its own, and is at home elsewhere, is none of the catalogue.
    fn listed(&self, of: Owned, id: &[u8]) -> Edit {
        if self.is_here(of, id) == Whereabouts::Here { Edit::Keep } else { Edit::Drop }
    }
}
