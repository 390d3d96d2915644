//! Reads `wire.table`.

use std::collections::BTreeMap;

use super::{Api, Arity, Default, Fact, Field, Kind, Message, Role, Table, Versions, compile};
use crate::ids::{ApiKey, Direction};
use crate::meaning::Meaning;

/// A line of the table that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("line {line} of the wire table: {what}")]
pub(super) struct Unreadable {
    line: usize,
    what: String,
}

/// A message while its lines come in.
struct Half {
    versions: Versions,
    flexible_from: i16,
    fields: Vec<Field>,
}

/// Reads the whole table.
pub(super) fn table(text: &str) -> Result<Table, Unreadable> {
    let mut lines = Lines { rest: text.lines().enumerate().collect(), at: 0 };
    let mut apis = BTreeMap::new();
    while let Some(words) = lines.next_words() {
        let ["api", key, name] = words.as_slice() else { return Err(lines.wrong("`api KEY NAME` was expected")) };
        let key = ApiKey(lines.number(key)?);
        let request = half(&mut lines, "request")?;
        let response = half(&mut lines, "response")?;
        let api = Api {
            key,
            name: (*name).to_owned(),
            request: finish(key, Direction::ToBroker, request),
            response: finish(key, Direction::ToClient, response),
        };
        apis.insert(key.0, api);
    }
    Ok(Table { apis })
}

fn finish(key: ApiKey, direction: Direction, half: Half) -> Message {
    let layouts = (half.versions.from..=half.versions.to)
        .map(|version| compile::layout(key, direction, version, half.flexible_from, &half.fields))
        .collect();
    Message { versions: half.versions, flexible_from: half.flexible_from, fields: half.fields, layouts }
}

struct Lines<'a> {
    rest: Vec<(usize, &'a str)>,
    at: usize,
}

impl<'a> Lines<'a> {
    fn peek(&mut self) -> Option<&'a str> {
        loop {
            let (_, line) = *self.rest.get(self.at)?;
            if !line.trim().is_empty() && !line.starts_with('#') {
                return Some(line);
            }
            self.at += 1;
        }
    }

    fn next_words(&mut self) -> Option<Vec<&'a str>> {
        let line = self.peek()?;
        self.at += 1;
        Some(line.split_whitespace().collect())
    }

    fn wrong(&self, what: impl Into<String>) -> Unreadable {
        Unreadable { line: self.at, what: what.into() }
    }

    fn number<T: std::str::FromStr>(&self, word: &str) -> Result<T, Unreadable> {
        word.parse().map_err(|_| self.wrong(format!("`{word}` is not a number")))
    }

    /// `3`, `3-12`, or `3+`, which reaches to `last`.
    fn versions(&self, word: &str, last: i16) -> Result<Versions, Unreadable> {
        if let Some(from) = word.strip_suffix('+') {
            return Ok(Versions { from: self.number(from)?, to: last });
        }
        match word.split_once('-') {
            Some((from, to)) => Ok(Versions { from: self.number(from)?, to: self.number(to)? }),
            None => self.number(word).map(|only| Versions { from: only, to: only }),
        }
    }
}

fn half(lines: &mut Lines<'_>, side: &str) -> Result<Half, Unreadable> {
    let words = lines.next_words().unwrap_or_default();
    let [first, versions, "flexible", flexible] = words.as_slice() else {
        return Err(lines.wrong(format!("`{side} VERSIONS flexible VERSION` was expected")));
    };
    if *first != side {
        return Err(lines.wrong(format!("`{side}` was expected")));
    }
    let versions = lines.versions(versions, i16::MAX)?;
    let flexible_from = if *flexible == "none" { i16::MAX } else { lines.number(flexible.trim_end_matches('+'))? };
    let fields = fields(lines, 0, "", versions.to)?;
    Ok(Half { versions, flexible_from, fields })
}

