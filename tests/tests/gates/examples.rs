//! What the project shows as a configuration is one.

use std::path::Path;

use anyhow::{Result, anyhow, ensure};
use skein_routing::kind::Registry;

use crate::{files_of_kind, read};

fn accepted(name: &str, text: &str) -> Result<()> {
    let faults = |faults: skein_config::Faults| {
        let all: Vec<_> = faults.iter().map(|fault| fault.what().to_owned()).collect();
        anyhow!("{name} is refused: {}", all.join("; "))
    };
    skein_config::load(name, text, &Registry::standard()).map_err(faults).map(|_| ())
}

#[test]
fn every_example_is_accepted() -> Result<()> {
    let examples: Vec<_> = files_of_kind("toml")?.into_iter().filter(|path| path.starts_with("examples")).collect();
    ensure!(!examples.is_empty(), "there is no example");
    examples.iter().try_for_each(|path| accepted(&path.display().to_string(), &read(path)?))
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

#[test]
fn the_manual_names_every_key() -> Result<()> {
    let manual = read(Path::new("docs/configuration.md"))?;
    let source = read(Path::new("config/src/document.rs"))? + &read(Path::new("config/src/process.rs"))?;
    let fields = source.lines().filter_map(|line| line.trim().strip_prefix("pub ")?.split_once(": "));
    let missing: Vec<_> = fields
        .map(|(name, _)| name.replace('_', "-"))
        .filter(|key| key != "settings" && !manual.contains(&format!("`{key}`")))
        .collect();
    ensure!(missing.is_empty(), "docs/configuration.md has nothing about {missing:?}");
    Ok(())
}
