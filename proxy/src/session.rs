//! One client connection: a task that owns its engine, its links and its buffers, and does as the engine says.

mod clock;
mod closing;
mod draining;
mod lanes;
mod login;
mod peer;
mod renewing;

use std::future::Future;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use bytes::Bytes;
use skein_link::{Asker, Known, Linked, Stream, Unreached};
use skein_protocol::varint::wide;
use skein_routing::engine::{Effect, Engine, LaneId, Move, Note, Out};
use skein_routing::topology::{ClusterIndex, Destination};
use tokio::time::Sleep;

use self::clock::{Asks, Clock};
use self::closing::Closing;
use self::draining::Intake;
use self::login::Entry;
use self::peer::{Moved, Peer};
use self::renewing::Renewal;
use crate::admission::Guest;
use crate::arrival::stranger;
use crate::events::{Closed, Connection, Ended, LinkLoss, Refused};
use crate::frames::Frames;
use crate::house::House;
use crate::listen::Entrance;
use crate::roll::Place;
use crate::source::Source;
use crate::tenant::Askers;

/// Whose bytes are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Client,
    Lane(LaneId),
}

/// What follows a move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum After {
    /// Look again.
    Look,
    /// Read first.
    Read,
    /// Something else must happen first.
    Stop,
}

/// Bytes of answers that a client has not taken; with more, nothing more is taken from it.
const UNREAD: usize = 64 << 10;
/// How long a client that sends no more is given what it is owed.
const OWED: Duration = Duration::from_secs(10);

type Dialling = Pin<Box<dyn Future<Output = Result<Linked, Unreached>> + Send>>;
type Asking = Pin<Box<dyn Future<Output = Known> + Send>>;

/// A client connection.
pub(crate) struct Session {
    connection: Connection,
    entrance: Arc<Entrance>,
    house: Arc<House>,
    place: Place,
    engine: Engine,
    client: Peer,
    /// Where one stands in what the client sends.
    requests: Frames,
    intake: Intake,
    /// Whether the first bytes of the client have been looked at.
    has_heard: bool,
    /// Whether the virtual cluster ends, too, if the connection does.
    is_drained: bool,
    clock: Clock,
    _guest: Guest,
    /// Who asks each cluster for this client, and whose login its links have.
    askers: Askers,
    entry: Entry,
    lanes: Vec<Option<Peer>>,
    /// Where each lane leads.
    destinations: Vec<Destination>,
    dials: Vec<(LaneId, Destination, Dialling)>,
    questions: Vec<(ClusterIndex, Asking)>,
    /// Logins that are made again.
    renewals: Vec<Renewal>,
    timer: Pin<Box<Sleep>>,
    /// What the timer is set to; `None` if it is not.
    armed: Option<Instant>,
    closing: Option<Closing>,
    /// When the connection ends at the latest. Set once the client has sent its last byte.
    leaves_by: Option<Instant>,
    /// Whether the client's bytes wait for something else to happen.
    is_waiting: bool,
    /// The time of this round.
    now: Instant,
}

impl Session {
    pub(crate) fn new(
        connection: Connection, guest: Guest, entrance: Arc<Entrance>, engine: Engine, stream: Stream, askers: Askers,
    ) -> Self {
        let now = Instant::now();
        let mut clock = Clock::new(entrance.house.settings(), now);
        if !engine.is_logged_in() {
            clock.wants_login(now);
        }
        // Under TLS there is none who speaks TLS by mistake.
        let has_heard = matches!(stream, Stream::Tls(_));
        Self {
            has_heard,
            house: Arc::clone(&entrance.house),
            place: entrance.tenant.roll.enter(connection.number),
            connection,
            engine,
            client: Peer::new(stream, entrance.house.descriptors.hold(), Arc::clone(&entrance.meters.side), None),
            requests: Frames::default(),
            intake: Intake::Open,
            is_drained: false,
            clock,
            _guest: guest,
            askers,
            entry: Entry::default(),
            lanes: Vec::new(),
            destinations: Vec::new(),
            dials: Vec::new(),
            questions: Vec::new(),
            renewals: Vec::new(),
            timer: Box::pin(tokio::time::sleep_until(now.into())),
            armed: None,
            closing: None,
            leaves_by: None,
            is_waiting: false,
            now,
            entrance,
        }
    }

