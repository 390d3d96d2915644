//! Which crate may use which.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::root;

/// Each may use those before it.
const LINE: [&str; 8] = [
    "skein-settings",
    "skein-login",
    "skein-protocol",
    "skein-filters",
    "skein-routing",
    "skein-config",
    "skein-link",
    "skein-proxy",
];

/// Dependencies that only some may have. Everything pure stays free of sockets, clocks and tasks.
const RESERVED: [(&str, &[&str]); 3] = [
    ("kafka-protocol", &["skein-protocol", "skein-tests"]),
    ("tokio", &["skein-link", "skein-proxy", "skein-benches", "skein-tests"]),
    ("rustls", &["skein-link", "skein-proxy", "skein-benches", "skein-tests"]),
];

/// What each package of the workspace depends on, tests and builds aside.
fn dependencies() -> Result<BTreeMap<String, BTreeSet<String>>> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--format-version", "1", "--no-deps"])
        .current_dir(root())
        .output()
        .context("starting cargo metadata")?;
    ensure!(output.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout)?;
    let text = |value: &Value, key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let list = |value: &Value, key: &str| value.get(key).and_then(Value::as_array).cloned().unwrap_or_default();
    let of = |package: &Value| {
        let used = list(package, "dependencies");
        used.iter().filter(|used| used.get("kind").is_none_or(Value::is_null)).map(|used| text(used, "name")).collect()
    };
    Ok(list(&metadata, "packages").iter().map(|package| (text(package, "name"), of(package))).collect())
}

#[test]
fn the_crates_form_a_line() -> Result<()> {
    let packages = dependencies()?;
    for (place, name) in LINE.iter().enumerate() {
        let used = packages.get(*name).with_context(|| format!("{name} is no package of the workspace"))?;
        for other in used.iter().filter(|other| packages.contains_key(*other)) {
            ensure!(
                LINE.iter().take(place).any(|before| before == other),
                "{name} depends on {other}, which does not stand before it in the line {LINE:?}"
            );
        }
    }
    for (package, used) in &packages {
        for name in used {
            // `tokio-util` and the like count as what they are part of.
            let reserved = |of: &str| name == of || name.strip_prefix(of).is_some_and(|rest| rest.starts_with('-'));
            if let Some((of, may)) = RESERVED.iter().find(|(of, _)| reserved(of)) {
                ensure!(may.contains(&package.as_str()), "{package} depends on {name}; only {may:?} may use {of}");
            }
        }
    }
    Ok(())
}
