//! Requests and answers, and what vouches for them.

use skein_protocol::ids::{ApiKey, Direction};
use skein_protocol::outline::Outline;
use skein_protocol::passage::{Edit, Editor, Value};
use skein_protocol::rewrite::rewrite;
use skein_protocol::sample::{self, Dice, Recipe, SampleValue, usual};
use skein_protocol::table::{Fact, Table};
use skein_protocol::varint::narrow;
use skein_protocol::{Meaning, Meanings};

/// The number of the tag that a model broker puts into the header of an answer: it names the question.
const MARK: u8 = 77;
/// Where the client id of a request stands.
const CLIENT_ID: usize = 8;
/// Where the tags of an answer's header stand.
const TAGS: usize = 4;

/// A request of the client.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) key: ApiKey,
    pub(crate) version: i16,
    pub(crate) correlation: i32,
    /// A Produce that wants no answer.
    pub(crate) silent: bool,
    /// The client id that it has, which is its own.
    pub(crate) name: Vec<u8>,
    /// Where it ends in all that the client sends.
    pub(crate) end: usize,
}

/// What is asked, and in which versions.
const KINDS: [(ApiKey, i16); 19] = [
    (ApiKey::PRODUCE, 13),
    (ApiKey::PRODUCE, 9),
    (ApiKey::PRODUCE, 9),
    (ApiKey::PRODUCE, 7),
    (ApiKey::PRODUCE, 13),
    (ApiKey::FETCH, 18),
    (ApiKey::FETCH, 12),
    (ApiKey::FETCH, 11),
    (ApiKey::FETCH, 18),
    (ApiKey::LIST_OFFSETS, 7),
    (ApiKey::LIST_OFFSETS, 4),
    (ApiKey::METADATA, 12),
    (ApiKey::METADATA, 12),
    (ApiKey::FIND_COORDINATOR, 4),
    (ApiKey::HEARTBEAT, 4),
    (ApiKey::HEARTBEAT, 2),
    (ApiKey::INIT_PRODUCER_ID, 4),
    (ApiKey::API_VERSIONS, 3),
    (ApiKey::API_VERSIONS, 0),
];
/// A version of ApiVersions that nobody has.
const UNKNOWN: i16 = 99;

/// A request with its length, and what is known of it. `number`: which one of the client's it is.
pub(crate) fn request(number: usize, dice: &mut Dice) -> (Asked, Vec<u8>) {
    let (key, mut version) = dice.one_of(&KINDS, (ApiKey::METADATA, 12));
    let acks = i64::from(dice.below(3)) - 1;
    let wait = i64::from(dice.below(500));
    let epoch = dice.one_of(&[-1, 0, 1, 7], 0);
    let recipe = Recipe { elements: dice.one_of(&[1, 2, 3, 3, 6], 3), ..recipe(dice) };
    let mut marker = |fact: &'static Fact| match fact.meaning {
        Meaning::Acks => SampleValue::Int(acks),
        Meaning::Wait => SampleValue::Int(wait),
        Meaning::SessionEpoch => SampleValue::Int(epoch),
        Meaning::ReplicaId => SampleValue::Int(-1),
        _ => SampleValue::Any,
    };
    let mut frame = sample::sample(key, version, Direction::ToBroker, &recipe, dice, &mut marker).unwrap().frame;
    if key == ApiKey::PRODUCE && version != 9 && dice.chance(12) {
        frame = large_produce(version, i16::try_from(acks).unwrap(), dice);
    }
    if key == ApiKey::API_VERSIONS && version == 0 && dice.chance(128) {
        version = UNKNOWN;
    }
    let name = format!("r{number}").into_bytes();
    let correlation = dice.one_of(&[-1, 0, i32::MAX, i32::MIN], 0) ^ i32::try_from(dice.below(1 << 30)).unwrap();
    frame[2..4].copy_from_slice(&version.to_be_bytes());
    frame[4..8].copy_from_slice(&correlation.to_be_bytes());
    let old = usize::try_from(i16::from_be_bytes([frame[CLIENT_ID], frame[CLIENT_ID + 1]])).unwrap_or(0);
    let named = [&[0, u8::try_from(name.len()).unwrap()], &name[..]].concat();
    frame.splice(CLIENT_ID..CLIENT_ID + 2 + old, named);
    let silent = key == ApiKey::PRODUCE && acks == 0;
    (Asked { key, version, correlation, silent, name, end: 0 }, framed(&frame))
}

fn recipe(dice: &mut Dice) -> Recipe {
    if dice.chance(128) { Recipe::PLAIN } else { Recipe::WILD }
}

/// A Produce of some hundred KiB, in v7 or v13.
fn large_produce(version: i16, acks: i16, dice: &mut Dice) -> Vec<u8> {
    let payload = dice.one_of(&[20_000, 100_000, 300_000], 1000);
    let mut frame = usual::produce(payload, dice);
    if version == 13 {
        frame[22..24].copy_from_slice(&acks.to_be_bytes());
        return frame;
    }
    let mut batch = Vec::new();
    sample::batches::put_sized(&mut batch, dice, sample::BatchKind::Plain, 4711, payload);
    frame.truncate(20);
    // No transactional id, acks, timeout, one topic with one partition.
    frame.extend([0xff, 0xff]);
    frame.extend(acks.to_be_bytes());
    frame.extend([0, 0, 0x75, 0x30, 0, 0, 0, 1, 0, 2, b't', b'1', 0, 0, 0, 1, 0, 0, 0, 3]);
    frame.extend(narrow(batch.len()).to_be_bytes());
    frame.extend(batch);
    frame
}

