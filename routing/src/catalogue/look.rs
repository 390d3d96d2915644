//! One look at a complete request: what of it is where it came to, and what the rest is refused with.

use skein_protocol::Meaning;
use skein_protocol::code::Code;
use skein_protocol::divide::{Allot, Lot, is_item};
use skein_protocol::frame::Head;
use skein_protocol::ids::ApiKey;
use skein_protocol::passage::{Edit, Value};
use skein_protocol::table::Fact;
use skein_protocol::varint::Inline;

use super::Catalogue;
use crate::apis::woven;
use crate::graph::Whereabouts;
use crate::router::Owned;

/// The lot of what is where the request came to.
pub(super) const HERE: Lot = Lot::Goes(0);

/// One look at a request.
pub(super) struct Look<'c> {
    catalogue: &'c mut Catalogue,
    key: ApiKey,
    version: i16,
    /// The lot of the group that the walk is in, where a request has several.
    group: Option<Lot>,
    pub(super) epoch: i64,
    /// What was refused last.
    pub(super) foreign: Inline,
    /// Whether a pattern over topics is to be matched by the broker.
    pub(super) pattern: bool,
    /// The transactional id that it names.
    pub(super) transactional_id: Option<Inline>,
}

impl<'c> Look<'c> {
    pub(super) fn new(catalogue: &'c mut Catalogue, head: &Head) -> Self {
        let (key, version) = (head.key, head.version);
        Self {
            catalogue,
            key,
            version,
            group: None,
            epoch: 0,
            foreign: Inline::new(),
            pattern: false,
            transactional_id: None,
        }
    }

    fn topic(&mut self, place: Whereabouts, fact: &Fact, unknown: Code) -> Lot {
        let lot = match place {
            Whereabouts::Here => HERE,
            Whereabouts::Elsewhere => Lot::Refused(woven::elsewhere(self.key, self.version)),
            // A consumer may wait for a topic that is not there yet.
            Whereabouts::Nowhere if self.key == ApiKey::CONSUMER_GROUP_HEARTBEAT => HERE,
            Whereabouts::Nowhere => Lot::Refused(unknown),
        };
        match (lot, self.group) {
            (_, Some(of_group @ Lot::Refused(_))) => of_group,
            (Lot::Refused(_), _) if woven::needs_no_answer(fact) => Lot::Dropped,
            (lot, _) => lot,
        }
    }

    fn home(&mut self, of: Owned, name: &[u8]) -> Lot {
        match self.catalogue.is_here(of, name) {
            Whereabouts::Here => HERE,
            Whereabouts::Elsewhere | Whereabouts::Nowhere => {
                Lot::Refused(woven::not_at_home(self.key, self.version, of))
            }
        }
    }
}

impl Allot for Look<'_> {
    fn lot(&mut self, fact: &'static Fact, value: Value<'_>) -> Option<Lot> {
        match (fact.meaning, value) {
            (Meaning::TopicName, Value::Text(name)) => {
                let place = self.catalogue.is_here(Owned::Topic, name);
                let lot = self.topic(place, fact, Code::UNKNOWN_TOPIC_OR_PARTITION);
                if lot != HERE {
                    self.foreign = Inline::from_slice(name);
                }
                Some(lot)
            }
            // What a member holds it was given by its coordinator.
            (Meaning::TopicId, _) if self.key == ApiKey::CONSUMER_GROUP_HEARTBEAT => None,
            (Meaning::TopicId, Value::Id(id)) if id != [0; 16] => {
                let place = self.catalogue.by_id(id).unwrap_or(Whereabouts::Nowhere);
                Some(self.topic(place, fact, Code::UNKNOWN_TOPIC_ID))
            }
            (Meaning::GroupId, Value::Text(group)) => {
                let lot = self.home(Owned::Group, group);
                if is_item(fact) {
                    self.group = Some(lot);
                    if lot == HERE && woven::has_topics(self.key) {
                        return Some(Lot::Around);
                    }
                }
                Some(lot)
            }
            (Meaning::TransactionalId, Value::Text(id)) => {
                self.transactional_id = Some(Inline::from_slice(id));
                Some(self.home(Owned::TransactionalId, id))
            }
            (Meaning::TopicRegex, Value::Text(pattern)) => {
                self.pattern |= !pattern.is_empty();
                if !pattern.is_empty() {
                    self.foreign = Inline::from_slice(pattern);
                }
                None
            }
            (Meaning::SessionEpoch, Value::Int(epoch)) => {
                self.epoch = epoch;
                None
            }
            _ => None,
        }
    }

    /// What is left of a fetch has no session, and waits for nothing: what is refused is told at once.
    fn change(&mut self, _part: u16, fact: &'static Fact, _value: Value<'_>) -> Edit {
        if self.key != ApiKey::FETCH {
            return Edit::Keep;
        }
        if fact.meaning == Meaning::SessionEpoch {
            return Edit::Int(-1);
        }
        if fact.meaning == Meaning::Wait { Edit::Int(0) } else { Edit::Keep }
    }
}
