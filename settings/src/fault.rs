//! What is wrong with a file: where, what was found, what would be right.

use std::fmt::Write;
use std::ops::Range;

/// One fault.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fault {
    /// Where it starts, in bytes of the text.
    pub from: usize,
    /// Where it ends, in bytes of the text.
    pub to: usize,
    /// What was found.
    pub what: String,
    /// What would be right.
    pub right: String,
}

/// Characters of a text from the file that a message repeats.
const QUOTED: usize = 60;

impl Fault {
    /// `at`: bytes of the text. Control characters become visible, so that no file can steer a terminal.
    pub fn new(what: impl AsRef<str>, at: Range<usize>, right: impl AsRef<str>) -> Self {
        Self { from: at.start, to: at.end, what: visible(what.as_ref()), right: visible(right.as_ref()) }
    }
}

/// A text from the file as a message repeats it: in backticks, if there is something, and not all of a long one.
pub fn quoted(text: &str) -> String {
    if text.is_empty() {
        return "an empty text".to_owned();
    }
    let mut shown: String = text.chars().take(QUOTED).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    format!("`{shown}`")
}

/// Whether a character could steer a terminal, or turn the direction of what follows.
pub fn is_unseen(letter: char) -> bool {
    letter.is_control()
        || matches!(letter, '\u{feff}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// A text with whatever could steer a terminal as `\u{…}`.
pub fn visible(text: &str) -> String {
    text.chars().fold(String::with_capacity(text.len()), |mut seen, letter| {
        if is_unseen(letter) {
            // Writing to a string does not fail.
            let _ = write!(seen, "\\u{{{:x}}}", u32::from(letter));
        } else {
            seen.push(letter);
        }
        seen
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_steers_no_terminal() {
        let fault = Fault::new("\u{1b}[2J", 0..1, "\u{202e}a\u{9b}");
        assert_eq!((&*fault.what, &*fault.right), ("\\u{1b}[2J", "\\u{202e}a\\u{9b}"));
    }

    #[test]
    fn a_long_text_is_not_repeated_in_full() {
        assert_eq!((&*quoted("short"), &*quoted("")), ("`short`", "an empty text"));
        assert_eq!(quoted(&"é".repeat(100)), format!("`{}…`", "é".repeat(60)));
    }
}
