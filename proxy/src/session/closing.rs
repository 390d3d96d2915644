//! The end of a connection: what was put out before leaves first, within a deadline.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::Session;
use crate::events::Ended;

/// How long the client may take to take what was put out.
const FLUSHED: Duration = Duration::from_secs(5);
/// How long what the client still sends is read and thrown away: closed with bytes unread, a socket is reset, and the answer
/// that explains it may be lost with it.
const DRAINED: Duration = Duration::from_millis(500);

/// A connection that is ending.
pub(super) struct Closing {
    ended: Option<Ended>,
    by: Instant,
    stage: Stage,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Flush,
    Shut,
    Drain,
}

impl Session {
    /// Ends the connection; the first reason counts.
    pub(super) fn end(&mut self, ended: Ended) {
        if self.closing.is_some() {
            return;
        }
        self.client.let_go(self.now);
        let stage = match ended {
            Ended::Left | Ended::LeftInside | Ended::Broken(_) | Ended::Deaf | Ended::Cut => Stage::Drain,
            Ended::Drained
            | Ended::Old
            | Ended::Idle
            | Ended::Mute
            | Ended::NoLogin
            | Ended::Stranger(_)
            | Ended::Reason(_) => Stage::Flush,
        };
        let by = match stage {
            Stage::Drain => self.now,
            Stage::Flush | Stage::Shut => self.now + FLUSHED,
        };
        self.closing = Some(Closing { ended: Some(ended), by, stage });
        self.timer.as_mut().reset(by.into());
    }

    pub(super) fn poll_closing(&mut self, cx: &mut Context<'_>) -> Poll<Ended> {
        let Some(closing) = &mut self.closing else { return Poll::Pending };
        let mut take = || closing.ended.take().unwrap_or(Ended::Left);
        loop {
            match closing.stage {
                Stage::Flush => match self.client.flush(self.now, cx) {
                    Ok(_) if self.client.outbox.is_empty() => closing.stage = Stage::Shut,
                    Err(_) => return Poll::Ready(take()),
                    Ok(_) if closing.by <= self.now => return Poll::Ready(Ended::Deaf),
                    Ok(_) => break,
                },
                Stage::Shut => match Pin::new(&mut self.client.stream).poll_shutdown(cx) {
                    Poll::Ready(Ok(())) => {
                        closing.stage = Stage::Drain;
                        closing.by = self.now + DRAINED;
                        self.timer.as_mut().reset(closing.by.into());
                    }
                    Poll::Ready(Err(_)) => return Poll::Ready(take()),
                    Poll::Pending => break,
                },
                Stage::Drain if closing.by <= self.now => return Poll::Ready(take()),
                Stage::Drain => {
                    let mut thrown = [0; 4096];
                    let mut buffer = ReadBuf::new(&mut thrown);
                    match Pin::new(&mut self.client.stream).poll_read(cx, &mut buffer) {
                        Poll::Ready(Ok(())) if !buffer.filled().is_empty() => {}
                        Poll::Ready(_) => return Poll::Ready(take()),
                        Poll::Pending => break,
                    }
                }
            }
        }
        // The timer goes off at the deadline and has this looked at again.
        match std::future::Future::poll(self.timer.as_mut(), cx) {
            Poll::Ready(()) => {
                closing.by = self.now;
                let ended = if closing.stage == Stage::Flush { Ended::Deaf } else { take() };
                Poll::Ready(ended)
            }
            Poll::Pending => Poll::Pending,
        }
    }
}
