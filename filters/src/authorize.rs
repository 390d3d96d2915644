//! `kind = "authorize"`: who may do what, by rules that read as Kafka's own access control lists do.
//!
//! ```text
//!   rules of the file ─► Grants of one principal ─► a verdict for each name that a message names
//!                                                      │
//!   a request as a whole ◄── a group, a transactional id, the cluster ──┤
//!   one item of it       ◄── a topic, a group among several ────────────┘
//! ```
//!
//! What a request may not do never reaches a broker. A request that is refused as a whole is answered. Of one that names
//! several things, those that it may name go on, and the answer to the others is merged into the broker's. Produce streams:
//! there the indices of partitions that may not be written become such as no broker has, and the answer is put right.
//! Answers lose what the client may not see. Source: Kafka's `StandardAuthorizer`; KIP-11, KIP-290, KIP-430, KIP-679.

mod answer;
pub mod apis;
#[cfg(test)]
mod costs;
pub mod grants;
#[cfg(test)]
mod model;
mod names;
pub mod operation;
mod request;
pub mod rules;
mod split;
mod streamed;

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, Weak};

use skein_login::ANONYMOUS;
use skein_protocol::frame::Head;
use skein_protocol::ids::{ApiKey, Direction};
use skein_protocol::passage::{Edit, Value};
use skein_protocol::table::Fact;
use skein_protocol::{Malformed, Meaning, Meanings};
use skein_settings::{Fault, Spanned, Table};

use self::apis::OfCluster;
use self::grants::{Grants, Rule};
use self::names::{Id, Names};
use self::operation::{Operation, Resource};
use self::rules::{About, DeclaredRule};
use crate::client::Client;
use crate::edge::Memo;
use crate::filter::{Filter, FilterKind, Flow, Interest, Prepared};

/// Topic ids whose names one request has asked for. Clients learn ids from Metadata, whose names are remembered as they pass: who
/// names more that nobody has seen is no client.
const MOST_ASKED: usize = 1024;
/// Topic ids of one connection that are remembered together with what may be done.
const MOST_IDS: usize = 1 << 16;

/// The filter of a virtual cluster.
#[derive(Debug)]
pub struct Authorize {
    rules: Vec<About>,
    names: Arc<Names>,
    /// What those who are connected may do.
    grants: Mutex<HashMap<Box<str>, Weak<Grants>>>,
}

impl Authorize {
    /// One with these rules, each with the principal that it is about; `"*"` is everyone.
    pub fn new<'n>(rules: impl IntoIterator<Item = (&'n str, Rule)>) -> Self {
        Self::of(rules.into_iter().map(|(principal, rule)| About::new(principal, rule)).collect())
    }

    fn of(rules: Vec<About>) -> Self {
        Self { rules, names: Arc::default(), grants: Mutex::default() }
    }

    /// What a principal may do.
    fn grants(&self, principal: &str) -> Arc<Grants> {
        let made = || Arc::new(Grants::new(self.rules.iter().flat_map(|about| about.rules_of(principal))));
        let Ok(mut all) = self.grants.lock() else { return made() };
        if let Some(known) = all.get(principal).and_then(Weak::upgrade) {
            return known;
        }
        let grants = made();
        all.retain(|_, grants| grants.strong_count() > 0);
        all.insert(Box::from(principal), Arc::downgrade(&grants));
        grants
    }
}

impl FilterKind for Authorize {
    const NAME: &'static str = "authorize";
    const EXAMPLE: &'static str = include_str!("../../examples/authorize.toml");
    type Settings = Vec<Spanned<DeclaredRule>>;

    fn settings(table: &mut Table<'_>) -> Option<Self::Settings> {
        let rules = table.required(
            "rules",
            rules::rules(),
            "The rules. Their order says nothing: what any rule denies is denied, and what none allows is denied as well.",
        );
        rules.map(Spanned::into_inner)
    }

    fn prepare(settings: &Self::Settings) -> Result<Self, Vec<Fault>> {
        rules::compile(settings).map(Self::of)
    }
}

impl Prepared for Authorize {
    fn offers(&self, key: ApiKey) -> bool {
        let login = [ApiKey::API_VERSIONS, ApiKey::SASL_HANDSHAKE, ApiKey::SASL_AUTHENTICATE];
        login.contains(&key) || apis::facts(key).is_some()
    }

    fn open(&self, client: &Client) -> Box<dyn Filter> {
        let grants = self.grants(client.principal.as_deref().unwrap_or(ANONYMOUS));
        Box::new(Judge { grants, names: Arc::clone(&self.names), ..Judge::default() })
    }
}

