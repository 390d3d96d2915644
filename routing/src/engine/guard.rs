//! The filters of a connection: opened with its first request that a broker is to answer, when all is known of the client.

use std::sync::Arc;

use skein_filters::{Beside, Client, Filter, Flow, Interest};
use skein_protocol::frame::Head;
use skein_protocol::ids::{ApiKey, Direction, VirtualNodeId};
use skein_protocol::merge::together;
use skein_protocol::{Malformed, Meanings};

use crate::catalogue::Catalogue;
use crate::graph::Door;

/// The filters of a connection.
#[derive(Default)]
pub(super) struct Guard {
    filters: Vec<Box<dyn Filter>>,
    state: State,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum State {
    /// Nobody is known yet.
    #[default]
    Closed,
    Open,
}

/// What all filters of a connection want of the messages of one API in one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Wanted {
    /// Fields that they are to be shown.
    pub(super) fields: Meanings,
    /// Whether one of them wants the message complete.
    pub(super) whole: Whole,
}

/// Whether a message is to be complete.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Whole {
    #[default]
    No,
    Yes,
}

/// What the filters make of a request.
pub(super) enum Judged {
    /// It goes on as it is.
    Forward,
    /// This part of it goes on, and this is the answer to the rest.
    Part(Vec<u8>, Option<Beside>),
    /// It is answered.
    Answer(Beside),
    /// No answer could refuse it.
    Close,
    /// Names must be learnt first.
    Learn,
}

impl Guard {
    /// Opens the filters of a door, once.
    pub(super) fn open(&mut self, door: &Door, at: Option<VirtualNodeId>, client: &Client) {
        if self.state == State::Closed {
            self.state = State::Open;
            self.filters = door.filters.iter().map(|filter| filter.open(client)).collect();
            // Behind all others: what they let through is then kept to what is there.
            if let Some(book) = &door.book {
                self.filters.push(Box::new(Catalogue::new(door.target.clone(), at, Arc::clone(book))));
            }
        }
    }

    /// The filters, in the order in which requests pass them.
    pub(super) fn filters(&mut self) -> &mut [Box<dyn Filter>] {
        &mut self.filters
    }

    /// What they want to see.
    pub(super) fn wants(&self, key: ApiKey, way: Direction) -> Wanted {
        self.filters.iter().fold(Wanted::default(), |all, filter| match filter.interest(key, way) {
            Interest::None => all,
            Interest::Fields(fields) => Wanted { fields: all.fields.and(fields), ..all },
            Interest::Complete(fields) => Wanted { fields: all.fields.and(fields), whole: Whole::Yes },
        })
    }

    /// Has them judge a request that is complete.
    pub(super) fn judge(&mut self, head: &Head, frame: &mut [u8]) -> Result<Judged, Malformed> {
        let mut part: Option<Vec<u8>> = None;
        let mut beside: Option<Beside> = None;
        for filter in &mut self.filters {
            if !matches!(filter.interest(head.key, Direction::ToBroker), Interest::Complete(_)) {
                continue;
            }
            let flow = match &mut part {
                Some(part) => filter.on_request(head, part)?,
                None => filter.on_request(head, frame)?,
            };
            match flow {
                Flow::Forward => {}
                Flow::Part { frame, beside: more } => {
                    part = Some(frame);
                    beside = both(head, beside, more)?;
                }
                Flow::Answer(answer) => {
                    return Ok(both(head, Some(answer), beside)?.map_or(Judged::Close, Judged::Answer));
                }
                Flow::Close => return Ok(Judged::Close),
                Flow::Learn => return Ok(Judged::Learn),
            }
        }
        Ok(part.map_or(Judged::Forward, |part| Judged::Part(part, beside)))
    }

    /// The topic ids whose names they must know.
    pub(super) fn unknown(&mut self) -> Vec<[u8; 16]> {
        let mut unknown: Vec<_> = self.filters.iter_mut().flat_map(|filter| filter.unknown()).collect();
        unknown.sort_unstable();
        unknown.dedup();
        unknown
    }

    /// The name of one.
    pub(super) fn learned(&mut self, id: [u8; 16], name: &str) {
        self.filters.iter_mut().for_each(|filter| filter.learned(id, name));
    }
}

/// The answers of two filters to parts of one request.
fn both(head: &Head, first: Option<Beside>, rest: Option<Beside>) -> Result<Option<Beside>, Malformed> {
    match (first, rest) {
        (Some(first), Some(rest)) => {
            Ok(Some(Beside { frame: together(head, &first.frame, &rest.frame)?, code: first.code }))
        }
        (first, rest) => Ok(first.or(rest)),
    }
}

/// Whether clients of a door are offered an API.
pub(super) fn offers(door: &Door, key: ApiKey) -> bool {
    door.filters.iter().all(|filter| Arc::as_ref(filter).offers(key)) && door.target.offers(key)
}
