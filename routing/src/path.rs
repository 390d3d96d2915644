//! The way to one broker: the edges that a message passes, and the editor that runs them.

use std::sync::{Arc, LazyLock};

use skein_filters::{Cx, Edge, Filter, Memo, Tag};
use skein_protocol::ids::{ApiKey, Direction};
use skein_protocol::outline::OUTLINED;
use skein_protocol::passage::{Edit, Editor, Value};
use skein_protocol::table::{Fact, Layout, Message, Table};
use skein_protocol::varint::Inline;
use skein_protocol::{Meaning, Meanings};

use crate::topology::Destination;

/// What it reads of the answers of a login.
const OF_LOGINS: Meanings = Meanings::of(&[Meaning::Error]);

/// The edges to one broker, the face first.
#[derive(Clone)]
pub struct Path {
    edges: Arc<[Arc<dyn Edge>]>,
    /// Where it ends.
    pub to: Destination,
    growth: [Option<u32>; 2],
}

/// What the engine itself reads of every request.
const OF_REQUESTS: Meanings = OUTLINED.and(Meanings::of(&[
    Meaning::Acks,
    Meaning::Wait,
    Meaning::SessionEpoch,
    Meaning::ReplicaId,
    Meaning::MaxBytes,
    Meaning::ResourceType,
]));
/// What the engine itself reads of every answer.
const OF_ANSWERS: Meanings = Meanings::of(&[Meaning::ResourceType]);

impl Path {
    /// A path over `edges`.
    pub fn new(edges: Vec<Arc<dyn Edge>>, to: Destination) -> Self {
        let growth = [Direction::ToBroker, Direction::ToClient].map(|way| {
            let sum = |edges: &[Arc<dyn Edge>]| {
                edges
                    .iter()
                    .filter_map(|edge| edge.growth(way))
                    .fold(None, |sum: Option<u32>, more| Some(sum.unwrap_or(0) + more))
            };
            sum(&edges)
        });
        Self { edges: edges.into(), to, growth }
    }

    /// The name that a topic has where the path ends.
    pub fn topic(&self, name: &str) -> Option<String> {
        let over = |name: Inline, edge: &Arc<dyn Edge>| renamed(&**edge, Direction::ToBroker, &name);
        let name = self.edges.iter().try_fold(Inline::from_slice(name.as_bytes()), over)?;
        String::from_utf8(name.to_vec()).ok()
    }

    /// The edges, the face first.
    pub fn edges(&self) -> &[Arc<dyn Edge>] {
        &self.edges
    }

    /// The most bytes by which a topic name becomes longer; `None` if every name keeps its length.
    pub fn growth(&self, way: Direction) -> Option<u32> {
        match way {
            Direction::ToBroker => self.growth[0],
            Direction::ToClient => self.growth[1],
        }
    }

    /// What must be told of a message for all edges and the engine.
    pub fn wants(&self, key: ApiKey, way: Direction) -> Meanings {
        let engine = match way {
            Direction::ToBroker => OF_REQUESTS,
            Direction::ToClient if key == ApiKey::SASL_AUTHENTICATE => OF_LOGINS,
            Direction::ToClient => OF_ANSWERS,
        };
        self.edges.iter().map(|edge| edge.wants(key, way)).fold(engine, Meanings::and)
    }

    /// How a message of this layout can go: with every length kept, with topic names that change theirs, or only complete.
    pub fn lengths(&self, key: ApiKey, layout: &Layout) -> Lengths {
        let way = layout.direction();
        let holds = layout.meanings();
        let renames = self.growth(way).is_some() && holds.meets(NAMES);
        // Only there do hints about leaders come in tags behind the records, which become filler.
        let hints_are_tags = key == ApiKey::FETCH;
        let readdressed = holds.meets(ADDRESSES) || layout.lists_brokers();
        let completed =
            way == Direction::ToClient && (key == ApiKey::SASL_AUTHENTICATE || (readdressed && !hints_are_tags));
        if completed {
            Lengths::Any
        } else if !renames {
            Lengths::Kept
        } else if layout.is_flexible() && (key == ApiKey::PRODUCE || key == ApiKey::FETCH) {
            Lengths::Names
        } else {
            Lengths::Any
        }
    }
}

/// What a topic is called on the other side of an edge. `None`: it is not there.
pub fn renamed(edge: &dyn Edge, way: Direction, name: &[u8]) -> Option<Inline> {
    static FACTS: LazyLock<[Option<&'static Fact>; 2]> = LazyLock::new(|| {
        let named = |message: &Message| {
            let mut fields = message.fields.iter().flat_map(|field| &field.fields).map(|field| field.fact);
            fields.find(|fact| fact.meaning == Meaning::TopicName)
        };
        Table::get().api(ApiKey::METADATA).map_or([None; 2], |api| [named(&api.request), named(&api.response)])
    });
    let [to_broker, to_client] = *FACTS;
    let fact = if way == Direction::ToBroker { to_broker } else { to_client }?;
    let cx = Cx { key: ApiKey::METADATA, way, tag: None };
    match edge.edit(&mut Memo::default(), &cx, fact, Value::Text(name)) {
        Edit::Keep => Some(Inline::from_slice(name)),
        Edit::Text(name) => Some(name),
        Edit::Int(_) | Edit::Id(_) | Edit::Null | Edit::Drop | Edit::Hold => None,
    }
}

