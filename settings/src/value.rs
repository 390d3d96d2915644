//! How one value is read.

pub(crate) mod either;
pub(crate) mod list;
pub(crate) mod number;
pub(crate) mod path;
pub(crate) mod quantity;
pub(crate) mod secret;
pub(crate) mod text;

use std::borrow::Cow;
use std::cell::RefCell;
use std::fmt;
use std::ops::Range;
use std::path::PathBuf;

use serde_json::Value as Json;
use toml::Spanned;
use toml::de::DeValue;

use crate::environment::{Environment, resolve};
use crate::fault::{Fault, quoted};
use crate::shape::Shape;

/// A way to read a value.
pub trait Value {
    /// What is read.
    type Out;

    /// What it looks like.
    fn shape(&self) -> Shape;

    /// What is to be written, in words that follow "write", with an example.
    fn wanted(&self) -> String;

    /// Reads it; `None`: a fault has been told.
    fn read(&self, item: &Item<'_>) -> Option<Self::Out>;
}

/// A value that can have a default.
pub trait Written: Value {
    /// How it stands in a file.
    fn write(&self, value: &Self::Out) -> Json;
}

/// What reads one file: where `${NAME}` comes from, where relative paths begin, and the faults so far.
pub struct Reader<'e> {
    environment: Environment<'e>,
    folder: PathBuf,
    faults: RefCell<Vec<Fault>>,
}

impl<'e> Reader<'e> {
    /// One that has found nothing yet. `folder`: where relative paths begin.
    pub fn new(environment: Environment<'e>, folder: impl Into<PathBuf>) -> Self {
        Self { environment, folder: folder.into(), faults: RefCell::default() }
    }

    /// One more fault.
    pub fn tell(&self, fault: Fault) {
        self.faults.borrow_mut().push(fault);
    }

    /// All faults.
    pub fn into_faults(self) -> Vec<Fault> {
        self.faults.into_inner()
    }
}

/// What faults call a value.
#[derive(Clone, Copy, Debug)]
pub enum Called<'t> {
    /// All that stands in the file.
    Whole,
    /// The value of this key.
    Key(&'t str),
    /// One of the values in the list of this key.
    OneOf(&'t str),
}

impl Called<'_> {
    fn key(&self) -> &str {
        match self {
            Self::Whole => "",
            Self::Key(key) | Self::OneOf(key) => key,
        }
    }
}

impl fmt::Display for Called<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole => write!(f, "the file"),
            Self::Key(key) => write!(f, "{}", quoted(key)),
            Self::OneOf(key) => write!(f, "one of {}", quoted(key)),
        }
    }
}

/// A value in the file that is to be read.
#[derive(Clone, Copy)]
pub struct Item<'t> {
    /// What faults call it.
    pub(crate) called: Called<'t>,
    pub(crate) value: &'t Spanned<DeValue<'t>>,
    pub(crate) reader: &'t Reader<'t>,
}

impl<'t> Item<'t> {
    /// The whole of a file.
    pub fn whole(value: &'t Spanned<DeValue<'t>>, reader: &'t Reader<'t>) -> Self {
        Self { called: Called::Whole, value, reader }
    }

    /// Where it stands, in bytes of the text.
    pub fn at(&self) -> Range<usize> {
        self.value.span()
    }

    /// Tells a fault of it.
    pub fn fault(&self, what: impl AsRef<str>, right: impl AsRef<str>) {
        self.reader.tell(Fault::new(what, self.at(), right));
    }

    /// A path that stands in it, from where the process is.
    pub fn path(&self, written: &str) -> PathBuf {
        self.reader.folder.join(written)
    }

    /// Tells that it is of another type than what is `wanted`.
    pub(crate) fn is_no(&self, wanted: &str) {
        let found = match self.value.get_ref() {
            DeValue::String(_) => "a text",
            DeValue::Integer(_) => "an integer",
            DeValue::Float(_) => "a number with a point",
            DeValue::Boolean(_) => "true or false",
            DeValue::Datetime(_) => "a date or time",
            DeValue::Array(_) => "a list",
            DeValue::Table(_) => "a table",
        };
        self.fault(format!("{} is {found}", self.called), format!("write {wanted}"));
    }

    /// Its text, with `${NAME}` replaced. `wanted`: what is told if it is no text.
    pub fn text(&self, wanted: &str) -> Option<Cow<'t, str>> {
        let Some(text) = self.value.get_ref().as_str() else {
            self.is_no(wanted);
            return None;
        };
        resolve(text, self.reader.environment).map_err(|(what, right)| self.fault(what, right)).ok()
    }
}
