//! What the operating system asks of the process.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// What was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Said {
    /// SIGTERM or SIGINT.
    Stop,
    /// SIGHUP.
    Reload,
}

/// The signals that are heard.
pub(super) struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hang_up: Signal,
}

impl Signals {
    /// Hears them from now on.
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hang_up: signal(SignalKind::hangup())?,
        })
    }

    /// The next one.
    pub(super) async fn next(&mut self) -> Said {
        tokio::select! {
            _ = self.terminate.recv() => Said::Stop,
            _ = self.interrupt.recv() => Said::Stop,
            _ = self.hang_up.recv() => Said::Reload,
        }
    }
}
