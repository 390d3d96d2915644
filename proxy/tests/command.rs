//! The command as a process: what it prints where, and the status that it ends with.

#![expect(clippy::unwrap_used, reason = "a test that fails panics")]

use std::path::PathBuf;
use std::process::{Command, Output};

fn skein(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_skein")).args(arguments).output().unwrap()
}

/// A file of the project.
fn file(path: &str) -> String {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..").join(path).display().to_string()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn a_file_without_a_fault_is_checked_with_0() {
    let done = skein(&["check", &file("examples/straight.toml")]);
    assert_eq!(done.status.code(), Some(0), "{}", text(&done.stderr));
    assert!(text(&done.stdout).ends_with("straight.toml has no fault\n"));
    assert!(done.stderr.is_empty());
}

#[test]
fn a_file_with_faults_is_checked_with_1_and_not_run() {
    let broken = file("config/tests/broken/bad-login.toml");
    for command in ["check", "run"] {
        let done = skein(&[command, &broken]);
        let said = text(&done.stderr);
        assert_eq!(done.status.code(), Some(1), "{command}: {said}");
        assert!(said.contains("`login` cannot be `relayed`") && said.contains("bad-login.toml:13:9"), "{said}");
        assert!(!said.contains('\u{1b}'), "colours are for terminals: {said:?}");
        assert!(done.stdout.is_empty());
    }
}

#[test]
fn a_file_that_cannot_be_read_is_checked_with_1() {
    let done = skein(&["check", &file("no-such-file.toml")]);
    assert_eq!(done.status.code(), Some(1));
    assert!(text(&done.stderr).contains("no-such-file.toml cannot be read"));
}

#[test]
fn what_is_not_understood_ends_with_2() {
    for arguments in [&["check"][..], &["chekc", "skein.toml"], &["schema", "--verbose"], &[]] {
        assert_eq!(skein(arguments).status.code(), Some(2), "{arguments:?}");
    }
}

#[test]
fn the_schema_is_printed_alone() {
    let done = skein(&["schema"]);
    assert_eq!(done.status.code(), Some(0));
    let schema = text(&done.stdout);
    assert!(schema.starts_with("{\n") && schema.contains("\"virtual-clusters\"") && schema.ends_with("}\n"));
    assert!(done.stderr.is_empty());
}
