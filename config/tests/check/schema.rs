//! The schema and the reader are of one mind.

use std::collections::BTreeSet;
use std::fs;

use jsonschema::Validator;
use serde_json::{Map, Value as Json, json};
use toml::de::{DeTable, DeValue};

use crate::{files, kinds, load, made, name};

fn validator() -> Validator {
    let schema = skein_config::schema(&kinds());
    assert!(jsonschema::meta::is_valid(&schema), "the schema is none");
    jsonschema::draft202012::new(&schema).unwrap()
}

/// A file as a schema sees it; `None`: it is no TOML.
fn seen(text: &str) -> Option<Json> {
    DeTable::parse(text).ok().map(|root| table(root.get_ref()))
}

fn table(found: &DeTable<'_>) -> Json {
    let entry = |(name, value): (&toml::Spanned<_>, &toml::Spanned<DeValue<'_>>)| {
        let name: &std::borrow::Cow<'_, str> = name.get_ref();
        (name.clone().into_owned(), value_of(value.get_ref()))
    };
    Json::Object(found.iter().map(entry).collect::<Map<_, _>>())
}

fn value_of(found: &DeValue<'_>) -> Json {
    match found {
        DeValue::String(text) => json!(text),
        DeValue::Integer(number) => json!(i64::from_str_radix(number.as_str(), number.radix()).unwrap_or(i64::MAX)),
        DeValue::Float(number) => json!(number.as_str().parse::<f64>().unwrap_or_default()),
        DeValue::Boolean(truth) => json!(truth),
        DeValue::Datetime(time) => json!({ "time": time.to_string() }),
        DeValue::Array(list) => list.iter().map(|value| value_of(value.get_ref())).collect(),
        DeValue::Table(found) => table(found),
    }
}

#[test]
fn every_example_is_valid() {
    let validator = validator();
    let mut examples: Vec<_> =
        files("../examples").iter().map(|path| (name(path), fs::read_to_string(path).unwrap())).collect();
    examples.extend(kinds().examples().map(|(kind, example)| (kind.to_owned(), example.to_owned())));
    for (name, text) in examples {
        let errors: Vec<_> = validator.iter_errors(&seen(&text).unwrap()).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{name}: {errors:?}");
    }
}

#[test]
fn what_the_schema_refuses_the_reader_refuses() {
    let validator = validator();
    let mut refused = 0;
    for path in files("tests/broken") {
        let Some(seen) = fs::read_to_string(&path).ok().and_then(|text| seen(&text)) else { continue };
        if !validator.is_valid(&seen) {
            refused += 1;
            assert!(load(&name(&path), &fs::read(&path).unwrap()).is_err(), "{}", path.display());
        }
    }
    assert!(refused > 10, "the schema refuses {refused} of the broken files");
}

/// A file in which every key of every table stands, with one that nobody knows put into each table in turn.
#[test]
fn the_reader_knows_the_keys_of_the_schema_and_no_other() {
    let validator = validator();
    let text = include_str!("every-key.toml");
    load("every-key.toml", text.as_bytes())
        .unwrap_or_else(|faults| panic!("{}", faults.report(skein_config::Colours::No)));
    let whole = seen(text).unwrap();
    assert!(validator.is_valid(&whole));
    let written = paths(&whole);
    for (table, keys) in skein_config::tables(&kinds()) {
        for key in &keys {
            let path = if table.is_empty() { key.name.to_owned() } else { format!("{table}.{}", key.name) };
            assert!(written.contains(&path), "every-key.toml is without `{path}`");
        }
        // A table that stands in a list is written in two brackets.
        let headers = [format!("[{}]\n", concrete(&table)), format!("[[{}]]\n", concrete(&table))];
        let header = headers.into_iter().find(|header| text.contains(header)).filter(|_| !table.is_empty());
        let header = header.unwrap_or_default();
        let stranger = if table.is_empty() {
            format!("stranger = 1\n{text}")
        } else {
            assert!(!header.is_empty(), "every-key.toml has no [{table}]");
            text.replacen(&header, &format!("{header}stranger = 1\n"), 1)
        };
        assert!(!validator.is_valid(&seen(&stranger).unwrap()), "the schema lets a stranger into `{table}`");
        let faults = load("stranger", stranger.as_bytes()).err().unwrap();
        let found: Vec<_> = faults.iter().map(|fault| fault.what.as_str()).collect();
        assert!(found.len() == 1 && found[0].starts_with("`stranger` is no key of"), "`{table}`: {found:?}");
    }
}

/// The names that stand in `every-key.toml` for the operator's.
const NAMES: [&str; 7] = ["one", "mask", "other", "main", "second", "third", "plain"];

/// The paths of a file, with `NAME` for each of its names.
fn paths(found: &Json) -> BTreeSet<String> {
    let mut paths = BTreeSet::new();
    let mut open = vec![(String::new(), found)];
    while let Some((path, found)) = open.pop() {
        for (name, value) in found.as_object().into_iter().flatten() {
            let name = if NAMES.contains(&name.as_str()) { "NAME" } else { name.as_str() };
            let path = if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
            paths.insert(path.clone());
            open.extend(value.as_array().into_iter().flatten().map(|one| (path.clone(), one)));
            open.push((path, value));
        }
    }
    paths
}

/// A table of the manual as `every-key.toml` names it.
fn concrete(table: &str) -> String {
    let named = [
        ("clusters.NAME", "clusters.one"),
        ("routers.NAME", "routers.mask"),
        ("routes.NAME", "routes.one"),
        ("map.NAME", "map.mask"),
    ];
    let seen = [("virtual-clusters.NAME", "virtual-clusters.main"), ("listeners.NAME", "listeners.plain")];
    let mut concrete = table.to_owned();
    for (general, name) in seen.into_iter().chain(named) {
        // `clusters.NAME` is also the end of `virtual-clusters.NAME`, which has its name by then.
        concrete = concrete.replace(general, name);
    }
    concrete
}

#[test]
fn a_build_without_kinds_has_a_schema_without_routers() {
    let schema = skein_config::schema(&skein_routing::kind::Registry::standard());
    assert!(jsonschema::meta::is_valid(&schema));
    let validator = jsonschema::draft202012::new(&schema).unwrap();
    assert!(validator.is_valid(&seen(made::GOOD).unwrap()));
    let routed = seen(&format!("{}\n[routers.r]\nkind = \"any\"\n", made::GOOD)).unwrap();
    assert!(!validator.is_valid(&routed));
}
