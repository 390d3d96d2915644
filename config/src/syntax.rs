//! From bytes to a tree of TOML, with the faults of its syntax in our words.

use std::borrow::Cow;
use std::ops::Range;

use skein_settings::{Fault, Spanned, quoted, show_size};
use toml::de::{DeTable, DeValue, Error};

use crate::MOST_BYTES;
use crate::hidden::hidden;

/// What could be read.
pub(crate) struct Parsed<'t> {
    pub(crate) root: Spanned<DeValue<'t>>,
    /// Faults that leave the tree as it is meant.
    pub(crate) faults: Vec<Fault>,
}

/// What can be said of a file before it is taken for text.
pub(crate) fn bounds(file: &[u8]) -> Result<(), Fault> {
    if file.len() > MOST_BYTES {
        let most = show_size(u64::try_from(MOST_BYTES).unwrap_or(u64::MAX));
        let what = format!("the file has more than {most}");
        return Err(Fault::new(what, 0..0, "write a file that describes virtual clusters; such a file is smaller"));
    }
    if let Err(error) = std::str::from_utf8(file) {
        let at = error.valid_up_to();
        let byte = file.get(at).copied().unwrap_or_default();
        // The replacement that the text has in its place is three bytes long.
        return Err(Fault::new(format!("byte {byte:#04x} is no UTF-8"), at..at + 3, "save the file in UTF-8"));
    }
    // Texts in other encodings have such bytes; those in UTF-8 have none.
    match file.iter().position(|byte| *byte == 0) {
        Some(at) => Err(Fault::new("byte 0x00 is in no text in UTF-8", at..at + 1, "save the file in UTF-8")),
        None => Ok(()),
    }
}

/// Faults of syntax that are told: after so many the rest is no TOML either.
const MOST_TOLD: usize = 1000;

/// Reads a text. After a fault of syntax the tree is not what was meant, so only those are told then.
pub(crate) fn parse(text: &str) -> Result<Parsed<'_>, Vec<Fault>> {
    let (root, errors) = DeTable::parse_recoverable(text);
    let root = Spanned::new(0..0, DeValue::Table(root.into_inner()));
    // The parser does not say where it is, so it is looked for, once.
    let parts = if errors.iter().any(|error| error.span().is_none()) { many_parts(text) } else { 0..0 };
    // What is wrong is repeated, and may be a secret.
    let said = if errors.is_empty() { Cow::Borrowed(text) } else { hidden(text) };
    let place = |error: Error| (place(text, &error).unwrap_or_else(|| parts.clone()), error);
    let mut errors: Vec<_> = errors.into_iter().map(place).collect();
    errors.sort_by_key(|(at, _)| at.start);
    if errors.iter().all(|(_, error)| error.message() == DOUBLE) {
        let faults = errors.into_iter().map(|(at, error)| fault(&said, at, &error)).collect();
        return Ok(Parsed { root, faults });
    }
    // What is not closed swallows what follows it: of that only the first fault is one.
    let swallows = |error: &Error| {
        error.message().starts_with("unclosed array,") || error.message().starts_with("unclosed inline")
    };
    let told = if errors.iter().any(|(_, error)| swallows(error)) { 1 } else { MOST_TOLD };
    let mut faults = Vec::new();
    let mut line_end = None;
    for (at, error) in errors {
        // A second fault on a line is mostly a consequence of the first.
        if faults.len() < told && line_end.is_none_or(|end| at.start > end) {
            let rest = text.get(at.start..).unwrap_or_default();
            line_end = Some(rest.find('\n').map_or(text.len(), |length| at.start + length));
            faults.push(fault(&said, at, &error));
        }
    }
    Err(faults)
}

const DOUBLE: &str = "duplicate key";
const NO_VALUE: &str = "string values must be quoted";

