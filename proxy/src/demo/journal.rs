//! The last log lines: with a screen they have no other place to go.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::time::uptime;
use tracing_subscriber::fmt::writer::BoxMakeWriter;

/// Lines that are kept.
const MOST: usize = 200;

/// Where log lines go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Logs {
    /// Into the journal.
    Kept,
    /// To standard error.
    Told,
}

/// The last lines, oldest first.
#[derive(Debug, Default)]
pub(super) struct Journal {
    lines: Mutex<VecDeque<String>>,
}

impl Journal {
    /// Takes the log lines of the process from now on. `SKEIN_LOG` has the same meaning as for `skein run`.
    pub(super) fn open(logs: Logs) -> Arc<Self> {
        let journal = Arc::new(Self::default());
        let filter = EnvFilter::try_from_env("SKEIN_LOG").unwrap_or_else(|_| EnvFilter::new("info"));
        let writer = match logs {
            Logs::Kept => BoxMakeWriter::new(Arc::clone(&journal)),
            Logs::Told => BoxMakeWriter::new(io::stderr),
        };
        let lines = tracing_subscriber::fmt().with_env_filter(filter).with_writer(writer);
        lines.with_timer(uptime()).with_target(false).with_ansi(false).init();
        journal
    }

    /// The last so many lines, oldest first.
    pub(super) fn last(&self, count: usize) -> Vec<String> {
        let lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        lines.iter().skip(lines.len().saturating_sub(count)).cloned().collect()
    }
}

impl io::Write for &Journal {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        for line in String::from_utf8_lossy(bytes).lines() {
            if lines.len() == MOST {
                lines.pop_front();
            }
            // What a peer said may be in it; a terminal must not take it for a command.
            lines.push_back(line.replace(|letter: char| letter.is_control(), " "));
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn the_oldest_lines_make_room() {
        let journal = Journal::default();
        for number in 0..=MOST {
            (&journal).write_all(format!("{number}\n").as_bytes()).unwrap();
        }
        assert_eq!(journal.last(MOST + 1).len(), MOST);
        assert_eq!(journal.last(2), ["199", "200"]);
    }

    #[test]
    fn nothing_in_a_line_moves_the_cursor() {
        let journal = Journal::default();
        (&journal).write_all(b"one\x1b[2Jtwo\n").unwrap();
        assert_eq!(journal.last(1), ["one [2Jtwo"]);
    }
}
