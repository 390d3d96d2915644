//! Every message that is offered, through two nested disguises: no name of one side reaches the other, each identity
//! becomes exactly what it is called there, and the way back restores the frame bit for bit. What is not so stands in one
//! table, with reasons.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::wildcard_enum_match_arm,
    reason = "a test that fails panics"
)]

#[path = "leak/exceptions.rs"]
mod exceptions;
#[path = "leak/marks.rs"]
mod marks;
#[path = "leak/oracle.rs"]
mod oracle;
#[path = "leak/reader.rs"]
mod reader;
#[path = "leak/search.rs"]
mod search;
#[path = "leak/through.rs"]
mod through;
#[path = "leak/world.rs"]
mod world;

use exceptions::{Met, REFUSED, batch_passes};
use marks::Marker;
use oracle::{Becomes, Through};
use reader::{Contents, read};
use search::Marks;
use skein_filters::Client;
use skein_protocol::frame::Head;
use skein_protocol::ids::{ApiKey, Direction};
use skein_protocol::meaning::Meaning;
use skein_protocol::sample::{self, Dice, Recipe, Sample};
use skein_protocol::table::{Layout, Table};
use skein_routing::apis::manner::{self, Place};
use skein_routing::path::Lengths;
use skein_routing::router::{Course, Router};
use world::World;

/// Frames of each message.
const ROUNDS: u64 = 8;

/// All that Kafka's encoding allows but padded numbers: those come back as short as they can be.
const SHORTEST: Recipe = Recipe { padded: 0, ..Recipe::WILD };

/// What was seen.
#[derive(Debug, Default)]
struct Tally {
    messages: u32,
    frames: u32,
    streamed: u32,
    restored: u32,
    fields: usize,
    changed: usize,
    batches: usize,
}

/// One frame.
struct Case<'a> {
    world: &'a World,
    at: (ApiKey, Direction),
    layout: &'static Layout,
    sample: Sample,
    contents: Contents,
    recipe: Recipe,
    dice: Dice,
    name: String,
}

fn is_offered(key: ApiKey, version: i16) -> bool {
    manner::place(key) != Place::NotOffered && version <= manner::highest(key)
}

/// A frame in which no mark stands by chance.
fn case(world: &World, (key, version, way): (ApiKey, i16, Direction), round: u64) -> Case<'_> {
    let layout = Table::get().layout(key, version, way).unwrap();
    let recipe = if round % 4 == 3 { Recipe::WILD } else { SHORTEST };
    let marks = Marks::new(world, key, way);
    for attempt in 0.. {
        let message = u64::from(key.0.unsigned_abs()) << 16 | u64::from(version.unsigned_abs());
        let seed = attempt << 48 | round << 32 | message;
        let mut dice = Dice::new(seed);
        let own = Dice::new(dice.roll());
        let mut marker = Marker { world, key, way, dice: own, strangers: round % 2 == 1, resource_type: 0 };
        let sample = sample::sample(key, version, way, &recipe, &mut dice, &mut |fact| marker.mark(fact)).unwrap();
        if marks.found(&search::plain(&sample)).is_none() {
            let contents = read(layout, &sample.frame);
            let name = format!("{key} v{version} {way:?}, seed {seed:#x}");
            return Case { world, at: (key, way), layout, sample, contents, recipe, dice, name };
        }
    }
    unreachable!("chance ends")
}

