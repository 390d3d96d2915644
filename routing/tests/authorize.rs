//! Every message that can be judged, with names that may be used and names that may not: nothing of the latter reaches a
//! broker as something that it could act on, or a client as something that it did not know; what may be used goes through.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::wildcard_enum_match_arm,
    reason = "a test that fails panics"
)]

#[path = "authorize/frames.rs"]
mod frames;

use std::collections::BTreeSet;
use std::sync::Arc;

use frames::{ALLOWED, ALLOWED_ID, By, FORBIDDEN, FORBIDDEN_ID, NAMED, Named, UNKNOWN_ID, codes, framed, leaks, names};
use skein_filters::authorize::Authorize;
use skein_filters::authorize::apis::{self, Facts, OfCluster};
use skein_filters::authorize::grants::Rule;
use skein_filters::authorize::operation::{Operation, Resource};
use skein_filters::{Client, Filter, Flow, Interest, Prepared};
use skein_protocol::answer;
use skein_protocol::code::Code;
use skein_protocol::frame::Head;
use skein_protocol::ids::{ApiKey, Direction};
use skein_protocol::merge::merge;
use skein_protocol::outline::{OUTLINED, Outline};
use skein_protocol::passage::{Edit, Value};
use skein_protocol::rewrite::{Rewritten, rewrite};
use skein_protocol::sample::{self, Dice, Recipe, SampleValue};
use skein_protocol::table::{Fact, Table};
use skein_protocol::varint::narrow;
use skein_protocol::{Meaning, Meanings};
use skein_routing::path::{Seen, Translator};

/// Frames of each message.
const ROUNDS: u64 = 24;
/// Who has the cluster as well, or all but what is forbidden.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rights {
    OfNames,
    OfTheClusterToo,
}

fn filter(rights: Rights) -> Box<dyn Filter> {
    let every = || Operation::ALL.map(|(_, operation)| operation);
    let named = [Resource::Topic, Resource::Group, Resource::TransactionalId];
    let allowed = named.map(|resource| ("*", Rule::allow(every(), resource, "May#*")));
    // What is enough for all names would make the forbidden ones allowed.
    let of_all = [Operation::Create, Operation::Delete, Operation::Describe];
    let cluster =
        every().into_iter().filter(|operation| rights == Rights::OfTheClusterToo && !of_all.contains(operation));
    let cluster = ("*", Rule::allow(cluster, Resource::Cluster, "kafka-cluster"));
    let client = Client::arrived(Arc::from("authorize"), ([127, 0, 0, 1], 1).into());
    let mut filter = Authorize::new(allowed.into_iter().chain([cluster])).open(&client);
    filter.learned(ALLOWED_ID, ALLOWED[0]);
    filter.learned(FORBIDDEN_ID, FORBIDDEN[0]);
    filter
}

struct Case {
    key: ApiKey,
    version: i16,
    facts: &'static Facts,
    frame: Vec<u8>,
    rights: Rights,
    name: String,
}

impl Case {
    fn head(&self) -> Head {
        Head { length: narrow(self.frame.len()), key: self.key, version: self.version, correlation: 7 }
    }

    /// An answer of a broker to a request, of which all went well but that nothing is known.
    fn broker(&self, request: &[u8]) -> Option<Vec<u8>> {
        let layout = Table::get().layout(self.key, self.version, Direction::ToBroker).unwrap();
        let mut outline = Outline::default();
        let mut keep = By(|_: &'static Fact, _: Value<'_>| Edit::Keep);
        rewrite(layout, OUTLINED, &mut request.to_vec(), &mut keep, &mut outline).unwrap();
        answer::refusal(self.key, self.version, 7, &outline, Code::NOT_CONTROLLER)
    }

    fn judge(&self) -> Flow {
        let mut filter = filter(self.rights);
        let mut frame = self.frame.clone();
        let flow = filter.on_request(&self.head(), &mut frame).unwrap();
        assert_eq!(frame, self.frame, "{}: it was changed", self.name);
        match flow {
            Flow::Learn => {
                assert_eq!(filter.unknown(), [UNKNOWN_ID], "{}", self.name);
                filter.on_request(&self.head(), &mut frame).unwrap()
            }
            flow => flow,
        }
    }

