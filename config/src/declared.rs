//! What a file declares, kept to be compared: a reload touches only what is declared otherwise than before.
//!
//! Text is compared, as values and without places, not what was compiled from it: two routers that do the same are equal
//! only if the file says the same of them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde_json::{Map, Value, json};
use toml::de::DeValue;

type Table = Map<String, Value>;

/// What one name stands for in the file: its own table, and all tables that it leads to.
pub type Declaration = BTreeMap<String, Value>;

/// The declarations of a file, by name. Secrets are in it as they are written, so that a change of one is seen.
#[derive(Clone, Default, PartialEq)]
pub struct Declared {
    /// Of each virtual cluster, with every cluster and router that it names, and what those name.
    pub virtual_clusters: BTreeMap<String, Declaration>,
    /// Of each real cluster.
    pub clusters: BTreeMap<String, Declaration>,
}

const VIRTUAL_CLUSTERS: &str = "virtual-clusters";
const CLUSTERS: &str = "clusters";

/// Names only: what they stand for may be secret.
impl fmt::Debug for Declared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let virtual_clusters: Vec<_> = self.virtual_clusters.keys().collect();
        let clusters: Vec<_> = self.clusters.keys().collect();
        f.debug_struct("Declared")
            .field("virtual_clusters", &virtual_clusters)
            .field("clusters", &clusters)
            .finish_non_exhaustive()
    }
}

impl Declared {
    /// The declarations of a file that has been read.
    pub(crate) fn of(file: &Value) -> Self {
        let Value::Object(file) = file else { return Self::default() };
        let all = |kind: &str| {
            let names = file.get(kind).and_then(Value::as_object).into_iter().flat_map(Table::keys);
            names.map(|name| (name.clone(), reached(file, kind, name))).collect()
        };
        Self { virtual_clusters: all(VIRTUAL_CLUSTERS), clusters: all(CLUSTERS) }
    }
}

/// The table of a name, and every `[KIND.NAME]` whose name stands somewhere in what is reached already.
///
/// A text that happens to be a name counts as one: then more is drained than need be, never less.
fn reached(file: &Table, kind: &str, name: &str) -> Declaration {
    let mut found = Declaration::new();
    let mut open = vec![(kind.to_owned(), name.to_owned())];
    while let Some((kind, name)) = open.pop() {
        let Some(value) = file.get(&kind).and_then(|named| named.get(&name)) else { continue };
        if found.insert(format!("{kind}.{name}"), value.clone()).is_some() {
            continue;
        }
        let mut words = BTreeSet::new();
        collect(value, &mut words);
        for (kind, named) in file.iter().filter(|(kind, _)| *kind != VIRTUAL_CLUSTERS) {
            let named = named.as_object().into_iter().flat_map(Table::keys);
            open.extend(named.filter(|name| words.contains(name.as_str())).map(|name| (kind.clone(), name.clone())));
        }
    }
    found
}

/// A value as it is written, without its places. `${NAME}` stays what it is, whatever the environment has in its place.
pub(crate) fn plain(value: &DeValue<'_>) -> Value {
    match value {
        DeValue::String(text) => json!(text),
        DeValue::Integer(number) => match i64::from_str_radix(number.as_str(), number.radix()) {
            Ok(number) => json!(number),
            Err(_) => json!(number.as_str()),
        },
        DeValue::Float(number) => json!(number.as_str()),
        DeValue::Boolean(is) => json!(is),
        DeValue::Datetime(time) => json!(time.to_string()),
        DeValue::Array(list) => list.iter().map(|item| plain(item.get_ref())).collect(),
        DeValue::Table(table) => table.iter().map(|(key, item)| (key.to_string(), plain(item.get_ref()))).collect(),
    }
}

/// Every text in a value.
fn collect<'a>(value: &'a Value, words: &mut BTreeSet<&'a str>) {
    if let Some(text) = value.as_str() {
        words.insert(text);
    }
    for inner in value.as_array().into_iter().flatten() {
        collect(inner, words);
    }
    for (_, inner) in value.as_object().into_iter().flatten() {
        collect(inner, words);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = r#"
        [clusters.a]
        bootstrap = ["a:9092"]
        [clusters.b]
        bootstrap = ["b:9092"]
        [routers.r.routes.x]
        target.cluster = "b"
        [virtual-clusters.one]
        target.cluster = "a"
        [virtual-clusters.two]
        target.router = "r"
    "#;

    fn changed(from: &str, to: &str) -> Vec<String> {
        let declared = |text: &str| {
            let table = toml::de::DeTable::parse(text).unwrap().into_inner();
            Declared::of(&plain(&DeValue::Table(table)))
        };
        let (old, new) = (declared(FILE), declared(&FILE.replace(from, to)));
        let all = |declared: &Declared| declared.virtual_clusters.clone().into_iter().chain(declared.clusters.clone());
        let old: BTreeMap<_, _> = all(&old).collect();
        all(&new).filter(|(name, declaration)| old.get(name) != Some(declaration)).map(|(name, _)| name).collect()
    }

    #[test]
    fn a_change_is_one_of_whoever_leads_to_it() {
        assert_eq!(changed("a:9092", "c:9092"), ["one", "a"]);
        assert_eq!(changed("b:9092", "c:9092"), ["two", "b"]);
        assert_eq!(changed("target.router = \"r\"", "target.router = \"r\"\nid = \"x\""), ["two"]);
    }

    #[test]
    fn what_is_declared_is_not_shown() {
        let table = toml::de::DeTable::parse(FILE).unwrap().into_inner();
        let shown = format!("{:?}", Declared::of(&plain(&DeValue::Table(table))));
        assert!(shown.contains("one") && !shown.contains("9092"), "{shown}");
    }

    #[test]
    fn places_and_order_are_no_change() {
        assert!(changed("[clusters.a]", "# a word\n\n[clusters.a]").is_empty());
        assert!(changed("a:9092\"]", "a:9092\", ]").is_empty());
    }
}
