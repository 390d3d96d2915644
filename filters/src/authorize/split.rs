//! A verdict for each thing that a complete request names, and the parts that it falls into: what goes on, and what is
//! refused with each code.

use skein_protocol::code::Code;
use skein_protocol::ids::ApiKey;
use skein_protocol::outline::{OUTLINED, Outline};
use skein_protocol::passage::{Edit, Editor, Value};
use skein_protocol::rewrite::{Rewritten, rewrite};
use skein_protocol::table::{Fact, Layout};
use skein_protocol::{Malformed, Meaning, Meanings};

use super::apis::{self, Facts, OfCluster};
use super::names::{Id, NONE};
use super::operation::{Operation, Resource};
use super::{ById, Judge};

/// What becomes of a thing that a request names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Allowed,
    Denied(Code),
    /// It goes without being answered: a topic that a fetch is to forget.
    Dropped,
    /// Its name must be learnt first.
    Unknown,
}

/// A request under judgement.
#[derive(Clone, Copy)]
pub(super) struct Asked {
    pub(super) facts: &'static Facts,
    pub(super) layout: &'static Layout,
    pub(super) version: i16,
}

/// All that a verdict or a code may depend on.
pub(super) const NAMES: Meanings = Meanings::of(&[
    Meaning::TopicName,
    Meaning::TopicId,
    Meaning::GroupId,
    Meaning::TransactionalId,
    Meaning::ResourceType,
    Meaning::ResourceName,
    Meaning::KeyType,
    Meaning::CoordinatorKey,
]);
/// What is changed besides in the part that goes on.
const CHANGED: Meanings = Meanings::of(&[Meaning::AutoCreate, Meaning::SessionEpoch, Meaning::Wait]);

/// Where a walk is in a request.
#[derive(Debug, Default)]
pub(super) struct Place {
    resource_type: i64,
    pub(super) key_type: i64,
    /// Whether the group around the topics is refused.
    pub(super) in_refused_group: bool,
}

/// Whether a field stands in an array: it is one of several.
pub(super) fn is_item(fact: &Fact) -> bool {
    fact.path.contains("[]")
}

impl Judge {
    /// The verdict on a field; `None`: it names nothing that is judged.
    pub(super) fn verdict(
        &mut self, asked: &Asked, place: &mut Place, fact: &Fact, value: Value<'_>,
    ) -> Option<Verdict> {
        match (fact.meaning, value) {
            (Meaning::ResourceType, Value::Int(kind)) => {
                place.resource_type = kind;
                None
            }
            (Meaning::KeyType, Value::Int(kind)) => {
                place.key_type = kind;
                None
            }
            (Meaning::TopicName, Value::Text(name)) => {
                let operation = asked.facts.asks(Resource::Topic)?;
                let verdict =
                    if self.is_enough(asked) { Verdict::Allowed } else { self.on(operation, Resource::Topic, name) };
                Some(if self.may_ask(asked, name) { verdict.or_dropped(fact) } else { refused(Resource::Topic) })
            }
            // What a member has the broker gave it; a topic that is gone since must not end the member.
            (Meaning::TopicId, _) if asked.facts.key == ApiKey::CONSUMER_GROUP_HEARTBEAT => None,
            (Meaning::TopicId, Value::Id(id)) if id != NONE => {
                let operation = asked.facts.asks(Resource::Topic)?;
                Some(self.verdict_by_id(asked, operation, id).or_dropped(fact))
            }
            (Meaning::GroupId, Value::Text(id)) => {
                let verdict = self.on(asked.facts.asks(Resource::Group)?, Resource::Group, id);
                place.in_refused_group = verdict != Verdict::Allowed && is_item(fact);
                Some(verdict)
            }
            (Meaning::TransactionalId, Value::Text(id)) => {
                let operation = asked.facts.asks(Resource::TransactionalId)?;
                Some(self.on(operation, Resource::TransactionalId, id))
            }
            (Meaning::ResourceName, Value::Text(name)) if asked.facts.cluster == OfCluster::Nothing => {
                let operation = asked.facts.asks(Resource::Topic)?;
                Some(self.on(operation, apis::config_resource(place.resource_type), name))
            }
            // Below version 4 the type of the key stands behind it.
            (Meaning::CoordinatorKey, Value::Text(id)) if is_item(fact) => Some(self.coordinator(place.key_type, id)),
            _ => None,
        }
    }

    /// Whether the coordinator of this may be looked for.
    pub(super) fn coordinator(&self, kind: i64, id: &[u8]) -> Verdict {
        match kind {
            0 => self.on(Operation::Describe, Resource::Group, id),
            1 => self.on(Operation::Describe, Resource::TransactionalId, id),
            _ => self.on(Operation::ClusterAction, Resource::Cluster, id),
        }
    }

    /// The verdict on something; the cluster has a name of its own.
    fn on(&self, operation: Operation, resource: Resource, name: &[u8]) -> Verdict {
        let may = match resource {
            Resource::Cluster => self.grants.allow_cluster(operation),
            Resource::Topic | Resource::Group | Resource::TransactionalId => self.may(operation, resource, name),
        };
        if may { Verdict::Allowed } else { refused(resource) }
    }

    /// Whether what the client may do to the cluster is enough for everything.
    fn is_enough(&self, asked: &Asked) -> bool {
        matches!(asked.facts.cluster, OfCluster::Enough(of_all) if self.grants.allow_cluster(of_all))
    }

