//! Frames with names that may be used and names that may not, and what is found in them again.

use skein_protocol::ids::{ApiKey, Direction};
use skein_protocol::outline::Outline;
use skein_protocol::passage::{Edit, Editor, Value};
use skein_protocol::rewrite::rewrite;
use skein_protocol::sample::{self, Dice, Recipe, SampleValue};
use skein_protocol::table::{Fact, Table};
use skein_protocol::{Meaning, Meanings};

pub(crate) const ALLOWED: [&str; 2] = ["May#one", "May#the-other"];
pub(crate) const FORBIDDEN: [&str; 2] = ["Never#one", "Never#the-other"];
pub(crate) const ALLOWED_ID: [u8; 16] = *b"an-allowed-topic";
pub(crate) const FORBIDDEN_ID: [u8; 16] = *b"FORBIDDEN__TOPIC";
pub(crate) const UNKNOWN_ID: [u8; 16] = *b"nobody-knows-it!";

/// What the fields of a frame hold.
pub(crate) struct Marker<'d> {
    key: ApiKey,
    way: Direction,
    dice: &'d mut Dice,
    /// How many of 256 names are forbidden ones.
    share: u32,
    /// Where a topic has a place for both: whether it is named by its id.
    by_id: bool,
}

impl Marker<'_> {
    fn name(&mut self) -> SampleValue {
        let from = if self.dice.below(256) < self.share { &FORBIDDEN } else { &ALLOWED };
        SampleValue::Text(from[self.dice.index(2)].into())
    }

    fn mark(&mut self, fact: &'static Fact) -> SampleValue {
        // What a group has given to a member is nothing that it asks for.
        let owned = self.key == ApiKey::CONSUMER_GROUP_HEARTBEAT && fact.path.starts_with("TopicPartitions");
        let either = self.way == Direction::ToBroker && [ApiKey::METADATA, ApiKey(20)].contains(&self.key);
        match fact.meaning {
            Meaning::TopicName if either && self.by_id && fact.path == "Topics[].Name" => SampleValue::Null,
            Meaning::TopicId if either && !self.by_id => SampleValue::Id([0; 16]),
            Meaning::TopicName | Meaning::GroupId | Meaning::TransactionalId | Meaning::CoordinatorKey => self.name(),
            Meaning::TopicId if owned => SampleValue::Id(ALLOWED_ID),
            Meaning::TopicId => SampleValue::Id(match self.dice.below(4) {
                0 if self.share > 0 => FORBIDDEN_ID,
                1 if self.share > 0 && self.way == Direction::ToBroker => UNKNOWN_ID,
                _ => ALLOWED_ID,
            }),
            Meaning::KeyType => SampleValue::Int(i64::from(self.dice.below(2))),
            Meaning::ResourceType => SampleValue::Int(self.dice.one_of(&[2, 32], 2)),
            Meaning::ResourceName => self.name(),
            Meaning::TopicRegex => SampleValue::Null,
            Meaning::SessionEpoch => SampleValue::Int(self.dice.one_of(&[0, -1], 0)),
            Meaning::ReplicaId => SampleValue::Int(-1),
            Meaning::Partition => SampleValue::Int(i64::from(self.dice.below(9))),
            _ => SampleValue::Any,
        }
    }
}

/// The fields of a frame that name something, in order.
pub(crate) fn names(key: ApiKey, version: i16, way: Direction, frame: &[u8]) -> Vec<(Meaning, Named)> {
    let mut found = Vec::new();
    let mut editor = By(|fact: &'static Fact, value: Value<'_>| {
        if let Value::Text(text) = value {
            found.push((fact.meaning, Named::Name(String::from_utf8_lossy(text).into_owned())));
        }
        if let (Meaning::TopicId, Value::Id(id)) = (fact.meaning, value)
            && id != [0; 16]
        {
            found.push((fact.meaning, Named::Id(id)));
        }
        Edit::Keep
    });
    let layout = Table::get().layout(key, version, way).unwrap();
    rewrite(layout, NAMED, &mut frame.to_vec(), &mut editor, &mut Outline::off())
        .unwrap_or_else(|error| panic!("{key} v{version} {way:?}: {error}"));
    found
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Named {
    Name(String),
    Id([u8; 16]),
}

impl Named {
    pub(crate) fn is_forbidden(&self) -> bool {
        match self {
            Self::Name(name) => FORBIDDEN.contains(&name.as_str()),
            Self::Id(id) => *id == FORBIDDEN_ID,
        }
    }
}

pub(crate) const NAMED: Meanings = Meanings::of(&[
    Meaning::TopicName,
    Meaning::TopicId,
    Meaning::GroupId,
    Meaning::TransactionalId,
    Meaning::CoordinatorKey,
    Meaning::ResourceName,
]);

pub(crate) struct By<F>(pub(crate) F);

impl<F: FnMut(&'static Fact, Value<'_>) -> Edit> Editor for By<F> {
    fn edit(&mut self, fact: &'static Fact, value: Value<'_>) -> Edit {
        (self.0)(fact, value)
    }

    fn producer_id(&mut self, _: i64) -> Option<i64> {
        None
    }
}

pub(crate) fn holds(frame: &[u8], mark: &[u8]) -> bool {
    frame.windows(mark.len()).any(|window| window == mark)
}

/// Whether a frame has a name that may not be used, in whatever field.
pub(crate) fn leaks(frame: &[u8]) -> bool {
    FORBIDDEN.iter().any(|name| holds(frame, name.as_bytes())) || holds(frame, &FORBIDDEN_ID)
}

/// How often each error code stands in an answer.
pub(crate) fn codes(key: ApiKey, version: i16, frame: &[u8]) -> Vec<i16> {
    let mut codes = Vec::new();
    let mut editor = By(|_: &'static Fact, value: Value<'_>| {
        if let Value::Int(code) = value {
            codes.push(i16::try_from(code).unwrap());
        }
        Edit::Keep
    });
    let layout = Table::get().layout(key, version, Direction::ToClient).unwrap();
    let wants = Meanings::of(&[Meaning::Error]);
    rewrite(layout, wants, &mut frame.to_vec(), &mut editor, &mut Outline::off()).unwrap();
    codes
}

pub(crate) fn framed(key: ApiKey, version: i16, way: Direction, dice: &mut Dice, share: u32) -> Vec<u8> {
    let recipe = Recipe { nulls: 10, ..Recipe::PLAIN };
    let mut own = Dice::new(dice.roll());
    let by_id = own.chance(128) && (key != ApiKey::METADATA || version >= 12);
    let mut marker = Marker { key, way, dice: &mut own, share, by_id };
    sample::sample(key, version, way, &recipe, dice, &mut |fact| marker.mark(fact)).unwrap().frame
}
