//! The text of the table: a line for each API, message and field, in the order of the wire.

use std::fmt::Write;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use super::meanings::{Meanings, PLAIN};
use super::schema::{Api, Field, Message};
use super::versions::Versions;

const HEAD: &str = "\
# Layout of Kafka's messages and what their fields are to Skein. Generated: edit meanings.tsv, then run
# `cargo run -p skein-xtask -- wire-table`. A field: a dot per level, name, type, versions (`3+`: to the newest here),
# then `null RANGE`, `tag N RANGE`, `default V` (unsaid: zero, false, empty; not null), `is MEANING` (unsaid: plain).
";

/// The types that are no struct.
const PRIMITIVES: [&str; 11] =
    ["bool", "int8", "int16", "uint16", "int32", "int64", "float64", "uuid", "string", "bytes", "records"];

/// The whole file. Fields without a meaning are left to `meanings` as faults.
pub fn table(apis: &[Api], meanings: &mut Meanings) -> Result<String> {
    let mut text = HEAD.to_owned();
    for api in apis {
        writeln!(text, "api {} {}", api.key, api.name)?;
        for (direction, message) in [("request", api.request), ("response", api.response)] {
            writeln!(text, "{direction} {} flexible {}", api.versions.ends(), flexible(message, api.versions)?)?;
            let mut lines = Lines { api, direction, message, meanings, text: &mut text };
            lines
                .fields(&message.fields, Place { path: "", depth: 0, versions: api.versions })
                .with_context(|| message.name.clone())?;
        }
    }
    Ok(text)
}

/// The oldest valid version that is flexible, or `none`.
fn flexible(message: &Message, valid: Versions) -> Result<String> {
    let text = message.flexible_versions.as_deref();
    let text = text.with_context(|| format!("{} does not say which versions are flexible", message.name))?;
    let versions = Versions::parse(text)?.and_then(|versions| versions.within(valid));
    Ok(versions.map_or("none".to_owned(), |versions| versions.first().to_string()))
}

/// Where a field is, or the fields of one struct; those of the message itself have an empty path above them.
#[derive(Clone, Copy)]
struct Place<'p> {
    path: &'p str,
    /// How many dots its line begins with.
    depth: usize,
    versions: Versions,
}

/// Writes the fields of one message.
struct Lines<'a> {
    api: &'a Api<'a>,
    direction: &'static str,
    message: &'a Message,
    meanings: &'a mut Meanings,
    text: &'a mut String,
}

impl Lines<'_> {
    fn fields(&mut self, fields: &[Field], parent: Place) -> Result<()> {
        for field in fields {
            self.field(field, parent).with_context(|| format!("field `{}`", field.name))?;
        }
        Ok(())
    }

    /// One field and what is below it; nothing if no valid version has it.
    fn field(&mut self, field: &Field, parent: Place) -> Result<()> {
        let Some(versions) = clipped(&field.versions, parent.versions)? else {
            return Ok(());
        };
        let path = match parent.path {
            "" => field.name.clone(),
            above => format!("{above}.{}", field.name),
        };
        let below = below(field, self.message)?;
        let kind = match below {
            Some(_) if field.kind.starts_with("[]") => "[]struct",
            Some(_) => "struct",
            None => &field.kind,
        };
        let place = Place { path: &path, depth: parent.depth, versions };
        self.line(field, kind, place)?;
        self.fields(below.unwrap_or_default(), Place { depth: parent.depth + 1, ..place })
    }

    /// The line of one field, without what is below it.
    fn line(&mut self, field: &Field, kind: &str, Place { path, depth, versions }: Place) -> Result<()> {
        let range = |versions: Versions| versions.within_message(self.api.versions);
        write!(self.text, "{:.<depth$}{} {kind} {}", "", field.name, range(versions))?;

        let nullable = field.nullable_versions.as_deref().map(|text| clipped(text, versions)).transpose()?.flatten();
        if let Some(nullable) = nullable {
            write!(self.text, " null {}", range(nullable))?;
        }
        let tagged = field.tagged_versions.as_deref().map(|text| clipped(text, versions)).transpose()?.flatten();
        if let Some(tagged) = tagged {
            let tag = field.tag.context("it has tagged versions, but no tag")?;
            write!(self.text, " tag {tag} {}", range(tagged))?;
        }
        if let Some(default) = default(field)? {
            write!(self.text, " default {default}")?;
        }
        match self.meanings.of(self.api.key, self.api.name, self.direction, path) {
            PLAIN => {}
            meaning => write!(self.text, " is {meaning}")?,
        }
        self.text.push('\n');
        Ok(())
    }
}

