//! `soak`: the proofs that take too long for every change.

use std::path::Path;
use std::process::ExitCode;

use anyhow::Result;

use crate::stage::{self, Stage};

/// How often brokers and the proxy are killed under load, for each family of clients.
const CHAOS: usize = 10;

/// Runs them, up to the first that fails.
///
/// # Errors
/// A command that could not be started.
pub fn run(root: &Path) -> Result<ExitCode> {
    let hostile = ["run", "--release", "--package", "skein-protocol", "--features", "sample", "--example", "hostile"];
    let engine = ["run", "--release", "--package", "skein-routing", "--all-features"];
    let mut stages = vec![
        Stage::cargo("hostile frames", &[&hostile[..], &["--", "--frames", "20000000", "--seed", "1"]].concat()),
        Stage::cargo(
            "hostile connections",
            &[&engine[..], &["--example", "hostile", "--", "--frames", "20000000", "--seed", "1"]].concat(),
        ),
        Stage::cargo(
            "simulation",
            &["test", "--release", "--package", "skein-routing", "--all-features", "--test", "simulation"],
        )
        .with("SKEIN_STEPS", "1000000"),
        Stage::cargo("long wire", &["test", "--workspace", "--all-features", "--test", "wire"])
            .with("SKEIN_SOAK", "1000000")
            .with("SKEIN_FLOOD", "10000")
            .with("SKEIN_RELOADS", "500"),
        Stage::cargo("times of logins", &["test", "--package", "skein-login", "--", "--ignored"]),
        Stage::cargo(
            "times of logins on the wire",
            &["test", "--package", "skein-tests", "--test", "wire", "--", "time_tells", "--ignored"],
        )
        .with("SKEIN_TRIES", "150"),
    ];
    let chaos =
        || Stage::cargo("chaos", &["test", "--workspace", "--all-features", "--test", "kafka", "--", "loses_nothing"]);
    stages.push(
        Stage::cargo("a quiet log", &["test", "--workspace", "--all-features", "--test", "kafka", "--", "telemetry"])
            .with("SKEIN_WATCHED", "600"),
    );
    let kafka = ["test", "--workspace", "--all-features", "--test", "kafka", "--"];
    stages.push(Stage::cargo("ways in without a proxy", &[&kafka[..], &["secured", "--include-ignored"]].concat()));
    stages.push(Stage::cargo("rules", &[&kafka[..], &["authorize::others", "--ignored"]].concat()));
    stages.push(
        Stage::cargo("expiring logins", &[&kafka[..], &["logins_expire", "--include-ignored"]].concat())
            .with("SKEIN_LOGINS", "60"),
    );
    stages.push(Stage::cargo("every way in", &[&kafka[..], &["fronted"]].concat()).with("SKEIN_WAYS", "all"));
    stages.push(Stage::cargo("behind logins", &[&kafka[..], &["sealed"]].concat()).with("SKEIN_SEALED", "all"));
    stages.push(Stage::cargo("two clusters", &[&kafka[..], &["woven"]].concat()).with("SKEIN_WOVEN", "all"));
    stages.push(Stage::cargo("rotation", &[&kafka[..], &["rotated"]].concat()).with("SKEIN_ROTATIONS", "20"));
    stages.extend(std::iter::repeat_with(chaos).take(CHAOS));
    stage::run(root, stages)
}