impl Case<'_> {
    /// That `output` holds just what it must, and nothing of the side that it comes from.
    fn judge(&self, through: Through, output: &[u8], met: &mut Met) -> Vec<Becomes> {
        let (name, (key, way)) = (&self.name, self.at);
        let fields = oracle::expect(self.world, self.at, through, &self.contents, met);
        let contents = read(self.layout, output);
        for (is, must) in contents.fields.iter().zip(&fields) {
            assert!(std::ptr::eq(is.fact, must.before.fact), "{name}: {} for {}", is.fact.path, must.before.fact.path);
            assert_eq!(is.value, must.after, "{name}: {} was {:?}", is.fact.path, must.before.value);
        }
        assert_eq!(contents.fields.len(), fields.len(), "{name}: fields are missing, or too many");
        let producers = self.contents.batches.iter().map(|batch| {
            let pairs = &self.world.producers;
            let other = || pairs.iter().find(|pair| *pair.from(way) == batch.producer).map(|pair| *pair.to(way));
            if batch_passes(key, way, batch) { batch.producer } else { other().unwrap_or(batch.producer) }
        });
        let are: Vec<_> = contents.batches.iter().map(|batch| batch.producer).collect();
        assert_eq!(are, producers.collect::<Vec<_>>(), "{name}: producers of batches");
        let left = search::translated(self.at, output, &contents, met);
        if let Some(leak) = Marks::new(self.world, key, way).found(&left) {
            panic!("{name}: a leak, {leak}");
        }
        fields
    }

    fn run(&mut self, met: &mut Met, tally: &mut Tally) {
        let (world, key, layout) = (self.world, self.at.0, self.layout);
        let output = through::complete(world, key, layout, &self.sample.frame);
        let fields = self.judge(Through::Rewrite, &output, met);
        tally.frames += 1;
        tally.fields += fields.len();
        tally.changed += fields.iter().filter(|field| field.before.value != field.after).count();
        tally.batches += self.contents.batches.len();
        self.restore(&output, &fields, met, tally);
        let Some((lengths, passed)) = through::streamed(world, key, layout, &self.sample.frame, &mut self.dice) else {
            return;
        };
        tally.streamed += 1;
        self.judge(Through::Passage, &passed, met);
        // A passage blanks the tags that a rewrite readdresses.
        if lengths == Lengths::Kept && !layout.meanings().has(Meaning::Host) {
            assert!(passed == output, "{}: the passage and the rewrite differ", self.name);
        }
    }

    /// That the way back undoes the way there.
    fn restore(&self, output: &[u8], fields: &[Becomes], met: &mut Met, tally: &mut Tally) {
        let restored = through::back(self.world, self.at.0, self.layout, output, fields, met);
        for (is, must) in read(self.layout, &restored).fields.iter().zip(fields) {
            assert_eq!(is.value, must.before.value, "{}: {} on its way back", self.name, is.fact.path);
        }
        // What was left out does not come back.
        if fields.len() == self.contents.fields.len() && self.recipe.padded == 0 {
            tally.restored += 1;
            assert!(restored == self.sample.frame, "{}: it is not as it was", self.name);
        }
    }
}

/// Says which frame it was if a law panics.
struct Shown(String);

impl Drop for Shown {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("in {}", self.0);
        }
    }
}

#[test]
fn nothing_of_one_side_reaches_the_other() {
    let (world, mut met, mut tally) = (World::new(), Met::default(), Tally::default());
    for (key, version, way) in sample::messages().filter(|(key, version, _)| is_offered(*key, *version)) {
        if REFUSED.iter().any(|(refused, _)| *refused == key.0) {
            continue;
        }
        tally.messages += 1;
        for round in 0..ROUNDS {
            let mut case = case(&world, (key, version, way), round);
            let shown = Shown(case.name.clone());
            case.run(&mut met, &mut tally);
            drop(shown);
        }
    }
    println!("{tally:?}");
    met.all();
    assert!(tally.streamed > 0 && tally.batches > 0 && tally.restored > tally.frames / 2, "{tally:?}");
}

#[test]
fn what_is_left_out_is_refused_by_the_router() {
    let world = World::new();
    let client = Client::arrived(std::sync::Arc::from("leak"), ([127, 0, 0, 1], 1).into());
    for api in Table::get().apis().filter(|api| is_offered(api.key, 0)) {
        let head = Head { length: 20, key: api.key, version: 0, correlation: 1 };
        let refused = matches!(world.outer.course(&head, None, &client), Course::Refuse(_));
        assert_eq!(refused, REFUSED.iter().any(|(key, _)| *key == api.key.0), "{}", api.name);
    }
}
