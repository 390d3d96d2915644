//! What is read in certificates besides what rustls checks.

use std::fmt::Write;
use std::time::{Duration, SystemTime};

use rustls::pki_types::CertificateDer;
use skein_login::Certificate;
use x509_parser::certificate::X509Certificate;
use x509_parser::der_parser::asn1_rs::{Any, Tag, ToDer};
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::FromDer;
use x509_parser::x509::{AttributeTypeAndValue, X509Name};

/// Reads a client's certificate, whose chain has been checked; `None`: it is none, or has no subject that could be written. The
/// subject is written as Kafka's default principal: RFC 2253 in the form of Java's `X500Principal.getName()`.
pub(super) fn names(der: &CertificateDer<'_>) -> Option<Certificate> {
    let (_, certificate) = X509Certificate::from_der(der).ok()?;
    let mut names = Certificate { subject: subject(certificate.subject())?, ..Certificate::default() };
    let alternatives = certificate.subject_alternative_name().ok()?;
    for name in alternatives.iter().flat_map(|names| &names.value.general_names) {
        match name {
            GeneralName::DNSName(name) => names.dns.push((*name).to_owned()),
            GeneralName::RFC822Name(name) => names.emails.push((*name).to_owned()),
            GeneralName::URI(name) => names.uris.push((*name).to_owned()),
            _ => {}
        }
    }
    Some(names)
}

/// Attribute types that have a word; others are written as numbers, and their values as bytes.
const WORDS: [(&str, &str); 9] = [
    ("2.5.4.3", "CN"),
    ("2.5.4.6", "C"),
    ("2.5.4.7", "L"),
    ("2.5.4.8", "ST"),
    ("2.5.4.9", "STREET"),
    ("2.5.4.10", "O"),
    ("2.5.4.11", "OU"),
    ("0.9.2342.19200300.100.1.25", "DC"),
    ("0.9.2342.19200300.100.1.1", "UID"),
];
/// Letters that Java writes with a backslash, wherever they stand.
const ESCAPED: &str = ",=+<>#;\"\\";

/// A name as Java's `X500Principal.getName()` writes it: the last part first.
fn subject(name: &X509Name<'_>) -> Option<String> {
    let mut parts = Vec::new();
    for part in name.iter() {
        let written: Option<Vec<_>> = part.iter().map(attribute).collect();
        parts.push(written?.join("+"));
    }
    parts.reverse();
    Some(parts.join(","))
}

fn attribute(attribute: &AttributeTypeAndValue<'_>) -> Option<String> {
    let kind = attribute.attr_type().to_id_string();
    let word = WORDS.iter().find(|(number, _)| *number == kind).map(|(_, word)| *word);
    match (word, text(attribute.attr_value())) {
        (Some(word), Some(value)) => Some(format!("{word}={}", escaped(&value))),
        (word, _) => {
            let mut written = format!("{}=#", word.unwrap_or(&kind));
            for byte in attribute.attr_value().to_der_vec().ok()? {
                // Writing to a string does not fail.
                let _ = write!(written, "{byte:02x}");
            }
            Some(written)
        }
    }
}

/// A value that is a text.
fn text(value: &Any<'_>) -> Option<String> {
    match value.tag() {
        Tag::Utf8String | Tag::PrintableString | Tag::Ia5String | Tag::GeneralString | Tag::NumericString => {
            String::from_utf8(value.data.to_vec()).ok()
        }
        Tag::T61String => Some(value.data.iter().map(|byte| char::from(*byte)).collect()),
        Tag::BmpString => {
            let units =
                value.data.chunks_exact(2).map(|two| two.iter().fold(0, |unit, byte| unit << 8 | u16::from(*byte)));
            String::from_utf16(&units.collect::<Vec<_>>()).ok()
        }
        _ => None,
    }
}

fn escaped(value: &str) -> String {
    let leading = value.len() - value.trim_start_matches(' ').len();
    let trailing = value.trim_end_matches(' ').len();
    let mut written = String::new();
    for (at, letter) in value.char_indices() {
        if letter == '\0' {
            written.push_str("\\00");
            continue;
        }
        if ESCAPED.contains(letter) || letter == ' ' && (at < leading || at >= trailing) {
            written.push('\\');
        }
        written.push(letter);
    }
    written
}

/// From when to when a certificate is good, in seconds since 1970.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lifetime {
    from: i64,
    to: i64,
}

impl Lifetime {
    /// That of a certificate; of what is none, for ever: rustls says what is wrong with it.
    pub(super) fn of(der: &CertificateDer<'_>) -> Self {
        let parsed = X509Certificate::from_der(der).ok();
        let validity = parsed.map(|(_, certificate)| certificate.validity().clone());
        validity.map_or(Self { from: i64::MIN, to: i64::MAX }, |validity| Self {
            from: validity.not_before.timestamp(),
            to: validity.not_after.timestamp(),
        })
    }

    /// What is wrong with it now, if something is.
    pub(super) fn warning(self, now: SystemTime) -> Option<String> {
        let now = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO).as_secs();
        let now = i64::try_from(now).unwrap_or(i64::MAX);
        if now > self.to {
            Some(format!("its certificate has been out of date for {} s", now.saturating_sub(self.to)))
        } else if now < self.from {
            Some(format!("its certificate is good only in {} s", self.from.saturating_sub(now)))
        } else {
            None
        }
    }
}
