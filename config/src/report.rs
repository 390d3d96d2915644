//! Faults as the operator sees them: the line, what was found underlined, and what would be right.

use std::fmt;

use miette::{
    Diagnostic, GraphicalReportHandler, GraphicalTheme, MietteError, MietteSpanContents, SourceCode, SourceSpan,
    SpanContents,
};
use skein_settings::{Fault, is_unseen, visible};

use crate::hidden::hidden;

/// Faults that are shown; of more only the number is told.
const MOST_SHOWN: usize = 50;
/// Letters of a long line that are shown before what is wrong, and from there on.
const BEFORE: usize = 40;
const AFTER: usize = 60;

/// Whether a report may use colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colours {
    /// For a terminal.
    Yes,
    /// For anything else.
    No,
}

/// All faults of a file.
#[derive(Debug)]
pub struct Faults {
    name: String,
    faults: Vec<Fault>,
    /// What is shown of them, as many as are shown.
    shown: Vec<Shown>,
}

impl Faults {
    pub(crate) fn new(name: &str, text: &str, mut faults: Vec<Fault>) -> Self {
        faults.sort();
        faults.dedup();
        let name = visible(name);
        let text = hidden(text);
        let lines = Lines::new(&text);
        let shown = faults.iter().take(MOST_SHOWN).map(|fault| lines.shown(&name, fault)).collect();
        Self { name, faults, shown }
    }

    /// Each of them, in the order of the file.
    pub fn iter(&self) -> impl Iterator<Item = &Fault> {
        self.faults.iter()
    }

    /// All that is shown in one line, as a log wants it.
    pub fn in_a_line(&self) -> String {
        let faults = self.shown.iter().map(|shown| format!("{} (line {})", shown.what, shown.line.number + 1));
        faults.collect::<Vec<_>>().join("; ")
    }

    /// The report: for each fault where it is, what was found and what would be right; then how many there are.
    pub fn report(&self, colours: Colours) -> String {
        let theme = match colours {
            Colours::Yes => GraphicalTheme::unicode(),
            Colours::No => GraphicalTheme::unicode_nocolor(),
        };
        let handler = GraphicalReportHandler::new_themed(theme).with_wrap_lines(false);
        let mut report = String::new();
        for shown in &self.shown {
            // Writing to a string does not fail; what could not be shown in full is told in short.
            if handler.render_report(&mut report, shown).is_err() {
                report.push_str(&shown.what);
            }
            report.push('\n');
        }
        if self.faults.len() > MOST_SHOWN {
            report.push_str(&format!("the first {MOST_SHOWN} are shown\n"));
        }
        report.push_str(&format!("{self}\n"));
        report
    }
}

impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.faults.len() {
            1 => write!(f, "one fault in {}", self.name),
            many => write!(f, "{many} faults in {}", self.name),
        }
    }
}

impl std::error::Error for Faults {}

/// A fault with the line that it is in.
#[derive(Debug, thiserror::Error, Diagnostic)]
#[error("{what}")]
struct Shown {
    what: String,
    #[source_code]
    line: Line,
    #[label]
    at: SourceSpan,
    #[help]
    right: String,
}

/// Where the lines of a text begin.
struct Lines<'t> {
    text: &'t str,
    starts: Vec<usize>,
}

impl<'t> Lines<'t> {
    fn new(text: &'t str) -> Self {
        let newlines = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at + 1);
        Self { text, starts: std::iter::once(0).chain(newlines).collect() }
    }

    fn shown(&self, name: &str, fault: &Fault) -> Shown {
        let number = self.starts.partition_point(|start| *start <= fault.from).saturating_sub(1);
        let start = self.starts.get(number).copied().unwrap_or_default();
        let end = self.starts.get(number + 1).map_or(self.text.len(), |next| next - 1);
        let line = self.text.get(start..end).unwrap_or_default();
        let from = fault.from.clamp(start, end) - start;
        // What goes on over several lines is underlined in its first.
        let to = fault.to.clamp(start + from, end) - start;
        let (before, rest) = line.split_at_checked(from).unwrap_or((line, ""));
        let (marked, after) = rest.split_at_checked(to - from).unwrap_or((rest, ""));
        let before = before.strip_prefix('\u{feff}').unwrap_or(before);
        let column = before.chars().count();
        // What could steer the terminal is one letter here, or a line of it would be long.
        let seen = |part: &str| part.trim_end_matches('\r').replace('\t', "    ").replace(is_unseen, "\u{fffd}");
        let (before, marked, after) = (seen(&ending(before)), seen(&beginning(marked)), seen(&beginning(after)));
        let first = after.chars().next().map_or(1, char::len_utf8);
        let at = SourceSpan::from((before.len(), if marked.is_empty() { first } else { marked.len() }));
        // At the end of a line a space can be underlined.
        let end = if marked.is_empty() && after.is_empty() { " " } else { "" };
        let line = Line { name: name.to_owned(), text: format!("{before}{marked}{after}{end}"), number, column };
        Shown { what: fault.what.clone(), line, at, right: fault.right.clone() }
    }
}

/// The part of a text that is shown before what is wrong.
fn ending(text: &str) -> String {
    match text.char_indices().rev().nth(BEFORE) {
        Some((at, _)) => format!("…{}", text.get(at..).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// The part of a text that is shown from a place on.
fn beginning(text: &str) -> String {
    match text.char_indices().nth(AFTER) {
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// A line as it is shown.
#[derive(Debug)]
struct Line {
    name: String,
    text: String,
    /// Its number in the file, from 0.
    number: usize,
    /// The column of what is wrong, in letters from 0.
    column: usize,
}

impl SourceCode for Line {
    fn read_span<'a>(
        &'a self, _span: &SourceSpan, lines_before: usize, _lines_after: usize,
    ) -> Result<Box<dyn SpanContents<'a> + 'a>, MietteError> {
        // Without lines around it the head of the report is made: that wants the column.
        let column = if lines_before == 0 { self.column } else { 0 };
        let whole = SourceSpan::from((0, self.text.len()));
        let (name, text) = (self.name.clone(), self.text.as_bytes());
        Ok(Box::new(MietteSpanContents::new_named(name, text, whole, self.number, column, 1)))
    }
}
