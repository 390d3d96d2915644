//! What ends a command, as the operator sees it on standard error.

use std::io::{self, IsTerminal, Write};

use miette::{Diagnostic, Report};
use skein_config::{Colours, Faults};

use crate::app::NotServed;
use crate::explain::Unexplained;

/// What was wrong, in words; some of it over several lines.
#[derive(Debug)]
pub(super) struct Wrong(String);

impl Wrong {
    /// Something that went wrong, by what it was done for.
    pub(super) fn new(what: impl Into<String>) -> Self {
        Self(what.into())
    }

    /// What was found, and what would be right.
    fn told(diagnostic: impl Diagnostic + Send + Sync + 'static) -> Self {
        Self(format!("{:?}", Report::new(diagnostic)))
    }

    /// Says it. Whoever has closed standard error learns it from the status.
    pub(super) fn say(&self) {
        let _ = writeln!(io::stderr(), "{}", self.0.trim_end());
    }
}

impl From<Faults> for Wrong {
    fn from(faults: Faults) -> Self {
        Self(faults.report(colours()))
    }
}

impl From<NotServed> for Wrong {
    fn from(not_served: NotServed) -> Self {
        match not_served {
            NotServed::Faulty(faults) => Self::from(faults),
            other => Self::told(other),
        }
    }
}

impl From<Unexplained> for Wrong {
    fn from(unexplained: Unexplained) -> Self {
        Self::told(unexplained)
    }
}

/// Colours are for terminals, and for who has not set `NO_COLOR`.
fn colours() -> Colours {
    let are_unwanted = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    if io::stderr().is_terminal() && !are_unwanted { Colours::Yes } else { Colours::No }
}
