//! What is wrong with a configuration: where it stands, what was found, what would be right.

use std::ops::Range;

use miette::{Diagnostic, NamedSource, SourceSpan};

/// One fault.
#[derive(Clone, Debug, thiserror::Error, Diagnostic)]
#[error("{what}")]
pub struct Fault {
    what: String,
    #[label("here")]
    at: SourceSpan,
    #[help]
    right: Option<String>,
}

impl Fault {
    /// `at`: bytes of the text; `right`: what would be right, empty if `what` says it.
    pub fn new(what: impl Into<String>, at: Range<usize>, right: impl Into<String>) -> Self {
        let right = right.into();
        Self { what: what.into(), at: at.into(), right: (!right.is_empty()).then_some(right) }
    }

    /// What was found.
    pub fn what(&self) -> &str {
        &self.what
    }
}

/// All faults of a file, with its text.
#[derive(Debug, thiserror::Error, Diagnostic)]
#[error("{count} in {name}", count = count(faults.len()))]
pub struct Faults {
    name: String,
    #[source_code]
    source_code: NamedSource<String>,
    #[related]
    faults: Vec<Fault>,
}

impl Faults {
    pub(crate) fn new(name: &str, text: &str, faults: Vec<Fault>) -> Self {
        Self { name: name.to_owned(), source_code: NamedSource::new(name, text.to_owned()), faults }
    }

    /// Each of them.
    pub fn iter(&self) -> impl Iterator<Item = &Fault> {
        self.faults.iter()
    }
}

fn count(faults: usize) -> String {
    match faults {
        1 => "one fault".to_owned(),
        many => format!("{many} faults"),
    }
}
