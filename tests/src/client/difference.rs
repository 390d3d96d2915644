//! What differs between two results, one line per place.

use std::fmt::Write;

use serde_json::Value;

/// More lines than a reader wants.
const MOST: usize = 40;

/// Compares the result of a run against the cluster with that of a run through a proxy.
///
/// # Errors
/// Every place where they differ, with both values.
pub fn same(direct: &Value, through: &Value) -> anyhow::Result<()> {
    let mut found = Vec::new();
    compare("", Some(direct), Some(through), &mut found);
    if found.is_empty() {
        return Ok(());
    }
    let mut text = format!("{} difference(s), direct and through:", found.len());
    for line in found.iter().take(MOST) {
        let _ = write!(text, "\n  {line}");
    }
    if found.len() > MOST {
        let _ = write!(text, "\n  … and {} more", found.len() - MOST);
    }
    anyhow::bail!(text)
}

fn compare(path: &str, direct: Option<&Value>, through: Option<&Value>, found: &mut Vec<String>) {
    match (direct, through) {
        (Some(Value::Object(direct)), Some(Value::Object(through))) => {
            let added = through.keys().filter(|key| !direct.contains_key(*key));
            for key in direct.keys().chain(added) {
                compare(&format!("{path}.{key}"), direct.get(key), through.get(key), found);
            }
        }
        (Some(Value::Array(direct)), Some(Value::Array(through))) => {
            for index in 0..direct.len().max(through.len()) {
                compare(&format!("{path}[{index}]"), direct.get(index), through.get(index), found);
            }
        }
        _ if direct == through => {}
        _ => found.push(format!("{path}: {} and {}", shown(direct), shown(through))),
    }
}

fn shown(value: Option<&Value>) -> String {
    let Some(value) = value else { return "nothing".to_owned() };
    let text = value.to_string();
    match text.char_indices().nth(300) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::same;

    #[test]
    fn equal_results_are_the_same() {
        let result = json!({"a": [1, {"b": null}]});
        assert!(same(&result, &result.clone()).is_ok());
    }

    #[test]
    fn a_difference_is_told_by_its_place() {
        let direct = json!({"topics": {"one": [1, 2], "two": 3}});
        let through = json!({"topics": {"one": [1, 5, 6], "three": 3}});
        let told = same(&direct, &through).unwrap_err().to_string();
        assert_eq!(
            told,
            "4 difference(s), direct and through:\n  \
             .topics.one[1]: 2 and 5\n  \
             .topics.one[2]: nothing and 6\n  \
             .topics.two: 3 and nothing\n  \
             .topics.three: nothing and 3"
        );
    }
}
