//! The client: what it sends, and what it makes of what it gets.

use std::collections::VecDeque;

use skein_protocol::ids::ApiKey;
use skein_protocol::sample::Dice;

use crate::frames::{self, Asked};

/// The client's end of the connection.
#[derive(Debug, Default)]
pub(crate) struct Client {
    /// What it has not sent yet.
    outgoing: Vec<u8>,
    sent: usize,
    /// Requests without an answer, those that want none included.
    asked: VecDeque<Asked>,
    received: Vec<u8>,
    pub(crate) answers: u64,
    /// Answers that were not a broker's, where that can be told.
    pub(crate) refused: u64,
    /// The API of the last one.
    pub(crate) last_refused: Option<ApiKey>,
}

impl Client {
    /// A client that has so much to ask.
    pub(crate) fn new(requests: usize, dice: &mut Dice) -> Self {
        let mut this = Self::default();
        for number in 0..requests {
            let (mut asked, frame) = frames::request(number, dice);
            this.outgoing.extend(frame);
            asked.end = this.outgoing.len();
            this.asked.push_back(asked);
        }
        this
    }

    /// A piece of what it still has to send.
    pub(crate) fn piece(&mut self, most: usize) -> &[u8] {
        let from = self.sent;
        self.sent = (from + most).min(self.outgoing.len());
        &self.outgoing[from..self.sent]
    }

    pub(crate) fn has_sent_all(&self) -> bool {
        self.sent == self.outgoing.len()
    }

    /// Bytes have come: answers in the order of the questions. `read`: how many of its bytes were read so far.
    pub(crate) fn take(&mut self, bytes: &[u8], read: usize) -> Result<(), String> {
        self.received.extend(bytes);
        while let Some(frame) = frames::take(&mut self.received) {
            while self.asked.front().is_some_and(|asked| asked.silent) {
                self.asked.pop_front();
            }
            let asked = self.asked.pop_front().ok_or("an answer to nothing")?;
            frames::check_answer(&asked, &frame)?;
            if asked.end > read {
                return Err(format!("an answer to {asked:?} before it was read"));
            }
            self.answers += 1;
            if frames::is_markable(&asked) && frames::marked(&asked, &frame).is_none() {
                self.refused += 1;
                self.last_refused = Some(asked.key);
            }
        }
        Ok(())
    }

    /// Requests that still want an answer.
    pub(crate) fn unanswered(&self) -> usize {
        self.asked.iter().filter(|asked| !asked.silent).count()
    }

    /// Whether an answer has come in part.
    pub(crate) fn holds_part(&self) -> bool {
        !self.received.is_empty()
    }
}
