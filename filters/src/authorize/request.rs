//! A request that is complete: refused as a whole, or in part, or not at all.

use skein_protocol::answer;
use skein_protocol::code::Code;
use skein_protocol::frame::Head;
use skein_protocol::ids::{ApiKey, Direction};
use skein_protocol::merge::together;
use skein_protocol::outline::Outline;
use skein_protocol::passage::{Edit, Editor, Value};
use skein_protocol::rewrite::rewrite;
use skein_protocol::table::{Fact, Table};
use skein_protocol::{Malformed, Meaning, Meanings};

use super::Judge;
use super::apis::{self, OfCluster};
use super::operation::{Operation, Resource};
use super::split::{Asked, Change, Changes, NAMES, Part, Place, Verdict, is_item};
use crate::filter::{Beside, Flow};

/// What is looked at besides names.
pub(super) const LOOKED_AT: Meanings =
    Meanings::of(&[Meaning::AutoCreate, Meaning::SessionId, Meaning::SessionEpoch, Meaning::TopicRegex]);

/// APIs whose answers have items that an outline cannot tell.
const UNTOLD: [ApiKey; 3] = [ApiKey(34), ApiKey(49), ApiKey(51)];

/// What a look at a whole request has found.
struct Look<'j> {
    judge: &'j mut Judge,
    asked: Asked,
    place: Place,
    /// The code that refuses all of it.
    whole: Option<Code>,
    /// The codes that refuse items of it.
    refused: Vec<Code>,
    /// Whether something goes without an answer.
    dropped: Found,
    /// Whether something is allowed.
    allowed: Found,
    /// Whether a name must be learnt.
    unknown: Found,
    /// Whether a topic is named that may not be created, and is to be if it is missing.
    uncreated: Change,
    auto_create: i64,
    session: i64,
    epoch: i64,
    /// The coordinator key that stands outside of arrays.
    coordinator: Option<Vec<u8>>,
}

/// Whether there was any.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Found {
    None,
    Some,
}

impl Look<'_> {
    /// A part of the request that is none of several.
    fn single(&mut self, fact: &Fact, value: Value<'_>) {
        match (fact.meaning, value) {
            (Meaning::TransactionalId, Value::Null) if self.asked.facts.key == ApiKey::INIT_PRODUCER_ID => {
                let may = self.judge.grants.allow_cluster(Operation::IdempotentWrite);
                self.whole = self.whole.or((!may).then_some(Code::CLUSTER_AUTHORIZATION_FAILED));
            }
            (Meaning::CoordinatorKey, Value::Text(key)) => self.coordinator = Some(key.to_vec()),
            // The broker matches it against topics that the client may not see.
            (Meaning::TopicRegex, Value::Text(pattern)) if !pattern.is_empty() => {
                let may = self.judge.grants.allow_every(Operation::Describe, Resource::Topic);
                self.whole = self.whole.or((!may).then_some(Code::TOPIC_AUTHORIZATION_FAILED));
            }
            (Meaning::AutoCreate, Value::Int(create)) => self.auto_create = create,
            (Meaning::SessionId, Value::Int(id)) => self.session = id,
            (Meaning::SessionEpoch, Value::Int(epoch)) => self.epoch = epoch,
            _ => {}
        }
    }

    fn item(&mut self, fact: &Fact, verdict: Verdict, value: Value<'_>) {
        if self.place.in_refused_group && fact.meaning != Meaning::GroupId {
            return;
        }
        match verdict {
            Verdict::Allowed => {
                self.allowed = Found::Some;
                if let Value::Text(topic) = value
                    && self.asked.facts.key == ApiKey::METADATA
                    && !self.judge.may_create(topic)
                {
                    self.uncreated = Change::Yes;
                }
            }
            Verdict::Denied(code) if !self.refused.contains(&code) => self.refused.push(code),
            Verdict::Denied(_) => {}
            Verdict::Dropped => self.dropped = Found::Some,
            Verdict::Unknown => self.unknown = Found::Some,
        }
    }
}

impl Editor for Look<'_> {
    fn edit(&mut self, fact: &'static Fact, value: Value<'_>) -> Edit {
        match self.judge.verdict(&self.asked, &mut self.place, fact, value) {
            Some(verdict) if is_item(fact) => self.item(fact, verdict, value),
            Some(Verdict::Denied(code)) => self.whole = self.whole.or(Some(code)),
            Some(_) => {}
            None => self.single(fact, value),
        }
        Edit::Keep
    }

    fn producer_id(&mut self, _id: i64) -> Option<i64> {
        None
    }
}

/// What a look came to, without what it borrowed.
struct Seen {
    whole: Option<Code>,
    refused: Vec<Code>,
    dropped: Found,
    allowed: Found,
    unknown: Found,
    changes: Changes,
    session: i64,
    epoch: i64,
}

impl Judge {
    /// Judges a request. Names that it needs are asked for once: when it is looked at again, what is unknown stays so.
    pub(super) fn judge(&mut self, head: &Head, frame: &mut [u8]) -> Result<Flow, Malformed> {
        let flow = self.judged(head, frame);
        self.has_asked = matches!(flow, Ok(Flow::Learn));
        flow
    }

