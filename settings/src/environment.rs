//! `${NAME}` in a text: what the environment has under that name.

use std::borrow::Cow;
use std::env::VarError;

/// Where values of `${NAME}` come from: `std::env::var` in a process.
pub type Environment<'e> = &'e dyn Fn(&str) -> Result<String, VarError>;

/// What is wrong with a `${…}`: what was found, and what would be right.
type Wrong = (String, String);

/// A text with every `${NAME}` replaced, once; what it is replaced by is not looked at again. `$${` stands for `${`.
pub(crate) fn resolve<'a>(text: &'a str, environment: Environment<'_>) -> Result<Cow<'a, str>, Wrong> {
    if !text.contains("${") {
        return Ok(Cow::Borrowed(text));
    }
    let (mut resolved, mut rest) = (String::new(), text);
    while let Some((before, after)) = rest.split_once("${") {
        if let Some(before) = before.strip_suffix('$') {
            resolved.push_str(before);
            resolved.push_str("${");
            rest = after;
            continue;
        }
        let Some((name, after)) = after.split_once('}') else {
            return Err(("`${` without a `}`".to_owned(), "write `${NAME}`, or `$${` for the two letters".to_owned()));
        };
        resolved.push_str(before);
        resolved.push_str(&value(name, environment)?);
        rest = after;
    }
    resolved.push_str(rest);
    Ok(Cow::Owned(resolved))
}

fn value(name: &str, environment: Environment<'_>) -> Result<String, Wrong> {
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    if name.is_empty() || !name.chars().all(is_part) || name.starts_with(|letter: char| letter.is_ascii_digit()) {
        let what = format!("{} names no environment variable", crate::quoted(&format!("${{{name}}}")));
        return Err((what, "write `${NAME}` with letters, digits and `_`, or `$${` for the two letters".to_owned()));
    }
    environment(name).map_err(|error| match error {
        VarError::NotPresent => (
            format!("the environment variable {} is not set", crate::quoted(name)),
            "set it where Skein is started, or write the value here".to_owned(),
        ),
        VarError::NotUnicode(_) => (
            format!("the environment variable {} is no UTF-8", crate::quoted(name)),
            "give it a value in UTF-8".to_owned(),
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolved(text: &str) -> Result<String, String> {
        let environment = |name: &str| match name {
            "HOST" => Ok("kafka".to_owned()),
            "NESTED" => Ok("${HOST}".to_owned()),
            "BYTES" => Err(VarError::NotUnicode("x".into())),
            _ => Err(VarError::NotPresent),
        };
        resolve(text, &environment).map(Cow::into_owned).map_err(|(what, _)| what)
    }

    #[test]
    fn variables_are_replaced_once() {
        for (text, wanted) in [
            ("plain $HOST {x} $", "plain $HOST {x} $"),
            ("${HOST}", "kafka"),
            ("a-${HOST}:9092,${HOST}", "a-kafka:9092,kafka"),
            ("${NESTED}", "${HOST}"),
            ("$${HOST}", "${HOST}"),
            ("a$${b}${HOST}", "a${b}kafka"),
        ] {
            assert_eq!(resolved(text).as_deref(), Ok(wanted), "{text}");
        }
    }

    #[test]
    fn what_cannot_be_replaced_is_a_fault() {
        for (text, wanted) in [
            ("${NONE}", "is not set"),
            ("${BYTES}", "no UTF-8"),
            ("${}", "names no environment variable"),
            ("${a-b}", "names no environment variable"),
            ("${1}", "names no environment variable"),
            ("${HOST", "without a `}`"),
        ] {
            assert!(resolved(text).unwrap_err().contains(wanted), "{text}");
        }
    }
}