    /// Runs it to its end.
    pub(crate) async fn run(mut self) {
        let ended = std::future::poll_fn(|cx| self.poll(cx)).await;
        let open_requests = self.engine.open_requests();
        Closed { connection: &self.connection, client: self.engine.client(), ended: &ended, open_requests }
            .emit(&self.house.meters, &self.entrance.meters);
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Ended> {
        loop {
            self.now = Instant::now();
            if self.closing.is_some() {
                return self.poll_closing(cx);
            }
            self.hear_of_drain(cx);
            let mut moved = self.flush(cx);
            moved.note(self.pump_client(cx));
            for index in 0..self.lanes.len() {
                if let Ok(id) = u16::try_from(index) {
                    moved.note(self.pump_lane(LaneId(id), cx));
                }
            }
            moved.note(self.poll_dials(cx));
            moved.note(self.poll_questions(cx));
            moved.note(self.poll_judging(cx));
            moved.note(self.poll_renewals(cx));
            moved.note(self.poll_timer(cx));
            if let Some(reason) = self.engine.is_over().cloned() {
                self.end(Ended::Reason(reason));
            }
            if moved == Moved::No && self.closing.is_none() {
                return Poll::Pending;
            }
        }
    }

    fn flush(&mut self, cx: &mut Context<'_>) -> Moved {
        let mut moved = Moved::No;
        match self.client.flush(self.now, cx) {
            Ok(flushed) => moved.note(flushed),
            Err(error) => self.end(Ended::Broken(error)),
        }
        for lane in self.lanes.iter_mut().flatten() {
            // What it had sent before is still read; then it is lost.
            moved.note(lane.flush(self.now, cx).unwrap_or_else(|error| lane.is_deaf(error)));
        }
        moved
    }

    /// Whether what a client sends could not be passed on.
    fn lanes_are_full(&self) -> bool {
        self.lanes.iter().flatten().any(|lane| !lane.outbox.is_empty())
    }

    fn pump_client(&mut self, cx: &mut Context<'_>) -> Moved {
        let mut moved = Moved::No;
        while self.closing.is_none() && !self.lanes_are_full() && self.client.outbox.bytes() < UNREAD {
            while let Some((bytes, out)) = self.client.source.decided() {
                self.push(out, bytes);
                moved = Moved::Yes;
            }
            if !self.client.source.is_ahead() && self.client.source.is_ripe() {
                let next = self.engine.from_client(self.now, self.client.source.input());
                let after = self.carry_out(Side::Client, next);
                self.is_waiting = after == After::Stop;
                match after {
                    After::Look => {
                        moved = Moved::Yes;
                        continue;
                    }
                    After::Read => {}
                    After::Stop => break,
                }
            }
            if self.lanes_are_full() {
                // They take what they can first: the buffer is then free for the next read.
                moved = Moved::Yes;
                break;
            }
            match self.poll_client(cx) {
                Poll::Ready(()) => moved = Moved::Yes,
                Poll::Pending => break,
            }
        }
        self.leave_if_left();
        self.leave_if_drained();
        moved
    }

    /// Reads what the client has sent, as far as it is to be read.
    fn poll_client(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let Some(most) = self.intake.most(&self.requests) else { return Poll::Pending };
        match self.client.poll_source(most, &self.house.pool, cx) {
            Poll::Ready(Ok(bytes)) => {
                if !std::mem::replace(&mut self.has_heard, true)
                    && let Some(what) = stranger(self.client.source.input())
                {
                    self.end(Ended::Stranger(what));
                    return Poll::Ready(());
                }
                let (meters, mut has_asked) = (&self.entrance.meters, false);
                self.requests.pass(self.client.source.last(bytes), |head| {
                    has_asked = true;
                    meters.request(head);
                });
                let has_asked = has_asked || self.requests.is_in_body();
                self.clock.heard(self.now, if has_asked { Asks::Yes } else { Asks::NotYet });
                self.intake.took(bytes);
                Poll::Ready(())
            }
            Poll::Ready(Err(error)) => {
                self.end(Ended::Broken(error));
                Poll::Ready(())
            }
            Poll::Pending => self.intake.found_nothing(),
        }
    }

    /// A client that has sent its last byte is given what it is owed; for a while, since it may not be there any more.
    fn leave_if_left(&mut self) {
        if !self.client.source.has_ended() || self.closing.is_some() {
            return;
        }
        let by = *self.leaves_by.get_or_insert(self.now + OWED);
        let done = !self.lanes_are_full() && !self.is_waiting && !self.engine.owes() && self.client.outbox.is_empty();
        if done || by <= self.now {
            let inside = self.client.source.holds_bytes() || !self.engine.is_idle();
            self.end(if inside { Ended::LeftInside } else { Ended::Left });
        }
    }

    fn push(&mut self, out: Out, bytes: Bytes) {
        match out {
            Out::Client => {
                self.clock.busy(self.now);
                self.client.push(bytes);
            }
            Out::Lane(id) => {
                // What goes to a lane that is lost goes nowhere; the engine has answered for it.
                if let Some(lane) = self.lane(id) {
                    lane.push(bytes);
                }
            }
        }
    }

    fn push_zeros(&mut self, out: Out, count: usize) {
        match out {
            Out::Client => self.client.push_zeros(count),
            Out::Lane(id) => {
                if let Some(lane) = self.lane(id) {
                    lane.push_zeros(count);
                }
            }
        }
    }

    fn source(&mut self, side: Side) -> Option<&mut Source> {
        match side {
            Side::Client => Some(&mut self.client.source),
            Side::Lane(id) => self.lane(id).map(|lane| &mut lane.source),
        }
    }

    /// Does what the engine said of a side's bytes, and then what it said besides.
    fn carry_out(&mut self, side: Side, next: Move) -> After {
        let Some(source) = self.source(side) else { return After::Stop };
        let after = match next {
            Move::Need(bytes) => {
                source.need(bytes);
                After::Read
            }
            Move::Keep(bytes, out) => {
                let kept = source.keep(bytes, out);
                self.push(out, kept);
                After::Look
            }
            Move::Put(skip, put, out) => {
                source.skip(skip);
                self.push(out, Bytes::copy_from_slice(&put));
                After::Look
            }
            Move::Zeros(count, out) => {
                source.look();
                self.push_zeros(out, wide(count));
                After::Look
            }
            Move::Take(bytes) => {
                source.skip(bytes);
                After::Look
            }
            Move::Wait => {
                source.look();
                After::Stop
            }
            Move::Close(reason) => {
                self.end(Ended::Reason(reason));
                After::Stop
            }
            Move::Hang(fault) => {
                if let Side::Lane(id) = side {
                    self.lose(id, &LinkLoss::Fault(fault));
                }
                After::Stop
            }
        };
        self.carry_out_effects();
        after
    }

    fn carry_out_effects(&mut self) {
        while let Some(effect) = self.engine.poll() {
            match effect {
                Effect::Send(id, frame) => self.push(Out::Lane(id), frame),
                Effect::Answer(frame) => self.push(Out::Client, frame),
                Effect::Dial(id, to) => self.dial(id, to),
                Effect::Hang(id, fault) => self.hung_up(id, fault),
                Effect::Ask(cluster, need) => self.ask(cluster, need),
                Effect::Judge(asked) => self.judge(asked),
                Effect::Renew(id) => self.renew(id),
                Effect::Renewing(id, frame) => self.renewing(id, frame),
                Effect::Told(cluster, told) => {
                    if let Some(asker) = self.asker(cluster).map(Arc::clone) {
                        asker.told(told);
                        self.engine.learned(cluster, Some(asker.known()));
                    }
                }
                Effect::Note(Note::Unlisted(node)) => self.entrance.tenant.unlisted(node),
                Effect::Note(Note::Refused(key, code)) => {
                    Refused { connection: &self.connection, key, code }.emit(&self.house.meters);
                }
                Effect::Close(reason) => self.end(Ended::Reason(reason)),
            }
        }
    }

    /// Where the client comes from.
    fn comes_from(&self) -> IpAddr {
        self.connection.peer.ip()
    }

    fn asker(&self, cluster: ClusterIndex) -> Option<&Arc<Asker>> {
        self.askers.iter().find_map(|(index, asker)| (*index == cluster).then_some(asker))
    }
}