    /// Below version 4 of Metadata nothing says that a topic is not to be created: it is asked for only if it might be.
    fn may_ask(&self, asked: &Asked, topic: &[u8]) -> bool {
        asked.facts.key != ApiKey::METADATA || asked.version >= 4 || self.may_create(topic)
    }

    /// Whether a topic may be created.
    pub(super) fn may_create(&self, topic: &[u8]) -> bool {
        self.grants.allow_cluster(Operation::Create) || self.may(Operation::Create, Resource::Topic, topic)
    }

    fn verdict_by_id(&mut self, asked: &Asked, operation: Operation, id: Id) -> Verdict {
        if self.is_enough(asked) {
            return Verdict::Allowed;
        }
        match self.by_id(operation, id) {
            ById::Allowed => Verdict::Allowed,
            ById::Denied => Verdict::Denied(Code::TOPIC_AUTHORIZATION_FAILED),
            ById::Unknown => Verdict::Unknown,
            // The broker knows no more of it; if it does, the answer is judged by the name.
            ById::Nameless if asked.facts.key == ApiKey::METADATA => Verdict::Allowed,
            ById::Nameless => Verdict::Denied(Code::UNKNOWN_TOPIC_ID),
        }
    }
}

fn refused(resource: Resource) -> Verdict {
    Verdict::Denied(apis::code(resource))
}

impl Verdict {
    fn or_dropped(self, fact: &Fact) -> Self {
        match self {
            Self::Denied(_) if fact.path.starts_with("ForgottenTopicsData") => Self::Dropped,
            Self::Allowed | Self::Denied(_) | Self::Dropped | Self::Unknown => self,
        }
    }
}

/// Which part of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// What is allowed.
    Allowed(Changes),
    /// What is refused with this code.
    Refused(Code),
    /// All of it.
    All,
}

/// What is changed in the part that goes on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Changes {
    /// No topic is created.
    pub(super) uncreated: Change,
    /// The fetch has no session, and waits for nothing: what is refused is told at once.
    pub(super) sessionless: Change,
}

/// Whether it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Change {
    #[default]
    No,
    Yes,
}

/// Takes a part of a request.
struct Split<'j> {
    judge: &'j mut Judge,
    asked: Asked,
    place: Place,
    part: Part,
}

impl Split<'_> {
    fn of_refused(&self, code: Code, verdict: Verdict, fact: &Fact) -> Edit {
        let in_group = self.place.in_refused_group && fact.meaning != Meaning::GroupId;
        // The group around topics that are refused is named with them.
        let around = fact.meaning == Meaning::GroupId && self.asked.facts.asks(Resource::Topic).is_some();
        match verdict {
            Verdict::Denied(of) if of == code && !in_group => Edit::Keep,
            Verdict::Allowed if around => Edit::Keep,
            Verdict::Allowed | Verdict::Denied(_) | Verdict::Dropped | Verdict::Unknown => Edit::Drop,
        }
    }

    fn changed(&self, changes: Changes, fact: &Fact) -> Edit {
        let is = |meaning, change| fact.meaning == meaning && change == Change::Yes;
        if is(Meaning::SessionEpoch, changes.sessionless) {
            return Edit::Int(-1);
        }
        let nothing = is(Meaning::AutoCreate, changes.uncreated) || is(Meaning::Wait, changes.sessionless);
        if nothing { Edit::Int(0) } else { Edit::Keep }
    }
}

impl Editor for Split<'_> {
    fn edit(&mut self, fact: &'static Fact, value: Value<'_>) -> Edit {
        if self.part == Part::All {
            return Edit::Keep;
        }
        match (self.judge.verdict(&self.asked, &mut self.place, fact, value), self.part) {
            (Some(verdict), Part::Refused(code)) if is_item(fact) => self.of_refused(code, verdict, fact),
            (Some(Verdict::Denied(_) | Verdict::Dropped), Part::Allowed(_)) if is_item(fact) => Edit::Drop,
            (None, Part::Allowed(changes)) => self.changed(changes, fact),
            _ => Edit::Keep,
        }
    }

    fn producer_id(&mut self, _id: i64) -> Option<i64> {
        None
    }
}

impl Judge {
    /// A part of a request: a whole frame without its length.
    pub(super) fn part(&mut self, asked: Asked, frame: &[u8], part: Part) -> Result<Vec<u8>, Malformed> {
        let mut bytes = frame.to_vec();
        let mut split = Split { judge: self, asked, place: Place::default(), part };
        let wants = NAMES.and(CHANGED);
        match rewrite(asked.layout, wants, &mut bytes, &mut split, &mut Outline::off())? {
            Rewritten::InPlace => Ok(bytes),
            Rewritten::Anew(other) => Ok(other),
        }
    }

    /// The outline of a part of a request.
    pub(super) fn outline(&mut self, asked: Asked, frame: &[u8], part: Part) -> Result<Outline, Malformed> {
        let mut bytes = self.part(asked, frame, part)?;
        let mut outline = Outline::default();
        let mut split = Split { judge: self, asked, place: Place::default(), part: Part::All };
        rewrite(asked.layout, OUTLINED, &mut bytes, &mut split, &mut outline)?;
        Ok(outline)
    }
}
