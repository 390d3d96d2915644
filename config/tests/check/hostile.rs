//! Whatever the bytes are, they are answered: no panic, and soon.

use std::fs;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use proptest::sample::Index;

use crate::{files, load, made, report};

/// What a slip, or an attacker, puts into a file.
const PIECES: [&str; 24] = [
    "[",
    "]",
    "{",
    "}",
    "=",
    ".",
    ",",
    "\"",
    "'",
    "\"\"\"",
    "\n",
    "\r",
    "\0",
    "\u{feff}",
    "\\u",
    "${",
    "}",
    "[[a]]",
    "-",
    "0x",
    "nan",
    "9999999999999999999999",
    "1979-05-27",
    "é",
];

fn texts() -> Vec<Vec<u8>> {
    let mut paths = files("../examples");
    paths.extend(files("tests/broken"));
    paths.extend(files("tests/check"));
    paths.iter().map(|path| fs::read(path).unwrap()).collect()
}

/// A change of a file.
#[derive(Clone, Debug)]
enum Slip {
    Flip(Index, u8),
    Cut(Index, u8),
    Put(Index, Index),
    Again(Index, Index, u8),
}

fn slips() -> impl Strategy<Value = Slip> {
    let index = any::<Index>;
    prop_oneof![
        (index(), any::<u8>()).prop_map(|(at, with)| Slip::Flip(at, with)),
        (index(), any::<u8>()).prop_map(|(at, length)| Slip::Cut(at, length)),
        (index(), index()).prop_map(|(at, piece)| Slip::Put(at, piece)),
        (index(), index(), any::<u8>()).prop_map(|(from, to, length)| Slip::Again(from, to, length)),
    ]
}

fn slip(file: &mut Vec<u8>, slip: &Slip) {
    let place = |at: &Index, file: &[u8]| at.index(file.len() + 1);
    match slip {
        Slip::Flip(at, with) => {
            let at = place(at, file);
            file.iter_mut().skip(at).take(1).for_each(|byte| *byte = *with);
        }
        Slip::Cut(at, length) => {
            let at = place(at, file);
            file.drain(at..(at + usize::from(*length)).min(file.len()));
        }
        Slip::Put(at, piece) => {
            let at = place(at, file);
            file.splice(at..at, PIECES[piece.index(PIECES.len())].bytes());
        }
        Slip::Again(from, to, length) => {
            let (from, to) = (place(from, file), place(to, file));
            let part = file[from..(from + usize::from(*length)).min(file.len())].to_vec();
            file.splice(to..to, part);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn slips_of_the_pen_are_answered(of in any::<Index>(), slips in prop::collection::vec(slips(), 1..8)) {
        let mut file = of.get(&texts()).clone();
        slips.iter().for_each(|one| slip(&mut file, one));
        prop_assert!(!report("slips.toml", &file).is_empty());
    }

    #[test]
    fn any_bytes_are_answered(file in prop::collection::vec(any::<u8>(), 0..2000)) {
        prop_assert!(!report("bytes.toml", &file).is_empty());
    }

    #[test]
    fn any_pieces_are_answered(pieces in prop::collection::vec(any::<Index>(), 0..200)) {
        let file: String = pieces.iter().map(|piece| *piece.get(&PIECES)).collect();
        prop_assert!(!report("pieces.toml", file.as_bytes()).is_empty());
    }
}

/// A bound for the slowest of machines, far below what anything quadratic would take.
const SOON: Duration = Duration::from_secs(60);

#[test]
fn large_files_are_answered_soon() {
    for (name, file) in made::files() {
        let begun = Instant::now();
        assert!(load(name, &file).is_err(), "{name}");
        assert!(begun.elapsed() < SOON, "{name} took {:?}", begun.elapsed());
    }
}
