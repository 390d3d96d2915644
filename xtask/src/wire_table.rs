//! `wire-table`: the layout of Kafka's messages and the meaning of their fields, as one text file.
//!
//! ```text
//!   kafka-clients jar ── jar ──► schema ──┐
//!                                         ├── render ──► protocol/wire.table
//!   protocol/meanings.tsv ── meanings ────┘
//! ```
//!
//! Layout comes from Kafka, meaning from us. A field that nobody has given a meaning stops the task, so a new version
//! of Kafka cannot slip in a name or an id that Skein would pass on unseen.

mod jar;
mod meanings;
mod render;
mod schema;
mod versions;

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use meanings::Meanings;
use schema::Api;

const TABLE: &str = "protocol/wire.table";
const MEANINGS: &str = "protocol/meanings.tsv";
const JARS: &str = "build/jars";

/// What to do with the table once it is generated.
#[derive(Clone, Copy, Debug)]
pub enum Mode {
    /// Put it in place of the file.
    Write,
    /// Fail if the file says something else.
    Check,
}

/// Generates the table from the jar and the meanings of `workspace`.
///
/// # Errors
/// The jar cannot be fetched or read, a field and its row do not match, or (`Mode::Check`) the file is stale.
pub fn run(workspace: &Path, mode: Mode) -> Result<()> {
    let messages = jar::messages(&jar::fetch(&workspace.join(JARS))?)?;
    let apis = schema::broker_apis(&messages)?;
    let rows = workspace.join(MEANINGS);
    let rows = fs::read_to_string(&rows).with_context(|| format!("reading {}", rows.display()))?;
    let table = generate(&apis, Meanings::parse(&rows).context(MEANINGS)?)?;

    let file = workspace.join(TABLE);
    match mode {
        Mode::Write => {
            fs::write(&file, table).with_context(|| format!("writing {}", file.display()))?;
        }
        Mode::Check => {
            let found = fs::read_to_string(&file).with_context(|| format!("reading {}", file.display()))?;
            compare(&found, &table)?;
        }
    }
    Ok(())
}

/// The text of the table. All fields without a row and rows without a field are named in one error.
fn generate(apis: &[Api], mut meanings: Meanings) -> Result<String> {
    let table = render::table(apis, &mut meanings)?;
    let faults = meanings.into_faults();
    if faults.is_empty() {
        return Ok(table);
    }
    bail!("{} fault(s) between Kafka's fields and {MEANINGS}:\n  {}", faults.len(), faults.join("\n  "))
}

/// Names the first line in which the file differs from what it should be.
fn compare(found: &str, wanted: &str) -> Result<()> {
    let mut pairs = found.lines().zip(wanted.lines()).enumerate();
    if let Some((index, (old, new))) = pairs.find(|(_, (old, new))| old != new) {
        bail!("{TABLE} is stale: line {} is `{old}`, generated is `{new}`; run without --check", index + 1);
    }
    let (old, new) = (found.lines().count(), wanted.lines().count());
    ensure!(found == wanted, "{TABLE} is stale: it has {old} lines, generated are {new}; run without --check");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use schema::Message;

    const REQUEST: &str = r#"{
        "apiKey": 1, "type": "request", "listeners": ["broker"], "name": "PourRequest",
        "validVersions": "1-5", "latestVersionUnstable": true, "flexibleVersions": "3+",
        "fields": [ // the cups
            { "name": "Cups", "type": "[]Cup", "versions": "0+", "nullableVersions": "2+", "about": "A // b." },
            { "name": "WaitMs", "type": "int32", "versions": "2-3", "default": "-1" },
            { "name": "Owner", "type": "string", "versions": "3+", "taggedVersions": "3+", "tag": 7,
              "nullableVersions": "3+", "default": "null" },
            { "name": "Later", "type": "bool", "versions": "5+" }
        ],
        "commonStructs": [ { "name": "Cup", "versions": "0+", "fields": [
            { "name": "Topic", "type": "string", "versions": "0-2", "entityType": "topicName" },
            { "name": "Size", "type": "int8", "versions": "4", "default": "0x10" } ] } ]
    }"#;
    const RESPONSE: &str = r#"{
        "apiKey": 1, "type": "response", "name": "PourResponse", "validVersions": "1-5", "flexibleVersions": "3+",
        "fields": [ { "name": "ErrorCode", "type": "int16", "versions": "0+" } ]
    }"#;
    const ROWS: &str = "api_key\tdirection\tpath\tmeaning\n\
        1\trequest\tCups\tplain\n1\trequest\tCups.Topic\ttopic_name\n1\trequest\tCups.Size\tplain\n\
        1\trequest\tWaitMs\twait\n1\trequest\tOwner\tprincipal\n1\tresponse\tErrorCode\terror\n";

    fn table(rows: &str) -> Result<String> {
        let messages = [REQUEST, RESPONSE].map(|text| Message::parse(text).expect("the test's own JSON"));
        generate(&schema::broker_apis(&messages)?, Meanings::parse(rows)?)
    }

    #[test]
    fn a_message_becomes_lines() {
        let text = table(ROWS).unwrap();
        let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
        let wanted = [
            "api 1 Pour",
            "request 1-4 flexible 3",
            "Cups []struct 1+ null 2+",
            ".Topic string 1-2 is topic_name",
            ".Size int8 4+ default 16",
            "WaitMs int32 2-3 default -1 is wait",
            "Owner string 3+ null 3+ tag 7 3+ default null is principal",
            "response 1-4 flexible 3",
            "ErrorCode int16 1+ is error",
        ];
        assert_eq!(lines, wanted);
    }

    #[test]
    fn a_field_without_a_row_is_named() {
        let fault = table(&ROWS.replace("1\trequest\tCups.Topic\ttopic_name\n", "")).unwrap_err().to_string();
        assert!(fault.contains("1 Pour request: field `Cups.Topic` has no row"), "{fault}");
    }

    #[test]
    fn a_row_without_a_field_is_named() {
        let fault = table(&format!("{ROWS}1\trequest\tLater\tplain\n")).unwrap_err().to_string();
        assert!(fault.contains("line 8: row `1 request Later` names no field"), "{fault}");
    }

    #[test]
    fn a_stale_line_is_shown() {
        let fault = compare("a\nb\n", "a\nc\n").unwrap_err().to_string();
        assert!(fault.contains("line 2 is `b`, generated is `c`"), "{fault}");
        assert!(compare("a\n", "a\nb\n").unwrap_err().to_string().contains("1 lines, generated are 2"));
        assert!(compare("a", "a\n").is_err());
        compare("a\nb\n", "a\nb\n").unwrap();
    }
}