/// The filter of a connection.
#[derive(Debug, Default)]
struct Judge {
    grants: Arc<Grants>,
    names: Arc<Names>,
    /// Whether topics with these ids may be written.
    writable: HashMap<Id, bool>,
    /// Ids whose names must be found out, and those for which that has been tried.
    unknown: HashSet<Id>,
    tried: HashSet<Id>,
    /// Whether names have been asked for because of the request that is judged: what is unknown by then stays so.
    has_asked: bool,
    /// The fetch session that this connection has; what it holds has been judged here.
    session: Option<i64>,
    /// The name that the topic id behind it belongs to. Set by a name in an answer, until the next one.
    named: Vec<u8>,
}

/// What is known of a topic that is named by its id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ById {
    Allowed,
    Denied,
    /// Nobody knows what it is called; that has been tried to be found out.
    Nameless,
    /// Nobody knows it yet.
    Unknown,
}

impl Judge {
    fn may(&self, operation: Operation, resource: Resource, name: &[u8]) -> bool {
        self.grants.allow(operation, resource, name)
    }

    /// Whether something may be done to the topic with this id. An id that nobody knows is remembered as one to be learnt.
    fn by_id(&mut self, operation: Operation, id: Id) -> ById {
        if id == names::NONE {
            return ById::Nameless;
        }
        match self.names.get(&id) {
            Some(name) if self.may(operation, Resource::Topic, name.as_bytes()) => ById::Allowed,
            Some(_) => ById::Denied,
            None if self.has_asked || self.tried.contains(&id) => ById::Nameless,
            None => {
                if self.unknown.len() < MOST_ASKED {
                    self.unknown.insert(id);
                }
                ById::Unknown
            }
        }
    }
}

/// What stands in answers besides names.
const OPERATIONS: Meanings = Meanings::of(&[Meaning::AuthorizedOperations]);
const CREATED: Meanings = Meanings::of(&[Meaning::TopicName, Meaning::ConfigName]);
const DESCRIBED: Meanings = Meanings::of(&[Meaning::GroupId, Meaning::AuthorizedOperations]);
const PRODUCED: Meanings = Meanings::of(&[Meaning::Partition, Meaning::Error]);
const PRODUCE: Meanings =
    Meanings::of(&[Meaning::TopicName, Meaning::TopicId, Meaning::Partition, Meaning::TransactionalId]);
const FETCHED: Meanings = Meanings::of(&[Meaning::SessionId]);

impl Filter for Judge {
    fn interest(&self, key: ApiKey, way: Direction) -> Interest {
        let Some(facts) = apis::facts(key) else { return Interest::None };
        match way {
            Direction::ToBroker if key == ApiKey::PRODUCE => Interest::Fields(PRODUCE),
            Direction::ToBroker if facts.asks.is_empty() && !matches!(facts.cluster, OfCluster::Needed(_)) => {
                Interest::None
            }
            Direction::ToBroker => Interest::Complete(Meanings::NONE),
            Direction::ToClient => match key {
                ApiKey::PRODUCE => Interest::Fields(PRODUCED),
                ApiKey::FETCH => Interest::Fields(FETCHED),
                ApiKey::DESCRIBE_GROUPS => Interest::Fields(DESCRIBED),
                ApiKey::DESCRIBE_CLUSTER => Interest::Fields(OPERATIONS),
                ApiKey::CREATE_TOPICS => Interest::Complete(CREATED),
                _ if facts.shows.is_empty() => Interest::None,
                _ => Interest::Complete(apis::fields(facts.shows).and(DESCRIBED)),
            },
        }
    }

    fn on_request(&mut self, head: &Head, frame: &mut [u8]) -> Result<Flow, Malformed> {
        self.judge(head, frame)
    }

    fn on_field(
        &mut self, memo: &mut Memo, (key, way): (ApiKey, Direction), fact: &'static Fact, value: Value<'_>,
    ) -> Edit {
        match (key, way) {
            (ApiKey::PRODUCE, Direction::ToBroker) => self.produce(memo, fact, value),
            (ApiKey::PRODUCE, Direction::ToClient) => streamed::produced(memo, fact, value),
            (_, Direction::ToClient) => self.answer(memo, key, fact, value),
            (_, Direction::ToBroker) => Edit::Keep,
        }
    }

    fn unknown(&mut self) -> Vec<Id> {
        let unknown = std::mem::take(&mut self.unknown);
        if self.tried.len() >= MOST_IDS {
            self.tried.clear();
        }
        self.tried.extend(&unknown);
        unknown.into_iter().collect()
    }

    fn learned(&mut self, id: Id, name: &str) {
        self.names.learn(id, name);
    }
}
