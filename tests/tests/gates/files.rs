//! Files: their length, what is generated, and whether links between them lead somewhere.

use std::path::Path;

use anyhow::{Result, bail, ensure};
use skein_xtask::wire_table;

use crate::{files_of_kind, read, root};

/// Lines of a source file.
const MOST_LINES: usize = 400;

/// Those that are longer, each with a bound of its own and why one file is better than two.
const LONGER: &[(&str, usize, &str)] = &[];

#[test]
fn no_file_is_long() -> Result<()> {
    let mut wrong = Vec::new();
    for path in files_of_kind("rs")? {
        let lines = read(&path)?.lines().count();
        let longer = LONGER.iter().find(|(file, ..)| path == Path::new(file));
        let most = longer.map_or(MOST_LINES, |(_, most, _)| *most);
        if lines > most {
            wrong.push(format!("{} has {lines} lines; at most {most} are right: split it by concept", path.display()));
        }
    }
    for (file, _, reason) in LONGER {
        match read(file).map(|text| text.lines().count()) {
            Ok(lines) if lines > MOST_LINES => {}
            _ => wrong.push(format!("{file} is short or gone: take it off the list ({reason})")),
        }
    }
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}

#[test]
fn the_wire_table_is_current() -> Result<()> {
    wire_table::run(root(), wire_table::Mode::Check)
}

#[test]
fn every_test_that_the_manual_names_is_there() -> Result<()> {
    let mut sources = String::new();
    for path in files_of_kind("rs")? {
        sources += &read(&path)?;
    }
    let (page, mut named, mut missing) = (read("docs/other-proxies.md")?, 0, Vec::new());
    let shown = page.lines().filter_map(|line| line.strip_suffix(" |")?.rsplit_once(" | "));
    let words =
        shown.flat_map(|(_, shown)| shown.split(|letter: char| letter != '_' && !letter.is_ascii_alphanumeric()));
    for word in words.filter(|word| word.matches('_').count() >= 2) {
        named += 1;
        if !sources.contains(&format!("fn {word}(")) {
            missing.push(word);
        }
    }
    ensure!(named > 50, "the page names {named} tests only");
    ensure!(missing.is_empty(), "docs/other-proxies.md names tests that are not there: {missing:?}");
    Ok(())
}

#[test]
fn every_link_leads_somewhere() -> Result<()> {
    let mut dead = Vec::new();
    for path in files_of_kind("md")? {
        let folder = path.parent().unwrap_or(Path::new(""));
        for target in links(&read(&path)?) {
            let file = target.split('#').next().unwrap_or_default();
            let is_ours = !file.is_empty() && !file.contains("://");
            if is_ours && !root().join(folder).join(file).exists() {
                dead.push(format!("{} links to {target}, which does not exist", path.display()));
            }
        }
    }
    if !dead.is_empty() {
        bail!("{}", dead.join("\n"));
    }
    Ok(())
}

#[test]
fn every_bound_of_the_manual_is_where_it_says() -> Result<()> {
    let mut wrong = Vec::new();
    let mut seen = 0;
    for line in read("docs/limits.md")?.lines() {
        let Some(file) = line.split([' ', '(', ')', '|', ',']).find(|word| word.ends_with(".rs")) else { continue };
        let text = read(file).unwrap_or_default();
        for name in line.split('`').skip(1).step_by(2).map(|name| name.rsplit("::").next().unwrap_or(name)) {
            let is_constant = name.chars().all(|letter| letter.is_ascii_uppercase() || letter == '_');
            if is_constant && !text.contains(&format!("const {name}: ")) {
                wrong.push(format!("docs/limits.md: {name} is not in {file}"));
            }
            seen += usize::from(is_constant);
        }
    }
    ensure!(seen > 0 && wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}

#[test]
fn every_reason_of_a_close_is_in_the_manual() -> Result<()> {
    let manual = read("docs/limits.md")?;
    let sources = files_of_kind("rs")?;
    let sources = sources.iter().filter(|path| path.starts_with("routing/src") || path.starts_with("proxy/src"));
    let mut labels = Vec::new();
    for path in sources {
        let text = read(path)?;
        let function = text.split("fn label(").nth(1).and_then(|rest| rest.split("\n    }").next()).unwrap_or_default();
        labels.extend(function.split("=> \"").skip(1).filter_map(|rest| Some(rest.split_once('"')?.0.to_owned())));
    }
    ensure!(labels.len() > 10, "the reasons are not where they were: {labels:?}");
    let missing: Vec<_> = labels.iter().filter(|label| !manual.contains(&format!("`{label}`"))).collect();
    ensure!(missing.is_empty(), "docs/limits.md does not list {missing:?}");
    Ok(())
}

/// The targets of `[…](target)`, outside fenced blocks.
fn links(text: &str) -> Vec<String> {
    let prose = text.split("```").step_by(2);
    prose
        .flat_map(|part| part.split("](").skip(1))
        .filter_map(|rest| Some(rest.split_once(')')?.0.to_owned()))
        .collect()
}