/// The answer of a broker to a request that came with this correlation id and client id; with its length.
pub(crate) fn answer(seen: &Seen, dice: &mut Dice) -> Vec<u8> {
    let (key, version) = (seen.key, seen.version);
    let mut nodes = dice.clone();
    let mut marker = |fact: &'static Fact| match fact.meaning {
        Meaning::BrokerId => SampleValue::Int(i64::from(nodes.below(3)) - i64::from(nodes.chance(20))),
        _ => SampleValue::Any,
    };
    let recipe = Recipe { unknown_tags: 0, padded: 0, ..recipe(dice) };
    let large = dice.chance(8);
    let mut frame = match key {
        ApiKey::FETCH if version == 18 && large => usual::fetched(dice.one_of(&[20_000, 300_000], 1000), dice),
        ApiKey::METADATA if version == 12 && large => usual::metadata(dice.one_of(&[100, 2500], 10), dice),
        _ => sample::sample(key, version, Direction::ToClient, &recipe, dice, &mut marker).unwrap().frame,
    };
    frame[..4].copy_from_slice(&seen.correlation.to_be_bytes());
    if is_flexible(key, version) {
        let mark = [&[1, MARK, u8::try_from(seen.name.len()).unwrap()], &seen.name[..]].concat();
        frame.splice(TAGS..=TAGS, mark);
    }
    framed(&frame)
}

fn is_flexible(key: ApiKey, version: i16) -> bool {
    key != ApiKey::API_VERSIONS
        && Table::get().layout(key, version, Direction::ToClient).is_some_and(|layout| layout.is_flexible())
}

/// Which question an answer names; `None` if it has no such mark: it is not a broker's, or of a version without tags.
pub(crate) fn marked<'a>(asked: &Asked, frame: &'a [u8]) -> Option<&'a [u8]> {
    if !is_flexible(asked.key, asked.version) {
        return None;
    }
    match frame.get(TAGS..)? {
        [1, MARK, len, rest @ ..] => rest.get(..usize::from(*len)),
        _ => None,
    }
}

/// Whether an answer of a broker would be marked.
pub(crate) fn is_markable(asked: &Asked) -> bool {
    is_flexible(asked.key, asked.version)
}

/// A frame with its length.
pub(crate) fn framed(frame: &[u8]) -> Vec<u8> {
    [&narrow(frame.len()).to_be_bytes(), frame].concat()
}

/// Takes the frame that stands in front, if it is whole; without its length.
pub(crate) fn take(bytes: &mut Vec<u8>) -> Option<Vec<u8>> {
    let length = u32::from_be_bytes(bytes.get(..4)?.try_into().ok()?);
    let whole = 4 + usize::try_from(length).ok()?;
    if bytes.len() < whole {
        return None;
    }
    let frame = bytes[4..whole].to_vec();
    bytes.drain(..whole);
    Some(frame)
}

/// What a broker sees of a request.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) key: ApiKey,
    pub(crate) version: i16,
    pub(crate) correlation: i32,
    pub(crate) name: Vec<u8>,
    pub(crate) silent: bool,
    pub(crate) wait_ms: u64,
}

struct Look {
    silent: bool,
    wait_ms: u64,
}

impl Editor for Look {
    fn edit(&mut self, fact: &'static Fact, value: Value<'_>) -> Edit {
        match (fact.meaning, value) {
            (Meaning::Acks, Value::Int(acks)) => self.silent = acks == 0,
            (Meaning::Wait, Value::Int(wait)) => self.wait_ms = u64::try_from(wait).unwrap_or(0),
            _ => {}
        }
        Edit::Keep
    }

    fn producer_id(&mut self, _id: i64) -> Option<i64> {
        None
    }
}

fn look(key: ApiKey, version: i16, way: Direction, frame: &[u8]) -> Result<Look, String> {
    let layout = Table::get().layout(key, version, way).ok_or("no such message")?;
    let mut look = Look { silent: false, wait_ms: 0 };
    let wants = Meanings::of(&[Meaning::Acks, Meaning::Wait]);
    rewrite(layout, wants, &mut frame.to_vec(), &mut look, &mut Outline::off())
        .map_err(|malformed| format!("{key:?} v{version} {way:?}: {malformed}"))?;
    Ok(look)
}

/// Reads a request as a broker does.
pub(crate) fn read_request(frame: &[u8]) -> Result<Seen, String> {
    let [k0, k1, v0, v1, c0, c1, c2, c3, n0, n1, rest @ ..] = frame else { return Err("a short request".to_owned()) };
    let key = ApiKey(i16::from_be_bytes([*k0, *k1]));
    let version = i16::from_be_bytes([*v0, *v1]);
    let Look { silent, wait_ms } = look(key, version, Direction::ToBroker, frame)?;
    let name = rest.get(..usize::from(u16::from_be_bytes([*n0, *n1]))).ok_or("a request without a client id")?;
    let correlation = i32::from_be_bytes([*c0, *c1, *c2, *c3]);
    Ok(Seen { key, version, correlation, name: name.to_vec(), silent, wait_ms })
}

/// Vouches for the answer to a request.
pub(crate) fn check_answer(asked: &Asked, frame: &[u8]) -> Result<(), String> {
    let found = frame.get(..4).ok_or("a short answer")?;
    if found != asked.correlation.to_be_bytes() {
        return Err(format!("an answer with correlation id {found:02x?} to {asked:?}"));
    }
    let version = if asked.version == UNKNOWN { 0 } else { asked.version };
    look(asked.key, version, Direction::ToClient, frame)?;
    match marked(asked, frame) {
        Some(mark) if mark != asked.name => Err(format!("the answer to {mark:02x?} as that to {asked:?}")),
        _ => Ok(()),
    }
}
