//! An answer: it loses what the client may not see, and what it tells of the client's rights is cut down to what it has here.

use skein_protocol::Meaning;
use skein_protocol::ids::ApiKey;
use skein_protocol::passage::{Edit, Value};
use skein_protocol::table::Fact;

use super::apis::{self, OfCluster};
use super::grants::CLUSTER;
use super::names::{Id, NONE};
use super::operation::{Operation, Resource};
use super::{ById, Judge};
use crate::edge::Memo;

/// What a broker says of rights if nobody has asked.
const UNASKED: i64 = -(1 << 31);

impl Judge {
    /// A field of an answer.
    pub(super) fn answer(&mut self, memo: &mut Memo, key: ApiKey, fact: &Fact, value: Value<'_>) -> Edit {
        match (fact.meaning, value) {
            (Meaning::TopicName, Value::Text(name)) => {
                name.clone_into(&mut self.named);
                self.shown(memo, key, Resource::Topic, name)
            }
            (Meaning::TopicName, Value::Null) => {
                self.named.clear();
                Edit::Keep
            }
            (Meaning::TopicId, Value::Id(id)) => self.shown_id(key, id),
            (Meaning::GroupId, Value::Text(id)) => self.shown(memo, key, Resource::Group, id),
            (Meaning::TransactionalId, Value::Text(id)) => self.shown(memo, key, Resource::TransactionalId, id),
            (Meaning::AuthorizedOperations, Value::Int(bits)) if bits != UNASKED => {
                Edit::Int(bits & i64::from(self.rights(memo, fact)))
            }
            (Meaning::ConfigName, Value::Text(_)) if memo.may & 1 << Operation::DescribeConfigs.code() == 0 => {
                Edit::Drop
            }
            (Meaning::SessionId, Value::Int(id)) => {
                self.session = Some(id).filter(|id| *id != 0);
                Edit::Keep
            }
            _ => Edit::Keep,
        }
    }

    /// Something that an answer lists.
    fn shown(&self, memo: &mut Memo, key: ApiKey, resource: Resource, name: &[u8]) -> Edit {
        memo.may = self.grants.bits(resource, name);
        let Some(facts) = apis::facts(key) else { return Edit::Drop };
        let Some(operation) = facts.shows(resource) else { return Edit::Keep };
        let enough = matches!(facts.cluster, OfCluster::Enough(of_all) if self.grants.allow_cluster(of_all));
        if enough || self.may(operation, resource, name) { Edit::Keep } else { Edit::Drop }
    }

    /// A topic id in an answer: what it is called has been told in front of it, or is known.
    fn shown_id(&mut self, key: ApiKey, id: Id) -> Edit {
        if key == ApiKey::METADATA {
            if let Ok(name) = std::str::from_utf8(&self.named)
                && !name.is_empty()
            {
                self.names.learn(id, name);
            }
            return Edit::Keep;
        }
        // Where the name stands as well it decides.
        let alone = key == ApiKey::OFFSET_FETCH && id != NONE;
        match alone.then(|| self.by_id(Operation::Describe, id)) {
            None | Some(ById::Allowed) => Edit::Keep,
            Some(ById::Denied | ById::Nameless | ById::Unknown) => Edit::Drop,
        }
    }

    /// What the client may do here with what a field tells of.
    fn rights(&self, memo: &Memo, fact: &Fact) -> u32 {
        if !fact.path.contains("Cluster") {
            return memo.may;
        }
        let rights = self.grants.bits(Resource::Cluster, CLUSTER);
        if rights & 1 << Operation::Describe.code() == 0 { 0 } else { rights }
    }
}
