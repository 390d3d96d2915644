//! What a further partition of a Produce or a Fetch costs: fields that are decoded, and look-ups of rules. Counts, which do not
//! wobble as times do; those of allocations are in `routing/tests/costs.rs`.

use skein_protocol::outline::Outline;
use skein_protocol::passage::Editor;
use skein_protocol::rewrite::rewrite;
use skein_protocol::table::Table as Wire;

use super::request::LOOKED_AT;
use super::split::NAMES;
use super::*;

/// How many lengths the prefixes of the rules have.
const LENGTHS: u32 = 3;
/// Look-ups for a name: one, and one for each length that a prefix has.
const EACH_NAME: u32 = 1 + LENGTHS;
/// How many topics, how many partitions of each, how many rules about others.
const MANY: [u8; 3] = [1, 2, 100];

/// Whether a topic may be written and read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum May {
    Yes,
    No,
}

/// One that has rules about topics, and so many about others. It knows the names of all topic ids.
fn judge(others: u8) -> Judge {
    let every = || Operation::ALL.map(|(_, operation)| operation);
    let others = (0..others).flat_map(|number| {
        let name = format!("other-{number:03}");
        [Rule::allow(every(), Resource::Topic, &name), Rule::deny(every(), Resource::Topic, &format!("{name}*"))]
    });
    let ours = [
        Rule::allow(every(), Resource::Topic, "topic-*"),
        Rule::deny(every(), Resource::Topic, "topic-secret-*"),
        Rule::deny(every(), Resource::Topic, "other-00?*"),
    ];
    let rules: Vec<_> = others.chain(ours).collect();
    let mut judge = Judge { grants: Arc::new(Grants::new(&rules)), ..Judge::default() };
    for number in 0..100 {
        judge.learned(id(May::Yes, number), &name(May::Yes, number));
        judge.learned(id(May::No, number), &name(May::No, number));
    }
    judge
}

fn name(may: May, number: u8) -> String {
    let kind = if may == May::Yes { "public" } else { "secret" };
    format!("topic-{kind}-{number:03}")
}

fn id(may: May, number: u8) -> Id {
    let mut id = [if may == May::Yes { 1 } else { 2 }; 16];
    id[0] = number + 1;
    id
}

/// A request without its length: what stands in front of the topics, in each partition behind its index, and behind it all.
fn request(key: ApiKey, version: i16, may: May, (topics, partitions): (u8, u8)) -> (Head, Vec<u8>) {
    let (before, partition, behind): (&[u8], &[u8], &[u8]) = match key {
        // No transactional id, all replicas, 30 s; no records.
        ApiKey::PRODUCE => (&[0, 0xff, 0xff, 0, 0, 0x75, 0x30], &[1, 0], &[0]),
        // No replica, no session; nothing is forgotten, no rack.
        _ => (&[0; 25], &[0; 29], &[1, 1, 0]),
    };
    let mut frame = [&key.0.to_be_bytes()[..], &version.to_be_bytes(), &[0, 0, 0, 7, 0xff, 0xff, 0], before].concat();
    frame.push(topics + 1);
    for number in 0..topics {
        if version >= 13 {
            frame.extend(id(may, number));
        } else {
            let name = name(may, number);
            frame.push(u8::try_from(name.len()).unwrap() + 1);
            frame.extend(name.as_bytes());
        }
        frame.push(partitions + 1);
        (0..partitions).for_each(|index| frame.extend([&[0, 0, 0, index], partition].concat()));
        frame.push(0);
    }
    frame.extend(behind);
    let length = u32::try_from(frame.len()).unwrap();
    (Head { length, key, version, correlation: 7 }, frame)
}

/// Counts the fields that it is shown, and shows them to a filter.
struct Shown<'j> {
    to: Option<&'j mut Judge>,
    memo: Memo,
    fields: u32,
    changed: u32,
}

impl Shown<'_> {
    fn count(head: &Head, wanted: Meanings, frame: &mut [u8], to: Option<&mut Judge>) -> [u32; 2] {
        let layout = Wire::get().layout(head.key, head.version, Direction::ToBroker).unwrap();
        let mut shown = Shown { to, memo: Memo::default(), fields: 0, changed: 0 };
        rewrite(layout, wanted, frame, &mut shown, &mut Outline::off()).unwrap();
        [shown.fields, shown.changed]
    }
}

impl Editor for Shown<'_> {
    fn edit(&mut self, fact: &'static Fact, value: Value<'_>) -> Edit {
        self.fields += 1;
        let Some(judge) = &mut self.to else { return Edit::Keep };
        let edit = judge.on_field(&mut self.memo, (ApiKey::PRODUCE, Direction::ToBroker), fact, value);
        self.changed += u32::from(edit != Edit::Keep);
        edit
    }

    fn producer_id(&mut self, _id: i64) -> Option<i64> {
        None
    }
}

/// Every number of topics, of partitions and of other rules.
fn each(mut case: impl FnMut(May, (u8, u8), u8)) {
    for may in [May::Yes, May::No] {
        for topics in MANY {
            for partitions in MANY {
                MANY.iter().for_each(|others| case(may, (topics, partitions), *others));
            }
        }
    }
}

#[test]
fn a_further_partition_of_a_produce_is_one_field_and_no_look_up() {
    for version in [9, 13] {
        each(|may, (topics, partitions), others| {
            let mut judge = judge(others);
            let (head, frame) = request(ApiKey::PRODUCE, version, may, (topics, partitions));
            let mut passes = || {
                let before = judge.grants.looked_up();
                let [fields, changed] = Shown::count(&head, super::PRODUCE, &mut frame.clone(), Some(&mut judge));
                (fields, changed, judge.grants.looked_up() - before)
            };
            let (fields, changed, looked_up) = passes();
            let (names, indices) = (u32::from(topics), u32::from(topics) * u32::from(partitions));
            // The transactional id is one, too.
            assert_eq!(fields, 1 + names + indices);
            assert_eq!(changed, if may == May::Yes { 0 } else { indices });
            assert_eq!(looked_up, names * EACH_NAME, "{version} {may:?} {topics} {partitions} {others}");
            // What an id may is remembered by the connection.
            assert_eq!(passes().2, if version < 13 { looked_up } else { 0 });
        });
    }
}

#[test]
fn a_further_partition_of_a_fetch_is_no_field_and_no_look_up() {
    for version in [12, 13] {
        each(|may, (topics, partitions), others| {
            let mut judge = judge(others);
            let (head, mut frame) = request(ApiKey::FETCH, version, may, (topics, partitions));
            let [fields, _] = Shown::count(&head, NAMES.and(LOOKED_AT), &mut frame, None);
            let names = u32::from(topics);
            // The session and its epoch are two.
            assert_eq!(fields, 2 + names);
            let flow = judge.on_request(&head, &mut frame).unwrap();
            // What is refused is looked at to find it, and to take it.
            let looks = if may == May::Yes { 1 } else { 2 };
            assert_eq!(matches!(flow, Flow::Forward), may == May::Yes);
            assert_eq!(
                judge.grants.looked_up(),
                looks * names * EACH_NAME,
                "{version} {may:?} {topics} {partitions} {others}"
            );
        });
    }
}
