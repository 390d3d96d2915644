//! Ranges of versions, as Kafka's schemas write them: `3+`, `0-12`, `5`, `none`.

use anyhow::{Context, Result, ensure};

/// Versions from `first` to `last`, both included. A range that was written open (`3+`) ends at `i16::MAX`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Versions {
    first: i16,
    last: i16,
}

impl Versions {
    /// `None` stands for `none`: no version at all.
    ///
    /// # Errors
    /// The text is in none of the four forms, or ends before it starts.
    pub fn parse(text: &str) -> Result<Option<Self>> {
        let number = |digits: &str| -> Result<i16> {
            ensure!(digits.bytes().all(|byte| byte.is_ascii_digit()), "version range `{text}` is not a number");
            digits.parse().with_context(|| format!("version range `{text}` is not a number"))
        };
        if text == "none" {
            return Ok(None);
        }
        let (first, last) = match (text.strip_suffix('+'), text.split_once('-')) {
            (Some(first), _) => (number(first)?, i16::MAX),
            (None, Some((first, last))) => (number(first)?, number(last)?),
            (None, None) => (number(text)?, number(text)?),
        };
        ensure!(first <= last, "version range `{text}` ends before it starts");
        Ok(Some(Self { first, last }))
    }

    /// The versions that are in both ranges.
    pub fn within(self, outer: Self) -> Option<Self> {
        Self { first: self.first.max(outer.first), last: self.last.min(outer.last) }.unless_empty()
    }

    /// The range without its newest version.
    pub fn without_newest(self) -> Option<Self> {
        Self { last: self.last - 1, ..self }.unless_empty()
    }

    /// The oldest version.
    pub fn first(self) -> i16 {
        self.first
    }

    /// Both ends, `3-13`, even if they are the same.
    pub fn ends(self) -> String {
        format!("{}-{}", self.first, self.last)
    }

    /// The shortest form for a field of a message with these versions: `3+` if the newest is included.
    pub fn within_message(self, message: Self) -> String {
        match self {
            Self { first, last } if last >= message.last => format!("{first}+"),
            Self { first, last } if first == last => first.to_string(),
            range => range.ends(),
        }
    }

    fn unless_empty(self) -> Option<Self> {
        (self.first <= self.last).then_some(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(text: &str) -> Versions {
        Versions::parse(text).unwrap().expect("the test's own range is not `none`")
    }

    #[test]
    fn four_forms_are_read() {
        assert_eq!(range("3+"), Versions { first: 3, last: i16::MAX });
        assert_eq!(range("0-12"), Versions { first: 0, last: 12 });
        assert_eq!(range("5"), Versions { first: 5, last: 5 });
        assert_eq!(Versions::parse("none").unwrap(), None);
    }

    #[test]
    fn other_forms_are_refused() {
        for text in ["", "+", "-", "1-", "-1", "+1", "2-1", "1+2", "all", "1 - 2", "40000"] {
            assert!(Versions::parse(text).is_err(), "`{text}` was read");
        }
    }

    #[test]
    fn ranges_are_clipped() {
        assert_eq!(range("0+").within(range("3-13")), Some(range("3-13")));
        assert_eq!(range("0-12").within(range("3-13")), Some(range("3-12")));
        assert_eq!(range("0-2").within(range("3-13")), None);
        assert_eq!(range("3-4").without_newest(), Some(range("3")));
        assert_eq!(range("0").without_newest(), None);
    }

    #[test]
    fn the_newest_version_is_written_open() {
        let message = range("3-13");
        assert_eq!(range("3-13").within_message(message), "3+");
        assert_eq!(range("13").within_message(message), "13+");
        assert_eq!(range("3-12").within_message(message), "3-12");
        assert_eq!(range("12").within_message(message), "12");
        assert_eq!(range("0").ends(), "0-0");
    }
}
