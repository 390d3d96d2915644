//! Hostile bytes: no panic, no endless walk, whatever is sent.

use crate::ids::{ApiKey, Direction};
use crate::sample::{self, Dice, Recipe, ordeal, spoil};

#[test]
fn spoilt_frames_are_survived() {
    let messages: Vec<_> = sample::messages().collect();
    let mut dice = Dice::new(20);
    let mut scratch = ordeal::Scratch::default();
    let mut spoilt = Vec::new();
    for round in 0..40_000 {
        let (key, version, direction) = messages[round % messages.len()];
        let sample = sample::any(key, version, direction, &Recipe::WILD, &mut dice).unwrap();
        for _ in 0..4 {
            spoil::spoil(&sample, &mut dice, &mut spoilt);
            ordeal::run(key, version, direction, &spoilt, &mut dice, &mut scratch);
        }
        spoil::noise(&mut dice, 200, &mut spoilt);
        ordeal::run(key, version, direction, &spoilt, &mut dice, &mut scratch);
    }
}

/// The corpus: `KEY-VERSION-request|response-WHAT.bin`, a frame without its length.
#[test]
fn the_corpus_is_survived() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/corpus");
    let mut scratch = ordeal::Scratch::default();
    let mut files = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let [key, version, side, what] = name.splitn(4, '-').collect::<Vec<_>>().try_into().unwrap();
        let direction = if side == "request" { Direction::ToBroker } else { Direction::ToClient };
        let (key, version) = (ApiKey(key.parse().unwrap()), version.parse().unwrap());
        let bytes = std::fs::read(&path).unwrap();
        let mut outcomes = Vec::new();
        for seed in 0..64 {
            outcomes.push(ordeal::run(key, version, direction, &bytes, &mut Dice::new(seed), &mut scratch));
        }
        let sound = what.starts_with("sound-");
        assert!(outcomes.iter().all(|outcome| outcome.walked == sound), "{name}");
        files += 1;
    }
    assert!(files >= 24, "the corpus is there");
}
