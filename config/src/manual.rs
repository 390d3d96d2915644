//! What the declared keys say of themselves: the schema, and the tables of the manual.

use serde_json::{Value as Json, json};
use skein_routing::kind::Registry;
use skein_settings::{Shape, Value};

use crate::document;

/// The JSON Schema of a configuration, draft 2020-12.
pub fn schema(kinds: &Registry) -> Json {
    let mut schema = document::file(kinds).shape().schema();
    if let Json::Object(schema) = &mut schema {
        schema.insert("$schema".to_owned(), json!("https://json-schema.org/draft/2020-12/schema"));
        schema.insert("title".to_owned(), json!("Skein"));
    }
    schema
}

/// Every table of a configuration: its path, in which names of the operator's are `NAME`, and its keys, in order.
pub fn tables(kinds: &Registry) -> Vec<(String, Vec<skein_settings::Key>)> {
    let shape: Shape = document::file(kinds).shape();
    let mut found = Vec::new();
    shape.tables("", &mut found);
    found.into_iter().map(|(path, keys)| (path, keys.to_vec())).collect()
}
