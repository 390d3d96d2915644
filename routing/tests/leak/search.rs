//! Looks for the marks of one side among the bytes that go to the other, whatever field they may stand in.

use skein_protocol::ids::{ApiKey, Direction};
use skein_protocol::meaning::Meaning;
use skein_protocol::sample::Sample;

use crate::exceptions::{Met, batch_passes};
use crate::reader::{Contents, PRODUCER};
use crate::world::{FOREIGN, Pair, REAL_CLUSTER, REAL_HOSTS, REAL_PORTS, SENT_CLUSTER, World};

/// A mark, and what takes its place.
struct Mark {
    from: Vec<u8>,
    to: Vec<u8>,
    /// How far before the mark its successor starts, where the one has bytes of the other.
    before: Option<isize>,
}

/// What no output of one direction may hold.
pub(crate) struct Marks(Vec<Mark>);

impl Marks {
    pub(crate) fn new(world: &World, key: ApiKey, way: Direction) -> Self {
        let mut marks = Self(Vec::new());
        marks.pairs(&world.names, way, Clone::clone);
        marks.pairs(&world.patterns, way, Clone::clone);
        marks.pairs(&world.nodes, way, |id| id.to_string().into_bytes());
        marks.pairs(&world.nodes, way, |id| four(*id));
        // One stride is four bits: two of them move an id by a byte.
        let shift = if way == Direction::ToClient { -1 } else { 1 };
        marks.0.iter_mut().rev().take(world.nodes.len()).for_each(|mark| mark.before = Some(shift));
        marks.pairs(&world.ids, way, |id| id.to_vec());
        marks.pairs(&world.epochs, way, |epoch| four(*epoch));
        if !(way == Direction::ToClient && key.is_fetch()) {
            marks.pairs(&world.producers, way, |id| id.to_be_bytes().to_vec());
        }
        if way == Direction::ToClient {
            REAL_HOSTS.iter().for_each(|host| marks.gone(host.as_bytes()));
            REAL_PORTS.iter().for_each(|port| marks.gone(&four(*port)));
            marks.gone(REAL_CLUSTER.as_bytes());
        } else {
            marks.gone(SENT_CLUSTER.as_bytes());
            marks.gone(&four(FOREIGN));
        }
        marks
    }

    fn pairs<T>(&mut self, pairs: &[Pair<T>], way: Direction, bytes: impl Fn(&T) -> Vec<u8>) {
        for pair in pairs {
            let (from, to) = (bytes(pair.from(way)), bytes(pair.to(way)));
            let before = places(&to, &from).next().map(usize::cast_signed);
            self.0.push(Mark { from, to, before });
        }
    }

    fn gone(&mut self, from: &[u8]) {
        self.0.push(Mark { from: from.to_vec(), to: Vec::new(), before: None });
    }

    /// The first mark that stands in `bytes` without being part of what took its place.
    pub(crate) fn found(&self, bytes: &[u8]) -> Option<String> {
        let leak = |mark: &Mark| {
            let replaced = |at: usize| {
                let start = mark.before.and_then(|before| at.checked_add_signed(-before));
                start.is_some_and(|start| bytes[start.min(bytes.len())..].starts_with(&mark.to))
            };
            places(bytes, &mark.from).find(|at| !replaced(*at))
        };
        self.0.iter().find_map(|mark| {
            leak(mark).map(|at| format!("{:?} ({:02x?}) at {at}", String::from_utf8_lossy(&mark.from), mark.from))
        })
    }
}

fn four(number: i64) -> Vec<u8> {
    i32::try_from(number).unwrap().to_be_bytes().to_vec()
}

fn places<'a>(bytes: &'a [u8], part: &'a [u8]) -> impl Iterator<Item = usize> + 'a {
    bytes.windows(part.len()).enumerate().filter(move |(_, window)| *window == part).map(|(at, _)| at)
}

/// A byte that no mark holds.
const MASK: u8 = 0xfe;

/// The frame without the fields that mean something: what marks it holds are there by chance.
pub(crate) fn plain(sample: &Sample) -> Vec<u8> {
    let mut bytes = sample.frame.clone();
    for field in &sample.expected {
        bytes[field.at..field.at + field.len].fill(MASK);
    }
    for batch in &sample.batches {
        let (from, to) = (PRODUCER.start.min(batch.len), PRODUCER.end.min(batch.len));
        bytes[batch.at + from..batch.at + to].fill(MASK);
    }
    bytes
}

/// An output without what crosses unchanged.
pub(crate) fn translated(
    (key, way): (ApiKey, Direction), output: &[u8], contents: &Contents, met: &mut Met,
) -> Vec<u8> {
    let mut bytes = output.to_vec();
    for field in &contents.fields {
        // What clients say to each other behind the topics of a subscription is in their own names.
        let theirs = way == Direction::ToBroker && field.fact.meaning == Meaning::TopicOpaque;
        if theirs || met.passes((key, way), field.fact) && field.fact.meaning == Meaning::ProducerId {
            bytes[field.at..field.at + field.len].fill(MASK);
        }
    }
    for batch in contents.batches.iter().filter(|batch| batch_passes(key, way, batch)) {
        bytes[batch.at + PRODUCER.start..batch.at + PRODUCER.end].fill(MASK);
    }
    bytes
}