/// The fields of the struct that this field holds, itself or in an array. `None`: it holds no struct.
fn below<'m>(field: &'m Field, message: &'m Message) -> Result<Option<&'m [Field]>> {
    let kind = field.kind.strip_prefix("[]").unwrap_or(&field.kind);
    if PRIMITIVES.contains(&kind) {
        ensure!(field.fields.is_empty(), "a {kind} has fields");
        return Ok(None);
    }
    ensure!(kind.starts_with(|first: char| first.is_ascii_uppercase()), "unknown type `{}`", field.kind);
    if !field.fields.is_empty() {
        return Ok(Some(&field.fields));
    }
    let described = message.common_structs.iter().find(|described| described.name == kind);
    Ok(Some(&described.with_context(|| format!("struct `{kind}` is not described"))?.fields))
}

/// The range that `text` states, within that of the parent.
fn clipped(text: &str, parent: Versions) -> Result<Option<Versions>> {
    Ok(Versions::parse(text)?.and_then(|versions| versions.within(parent)))
}

/// The default that the schema states, unless it is what a field of this type has anyway.
///
/// Kafka writes most values as strings, numbers at times in hexadecimal, and `"null"` for null.
fn default(field: &Field) -> Result<Option<String>> {
    let stated = match &field.default {
        None => return Ok(None),
        Some(Value::String(text)) => text.clone(),
        Some(value @ (Value::Bool(_) | Value::Number(_))) => value.to_string(),
        Some(other) => bail!("default `{other}` is neither text, number nor bool"),
    };
    if stated == "null" && field.nullable_versions.is_some() {
        return Ok(Some(stated));
    }
    let (value, usual) = match field.kind.as_str() {
        "bool" => (stated.parse().ok().map(|value: bool| value.to_string()), "false"),
        "int8" | "int16" | "uint16" | "int32" | "int64" => (integer(&stated).map(|value| value.to_string()), "0"),
        // A word of a line has no space in it.
        "string" => ((!stated.contains(char::is_whitespace)).then(|| stated.clone()), ""),
        _ => (None, ""),
    };
    let value = value.with_context(|| format!("default `{stated}` does not fit {}", field.kind))?;
    Ok((value != usual).then_some(value))
}

fn integer(text: &str) -> Option<i64> {
    match text.strip_prefix("0x") {
        Some(digits) => i64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stated(kind: &str, value: &str, nullable: &str) -> Result<Option<String>> {
        let text = format!(r#"{{ "name": "F", "type": "{kind}", "versions": "0+", "default": {value} {nullable} }}"#);
        default(&serde_json::from_str(&text)?)
    }

    #[test]
    fn only_a_default_out_of_the_ordinary_is_written() {
        for (kind, value) in [("int32", "\"0\""), ("bool", "false"), ("bool", "\"false\""), ("string", "\"\"")] {
            assert_eq!(stated(kind, value, "").unwrap(), None);
        }
        assert_eq!(stated("int64", "-1", "").unwrap().as_deref(), Some("-1"));
        assert_eq!(stated("int32", "\"0x7fffffff\"", "").unwrap().as_deref(), Some("2147483647"));
        assert_eq!(stated("bool", "\"true\"", "").unwrap().as_deref(), Some("true"));
        let nullable = r#", "nullableVersions": "0+""#;
        assert_eq!(stated("[]int32", "\"null\"", nullable).unwrap().as_deref(), Some("null"));
        assert_eq!(stated("string", "\"\"", nullable).unwrap(), None);
    }

    #[test]
    fn a_default_that_does_not_fit_is_refused() {
        assert!(stated("int32", "\"none\"", "").is_err());
        assert!(stated("int32", "\"null\"", "").is_err());
        assert!(stated("[]int32", "\"1\"", "").is_err());
        assert!(stated("string", "\"a b\"", "").is_err());
        assert!(stated("bool", "[]", "").is_err());
    }
}
