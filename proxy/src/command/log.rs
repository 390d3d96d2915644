//! The log of a running proxy: one line per event on standard error.
//!
//! A thread of its own writes it. Who reads it may be slow, or not read at all, and strangers cause lines: what does not fit
//! the queue is dropped, and counted.

use tracing_appender::non_blocking::{NonBlockingBuilder, WorkerGuard};
use tracing_subscriber::EnvFilter;

use super::Log;
use super::wrong::Wrong;
use crate::meters;

/// Lines that wait to be written.
const WAITING: usize = 4096;

/// Logs from now on, until what is given back is dropped. `SKEIN_LOG` takes directives such as `debug` or `skein_proxy=trace`.
pub(super) fn to_stderr(log: Log) -> Result<WorkerGuard, Wrong> {
    let directives = std::env::var("SKEIN_LOG").unwrap_or_else(|_| "info".to_owned());
    let filter = EnvFilter::try_new(&directives).map_err(|error| {
        Wrong::new(format!("SKEIN_LOG is `{directives}`: {error}; write `debug`, `skein_proxy=trace`, …"))
    })?;
    let (writer, guard) =
        NonBlockingBuilder::default().buffered_lines_limit(WAITING).lossy(true).finish(std::io::stderr());
    let dropped = writer.error_counter();
    meters::log_lines_are_dropped_by(move || dropped.dropped_lines());
    let lines = tracing_subscriber::fmt().with_target(false).with_env_filter(filter).with_writer(writer);
    match log {
        Log::Text => lines.init(),
        Log::Json => lines.json().init(),
    }
    Ok(guard)
}
