//! What the project shows as a configuration is one, and the manual says of each key what the code does.

use std::env::VarError;

use anyhow::{Result, anyhow, ensure};
use skein_config::Colours;
use skein_routing::disguise::Disguise;
use skein_routing::kind::Registry;
use skein_settings::Key;

use crate::{files_of_kind, read};

const MANUAL: &str = "docs/configuration.md";

fn accepted(name: &str, text: &str) -> Result<()> {
    let environment = |_: &str| Err(VarError::NotPresent);
    let loaded = skein_config::load(name, text.as_bytes(), &Registry::standard(), &environment);
    loaded.map(|_| ()).map_err(|faults| anyhow!("{}", faults.report(Colours::No)))
}

#[test]
fn every_example_is_accepted_and_in_the_manual() -> Result<()> {
    let examples: Vec<_> = files_of_kind("toml")?.into_iter().filter(|path| path.starts_with("examples")).collect();
    ensure!(!examples.is_empty(), "there is no example");
    let manual = read(MANUAL)?;
    for path in examples {
        let name = path.display().to_string();
        accepted(&name, &read(&path)?)?;
        ensure!(manual.contains(&format!("](../{name})")), "{MANUAL} has no link to {name}");
    }
    Ok(())
}

#[test]
fn every_kind_shows_an_example_that_is_accepted() -> Result<()> {
    Registry::standard().examples().try_for_each(|(kind, example)| accepted(kind, example))
}

#[test]
fn every_whole_configuration_in_the_manual_is_accepted() -> Result<()> {
    let mut seen = 0;
    for path in files_of_kind("md")? {
        let text = read(&path)?;
        let blocks = text.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next());
        for block in blocks.filter(|block| block.contains("[virtual-clusters.") && block.contains("[clusters.")) {
            accepted(&path.display().to_string(), block)?;
            seen += 1;
        }
    }
    ensure!(seen > 0, "no page shows a whole configuration");
    Ok(())
}

/// What kinds of router have in common. Their other keys are told where each kind is.
const OF_ALL_KINDS: [&str; 4] = ["kind", "routes", "id", "target"];

/// Below each heading that names a table stand the rows of its keys, as the keys say them of themselves, and no other.
#[test]
fn the_manual_has_every_key_as_the_code_has_it() -> Result<()> {
    let manual = read(MANUAL)?;
    let mut wrong = Vec::new();
    for (table, keys) in skein_config::tables(&Registry::standard().with::<Disguise>()) {
        // The headings are the keys of the file itself; a target is told where it stands.
        if table.is_empty() || table.ends_with(".target") {
            continue;
        }
        let is_told = |key: &&Key| !table.starts_with("routers.") || OF_ALL_KINDS.contains(&key.name);
        let wanted: Vec<String> = keys.iter().filter(is_told).map(Key::row).collect();
        let heading = format!("`[{table}]`");
        let mut sections = manual.split("\n## ").filter(|section| section.starts_with(&heading));
        let section = sections.next().unwrap_or_default();
        let found: Vec<&str> = section.lines().filter(|line| line.starts_with("| `")).collect();
        if found != wanted {
            wrong.push(format!("below {heading} are to be:\n{}", wanted.join("\n")));
        }
    }
    ensure!(wrong.is_empty(), "{MANUAL} differs from the code. Think, then copy.\n{}", wrong.join("\n"));
    Ok(())
}
