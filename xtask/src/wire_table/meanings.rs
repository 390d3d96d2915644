//! What each field means to Skein: `protocol/meanings.tsv`, one row for every field of every message that is kept.

use std::collections::HashMap;

use anyhow::{Context, Result, bail, ensure};

/// The meaning of a field that passes as it is.
pub const PLAIN: &str = "plain";

const HEAD: &str = "api_key\tdirection\tpath\tmeaning";

/// All meanings there are. The table's reader knows exactly these.
const KNOWN: [&str; 39] = [
    PLAIN,
    "topic_name",
    "topic_id",
    "topic_regex",
    "topic_opaque",
    "partition",
    "broker_id",
    "replica_id",
    "host",
    "port",
    "client_host",
    "authorized_operations",
    "auto_create",
    "config_name",
    "rack",
    "cluster_id",
    "group_id",
    "transactional_id",
    "coordinator_key",
    "key_type",
    "producer_id",
    "producer_epoch",
    "leader_epoch",
    "offset",
    "records",
    "acks",
    "wait",
    "max_bytes",
    "session_id",
    "session_epoch",
    "session_lifetime",
    "auth",
    "principal",
    "resource_type",
    "resource_name",
    "pattern_type",
    "error",
    "free_text",
    "throttle",
];

/// Where a field is: `path` has a dot between a struct and its field.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Place {
    api_key: i16,
    direction: String,
    path: String,
}

/// A row and whether a field has asked for it.
#[derive(Debug)]
struct Row {
    line: usize,
    meaning: String,
    used: bool,
}

/// The rows, and what did not fit while fields asked for them.
#[derive(Debug)]
pub struct Meanings {
    rows: HashMap<Place, Row>,
    faults: Vec<String>,
}

impl Meanings {
    /// Reads the file's text: a head line, then `api_key`, `direction`, `path`, `meaning` with a tab between.
    ///
    /// # Errors
    /// The first line that is not such a row, names an unknown meaning, or is there twice.
    pub fn parse(text: &str) -> Result<Self> {
        ensure!(text.lines().next() == Some(HEAD), "line 1: expected the head `{HEAD}`");
        let mut rows = HashMap::new();
        for (index, line) in text.lines().enumerate().skip(1) {
            let number = index + 1;
            let (place, meaning) = Self::row(line).with_context(|| format!("line {number}: `{line}`"))?;
            let row = Row { line: number, meaning, used: false };
            if let Some(earlier) = rows.insert(place, row) {
                bail!("line {number}: `{line}` repeats line {}", earlier.line);
            }
        }
        Ok(Self { rows, faults: Vec::new() })
    }

    fn row(line: &str) -> Result<(Place, String)> {
        let columns: Vec<&str> = line.split('\t').collect();
        let [api_key, direction, path, meaning] = columns.as_slice() else {
            bail!("expected four columns, found {}", columns.len());
        };
        ensure!(["request", "response"].contains(direction), "`{direction}` is neither request nor response");
        ensure!(KNOWN.contains(meaning), "unknown meaning `{meaning}`; known: {}", KNOWN.join(", "));
        let api_key = api_key.parse().with_context(|| format!("`{api_key}` is not an API key"))?;
        let place = Place { api_key, direction: (*direction).to_owned(), path: (*path).to_owned() };
        Ok((place, (*meaning).to_owned()))
    }

    /// The meaning of one field. Without a row it is `plain`, and a fault is kept that names the field.
    pub fn of(&mut self, api_key: i16, api: &str, direction: &str, path: &str) -> &str {
        let place = Place { api_key, direction: direction.to_owned(), path: path.to_owned() };
        let Some(row) = self.rows.get_mut(&place) else {
            self.faults.push(format!("{api_key} {api} {direction}: field `{path}` has no row"));
            return PLAIN;
        };
        row.used = true;
        &row.meaning
    }

    /// What was wrong, in the order of the fields, then in the order of the rows that no field asked for.
    pub fn into_faults(self) -> Vec<String> {
        let mut unused: Vec<_> = self.rows.into_iter().filter(|(_, row)| !row.used).collect();
        unused.sort_by_key(|(_, row)| row.line);
        let unused = unused.into_iter().map(|(Place { api_key, direction, path }, Row { line, .. })| {
            format!("line {line}: row `{api_key} {direction} {path}` names no field")
        });
        self.faults.into_iter().chain(unused).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(rows: &str) -> String {
        format!("{:#}", Meanings::parse(&format!("{HEAD}\n{rows}")).unwrap_err())
    }

    #[test]
    fn an_unknown_meaning_is_refused_with_its_line() {
        let fault = fault("0\trequest\tAcks\tacks\n3\tresponse\tBrokers.Host\thots\n");
        assert!(fault.starts_with("line 3: `3\tresponse\tBrokers.Host\thots`: unknown meaning `hots`; known: plain, "));
    }

    #[test]
    fn a_row_is_there_once_and_whole() {
        assert!(fault("0\trequest\tAcks\tacks\n0\trequest\tAcks\tplain\n").contains("repeats line 2"));
        assert!(fault("0\trequest\tAcks\n").contains("expected four columns, found 3"));
        assert!(fault("0\tboth\tAcks\tacks\n").contains("`both` is neither request nor response"));
        assert!(fault("x\trequest\tAcks\tacks\n").contains("`x` is not an API key"));
        assert!(Meanings::parse("").is_err());
    }
}
