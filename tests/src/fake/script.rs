//! What happens to a request: the actions a test can ask for, and how they add up to a plan.

use std::fmt;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use bytes::Bytes;

use super::ledger::{self, Received};
use super::lock;

/// Makes the body of an answer from the request.
type Answering = Arc<dyn Fn(&Received) -> Bytes + Send + Sync>;

/// One deviation. Several add up: `[Delay(…), WrongCorrelation]`. What none of them changes is as a broker does it.
#[derive(Clone)]
pub enum Action {
    /// This body, under the header that belongs.
    Answer(Bytes),
    /// A body made from the request, under the header that belongs.
    With(Answering),
    /// These bytes, without length or header.
    Frame(Bytes),
    /// First wait.
    Delay(Duration),
    /// First wait until the gate is open.
    Hold(Gate),
    /// No answer; go on with the next request.
    Drop,
    /// No answer; end the connection with a FIN.
    Close,
    /// No answer; end the connection with an RST.
    Reset,
    /// That many bytes of the frame, its length included, then a FIN.
    CloseAfter(usize),
    /// Invert the byte at that position behind the length: 0–3 are the correlation id.
    Garble(usize),
    /// Answer to another correlation id.
    WrongCorrelation,
    /// Announce another length than the frame has.
    Length(i32),
    /// Answer, then send a FIN but go on reading, without an answer.
    HalfClose,
    /// No answer, and never read again; the connection stays.
    StopReading,
    /// So many bytes, then a pause, and so on.
    Trickle(usize, Duration),
}

impl Action {
    /// A body made from the request.
    pub fn with(answering: impl Fn(&Received) -> Bytes + Send + Sync + 'static) -> Action {
        Action::With(Arc::new(answering))
    }
}

impl IntoIterator for Action {
    type Item = Action;
    type IntoIter = std::iter::Once<Action>;

    fn into_iter(self) -> Self::IntoIter {
        std::iter::once(self)
    }
}

impl fmt::Debug for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Action::Answer(bytes) => write!(f, "Answer({} bytes)", bytes.len()),
            Action::With(_) => f.write_str("With(…)"),
            Action::Frame(bytes) => write!(f, "Frame({} bytes)", bytes.len()),
            Action::Delay(time) => write!(f, "Delay({time:?})"),
            Action::Hold(_) => f.write_str("Hold"),
            Action::Drop => f.write_str("Drop"),
            Action::Close => f.write_str("Close"),
            Action::Reset => f.write_str("Reset"),
            Action::CloseAfter(bytes) => write!(f, "CloseAfter({bytes})"),
            Action::Garble(position) => write!(f, "Garble({position})"),
            Action::WrongCorrelation => f.write_str("WrongCorrelation"),
            Action::Length(length) => write!(f, "Length({length})"),
            Action::HalfClose => f.write_str("HalfClose"),
            Action::StopReading => f.write_str("StopReading"),
            Action::Trickle(step, pause) => write!(f, "Trickle({step}, {pause:?})"),
        }
    }
}

/// Holds answers back until it is opened. Clones are one gate.
#[derive(Clone, Default)]
pub struct Gate(Arc<(Mutex<bool>, Condvar)>);

impl Gate {
    /// A closed one.
    pub fn new() -> Gate {
        Gate::default()
    }

    /// Lets everything through from now on.
    pub fn open(&self) {
        *lock(&self.0.0) = true;
        self.0.1.notify_all();
    }

    /// Waits a while; whether it is open.
    pub(super) fn is_open_within(&self, most: Duration) -> bool {
        let open = lock(&self.0.0);
        *open || *ledger::wait(&self.0.1, open, most)
    }
}

/// What goes back.
#[derive(Clone, Default)]
pub(super) enum Say {
    /// What a broker says.
    #[default]
    Default,
    Nothing,
    Body(Bytes),
    Made(Answering),
    Verbatim(Bytes),
}

/// What follows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Then {
    #[default]
    Next,
    Close,
    Reset,
    HalfClose,
    StopReading,
}

/// The sum of the actions for one request.
#[derive(Clone, Default)]
pub(super) struct Plan {
    pub(super) delay: Duration,
    pub(super) gate: Option<Gate>,
    pub(super) say: Say,
    pub(super) garble: Vec<usize>,
    pub(super) length: Option<i32>,
    pub(super) cut: Option<usize>,
    pub(super) trickle: Option<(usize, Duration)>,
    pub(super) then: Then,
}

impl Plan {
    fn of(actions: impl IntoIterator<Item = Action>) -> Plan {
        let mut plan = Plan::default();
        for action in actions {
            plan.add(action);
        }
        plan
    }

    fn add(&mut self, action: Action) {
        match action {
            Action::Answer(body) => self.say = Say::Body(body),
            Action::With(answering) => self.say = Say::Made(answering),
            Action::Frame(bytes) => self.say = Say::Verbatim(bytes),
            Action::Delay(time) => self.delay += time,
            Action::Hold(gate) => self.gate = Some(gate),
            Action::Drop => self.say = Say::Nothing,
            Action::Close => (self.say, self.then) = (Say::Nothing, Then::Close),
            Action::Reset => (self.say, self.then) = (Say::Nothing, Then::Reset),
            Action::CloseAfter(bytes) => (self.cut, self.then) = (Some(bytes), Then::Close),
            Action::Garble(position) => self.garble.push(position),
            Action::WrongCorrelation => self.garble.push(3),
            Action::Length(length) => self.length = Some(length),
            Action::HalfClose => self.then = Then::HalfClose,
            Action::StopReading => (self.say, self.then) = (Say::Nothing, Then::StopReading),
            Action::Trickle(step, pause) => self.trickle = Some((step, pause)),
        }
    }
}

struct Entry {
    node: Option<i32>,
    key: i16,
    plan: Plan,
}

/// What the test has asked for.
#[derive(Default)]
pub(super) struct Script {
    next: Vec<Entry>,
    every: Vec<Entry>,
}

impl Script {
    pub(super) fn on_next(&mut self, node: Option<i32>, key: i16, actions: impl IntoIterator<Item = Action>) {
        self.next.push(Entry { node, key, plan: Plan::of(actions) });
    }

    pub(super) fn on_every(&mut self, key: i16, actions: impl IntoIterator<Item = Action>) {
        self.every.retain(|entry| entry.key != key);
        self.every.push(Entry { node: None, key, plan: Plan::of(actions) });
    }

    /// The plan for a request; what was asked for once is used up.
    pub(super) fn plan(&mut self, node: i32, key: i16) -> Plan {
        let fits = |entry: &Entry| entry.key == key && entry.node.is_none_or(|wanted| wanted == node);
        match self.next.iter().position(fits) {
            Some(found) => self.next.remove(found).plan,
            None => self.every.iter().find(|entry| fits(entry)).map(|entry| entry.plan.clone()).unwrap_or_default(),
        }
    }
}
