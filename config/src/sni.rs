//! Names that lead to virtual nodes: `broker-$(node).kafka.example.com`.

use std::sync::Arc;

use skein_settings::{Text, quoted, text};

/// What stands for the id of a node.
const NODE: &str = "$(node)";
/// Letters of a name between two dots, and of a whole name.
const LABEL: usize = 63;
const NAME: usize = 253;

/// A name, or many that differ in the id of a node. In lower case, without a dot at the end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    /// As it is shown: with `$(node)`, if it has one.
    pub shown: Arc<str>,
    pieces: Vec<Piece>,
}

/// A run of digits, or a run of what is none.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Letters(String),
    Digits(String),
    /// The id of a node, with digits before and after.
    Node(String, String),
}

impl Pattern {
    fn of_name(name: &str) -> Self {
        let mut pieces = Vec::new();
        push(&mut pieces, name);
        Self { shown: Arc::from(name), pieces }
    }

    /// What stands before and after the id of a node.
    fn of_nodes(before: &str, after: &str) -> Self {
        let mut pieces = Vec::new();
        push(&mut pieces, before);
        let digits = match pieces.pop() {
            Some(Piece::Digits(digits)) => digits,
            other => {
                pieces.extend(other);
                String::new()
            }
        };
        let end = after.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(after.len());
        let (more, rest) = after.split_at_checked(end).unwrap_or((after, ""));
        pieces.push(Piece::Node(digits, more.to_owned()));
        push(&mut pieces, rest);
        Self { shown: Arc::from(format!("{before}{NODE}{after}")), pieces }
    }

    /// The name of a node.
    pub fn name(&self, node: i32) -> Arc<str> {
        Arc::from(self.shown.replace(NODE, &node.to_string()))
    }

    /// What two patterns have in common that can match one name: they have the same letters between runs of digits.
    pub(crate) fn skeleton(&self) -> String {
        let piece = |piece: &Piece| match piece {
            Piece::Letters(letters) => letters.clone(),
            Piece::Digits(_) | Piece::Node(..) => "0".to_owned(),
        };
        self.pieces.iter().map(piece).collect()
    }

    /// Whether some name is of both.
    pub(crate) fn meets(&self, other: &Self) -> bool {
        self.pieces.len() == other.pieces.len()
            && self.pieces.iter().zip(&other.pieces).all(|(one, other)| match (one, other) {
                (Piece::Node(before, after), Piece::Node(other, end)) => {
                    (before.starts_with(other.as_str()) || other.starts_with(before.as_str()))
                        && (after.ends_with(end.as_str()) || end.ends_with(after.as_str()))
                }
                (Piece::Node(before, after), Piece::Digits(digits))
                | (Piece::Digits(digits), Piece::Node(before, after)) => {
                    let inside =
                        digits.strip_prefix(before.as_str()).and_then(|rest| rest.strip_suffix(after.as_str()));
                    inside.is_some_and(|inside| !inside.is_empty())
                }
                (Piece::Letters(one), Piece::Letters(other)) | (Piece::Digits(one), Piece::Digits(other)) => {
                    one == other
                }
                (Piece::Letters(_), _) | (_, Piece::Letters(_)) => false,
            })
    }
}

fn push(pieces: &mut Vec<Piece>, mut text: &str) {
    while let Some(first) = text.chars().next() {
        let digits = first.is_ascii_digit();
        let end = text.find(|letter: char| letter.is_ascii_digit() != digits).unwrap_or(text.len());
        let (run, rest) = text.split_at_checked(end).unwrap_or((text, ""));
        pieces.push(if digits { Piece::Digits(run.to_owned()) } else { Piece::Letters(run.to_owned()) });
        text = rest;
    }
}

/// A name as it is compared: in lower case, without the dot at the end that some write.
pub fn compared(name: &str) -> String {
    name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase()
}

/// Whether a text is a host name as TLS knows them: an IP address is none.
fn is_name(name: &str) -> bool {
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_');
    let is_label = |label: &str| (1..=LABEL).contains(&label.len()) && label.chars().all(is_part);
    let last = name.rsplit('.').next().unwrap_or_default();
    (1..=NAME).contains(&name.len())
        && name.split('.').all(is_label)
        && last.chars().any(|letter| !letter.is_ascii_digit())
}

