//! Broken files, and what is said of them: `NAME.toml` and `NAME.txt` in `tests/broken`.
//!
//! `UPDATE_EXPECT=1 cargo test -p skein-config` writes what is said now; read it before it is committed.

use std::fs;
use std::path::Path;

use expect_test::expect_file;

use crate::{files, made, name, report};

#[test]
fn every_broken_file_is_answered_as_it_was_reviewed() {
    let files = files("tests/broken");
    assert!(files.len() >= 50, "{} files", files.len());
    for path in files {
        let said = report(&name(&path), &fs::read(&path).unwrap());
        says_what_it_must(&name(&path), &said);
        expect_file![path.with_extension("txt")].assert_eq(&said);
    }
}

#[test]
fn files_that_no_editor_makes_are_answered_as_it_was_reviewed() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/broken/made");
    for (name, bytes) in made::files() {
        let said = report(name, &bytes);
        says_what_it_must(name, &said);
        expect_file![folder.join(name).with_extension("txt")].assert_eq(&said);
    }
}

/// Where, what, and what would be right; and nothing that steers a terminal.
fn says_what_it_must(name: &str, said: &str) {
    let count = |what: &str| said.lines().filter(|line| line.trim_start().starts_with(what)).count();
    let faults = count("× ");
    assert!(faults > 0, "{name} is not refused");
    assert_eq!(said.matches(&format!("[{name}:")).count(), faults, "{name}: each has a place\n{said}");
    assert_eq!(count("help: "), faults, "{name}: each says what would be right\n{said}");
    let is_plain = |letter: char| !letter.is_control() || letter == '\n';
    assert!(said.chars().all(is_plain), "{name}: {said:?}");
    let longest = said.lines().map(|line| line.chars().count()).max();
    assert!(longest.is_some_and(|longest| longest <= 400), "{name}: a line of {longest:?} letters\n{said}");
}