    /// That just what may be used is left of what was named.
    fn is_left(&self, frame: &[u8]) {
        assert!(!leaks(frame), "{}: a forbidden name goes on", self.name);
        let before = names(self.key, self.version, Direction::ToBroker, &self.frame);
        let after = names(self.key, self.version, Direction::ToBroker, frame);
        let unknown = (Meaning::TopicId, Named::Id(UNKNOWN_ID));
        let mut must: Vec<_> = before.into_iter().filter(|(_, name)| !name.is_forbidden()).collect();
        if self.key == ApiKey::OFFSET_FETCH {
            // What is within a group that may not be seen goes with it.
            assert!(after.iter().all(|name| must.contains(name)), "{}", self.name);
            return;
        }
        if self.key != ApiKey::METADATA {
            must.retain(|name| *name != unknown);
        }
        assert_eq!(after, must, "{}", self.name);
    }

    fn run(&self, tally: &mut Tally) {
        let must_refuse = leaks(&self.frame);
        match self.judge() {
            Flow::Forward => {
                tally.forwarded += 1;
                assert!(!must_refuse, "{}: it goes on as it is", self.name);
            }
            Flow::Part { frame, beside } => {
                tally.divided += 1;
                self.is_left(&frame);
                let Some(beside) = beside else { return };
                assert!(codes(self.key, self.version, &beside.frame).contains(&beside.code.0), "{}", self.name);
                let Some(broker) = self.broker(&frame) else { return };
                self.is_whole(&broker, &beside.frame);
            }
            Flow::Answer(answer) => {
                tally.answered += 1;
                let codes = codes(self.key, self.version, &answer.frame);
                // Of topics without partitions there is nothing to be told.
                let told = codes.contains(&answer.code.0) || codes.contains(&55);
                assert!(codes.is_empty() || told, "{}: {codes:?}", self.name);
            }
            Flow::Close => {
                tally.closed.insert(self.key.0);
            }
            Flow::Learn => panic!("{}: asked a second time", self.name),
        }
    }

    /// That the merged answer names all that was asked for.
    fn is_whole(&self, broker: &[u8], beside: &[u8]) {
        let layout = Table::get().layout(self.key, self.version, Direction::ToClient).unwrap();
        let merged = merge(layout, broker, beside).unwrap();
        let sorted = |frame: &[u8], way| {
            let mut names = names(self.key, self.version, way, frame);
            // Which of two equal ones is whose does not matter, nor do those that are named by more than one field.
            names.sort_by_key(|(meaning, name)| (meaning.word(), name.clone()));
            names.dedup();
            names
        };
        let has = layout.meanings();
        let mut asked = sorted(&self.frame, Direction::ToBroker);
        asked.retain(|(meaning, _)| has.has(*meaning));
        let told = sorted(&merged, Direction::ToClient);
        let forgotten = self.key == ApiKey::FETCH || self.key == ApiKey::OFFSET_FETCH;
        for name in asked.into_iter().filter(|_| !forgotten) {
            assert!(told.contains(&name), "{}: {name:?} is not in {told:?}", self.name);
        }
    }
}

#[derive(Debug, Default)]
struct Tally {
    forwarded: u32,
    divided: u32,
    answered: u32,
    /// APIs with requests that no answer could refuse.
    closed: BTreeSet<i16>,
}

fn seed(key: ApiKey, version: i16, round: u64) -> u64 {
    round << 32 | u64::from(key.0.unsigned_abs()) << 16 | u64::from(version.unsigned_abs())
}