/// The longest id of a node.
const LONGEST: &str = "1073741823";

/// A pattern with one `$(node)`.
pub(crate) fn of_nodes() -> Text<Pattern> {
    text("a host name with one $(node) for the node's id, such as \"broker-$(node).kafka.example.com\"", ".", |text| {
        let name = compared(text);
        let Some((before, after)) = name.split_once(NODE).filter(|(_, after)| !after.contains(NODE)) else {
            return Err(format!("{} does not say once where the node's id stands", quoted(text)));
        };
        if !is_name(&name.replace(NODE, LONGEST)) {
            return Err(format!("{} makes no host names", quoted(text)));
        }
        Ok(Pattern::of_nodes(before, after))
    })
}

/// One name.
pub(crate) fn of_bootstrap() -> Text<Pattern> {
    text("a host name, such as \"kafka.example.com\"; TLS sends no IP addresses", ".", |text| {
        let name = compared(text);
        if is_name(&name) { Ok(Pattern::of_name(&name)) } else { Err(format!("{} is no host name", quoted(text))) }
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// A name that two patterns have would lead to either of two tenants.
        #[test]
        fn patterns_with_a_name_in_common_meet(
            one in "[a1]{0,3}", two in "[a1]{0,3}", three in "[a1]{0,3}", four in "[a1]{0,3}", node in 0..120_i32,
        ) {
            let (pattern_of, whole) = (pattern(&format!("{one}{NODE}{two}")), pattern(&format!("{one}{node}{two}")));
            prop_assert!(pattern_of.meets(&whole) && whole.meets(&pattern_of), "{pattern_of:?} {whole:?}");
            let other = pattern(&format!("{three}{NODE}{four}"));
            let is_shared = (0..1200).any(|id| other.name(id) == pattern_of.name(node));
            prop_assert!(!is_shared || pattern_of.meets(&other) && other.meets(&pattern_of), "{pattern_of:?} {other:?}");
        }
    }

    fn pattern(text: &str) -> Pattern {
        match text.split_once(NODE) {
            Some((before, after)) => Pattern::of_nodes(before, after),
            None => Pattern::of_name(text),
        }
    }

    #[test]
    fn two_patterns_meet_if_some_name_is_of_both() {
        let pairs = [
            ("b-$(node).x", "b-$(node).x", true),
            ("b-$(node).x", "c-$(node).x", false),
            ("b-$(node).x", "b-$(node).y", false),
            ("b-$(node).x", "b-7.x", true),
            ("b-$(node).x", "b.x", false),
            ("b1-$(node).x", "b2-$(node).x", false),
            ("b$(node)-7.x", "b1-$(node).x", true),
            ("b$(node)-7.x", "b1-$(node)8.x", false),
            ("b1$(node).x", "b$(node).x", true),
            ("b1$(node).x", "b2$(node).x", false),
            ("b1$(node).x", "b1.x", false),
            ("b$(node)1.x", "b$(node)2.x", false),
            ("$(node).x", "7.x", true),
        ];
        for (one, other, wanted) in pairs {
            for (one, other) in [(one, other), (other, one)] {
                let (one, other) = (pattern(one), pattern(other));
                assert_eq!(one.meets(&other), wanted, "{} and {}", one.shown, other.shown);
                assert!(!wanted || one.skeleton() == other.skeleton());
            }
        }
    }

    #[test]
    fn names_are_made_of_ids() {
        assert_eq!(&*pattern("b-$(node).x").name(7), "b-7.x");
        assert_eq!(&*pattern("b.x").name(7), "b.x");
    }

    #[test]
    fn host_names_are_told_from_addresses_and_from_what_is_none() {
        for name in ["kafka", "b-1.kafka.example.com", "1.2.3.x", "a_b.c"] {
            assert!(is_name(name), "{name}");
        }
        let long = format!("{}.x", "a".repeat(64));
        for name in ["", ".", "a..b", "10.0.0.1", "a b", "::1", &long] {
            assert!(!is_name(name), "{name}");
        }
    }
}