/// What stands in the file, and what would be right, in words for what the parser says.
const WORDS: [(&str, &str, &str); 27] = [
    (DOUBLE, "{} stands twice", "keep one of the two"),
    (NO_VALUE, "{} is no value", "write a text in straight quotes, \"…\", or a number, a list or a table"),
    ("key with no value", "a key without a value", "write `KEY = VALUE`, or `[NAME]` for the head of a table"),
    ("unclosed table", "the head of a table is not closed", "end it with `]` on the same line"),
    ("unclosed array table", "the head of a table is not closed", "end it with `]]` on the same line"),
    ("unclosed array", "a list is not closed", "end it with `]`"),
    ("unclosed inline table", "a table is not closed", "end it with `}`"),
    (
        "missing comma between array elements",
        "a list goes on without a comma, or is not closed",
        "write `,` or `]` here",
    ),
    (
        "missing comma between key-value pairs",
        "a table goes on without a comma, or is not closed",
        "write `,` or `}` here",
    ),
    ("missing key for inline table element", "a table goes on without a key, or is not closed", "write `}` here"),
    ("missing assignment between key-value pairs", "a key without a value in a table", "write `KEY = VALUE`"),
    ("extra comma in array", "a comma in a list with no value before it", "leave it out"),
    ("extra comma in inline table", "a comma in a table with no key before it", "leave it out"),
    ("extra `=`", "a second `=`", "leave it out"),
    ("unexpected `=` in array", "a `=` in a list", "close the list with `]` before the next key"),
    ("invalid key-value pair", "{} begins neither a key nor the head of a table", "write `KEY = VALUE` or `[NAME]`"),
    (
        "invalid unquoted key",
        "{} cannot stand in a key without quotes",
        "use letters, digits, `-` and `_`, or put the key in quotes",
    ),
    ("unquoted keys cannot be empty", "a key is missing", "write `KEY = VALUE`"),
    (
        "invalid basic string",
        "a text in quotes is not closed, or has a letter that must be escaped",
        "end it with `\"` on the same line; write `\\\\` for `\\`",
    ),
    (
        "missing escaped value",
        "{} makes no escape with the `\\` before it",
        "after `\\` write one of b e f n r x u U \" \\, or `\\\\` for the letter itself",
    ),
    ("unexpected key or value", "more than one value, or a second key, on a line", "begin a new line"),
    ("unexpected leading zero", "a number that begins with 0", "leave the 0 out, or put a text in quotes"),
    ("invalid fraction", "a number that ends with a point", "write digits after the point"),
    ("`_` may only go between digits", "a `_` that is not between digits", "leave it out"),
    (
        "carriage return must be followed by newline",
        "a carriage return inside a line",
        "end lines with a newline, or with both",
    ),
    (
        "cannot recurse further; max recursion depth met",
        "tables and lists are nested too deep",
        "a configuration is at most 8 levels deep",
    ),
    ("recursion limit", "a key has too many parts", "a configuration is at most 8 levels deep"),
];

fn fault(text: &str, at: Range<usize>, error: &Error) -> Fault {
    let found = text.get(at.clone()).unwrap_or_default();
    let (said, wanted) = error.message().split_once(", expected ").unwrap_or((error.message(), ""));
    if said == NO_VALUE && found.trim().is_empty() {
        return Fault::new("a value is missing", at, "write one after the `=`");
    }
    // `1-3` and the like begin as a number, a date or a time.
    let begun = ["invalid date", "invalid time", "invalid float", "invalid integer", "invalid hour", "invalid year"];
    let said = if begun.iter().any(|begun| said.starts_with(begun)) { NO_VALUE } else { said };
    if let Some((_, what, right)) = WORDS.iter().find(|(known, ..)| *known == said) {
        return Fault::new(what.replace("{}", &shown(text, &at)), at, right);
    }
    let right = if wanted.is_empty() { "write it as TOML has it".to_owned() } else { format!("expected: {wanted}") };
    Fault::new(said, at, right)
}

/// Where a fault is, if the parser says it. What is missing is missing at the end of what stands before it, not on a line further down.
fn place(text: &str, error: &Error) -> Option<Range<usize>> {
    let at = error.span()?;
    if !at.is_empty() {
        return Some(at);
    }
    let before = text.get(..at.start).unwrap_or_default();
    let end = before.trim_end().len();
    Some(if before.get(end..).is_some_and(|between| between.contains('\n')) { end..end } else { at })
}

/// The first line with a key of so many parts that the parser does not say where it is.
fn many_parts(text: &str) -> Range<usize> {
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let end = start + line.len();
        if !line.starts_with('#') && line.matches('.').count() >= 79 {
            return start..end;
        }
        start = end;
    }
    0..0
}

/// What stands there, or the letter that stands there if the place is empty.
fn shown(text: &str, at: &Range<usize>) -> String {
    let found = text.get(at.clone()).unwrap_or_default();
    if found.is_empty() {
        let next: String = text.get(at.start..).into_iter().flat_map(str::chars).take(1).collect();
        return quoted(&next);
    }
    quoted(found.lines().next().unwrap_or_default())
}
