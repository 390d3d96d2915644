//! Texts: free ones, those that stand for something, and words of a list.

use serde_json::{Value as Json, json};

use super::{Item, Value, Written};
use crate::fault::quoted;
use crate::nearest::nearest;
use crate::shape::Shape;

/// A text that stands for a `T`.
#[derive(Clone, Copy)]
pub struct Text<T> {
    wanted: &'static str,
    pattern: &'static str,
    parse: fn(&str) -> Result<T, String>,
}

/// A text. `wanted`: words that follow "write", with an example; `pattern`: a regular expression of JSON Schema that is
/// true of all that `parse` takes; `parse` says what was found otherwise.
pub fn text<T>(wanted: &'static str, pattern: &'static str, parse: fn(&str) -> Result<T, String>) -> Text<T> {
    Text { wanted, pattern, parse }
}

impl<T> Value for Text<T> {
    type Out = T;

    fn shape(&self) -> Shape {
        Shape::Plain { schema: Shape::text(self.pattern), range: String::new() }
    }

    fn wanted(&self) -> String {
        self.wanted.to_owned()
    }

    fn read(&self, item: &Item<'_>) -> Option<T> {
        let text = item.text(self.wanted)?;
        (self.parse)(&text).map_err(|what| item.fault(what, format!("write {}", self.wanted))).ok()
    }
}

/// One of a list of words, each of which stands for a `T`.
#[derive(Clone)]
pub struct Words<T> {
    words: Vec<(&'static str, T)>,
}

/// One of these words.
pub fn words<T>(words: impl IntoIterator<Item = (&'static str, T)>) -> Words<T> {
    Words { words: words.into_iter().collect() }
}

impl<T: Clone> Value for Words<T> {
    type Out = T;

    fn shape(&self) -> Shape {
        let words: Vec<_> = self.words.iter().map(|(word, _)| *word).collect();
        // What `${…}` becomes is no word of the list before it is resolved.
        let schema = json!({ "anyOf": [{ "enum": words }, { "type": "string", "pattern": "\\$\\{" }] });
        Shape::Plain { schema, range: String::new() }
    }

    fn wanted(&self) -> String {
        let words: Vec<_> = self.words.iter().map(|(word, _)| format!("\"{word}\"")).collect();
        words.join(" or ")
    }

    fn read(&self, item: &Item<'_>) -> Option<T> {
        let text = item.text(&self.wanted())?;
        let found = self.words.iter().find(|(word, _)| *word == text).map(|(_, stands_for)| stands_for.clone());
        if found.is_none() {
            let meant = nearest(&text, self.words.iter().map(|(word, _)| *word));
            let meant = meant.map(|word| format!("did you mean \"{word}\"? ")).unwrap_or_default();
            item.fault(
                format!("{} cannot be {}", item.called, quoted(&text)),
                format!("{meant}write {}", self.wanted()),
            );
        }
        found
    }
}

impl<T: Clone + PartialEq> Written for Words<T> {
    fn write(&self, value: &T) -> Json {
        self.words.iter().find(|(_, stands_for)| stands_for == value).map_or(Json::Null, |(word, _)| Json::from(*word))
    }
}