fn for_every(way: Direction, mut law: impl FnMut(&'static Facts, i16, u64, &mut Dice)) {
    for facts in apis::all() {
        let versions = Table::get().api(facts.key).unwrap().message(way).versions;
        let highest = versions.to.min(skein_routing::apis::manner::highest(facts.key));
        for version in versions.from..=highest {
            for round in 0..ROUNDS {
                law(facts, version, round, &mut Dice::new(seed(facts.key, version, round)));
            }
        }
    }
}

#[test]
fn no_forbidden_name_reaches_a_broker_and_all_else_does() {
    let mut tally = Tally::default();
    for_every(Direction::ToBroker, |facts, version, round, dice| {
        let key = facts.key;
        if key == ApiKey::PRODUCE {
            return;
        }
        let rights = if round % 2 == 0 { Rights::OfNames } else { Rights::OfTheClusterToo };
        let frame = framed(key, version, Direction::ToBroker, dice, if round % 6 == 1 { 0 } else { 100 });
        let name = format!("{key} v{version}, round {round}, {rights:?}");
        let case = Case { key, version, facts, frame, rights, name };
        let judged = !case.facts.asks.is_empty();
        let needed = matches!(case.facts.cluster, OfCluster::Needed(_));
        if judged {
            case.run(&mut tally);
        } else if needed && rights == Rights::OfNames {
            match case.judge() {
                Flow::Answer(answer) => {
                    assert_eq!(answer.code, Code::CLUSTER_AUTHORIZATION_FAILED, "{}", case.name);
                    let codes = codes(key, version, &answer.frame);
                    assert!(codes.is_empty() || codes.contains(&31), "{}: {codes:?}", case.name);
                }
                Flow::Close => {
                    tally.closed.insert(key.0);
                }
                other => panic!("{}: {other:?}", case.name),
            }
        }
    });
    println!("{tally:?}");
    assert!(tally.forwarded > 100 && tally.divided > 100 && tally.answered > 100, "{tally:?}");
    // Their answers have no place for a code that an outline could tell of.
    assert_eq!(tally.closed, BTreeSet::from([34, 49, 51]), "{tally:?}");
}

/// Runs the filter over the fields of a message.
fn through(filter: &mut Box<dyn Filter>, key: ApiKey, version: i16, way: Direction, frame: &[u8]) -> Vec<u8> {
    let wants = match filter.interest(key, way) {
        Interest::None => return frame.to_vec(),
        Interest::Fields(wants) | Interest::Complete(wants) => wants,
    };
    let (mut seen, mut bytes) = (Seen::default(), frame.to_vec());
    let mut editor = Translator::over(&[], key, way, None, &mut seen).guarded(std::slice::from_mut(filter), wants);
    let layout = Table::get().layout(key, version, way).unwrap();
    match rewrite(layout, wants, &mut bytes, &mut editor, &mut Outline::off()).unwrap() {
        Rewritten::InPlace => bytes,
        Rewritten::Anew(other) => other,
    }
}

#[test]
fn no_answer_lists_what_may_not_be_seen() {
    let mut listed = BTreeSet::new();
    for_every(Direction::ToClient, |facts, version, round, dice| {
        let key = facts.key;
        // The other answers name what was asked for, and that has been judged.
        if facts.shows.is_empty() {
            return;
        }
        let frame = framed(key, version, Direction::ToClient, dice, 100);
        let mut filter = filter(Rights::OfNames);
        let out = through(&mut filter, key, version, Direction::ToClient, &frame);
        let shown = names(key, version, Direction::ToClient, &out);
        let is_shown = |meaning: Meaning| match meaning {
            Meaning::TopicName => facts.shows(Resource::Topic).is_some(),
            // Beside a name it is the name that counts, and the dice give both.
            Meaning::TopicId => key == ApiKey::OFFSET_FETCH,
            Meaning::GroupId => facts.shows(Resource::Group).is_some(),
            Meaning::TransactionalId => facts.shows(Resource::TransactionalId).is_some(),
            _ => false,
        };
        let hidden = shown.iter().find(|(meaning, name)| is_shown(*meaning) && name.is_forbidden());
        assert_eq!(hidden, None, "{key} v{version}, round {round}");
        if leaks(&frame) {
            listed.insert(key.0);
        }
        // What may be seen is seen, unless it stands in what may not.
        let before = names(key, version, Direction::ToClient, &frame);
        if before.iter().all(|(_, name)| !name.is_forbidden()) {
            assert_eq!(shown, before, "{key} v{version}, round {round}");
        }
    });
    assert_eq!(listed, BTreeSet::from([3, 9, 16, 65, 66, 69]));
}

/// The partitions of a Produce or of its answer, and the codes of the answer.
fn partitions(version: i16, way: Direction, frame: &[u8]) -> Vec<(Option<Named>, i64, i64)> {
    let (mut found, mut topic) = (Vec::new(), None);
    let mut editor = By(|fact: &'static Fact, value: Value<'_>| {
        match (fact.meaning, value) {
            (Meaning::TopicName, Value::Text(name)) => {
                topic = Some(Named::Name(String::from_utf8_lossy(name).into_owned()));
            }
            (Meaning::TopicId, Value::Id(id)) => topic = Some(Named::Id(id)),
            (Meaning::Partition, Value::Int(index)) => found.push((topic.clone(), index, 0)),
            (Meaning::Error, Value::Int(code)) => found.last_mut().unwrap().2 = code,
            _ => {}
        }
        Edit::Keep
    });
    let layout = Table::get().layout(ApiKey::PRODUCE, version, way).unwrap();
    let wants = NAMED.and(Meanings::of(&[Meaning::Partition, Meaning::Error]));
    rewrite(layout, wants, &mut frame.to_vec(), &mut editor, &mut Outline::off()).unwrap();
    found
}

#[test]
fn a_partition_that_may_not_be_written_is_none_that_a_broker_has_and_its_answer_is_put_right() {
    let (mut spoilt, mut kept) = (0, 0);
    for_every(Direction::ToBroker, |facts, version, round, dice| {
        if facts.key != ApiKey::PRODUCE {
            return;
        }
        let frame = framed(ApiKey::PRODUCE, version, Direction::ToBroker, dice, 100);
        let mut filter = filter(Rights::OfNames);
        let out = through(&mut filter, ApiKey::PRODUCE, version, Direction::ToBroker, &frame);
        assert_eq!(out.len(), frame.len(), "a length has changed");
        let names = names(ApiKey::PRODUCE, version, Direction::ToBroker, &frame);
        let transaction = names.iter().find(|(meaning, _)| *meaning == Meaning::TransactionalId);
        let all = transaction.is_some_and(|(_, id)| id.is_forbidden());
        let (before, after) =
            (partitions(version, Direction::ToBroker, &frame), partitions(version, Direction::ToBroker, &out));
        // A broker that has no partition above 8 answers each.
        let layout = Table::get().layout(ApiKey::PRODUCE, version, Direction::ToBroker).unwrap();
        let mut outline = Outline::default();
        let mut keep = By(|_: &'static Fact, _: Value<'_>| Edit::Keep);
        rewrite(layout, OUTLINED, &mut out.clone(), &mut keep, &mut outline).unwrap();
        let answer = answer::refusal(ApiKey::PRODUCE, version, 7, &outline, Code::UNKNOWN_TOPIC_OR_PARTITION);
        let told = answer.map(|answer| through(&mut filter, ApiKey::PRODUCE, version, Direction::ToClient, &answer));
        let told = told.map(|told| partitions(version, Direction::ToClient, &told)).unwrap_or_default();
        for (at, ((topic, index, _), (_, now, _))) in before.iter().zip(&after).enumerate() {
            let topic = topic.as_ref().unwrap();
            let code = match topic {
                _ if all => Some(53),
                topic if topic.is_forbidden() => Some(29),
                Named::Id(UNKNOWN_ID) => Some(100),
                _ => None,
            };
            assert_eq!(*now > 8, code.is_some(), "v{version}, round {round}: {topic:?}");
            assert_eq!((told[at].1, told[at].2), (*index, code.unwrap_or(3)), "v{version}, round {round}: {topic:?}");
            if code.is_some() { spoilt += 1 } else { kept += 1 }
        }
    });
    assert!(spoilt > 100 && kept > 100, "{spoilt} {kept}");
}

#[test]
fn what_a_client_is_told_of_its_rights_is_what_it_has_here() {
    for (key, version) in [(ApiKey::METADATA, 8), (ApiKey::METADATA, 13), (ApiKey::DESCRIBE_GROUPS, 5)] {
        let mut filter = filter(Rights::OfNames);
        let mut dice = Dice::new(3);
        let mut marker = |fact: &'static Fact| match fact.meaning {
            Meaning::AuthorizedOperations => SampleValue::Int(0x1ff8),
            Meaning::TopicName | Meaning::GroupId => SampleValue::Text(ALLOWED[0].into()),
            _ => SampleValue::Any,
        };
        let recipe = Recipe { nulls: 0, ..Recipe::PLAIN };
        let frame = sample::sample(key, version, Direction::ToClient, &recipe, &mut dice, &mut marker).unwrap().frame;
        let out = through(&mut filter, key, version, Direction::ToClient, &frame);
        let mut editor = By(|fact: &'static Fact, value: Value<'_>| {
            let all = i64::from(0x1ff8);
            let must = if fact.path.contains("Cluster") { 0 } else { all };
            assert_eq!(value, Value::Int(must), "{}", fact.path);
            Edit::Keep
        });
        let layout = Table::get().layout(key, version, Direction::ToClient).unwrap();
        let wants = Meanings::of(&[Meaning::AuthorizedOperations]);
        rewrite(layout, wants, &mut out.clone(), &mut editor, &mut Outline::off()).unwrap();
    }
}
