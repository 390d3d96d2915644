//! What nobody is to read: passwords, tokens, keys.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

use crate::fault::quoted;

/// Bytes of a secret: a token or a password is smaller, and no file of one is read further.
pub const MOST_SECRET: usize = 64 << 10;

/// How a text begins that names the file of a secret.
pub(crate) const FILE: &str = "file:";

/// How files are read: at most so many bytes of the one at a path.
pub type Files<'f> = &'f dyn Fn(&Path, usize) -> io::Result<Vec<u8>>;

/// A text that is shown nowhere: without `Display`, with a `Debug` that says nothing of it, not even its length, and wiped
/// when it is dropped.
#[derive(Clone)]
pub struct Secret(Zeroizing<Box<str>>);

impl Secret {
    /// Keeps a text.
    pub fn new(text: impl Into<Box<str>>) -> Self {
        Self(Zeroizing::new(text.into()))
    }

    /// The text itself, for whoever sends it or works with it. It is not to be kept, logged or put into an error.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

/// In a time that depends on the lengths only, so that whoever guesses learns nothing from how long it takes.
impl PartialEq for Secret {
    fn eq(&self, other: &Self) -> bool {
        self.0.as_bytes().ct_eq(other.0.as_bytes()).into()
    }
}

impl Eq for Secret {}

/// Where a secret comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SecretSource {
    /// The file of settings, or the environment through it.
    Text(Secret),
    /// A file of its own, which may change.
    File(PathBuf),
}

impl SecretSource {
    /// Reads it: from a file without the newline at its end, which editors and `echo` add.
    ///
    /// # Errors
    /// What is wrong with the file, in words without anything of what it holds.
    pub fn read(&self, files: Files<'_>) -> Result<Secret, String> {
        let path = match self {
            Self::Text(secret) => return Ok(secret.clone()),
            Self::File(path) => path,
        };
        let name = path.display();
        let bytes = files(path, MOST_SECRET + 1).map_err(|error| format!("{name} cannot be read: {error}"))?;
        let bytes = Zeroizing::new(bytes);
        if bytes.len() > MOST_SECRET {
            return Err(format!("{name} has more than 64 KiB, which no secret has"));
        }
        let text = std::str::from_utf8(&bytes).map_err(|_| format!("{name} is no text in UTF-8"))?;
        let text = text.strip_suffix('\n').map_or(text, |line| line.strip_suffix('\r').unwrap_or(line));
        if text.is_empty() { Err(format!("{name} is empty")) } else { Ok(Secret::new(text)) }
    }

    /// The same, with another path to its file.
    pub(crate) fn map_path(self, map: impl FnOnce(PathBuf) -> PathBuf) -> Self {
        match self {
            Self::Text(secret) => Self::Text(secret),
            Self::File(path) => Self::File(map(path)),
        }
    }

    /// A text as it stands in a file of settings, with `${NAME}` replaced. No error repeats it.
    pub(crate) fn parse(text: &str) -> Result<Self, &'static str> {
        match text.strip_prefix(FILE) {
            Some("") => Err("a file without a path"),
            Some(path) => Ok(Self::File(PathBuf::from(path))),
            None if text.is_empty() => Err("an empty secret"),
            None if text.len() > MOST_SECRET => Err("a secret of more than 64 KiB"),
            None => Ok(Self::Text(Secret::new(text))),
        }
    }
}

/// Shows where it comes from and nothing of what it is.
impl fmt::Display for SecretSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(_) => f.write_str("the secret in the file"),
            Self::File(path) => write!(f, "the secret in {}", quoted(&path.display().to_string())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &'static [u8]) -> Result<Secret, String> {
        SecretSource::File(PathBuf::from("key")).read(&|path, most| {
            assert_eq!((path, most), (Path::new("key"), MOST_SECRET + 1));
            Ok(bytes.iter().copied().take(most).collect())
        })
    }

    #[test]
    fn a_secret_shows_nothing_of_itself() {
        let source = SecretSource::Text(Secret::new("hunter2"));
        assert_eq!(format!("{source:?} {source:#?} {source}").find("unter"), None);
        assert_eq!(format!("{:?}", Secret::new("")), format!("{:?}", Secret::new("longer")));
    }

    #[test]
    fn secrets_are_equal_if_their_texts_are() {
        assert_eq!(Secret::new("a"), Secret::new("a"));
        assert_ne!(Secret::new("a"), Secret::new("b"));
        assert_ne!(Secret::new("a"), Secret::new("aa"));
    }

    #[test]
    fn one_newline_at_the_end_of_a_file_is_not_part_of_it() {
        for (file, secret) in [
            (&b"word"[..], "word"),
            (b"word\n", "word"),
            (b"word\r\n", "word"),
            (b"word\n\n", "word\n"),
            (b" word ", " word "),
            (b"a\nb", "a\nb"),
        ] {
            assert_eq!(read(file).unwrap().expose(), secret, "{file:?}");
        }
    }

    #[test]
    fn a_file_that_holds_no_secret_is_an_error_that_repeats_nothing() {
        const LONG: &[u8] = &[b'x'; MOST_SECRET + 5];
        for (file, wanted) in [(&b""[..], "is empty"), (b"\n", "is empty"), (b"\xffab", "UTF-8"), (LONG, "64 KiB")] {
            let error = read(file).unwrap_err();
            assert!(error.starts_with("key ") && error.contains(wanted) && !error.contains("xx"), "{error}");
        }
        let gone = SecretSource::File(PathBuf::from("gone")).read(&|_, _| Err(io::ErrorKind::NotFound.into()));
        assert!(gone.unwrap_err().starts_with("gone cannot be read"));
    }

    #[test]
    fn a_text_names_a_file_or_is_the_secret() {
        assert_eq!(SecretSource::parse("file:/etc/key"), Ok(SecretSource::File(PathBuf::from("/etc/key"))));
        assert_eq!(SecretSource::parse("pass word"), Ok(SecretSource::Text(Secret::new("pass word"))));
        assert!(SecretSource::parse("").is_err() && SecretSource::parse("file:").is_err());
        assert!(SecretSource::parse(&"x".repeat(MOST_SECRET + 1)).is_err());
    }
}