const ADDRESSES: Meanings = Meanings::of(&[Meaning::Host, Meaning::ClusterId]);
/// Names, and what holds names.
const NAMES: Meanings =
    Meanings::of(&[Meaning::TopicName, Meaning::ResourceName, Meaning::TopicOpaque, Meaning::TopicRegex]);

/// Which lengths edits may change in a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lengths {
    /// None: it streams.
    Kept,
    /// Those of the topic names, once per element of its first array: it streams with a filler.
    Names,
    /// Any: it is completed.
    Any,
}

/// What was seen of a message by those who run it.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// What edges remember.
    pub memo: Memo,
    /// A Produce that wants no answer.
    pub silent: bool,
    /// How long the broker may wait, in milliseconds.
    pub wait_ms: u32,
    /// A fetch that names only what has changed: no answer can be made for it.
    pub incremental: bool,
    /// A request of a replica: not a client's.
    pub replica: bool,
    /// The last error code of an answer.
    pub error: i64,
}

/// Runs the edges of a path over one message.
pub struct Translator<'a> {
    path: &'a [Arc<dyn Edge>],
    cx: Cx,
    seen: &'a mut Seen,
    /// The most bytes that a fetch may bring, where its answer must be completed.
    pub most_bytes: Option<i64>,
    /// The filters before the first edge, and what they want to see.
    guard: (&'a mut [Box<dyn Filter>], Meanings),
}

impl<'a> Translator<'a> {
    /// For one message of `key`, in one direction.
    pub fn new(path: &'a Path, key: ApiKey, way: Direction, tag: Option<Tag>, seen: &'a mut Seen) -> Self {
        Self::over(&path.edges, key, way, tag, seen)
    }

    /// The same over some edges only.
    pub fn over(path: &'a [Arc<dyn Edge>], key: ApiKey, way: Direction, tag: Option<Tag>, seen: &'a mut Seen) -> Self {
        Self { path, cx: Cx { key, way, tag }, seen, most_bytes: None, guard: (&mut [], Meanings::NONE) }
    }

    /// With filters before the first edge, which are shown the fields that they want.
    #[must_use]
    pub fn guarded(self, filters: &'a mut [Box<dyn Filter>], wants: Meanings) -> Self {
        Self { guard: (filters, wants), ..self }
    }

    /// Has the filters decide about a field, as clients see it.
    fn guard(&mut self, fact: &'static Fact, value: Value<'_>, now: &mut Edit) {
        let (filters, wants) = &mut self.guard;
        if !wants.has(fact.meaning) {
            return;
        }
        for filter in filters.iter_mut() {
            let value = match &*now {
                Edit::Keep => value,
                Edit::Int(number) => Value::Int(*number),
                Edit::Id(id) => Value::Id(*id),
                Edit::Text(text) => Value::Text(text),
                Edit::Null => Value::Null,
                Edit::Drop | Edit::Hold => return,
            };
            let edit = filter.on_field(&mut self.seen.memo, (self.cx.key, self.cx.way), fact, value);
            if edit != Edit::Keep {
                *now = edit;
            }
        }
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "no other meaning is the engine's own business")]
    /// What the engine itself takes from a field; `Some` if it decides about it.
    fn look(&mut self, fact: &Fact, value: Value<'_>) -> Option<Edit> {
        let Value::Int(number) = value else { return None };
        match fact.meaning {
            Meaning::ResourceType => self.seen.memo.resource_type = Some(number),
            Meaning::Acks => self.seen.silent = number == 0,
            Meaning::Wait => self.seen.wait_ms = u32::try_from(number).unwrap_or(0).max(self.seen.wait_ms),
            Meaning::SessionEpoch => self.seen.incremental = number > 0,
            Meaning::Error => self.seen.error = number,
            Meaning::ReplicaId => self.seen.replica |= number >= 0,
            Meaning::MaxBytes => {
                let most = self.most_bytes.filter(|most| number > *most)?;
                return Some(Edit::Int(most));
            }
            _ => return None,
        }
        None
    }
}

impl Editor for Translator<'_> {
    fn edit(&mut self, fact: &'static Fact, value: Value<'_>) -> Edit {
        if let Some(edit) = self.look(fact, value) {
            return edit;
        }
        let mut now = Edit::Keep;
        if self.cx.way == Direction::ToBroker {
            self.guard(fact, value, &mut now);
        }
        let mut run = |edge: &Arc<dyn Edge>, now: &mut Edit| {
            let value = match now {
                Edit::Keep => value,
                Edit::Int(number) => Value::Int(*number),
                Edit::Id(id) => Value::Id(*id),
                Edit::Text(text) => Value::Text(text),
                Edit::Null => Value::Null,
                Edit::Drop | Edit::Hold => return,
            };
            let edit = edge.edit(&mut self.seen.memo, &self.cx, fact, value);
            if edit != Edit::Keep {
                *now = edit;
            }
        };
        match self.cx.way {
            Direction::ToBroker => self.path.iter().for_each(|edge| run(edge, &mut now)),
            Direction::ToClient => {
                self.path.iter().rev().for_each(|edge| run(edge, &mut now));
                self.guard(fact, value, &mut now);
            }
        }
        now
    }

    fn producer_id(&mut self, id: i64) -> Option<i64> {
        self.path.iter().find_map(|edge| edge.producer_id(&self.cx, id))
    }
}
