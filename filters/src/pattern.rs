//! Names as a file writes them: one, those that begin alike, or all.

use skein_settings::{Text, text};

/// Which names a rule is about.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Pattern {
    /// All.
    Any,
    /// One.
    Literal(Box<[u8]>),
    /// Those that begin so.
    Prefix(Box<[u8]>),
}

impl Pattern {
    /// A name, the start of names with `*` at its end, or `*` for all.
    pub fn of(text: &str) -> Self {
        match text.strip_suffix('*') {
            Some("") => Self::Any,
            Some(start) => Self::Prefix(start.as_bytes().into()),
            None => Self::Literal(text.as_bytes().into()),
        }
    }

    /// Whether a name is one of them.
    pub fn has(&self, name: &[u8]) -> bool {
        match self {
            Self::Any => true,
            Self::Literal(literal) => **literal == *name,
            Self::Prefix(start) => name.starts_with(start),
        }
    }
}

/// A pattern as it stands in a file.
pub fn pattern() -> Text<Pattern> {
    text("a name such as \"orders\", a prefix such as \"orders-*\", or \"*\" for all", ".", |text| {
        match text.strip_suffix('*').unwrap_or(text) {
            "" if text.is_empty() => Err("an empty name".to_owned()),
            start if start.contains('*') => Err("a `*` that is not at the end".to_owned()),
            _ => Ok(Pattern::of(text)),
        }
    })
}
