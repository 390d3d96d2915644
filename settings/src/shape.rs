//! What a value looks like: for the schema and for the manual.

use serde_json::{Map, Value as Json, json};

use crate::secret::FILE;

/// A declared key.
#[derive(Clone, Debug)]
pub struct Key {
    /// As it is written.
    pub name: &'static str,
    /// What it is, as the manual says it.
    pub about: &'static str,
    /// Whether it has to be there.
    pub need: Need,
    /// What it holds.
    pub shape: Shape,
}

/// Whether a key has to be there.
#[derive(Clone, Debug)]
pub enum Need {
    /// It has.
    Required,
    /// It need not, and then nothing stands for it.
    Optional,
    /// It need not, and then this stands for it.
    Default(Json),
}

/// How many keys of a table are to be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// As each of them says.
    AsDeclared,
    /// Exactly one.
    ExactlyOne,
}

/// What a value looks like.
#[derive(Clone, Debug)]
pub enum Shape {
    /// Neither a list nor a table.
    Plain {
        /// As a schema says it.
        schema: Json,
        /// What the manual adds to what the key is: its range. Empty if there is nothing to add.
        range: String,
    },
    /// A text that nobody is to read, or the name of the file that has it.
    Secret,
    /// A list.
    List {
        /// Of what.
        of: Box<Shape>,
        /// At least so many.
        least: usize,
    },
    /// A table whose names are the operator's.
    Named {
        /// Of what.
        of: Box<Shape>,
        /// At least so many.
        least: usize,
    },
    /// A table with these keys.
    Table {
        /// Its keys, in the order of the manual.
        keys: Vec<Key>,
        /// How many of them are to be there.
        presence: Presence,
    },
    /// One of several tables.
    Either(Vec<Shape>),
}

impl Shape {
    /// The schema of a text. `pattern`: what it looks like once `${…}` is resolved; empty if anything is right.
    pub fn text(pattern: &str) -> Json {
        match pattern {
            "" => json!({ "type": "string" }),
            _ => json!({ "type": "string", "pattern": format!("{pattern}|\\$\\{{") }),
        }
    }

    /// The JSON Schema, draft 2020-12, without its head.
    pub fn schema(&self) -> Json {
        match self {
            Self::Plain { schema, .. } => schema.clone(),
            Self::Secret => json!({ "type": "string", "minLength": 1, "writeOnly": true }),
            Self::List { of, least: 0 } => json!({ "type": "array", "items": of.schema() }),
            Self::List { of, least } => json!({ "type": "array", "items": of.schema(), "minItems": least }),
            Self::Named { of, least: 0 } => json!({ "type": "object", "additionalProperties": of.schema() }),
            Self::Named { of, least } => {
                json!({ "type": "object", "additionalProperties": of.schema(), "minProperties": least })
            }
            Self::Table { keys, presence } => table(keys, *presence),
            // Of nothing there is nothing that would be right.
            Self::Either(shapes) if shapes.is_empty() => json!(false),
            Self::Either(shapes) => json!({ "oneOf": shapes.iter().map(Self::schema).collect::<Vec<_>>() }),
        }
    }

    /// Every table with declared keys, below `path`, with its path: names that are the operator's are `NAME` there.
    pub fn tables<'a>(&'a self, path: &str, found: &mut Vec<(String, &'a [Key])>) {
        match self {
            Self::Plain { .. } | Self::Secret => {}
            Self::List { of, .. } => of.tables(path, found),
            Self::Named { of, .. } => of.tables(&join(path, "NAME"), found),
            Self::Table { keys, .. } => {
                found.push((path.to_owned(), keys));
                keys.iter().for_each(|key| key.shape.tables(&join(path, key.name), found));
            }
            Self::Either(shapes) => shapes.iter().for_each(|shape| shape.tables(path, found)),
        }
    }

    /// Takes what is secret out of a value that was written: who sees it then sees that there is something.
    ///
    /// The name of a file stays, and so does `${NAME}` alone: neither is what it stands for. What is written in another type
    /// than it should be goes as well.
    pub fn hide(&self, written: &mut Json) {
        match self {
            Self::Plain { .. } => {}
            Self::Secret => {
                if !written.as_str().is_some_and(is_name) {
                    *written = Json::from(HIDDEN);
                }
            }
            Self::List { of, .. } => written.as_array_mut().into_iter().flatten().for_each(|item| of.hide(item)),
            Self::Named { of, .. } => {
                written.as_object_mut().into_iter().flatten().for_each(|(_, named)| of.hide(named));
            }
            Self::Table { keys, .. } => {
                for key in keys {
                    if let Some(found) = written.get_mut(key.name) {
                        key.shape.hide(found);
                    }
                }
            }
            // Which of them it is is not known here. What is secret in one is shown in none.
            Self::Either(shapes) => shapes.iter().for_each(|shape| shape.hide(written)),
        }
    }

