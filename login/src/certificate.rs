//! Whose a client certificate is: rules that make a principal of a name in it, as Kafka's
//! `ssl.principal.mapping.rules` has them (KIP-371).
//!
//! A rule that fits makes the principal; the first that fits counts. If there are rules and none fits, there is no principal, and
//! the client is refused. Patterns are those of the crate `regex`, whose time is linear in what a client sends; so they are
//! without look-around and back-references, which Java's have.

use std::sync::Arc;

use regex::{Regex, RegexBuilder};

use crate::name::MOST_NAME;

/// Bytes of a name in a certificate that is looked at.
const MOST_TEXT: usize = 4096;
/// Bytes of a compiled pattern.
const MOST_PATTERN: usize = 1 << 20;

/// The names in a client's certificate, which has been verified.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Certificate {
    /// Its subject, as RFC 2253 writes it: `CN=alice,OU=ServiceUsers,O=Example`.
    pub subject: String,
    /// The DNS names among its subject alternative names, in order.
    pub dns: Vec<String>,
    /// The URIs among them, such as SPIFFE ids.
    pub uris: Vec<String>,
    /// The email addresses among them.
    pub emails: Vec<String>,
}

/// Which name of a certificate the rules look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The subject.
    Subject,
    /// The first DNS name.
    Dns,
    /// The first URI.
    Uri,
    /// The first email address.
    Email,
}

/// How principals are made of certificates.
#[derive(Clone, Debug)]
pub struct Mapping {
    source: Source,
    rules: Vec<Rule>,
}

#[derive(Clone, Debug)]
enum Rule {
    /// The name as it is.
    Default,
    Replace {
        pattern: Regex,
        replacement: Vec<Part>,
        case: Case,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Text(String),
    Group(usize),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Case {
    AsItIs,
    Lower,
    Upper,
}

impl Default for Mapping {
    /// The subject as it is, which is Kafka's default too.
    fn default() -> Self {
        Self { source: Source::Subject, rules: vec![Rule::Default] }
    }
}

impl Mapping {
    /// From rules as Kafka writes them, one each: `RULE:PATTERN/REPLACEMENT/`, with `L` or `U` behind for lower or upper case, or
    /// `DEFAULT`. Without a rule the name is taken as it is.
    ///
    /// # Errors
    /// The place of the first rule that is none, and what is wrong with it.
    pub fn new(source: Source, rules: &[impl AsRef<str>]) -> Result<Self, (usize, String)> {
        let rules =
            rules.iter().enumerate().map(|(place, rule)| Rule::parse(rule.as_ref()).map_err(|what| (place, what)));
        let rules: Vec<_> = rules.collect::<Result<_, _>>()?;
        Ok(Self { source, rules: if rules.is_empty() { vec![Rule::Default] } else { rules } })
    }

    /// Whose a certificate is. `None`: it has no such name, no rule fits, or what comes of it is no name.
    pub fn principal(&self, certificate: &Certificate) -> Option<Arc<str>> {
        let text = match self.source {
            Source::Subject => Some(&certificate.subject),
            Source::Dns => certificate.dns.first(),
            Source::Uri => certificate.uris.first(),
            Source::Email => certificate.emails.first(),
        };
        let text = text.filter(|text| !text.is_empty() && text.len() <= MOST_TEXT)?;
        let made = self.rules.iter().find_map(|rule| rule.apply(text))?;
        // A subject may be longer than what else is a name, and is still who somebody is.
        let most = if self.source == Source::Subject { MOST_TEXT } else { MOST_NAME };
        let is_name = (1..=most).contains(&made.len()) && !made.contains(char::is_control);
        is_name.then(|| Arc::from(made))
    }
}

impl Rule {
    fn parse(rule: &str) -> Result<Self, String> {
        if rule == "DEFAULT" {
            return Ok(Self::Default);
        }
        let shape =
            || "it is neither `DEFAULT` nor `RULE:PATTERN/REPLACEMENT/` with `L` or `U` or nothing behind".to_owned();
        let rest = rule.strip_prefix("RULE:").ok_or_else(shape)?;
        let parts = parts(rest);
        let [pattern, replacement, case] = parts.as_slice() else { return Err(shape()) };
        let case = match case.as_str() {
            "" => Case::AsItIs,
            "L" => Case::Lower,
            "U" => Case::Upper,
            _ => return Err(shape()),
        };
        // Java's `matches`: all of the name, though without `^` and `$`.
        let pattern =
            RegexBuilder::new(&format!("^(?:{pattern})$")).size_limit(MOST_PATTERN).build().map_err(|error| {
                let is_large = matches!(error, regex::Error::CompiledTooBig(_));
                let unknown =
                    "it is no regular expression, or has look-around or back-references, which are not supported";
                let what = if is_large { "it is too large" } else { unknown };
                format!("its pattern cannot be used: {what}")
            })?;
        let replacement = replaced(replacement, pattern.captures_len() - 1);
        Ok(Self::Replace { pattern, replacement, case })
    }

    fn apply(&self, text: &str) -> Option<String> {
        let Self::Replace { pattern, replacement, case } = self else { return Some(text.to_owned()) };
        let groups = pattern.captures(text)?;
        let mut made = String::new();
        for part in replacement {
            match part {
                Part::Text(text) => made.push_str(text),
                Part::Group(number) => made.push_str(groups.get(*number).map_or("", |group| group.as_str())),
            }
        }
        Some(match case {
            Case::AsItIs => made,
            Case::Lower => made.to_lowercase(),
            Case::Upper => made.to_uppercase(),
        })
    }
}

/// The parts between slashes. What stands behind a `\` ends none, and keeps its `\`.
fn parts(rule: &str) -> Vec<String> {
    let (mut parts, mut part, mut escaped) = (Vec::new(), String::new(), false);
    for letter in rule.chars() {
        if letter == '/' && !escaped {
            parts.push(std::mem::take(&mut part));
        } else {
            part.push(letter);
        }
        escaped = letter == '\\' && !escaped;
    }
    parts.push(part);
    parts
}

/// What a replacement is made of, as Java reads it: `$1` for a group, as many digits as still name one; `\` before a letter that
/// stands for itself. A `$` that names no group is a letter.
fn replaced(written: &str, groups: usize) -> Vec<Part> {
    let (mut parts, mut text) = (Vec::new(), String::new());
    let mut letters = written.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => text.extend(letters.next()),
            '$' => {
                let mut number = None;
                while let Some(digit) = letters.peek().and_then(|letter| letter.to_digit(10)) {
                    let longer = number.unwrap_or(0_usize) * 10 + usize::try_from(digit).unwrap_or(0);
                    if longer > groups {
                        break;
                    }
                    number = Some(longer);
                    letters.next();
                }
                match number {
                    Some(group) => {
                        parts.push(Part::Text(std::mem::take(&mut text)));
                        parts.push(Part::Group(group));
                    }
                    None => text.push('$'),
                }
            }
            other => text.push(other),
        }
    }
    parts.push(Part::Text(text));
    parts.retain(|part| *part != Part::Text(String::new()));
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn principal(rules: &[&str], subject: &str) -> Option<String> {
        let certificate = Certificate { subject: subject.to_owned(), ..Certificate::default() };
        Mapping::new(Source::Subject, rules).unwrap().principal(&certificate).map(|name| name.to_string())
    }

