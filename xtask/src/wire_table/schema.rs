//! Kafka's schema files: JSON with `//` comments, one message each.
//!
//! Keys that are not declared here are refused: a new one may change the layout.

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

use super::versions::Versions;

/// A request or a response.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Message {
    pub api_key: i16,
    #[serde(rename = "type")]
    pub kind: Kind,
    pub name: String,
    /// Who may send it; on requests only.
    #[serde(default)]
    pub listeners: Vec<String>,
    /// `none`: removed.
    pub valid_versions: String,
    /// Removed messages state none.
    pub flexible_versions: Option<String>,
    /// Brokers do not speak the newest version unless they are told to.
    #[serde(default)]
    pub latest_version_unstable: bool,
    #[serde(default)]
    pub fields: Vec<Field>,
    #[serde(default)]
    pub common_structs: Vec<Struct>,
    #[serde(rename = "about")]
    _about: Option<IgnoredAny>,
}

/// The `type` of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    Request,
    Response,
}

/// A struct that several fields of one message share.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Struct {
    pub name: String,
    pub fields: Vec<Field>,
    /// Each field has its own.
    #[serde(rename = "versions")]
    _versions: IgnoredAny,
    #[serde(rename = "about")]
    _about: Option<IgnoredAny>,
}

/// A field, and the fields of the struct that it holds if that is described in place.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Field {
    pub name: String,
    #[serde(rename = "type")]
    pub kind: String,
    pub versions: String,
    pub nullable_versions: Option<String>,
    pub tag: Option<u32>,
    pub tagged_versions: Option<String>,
    pub default: Option<Value>,
    #[serde(default)]
    pub fields: Vec<Field>,
    // What follows changes nothing on the wire. `flexibleVersions` would, and is not here: only the request header's
    // client id has it.
    #[serde(rename = "about")]
    _about: Option<IgnoredAny>,
    #[serde(rename = "ignorable")]
    _ignorable: Option<IgnoredAny>,
    #[serde(rename = "mapKey")]
    _map_key: Option<IgnoredAny>,
    #[serde(rename = "entityType")]
    _entity_type: Option<IgnoredAny>,
    #[serde(rename = "zeroCopy")]
    _zero_copy: Option<IgnoredAny>,
}

/// The two messages of one API that brokers speak.
#[derive(Clone, Copy, Debug)]
pub struct Api<'m> {
    pub key: i16,
    /// Kafka's name for it, `Produce`.
    pub name: &'m str,
    /// The versions of both messages.
    pub versions: Versions,
    pub request: &'m Message,
    pub response: &'m Message,
}

impl Message {
    /// Reads one schema file.
    ///
    /// # Errors
    /// It is not JSON, or has a key that this module does not know.
    pub fn parse(text: &str) -> Result<Self> {
        Ok(serde_json::from_str(&without_comments(text))?)
    }

    /// The versions that are valid and stable.
    fn stable_versions(&self) -> Result<Option<Versions>> {
        let versions = Versions::parse(&self.valid_versions).with_context(|| self.name.clone())?;
        Ok(if self.latest_version_unstable { versions.and_then(Versions::without_newest) } else { versions })
    }
}

/// The APIs with a stable version and a broker listener, by key.
///
/// # Errors
/// A request has no response, or one with other versions; a key is there twice.
pub fn broker_apis(messages: &[Message]) -> Result<Vec<Api<'_>>> {
    let mut apis = BTreeMap::new();
    for request in messages.iter().filter(|message| message.kind == Kind::Request) {
        let Some(versions) = request.stable_versions()? else {
            continue;
        };
        if !request.listeners.iter().any(|listener| listener == "broker") {
            continue;
        }
        let name = request.name.strip_suffix("Request");
        let name = name.with_context(|| format!("request `{}` is not named …Request", request.name))?;
        let response = messages
            .iter()
            .find(|message| message.kind == Kind::Response && message.api_key == request.api_key)
            .with_context(|| format!("{} has no response", request.name))?;
        ensure!(
            response.valid_versions == request.valid_versions,
            "{} has versions {}, its response {}",
            request.name,
            request.valid_versions,
            response.valid_versions,
        );
        let api = Api { key: request.api_key, name, versions, request, response };
        let twin = apis.insert(request.api_key, api);
        ensure!(twin.is_none(), "API key {} is there twice", request.api_key);
    }
    Ok(apis.into_values().collect())
}

/// The text without `//` comments. In a string `//` is text.
fn without_comments(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    for line in text.lines() {
        kept.push_str(&line[..comment_start(line).unwrap_or(line.len())]);
        kept.push('\n');
    }
    kept
}

/// Where the comment of this line begins. JSON strings do not span lines.
fn comment_start(line: &str) -> Option<usize> {
    let (mut in_string, mut escaped, mut slash) = (false, false, false);
    for (at, byte) in line.bytes().enumerate() {
        match byte {
            b'/' if slash => return Some(at - 1),
            b'"' if !escaped => in_string = !in_string,
            _ => {}
        }
        slash = byte == b'/' && !in_string;
        escaped = byte == b'\\' && in_string && !escaped;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_go_and_strings_stay() {
        let text = "// Licence\n{ \"a\": 1, // one\n  \"b\": \"http://x\", \"c\": \"\\\"//\" } // \"end\"\n";
        let wanted = "\n{ \"a\": 1, \n  \"b\": \"http://x\", \"c\": \"\\\"//\" } \n";
        assert_eq!(without_comments(text), wanted);
    }

    #[test]
    fn a_division_is_no_comment() {
        assert_eq!(without_comments("1 / 2 / 3"), "1 / 2 / 3\n");
        assert_eq!(without_comments(r#""\\" // x"#), "\"\\\\\" \n");
    }

    #[test]
    fn an_unknown_key_is_refused() {
        let text = r#"{ "apiKey": 0, "type": "request", "name": "PourRequest", "validVersions": "0",
            "flexibleVersions": "none", "fields": [
            { "name": "Id", "type": "int8", "versions": "0+", "flexibleVersions": "none" } ] }"#;
        assert!(Message::parse(text).unwrap_err().to_string().contains("unknown field `flexibleVersions`"));
    }

    #[test]
    fn only_what_a_broker_speaks_is_kept() {
        let message = |kind: &str, key: i16, rest: &str| {
            let name = if kind == "request" { "PourRequest" } else { "PourResponse" };
            let text = format!(
                r#"{{ "apiKey": {key}, "type": "{kind}", "name": "{name}", "flexibleVersions": "0+", "fields": [],
                {rest} }}"#
            );
            Message::parse(&text).unwrap()
        };
        let messages = [
            message("request", 0, r#""listeners": ["broker", "controller"], "validVersions": "0-2""#),
            message("response", 0, r#""validVersions": "0-2""#),
            message("request", 1, r#""listeners": ["controller"], "validVersions": "0""#),
            message("request", 2, r#""listeners": ["broker"], "validVersions": "none""#),
            message("request", 3, r#""listeners": ["broker"], "validVersions": "0", "latestVersionUnstable": true"#),
        ];
        let keys: Vec<i16> = broker_apis(&messages).unwrap().iter().map(|api| api.key).collect();
        assert_eq!(keys, [0]);
        assert!(broker_apis(&messages[..1]).unwrap_err().to_string().contains("PourRequest has no response"));
    }
}