    fn judged(&mut self, head: &Head, frame: &mut [u8]) -> Result<Flow, Malformed> {
        let layout = Table::get().layout(head.key, head.version, Direction::ToBroker);
        let (Some(facts), Some(layout)) = (apis::facts(head.key), layout) else { return Ok(Flow::Close) };
        let asked = Asked { facts, layout, version: head.version };
        if let OfCluster::Needed(operation) = facts.cluster {
            let may = self.grants.allow_cluster(operation);
            let mut refused = || self.refuse(head, asked, frame, Code::CLUSTER_AUTHORIZATION_FAILED);
            return if may { Ok(Flow::Forward) } else { refused() };
        }
        let seen = self.look(asked, frame)?;
        if let Some(code) = seen.whole {
            return self.refuse(head, asked, frame, code);
        }
        if seen.unknown == Found::Some && !self.has_asked {
            return Ok(Flow::Learn);
        }
        if head.key == ApiKey::FETCH && seen.epoch > 0 {
            // What a session holds besides was judged when it came, if it came here.
            if !seen.refused.is_empty() || self.session != Some(seen.session) {
                return Ok(answered(top(head, Code::FETCH_SESSION_ID_NOT_FOUND), Code::FETCH_SESSION_ID_NOT_FOUND));
            }
        }
        match (head.key, seen.refused.first()) {
            (ApiKey::CONSUMER_GROUP_HEARTBEAT, Some(code)) => self.refuse(head, asked, frame, *code),
            (_, None) if seen.dropped == Found::None && seen.changes == Changes::default() => Ok(Flow::Forward),
            (_, None) => Ok(Flow::Part { frame: self.part(asked, frame, Part::Allowed(seen.changes))?, beside: None }),
            (_, Some(code)) => self.divide(head, asked, frame, &seen, *code),
        }
    }

    fn look(&mut self, asked: Asked, frame: &mut [u8]) -> Result<Seen, Malformed> {
        let mut look = Look {
            judge: self,
            asked,
            place: Place::default(),
            whole: None,
            refused: Vec::new(),
            dropped: Found::None,
            allowed: Found::None,
            unknown: Found::None,
            uncreated: Change::No,
            auto_create: 0,
            session: 0,
            epoch: 0,
            coordinator: None,
        };
        rewrite(asked.layout, NAMES.and(LOOKED_AT), frame, &mut look, &mut Outline::off())?;
        if let Some(key) = &look.coordinator
            && let Verdict::Denied(code) = look.judge.coordinator(look.place.key_type, key)
        {
            look.whole = look.whole.or(Some(code));
        }
        let is_fetch = asked.facts.key == ApiKey::FETCH;
        let sessionless = if is_fetch && !look.refused.is_empty() { Change::Yes } else { Change::No };
        let uncreated = if look.auto_create == 0 { Change::No } else { look.uncreated };
        let Look { whole, refused, dropped, allowed, unknown, session, epoch, .. } = look;
        let changes = Changes { uncreated, sessionless };
        Ok(Seen { whole, refused, dropped, allowed, unknown, changes, session, epoch })
    }

    /// A request of which some is refused.
    fn divide(&mut self, head: &Head, asked: Asked, frame: &[u8], seen: &Seen, code: Code) -> Result<Flow, Malformed> {
        let mut parts = Vec::new();
        for code in &seen.refused {
            parts.push((Part::Refused(*code), *code));
        }
        if head.key == ApiKey::ADD_PARTITIONS_TO_TXN {
            // All of it, or nothing.
            parts.push((Part::Allowed(Changes::default()), Code::OPERATION_NOT_ATTEMPTED));
        }
        let mut beside: Option<Vec<u8>> = None;
        for (part, code) in parts {
            let outline = self.outline(asked, frame, part)?;
            if !outline.is_whole() {
                return Ok(Flow::Close);
            }
            // A topic without partitions has no place for a code, and needs none.
            let Some(refused) = answer::refusal(head.key, head.version, head.correlation, &outline, code) else {
                continue;
            };
            beside = Some(match beside {
                None => refused,
                Some(before) => together(head, &before, &refused)?,
            });
        }
        // Metadata tells of brokers too, and the answer to it is never made here.
        let is_all = seen.allowed == Found::None && head.key != ApiKey::METADATA;
        if is_all || head.key == ApiKey::ADD_PARTITIONS_TO_TXN {
            let nothing = || answer::empty(head.key, head.version, head.correlation);
            return Ok(answered(beside.or_else(nothing), code));
        }
        // In Metadata v0 an empty list asks for all topics; the answer loses those that may not be seen.
        let frame = self.part(asked, frame, Part::Allowed(seen.changes))?;
        Ok(Flow::Part { frame, beside: beside.map(|frame| Beside { frame, code }) })
    }

    /// A request that is refused as a whole: the code stands at the top of the answer if that has a place there, and with
    /// each item otherwise.
    fn refuse(&mut self, head: &Head, asked: Asked, frame: &[u8], code: Code) -> Result<Flow, Malformed> {
        if let Some(frame) = top(head, code) {
            return Ok(answered(Some(frame), code));
        }
        let outline = self.outline(asked, frame, Part::All)?;
        if !outline.is_whole() || UNTOLD.contains(&head.key) {
            return Ok(Flow::Close);
        }
        let refused = answer::refusal(head.key, head.version, head.correlation, &outline, code);
        // Of what names nothing there is nothing to refuse.
        Ok(answered(refused.or_else(|| answer::empty(head.key, head.version, head.correlation)), code))
    }
}

/// An answer with a code at its top, and no items.
fn top(head: &Head, code: Code) -> Option<Vec<u8>> {
    answer::refusal(head.key, head.version, head.correlation, &Outline::default(), code)
}

fn answered(frame: Option<Vec<u8>>, code: Code) -> Flow {
    frame.map_or(Flow::Close, |frame| Flow::Answer(Beside { frame, code }))
}