    #[test]
    fn rules_are_read_as_kafka_reads_them() {
        let rules = [
            r"RULE:^CN=(.*?),OU=Robots.*$/$1/",
            r"RULE:^CN=(.*?),OU=(.*?),O=(.*?),L=(.*?),ST=(.*?),C=(.*?)$/$1@$2/L",
            r"RULE:^.*[Cc][Nn]=([a-zA-Z0-9.]*).*$/$1/U",
            "DEFAULT",
        ];
        for (subject, name) in [
            ("CN=feeder,OU=Robots,O=Example,C=DE", "feeder"),
            ("CN=Anna,OU=Sales,O=Example,L=Here,ST=There,C=DE", "anna@sales"),
            ("OU=x,cn=kafka.b,C=DE", "KAFKA.B"),
            ("OU=only", "OU=only"),
        ] {
            assert_eq!(principal(&rules, subject).as_deref(), Some(name), "{subject}");
        }
    }

    #[test]
    fn the_whole_name_has_to_fit_and_is_replaced_once() {
        assert_eq!(principal(&["RULE:CN=a/x/"], "CN=ab"), None);
        assert_eq!(principal(&["RULE:.*/x/"], "CN=ab").as_deref(), Some("x"));
        assert_eq!(principal(&["RULE:CN=a|CN=ab/x/"], "CN=ab").as_deref(), Some("x"));
    }

    #[test]
    fn replacements_are_read_as_java_reads_them() {
        for (replacement, name) in [
            ("$1$2", "ab"),
            ("$2-$1", "b-a"),
            ("$0!", "CN=a,OU=b!"),
            ("$12", "a2"),
            ("$3", "$3"),
            ("cost$", "cost$"),
            (r"\$1\\\/", r"$1\/"),
        ] {
            let rule = format!("RULE:^CN=(.*),OU=(.*)$/{replacement}/");
            assert_eq!(principal(&[&rule], "CN=a,OU=b").as_deref(), Some(name), "{replacement}");
        }
        assert_eq!(principal(&[r"RULE:^CN=a\/b$/c\/d/"], "CN=a/b").as_deref(), Some("c/d"));
    }

    #[test]
    fn what_is_no_rule_is_told() {
        for rule in [
            "",
            "default",
            "RULE:a",
            "RULE:a/b",
            "RULE:a/b/X",
            "RULE:a/b/L/",
            "RULE:(/b/",
            "RULE:(?=a)b/c/",
            r"RULE:(a)\1/c/",
        ] {
            let (place, what) = Mapping::new(Source::Subject, &["DEFAULT", rule]).unwrap_err();
            assert!(place == 1 && !what.is_empty(), "{rule}");
        }
        assert!(Mapping::new(Source::Subject, &["RULE:((a{1000}){1000}){1000}/b/"]).is_err());
    }

    #[test]
    fn a_certificate_without_the_name_is_nobodys() {
        let certificate = Certificate {
            subject: "CN=a".to_owned(),
            dns: vec!["a.example.com".to_owned(), "b.example.com".to_owned()],
            uris: vec!["spiffe://example.com/a".to_owned()],
            emails: Vec::new(),
        };
        let mapped = |source, rules: &[&str]| Mapping::new(source, rules).unwrap().principal(&certificate);
        assert_eq!(mapped(Source::Dns, &[]).as_deref(), Some("a.example.com"));
        assert_eq!(mapped(Source::Uri, &["RULE:spiffe:\\/\\/example.com\\/(.*)/$1/"]).as_deref(), Some("a"));
        assert_eq!(mapped(Source::Email, &[]), None);
        assert_eq!(mapped(Source::Subject, &["RULE:CN=b/b/"]), None);
        assert_eq!(mapped(Source::Subject, &["RULE:CN=a//"]), None);
        assert_eq!(principal(&[], "CN=a\nb"), None);
        assert_eq!(principal(&[], &"a".repeat(5000)), None);
    }

    #[test]
    fn a_pattern_that_java_would_take_for_ever_over_takes_no_time() {
        assert_eq!(principal(&["RULE:(a+)+b/x/"], &"a".repeat(4096)), None);
    }
}
