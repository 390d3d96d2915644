//! A file as it may be shown: where it has secrets there are stars, as many as the secrets have bytes.
//!
//! A report shows the line of a fault, and logs and terminals are read by others than who wrote the file. Whatever the fault is,
//! this looks at the text only: a file with a fault is perhaps no TOML.

use std::borrow::Cow;

/// What keys of secrets have in their names, misspelt ones too.
const WORDS: [&str; 4] = ["pass", "word", "secret", "pwd"];
/// The key of a secret that has none of these.
const TOKEN: &str = "token";
/// What secrets begin with that are elsewhere; what stands for one of the environment is in braces.
const ELSEWHERE: &str = "file:";
/// What texts over several lines begin and end with.
const LONG: [&str; 2] = ["\"\"\"", "'''"];

/// A text in which each secret is made of stars. Everything else stands where it stood.
pub(crate) fn hidden(text: &str) -> Cow<'_, str> {
    let mut shown = String::new();
    let (mut kept, mut from) = (0, 0);
    while let Some(sign) = text.get(from..).and_then(|rest| rest.find('=')).map(|at| from + at) {
        from = sign + 1;
        if !is_secret(text.get(kept..sign).unwrap_or_default()) {
            continue;
        }
        let value = text.get(from..).unwrap_or_default();
        let (begin, length) = secret(value);
        let (begin, end) = (from + begin, from + begin + length);
        shown.push_str(text.get(kept..begin).unwrap_or_default());
        let stars = text.get(begin..end).unwrap_or_default();
        shown.extend(stars.bytes().map(|byte| if matches!(byte, b'\n' | b'\r') { char::from(byte) } else { '*' }));
        (kept, from) = (end, end);
    }
    if kept == 0 {
        return Cow::Borrowed(text);
    }
    shown.push_str(text.get(kept..).unwrap_or_default());
    Cow::Owned(shown)
}

/// Whether a text ends in the key of a secret.
fn is_secret(before: &str) -> bool {
    let before = before.trim_end_matches([' ', '\t', '"', '\'']);
    let is_of_key = |letter: char| letter.is_alphanumeric() || matches!(letter, '-' | '_');
    let key = before.rsplit(|letter| !is_of_key(letter)).next().unwrap_or_default().to_lowercase();
    key == TOKEN || WORDS.iter().any(|word| key.contains(word))
}

/// Where the secret of a value begins, and how many bytes it has.
fn secret(value: &str) -> (usize, usize) {
    let begin = value.len() - value.trim_start_matches([' ', '\t']).len();
    let rest = value.get(begin..).unwrap_or_default();
    if let Some(quotes) = LONG.iter().find(|quotes| rest.starts_with(**quotes)) {
        let inside = rest.get(quotes.len()..).unwrap_or_default();
        return (begin + quotes.len(), inside.find(quotes).unwrap_or(inside.len()));
    }
    let line = rest.split('\n').next().unwrap_or_default().trim_end_matches('\r');
    let (quotes, inside) = match line.chars().next() {
        Some(quote @ ('"' | '\'')) => (Some(quote), line.get(1..).unwrap_or_default()),
        _ => (None, line),
    };
    let length = quotes.and_then(|quote| closing(inside, quote)).unwrap_or(inside.len());
    let inside_of = inside.get(..length).unwrap_or_default();
    let is_named = inside_of.starts_with("${") && inside_of.find('}') == Some(inside_of.len() - 1);
    let length = if is_named || inside_of.starts_with(ELSEWHERE) { 0 } else { length };
    (begin + usize::from(quotes.is_some()), length)
}

/// Where a text ends that one quote has begun.
fn closing(inside: &str, quote: char) -> Option<usize> {
    let mut is_escaped = false;
    inside.char_indices().find_map(|(at, letter)| {
        let ends = letter == quote && !is_escaped;
        is_escaped = letter == '\\' && !is_escaped && quote == '"';
        ends.then_some(at)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn whatever_the_text_is_nothing_moves(text in "(pass|token|[ =\"'\\\\\n{}$ä\\[:a])*") {
            let shown = hidden(&text);
            prop_assert_eq!(shown.len(), text.len());
            prop_assert_eq!(shown.matches('\n').count(), text.matches('\n').count());
            for (before, after) in text.bytes().zip(shown.bytes()) {
                prop_assert!(before == after || after == b'*');
            }
        }
    }

    #[test]
    fn secrets_are_stars_and_all_else_stands_where_it_stood() {
        for (text, shown) in [
            ("password = \"abc\" # so\nx = 1", "password = \"***\" # so\nx = 1"),
            ("password = \"a\\\"b\"", "password = \"****\""),
            ("password = 'a\\'", "password = '**'"),
            ("password = \"abc", "password = \"***"),
            ("password = abc\r\nx = 1", "password = ***\r\nx = 1"),
            ("password=[\"abc\"]\n", "password=*******\n"),
            ("password = \"\"\"ab\nc\"\"\"\nx = \"y\"", "password = \"\"\"**\n*\"\"\"\nx = \"y\""),
            ("password = '''ab\nc", "password = '''**\n*"),
            ("pasword = \"ä\"", "pasword = \"**\""),
            ("\"client-secret\" = \"a=b\"", "\"client-secret\" = \"***\""),
            (
                "login = { username = \"u\", password = \"p\", token = \"t\" }",
                "login = { username = \"u\", password = \"*\", token = \"*\" }",
            ),
            ("a.b.password = \"p\"\nPASSWORD = \"p\"", "a.b.password = \"*\"\nPASSWORD = \"*\""),
            ("password = \"${A}b\"", "password = \"*****\""),
        ] {
            assert_eq!(hidden(text), shown);
            assert_eq!(hidden(text).len(), text.len());
        }
        for text in [
            "",
            "=",
            "password",
            "password =",
            "password = \"\"",
            "password = \"file:a\"\npassword = \"${A}\"",
            "tokens = { keys = \"a\" }\ntoken-endpoint = \"b\"",
            "username = \"a\"",
        ] {
            assert_eq!(hidden(text), text);
        }
    }
}
