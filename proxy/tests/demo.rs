//! The demo, as somebody would run it who has no terminal: it must end well, also when a broker leaves on the way.

use std::io;
use std::process::Command;

/// What a run that ends well has written to standard output.
fn run(arguments: &[&str]) -> io::Result<String> {
    let output = Command::new(env!("CARGO_BIN_EXE_skein")).arg("demo").args(arguments).output()?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
    Ok(said)
}

/// How many virtual clusters have a clean verdict.
fn clean(said: &str) -> usize {
    said.lines().filter(|line| line.contains("lost 0, twice 0, out of order 0, given up 0")).count()
}

#[test]
fn every_record_arrives_once_and_in_order() -> io::Result<()> {
    let said = run(&["--once", "--records", "2000", "--rate", "1000"])?;
    assert_eq!(clean(&said), 2, "{said}");
    Ok(())
}

#[test]
fn every_record_arrives_while_a_broker_leaves_and_returns() -> io::Result<()> {
    let said = run(&["--once", "--with-outage", "--records", "3000", "--rate", "500"])?;
    assert_eq!(clean(&said), 2, "{said}");
    assert!(said.contains("orders: 2 of 3 nodes"), "Skein has shown the broker all along:\n{said}");
    Ok(())
}