/// The fields at `depth`, with what stands below them.
fn fields(lines: &mut Lines<'_>, depth: usize, path: &str, last: i16) -> Result<Vec<Field>, Unreadable> {
    let mut fields = Vec::new();
    while let Some(line) = lines.peek() {
        let dots = line.bytes().take_while(|byte| *byte == b'.').count();
        let is_field = !(line.starts_with("api ") || line.starts_with("request ") || line.starts_with("response "));
        if !is_field || dots < depth {
            break;
        }
        if dots > depth {
            return Err(lines.wrong("a field is deeper than the struct above it"));
        }
        let words = lines.next_words().unwrap_or_default();
        let mut field = field(lines, &words, path, last)?;
        if field.kind == Kind::Struct {
            let below = field.fact.path.clone();
            field.fields = self::fields(lines, depth + 1, &below, last)?;
        }
        fields.push(field);
    }
    let has = |meaning| fields.iter().any(|field| field.fact.meaning == meaning);
    if has(Meaning::Host) && !has(Meaning::Error) {
        for node in fields.iter_mut().filter(|field| field.fact.meaning == Meaning::BrokerId) {
            node.fact = fact(Meaning::BrokerId, Role::Listed, node.fact.path.clone());
        }
    }
    Ok(fields)
}

/// A fact lives as long as the table, which lives as long as the process.
fn fact(meaning: Meaning, role: Role, path: String) -> &'static Fact {
    Box::leak(Box::new(Fact { meaning, role, path }))
}

fn field(lines: &Lines<'_>, words: &[&str], path: &str, last: i16) -> Result<Field, Unreadable> {
    let [name, kind, versions, options @ ..] = words else {
        return Err(lines.wrong("`NAME TYPE VERSIONS` was expected"));
    };
    let name = name.trim_start_matches('.');
    let (arity, kind) = match kind.strip_prefix("[]") {
        Some(element) => (Arity::Many, element),
        None => (Arity::One, *kind),
    };
    let kind = match kind {
        "bool" | "int8" => Kind::Fixed(1),
        "int16" | "uint16" => Kind::Fixed(2),
        "int32" | "uint32" => Kind::Fixed(4),
        "int64" | "float64" => Kind::Fixed(8),
        "uuid" => Kind::Fixed(16),
        "string" => Kind::Text,
        "bytes" => Kind::Blob,
        "records" => Kind::Records,
        "struct" => Kind::Struct,
        other => return Err(lines.wrong(format!("`{other}` is not a type"))),
    };
    let mut found = Options::default();
    let mut rest = options;
    while !rest.is_empty() {
        rest = found.take(lines, rest, last)?;
    }
    let dot = if path.is_empty() { "" } else { "." };
    let many = if arity == Arity::Many { "[]" } else { "" };
    let role = if arity == Arity::Many { Role::Element } else { Role::Alone };
    Ok(Field {
        name: name.to_owned(),
        kind,
        arity,
        versions: lines.versions(versions, last)?,
        nullable: found.nullable,
        tag: found.tag,
        default: found.default,
        fact: fact(found.meaning, role, format!("{path}{dot}{name}{many}")),
        fields: Vec::new(),
    })
}

/// The optional words behind a field.
struct Options {
    nullable: Versions,
    tag: Option<(u32, Versions)>,
    default: Default,
    meaning: Meaning,
}

impl std::default::Default for Options {
    fn default() -> Self {
        Self { nullable: Versions::NONE, tag: None, default: Default::Empty, meaning: Meaning::Plain }
    }
}

impl Options {
    fn take<'w>(&mut self, lines: &Lines<'_>, words: &'w [&'w str], last: i16) -> Result<&'w [&'w str], Unreadable> {
        match words {
            ["null", versions, rest @ ..] => {
                self.nullable = lines.versions(versions, last)?;
                Ok(rest)
            }
            ["tag", number, versions, rest @ ..] => {
                self.tag = Some((lines.number(number)?, lines.versions(versions, last)?));
                Ok(rest)
            }
            ["default", value, rest @ ..] => {
                self.default = match *value {
                    "null" => Default::Null,
                    "true" => Default::Number(1),
                    number => parse_default(number).map_or(Default::Empty, Default::Number),
                };
                Ok(rest)
            }
            ["is", word, rest @ ..] => {
                self.meaning = Meaning::named(word).ok_or_else(|| lines.wrong(format!("`{word}` is no meaning")))?;
                Ok(rest)
            }
            _ => Err(lines.wrong(format!("`{}` was not expected", words.join(" ")))),
        }
    }
}

/// A decimal or hexadecimal number; a text default is left to be empty.
fn parse_default(text: &str) -> Option<i64> {
    match text.strip_prefix("0x") {
        Some(digits) => i64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}
