//! What judges, changes or answers messages of one connection, at the client's side of the face.
//!
//! ```text
//!   client ─► filter ─► … ─► face ─► edges ─► broker          names are those that clients see
//!   client ◄─ filter ◄─ … ◄─ face ◄─ edges ◄─ broker
//! ```
//!
//! A filter says of each API what it has to see. What it has no interest in passes as if there were no filter. Where it
//! wants fields, the message streams on, and it may change what keeps its width. Where it wants the message complete, it
//! is given a request before anything of it leaves, and may leave elements out of answers.

use std::sync::Arc;

use skein_protocol::code::Code;
use skein_protocol::frame::Head;
use skein_protocol::ids::{ApiKey, Direction};
use skein_protocol::passage::{Edit, Value};
use skein_protocol::table::Fact;
use skein_protocol::{Malformed, Meanings};
use skein_settings::{Fault, Table};

use crate::client::Client;
use crate::edge::Memo;

/// What a filter has to see of the messages of one API in one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interest {
    /// Nothing.
    None,
    /// These fields, as they pass; edits keep every width.
    Fields(Meanings),
    /// The whole message, and of an answer these fields; any edit will do.
    Complete(Meanings),
}

/// What becomes of a request that is complete.
#[derive(Debug, PartialEq, Eq)]
pub enum Flow {
    /// It goes on as it is.
    Forward,
    /// A part of it goes on, a whole frame without its length. `beside`: the answer to the rest, which is merged into the
    /// broker's.
    Part {
        /// What goes on.
        frame: Vec<u8>,
        /// The answer to what does not.
        beside: Option<Beside>,
    },
    /// It is answered: a whole frame without its length.
    Answer(Beside),
    /// It is refused, and no answer of its API could say so: the connection ends.
    Close,
    /// What [`Filter::unknown`] gives must be found out first; then it is shown again.
    Learn,
}

/// An answer that a filter has made: a whole frame without its length, and the code that it gives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Beside {
    /// The frame.
    pub frame: Vec<u8>,
    /// The code; where there are several, one of them.
    pub code: Code,
}

/// A filter of one connection.
pub trait Filter: Send {
    /// What it has to see.
    fn interest(&self, key: ApiKey, way: Direction) -> Interest;

    /// Judges a request that it wants complete: a whole frame without its length, which stays as it is.
    ///
    /// # Errors
    /// [`Malformed`]: the frame is no request of its API.
    fn on_request(&mut self, head: &Head, frame: &mut [u8]) -> Result<Flow, Malformed>;

    /// Decides about a field that it wants to see.
    fn on_field(&mut self, memo: &mut Memo, at: (ApiKey, Direction), fact: &'static Fact, value: Value<'_>) -> Edit;

    /// The topic ids that it met and whose names it must know, each given once.
    fn unknown(&mut self) -> Vec<[u8; 16]>;

    /// The name of a topic id, as clients see both.
    fn learned(&mut self, id: [u8; 16], name: &str);
}

/// A filter of a virtual cluster, of which each connection opens one of its own.
pub trait Prepared: Send + Sync {
    /// Whether clients are offered this API. One that is not, and comes all the same, ends the connection.
    fn offers(&self, key: ApiKey) -> bool;

    /// The filter of a connection; all is known of the client by then, its principal too.
    fn open(&self, client: &Client) -> Box<dyn Filter>;
}

/// A kind of filter. A new kind is one file with an impl of this, and one line where kinds are registered.
pub trait FilterKind: Prepared + Sized + 'static {
    /// The word in `kind = "…"`.
    const NAME: &'static str;
    /// A whole configuration that the manual shows and a test loads.
    const EXAMPLE: &'static str;
    /// What stands in its table besides `kind`.
    type Settings: 'static;

    /// Asks its table for the keys of this kind; `None` if one of them has a fault.
    fn settings(table: &mut Table<'_>) -> Option<Self::Settings>;

    /// Makes the filter, once per virtual cluster.
    ///
    /// # Errors
    /// Everything that is wrong, not only the first.
    fn prepare(settings: &Self::Settings) -> Result<Self, Vec<Fault>>;
}

/// The filters of a virtual cluster, in the order in which requests pass them.
pub type Filters = Arc<[Arc<dyn Prepared>]>;