    fn range(&self) -> &str {
        match self {
            Self::Plain { range, .. } => range,
            Self::Secret => "`\"file:PATH\"` or `\"${NAME}\"`; the text itself works too.",
            Self::List { .. } | Self::Named { .. } | Self::Table { .. } | Self::Either(_) => "",
        }
    }
}

impl Key {
    /// Its row in the manual.
    pub fn row(&self) -> String {
        let range = self.shape.range();
        let space = if range.is_empty() { "" } else { " " };
        let need = match &self.need {
            Need::Required => "required".to_owned(),
            Need::Optional => "none".to_owned(),
            Need::Default(value) => format!("`{value}`"),
        };
        format!("| `{}` | {}{space}{range} | {need} |", self.name, self.about)
    }

    fn schema(&self) -> Json {
        let mut schema = self.shape.schema();
        if let Json::Object(schema) = &mut schema {
            schema.insert("description".to_owned(), Json::from(self.about));
            if let Need::Default(value) = &self.need {
                schema.insert("default".to_owned(), value.clone());
            }
        }
        schema
    }
}

fn table(keys: &[Key], presence: Presence) -> Json {
    let properties: Map<_, _> = keys.iter().map(|key| (key.name.to_owned(), key.schema())).collect();
    let required: Vec<_> = keys.iter().filter(|key| matches!(key.need, Need::Required)).map(|key| key.name).collect();
    let mut schema = json!({ "type": "object", "properties": properties, "additionalProperties": false });
    if let Json::Object(schema) = &mut schema {
        if !required.is_empty() {
            schema.insert("required".to_owned(), json!(required));
        }
        if presence == Presence::ExactlyOne {
            schema.insert("minProperties".to_owned(), json!(1));
            schema.insert("maxProperties".to_owned(), json!(1));
        }
    }
    schema
}

/// What is shown for a secret.
const HIDDEN: &str = "(hidden)";

/// Whether the text of a secret says where it is instead of what it is.
fn is_name(text: &str) -> bool {
    let variable = text.strip_prefix("${").and_then(|rest| rest.strip_suffix('}'));
    text.starts_with(FILE) || variable.is_some_and(|name| !name.contains(['$', '{', '}']))
}

fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Value, fields, list, named, secret, text};

    fn shape() -> Shape {
        let login = || {
            fields("a login", "a login", |table| {
                let _ = table.optional("user", text("a name", "", |text| Ok(text.to_owned())), "");
                let _ = table.optional("password", secret("a password"), "");
                Some(())
            })
        };
        let file = fields("a file", "a file", |table| {
            let _ = table.optional("one", login(), "");
            let _ = table.optional("all", named(0, login()), "");
            let _ = table.optional("several", list(0, secret("a key")), "");
            Some(())
        });
        Shape::Either(vec![Shape::Table { keys: Vec::new(), presence: Presence::AsDeclared }, file.shape()])
    }

    #[test]
    fn secrets_are_hidden_wherever_they_stand_and_nothing_else_is() {
        let mut written = json!({
            "one": { "user": "hunter2", "password": "hunter2" },
            "all": { "password": { "user": "a", "password": "b" }, "c": { "password": 17 } },
            "several": ["x", "${KEY}", "file:/etc/key", "${A}${B}", "x${A}"],
            "password": "no key that is declared",
        });
        shape().hide(&mut written);
        let hidden = json!({
            "one": { "user": "hunter2", "password": HIDDEN },
            "all": { "password": { "user": "a", "password": HIDDEN }, "c": { "password": HIDDEN } },
            "several": [HIDDEN, "${KEY}", "file:/etc/key", HIDDEN, HIDDEN],
            "password": "no key that is declared",
        });
        assert_eq!(written, hidden);
    }

    #[test]
    fn a_value_of_another_shape_is_hidden_without_a_panic() {
        for written in [json!(null), json!([1]), json!({ "one": [], "all": 3, "several": {} }), json!("x")] {
            let mut hidden = written.clone();
            shape().hide(&mut hidden);
            assert_eq!(hidden, written);
        }
    }
}
