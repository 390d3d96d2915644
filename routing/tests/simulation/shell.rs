//! Does as the engine says, in the order of a session: moves, then effects; lanes are not read while the client's outbox
//! is full, and the client is not read while a lane's is.

use bytes::Bytes;
use skein_protocol::sample::Dice;
use skein_protocol::varint::wide;
use skein_routing::apis::sasl;
use skein_routing::engine::{Effect, Fault, LaneId, Move, Note, Out, Reason};
use skein_routing::topology::Destination;

use crate::broker::Broker;
use crate::peer::Peer;
use crate::world::World;

/// Moves without a byte or an effect that are too many.
const MOST_MOVES: u64 = 200_000;

/// A connection to a broker.
#[derive(Debug)]
pub(crate) struct Lane {
    pub(crate) peer: Peer,
    pub(crate) broker: Broker,
    /// How far the login of ours has come that is under way.
    pub(crate) said: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Client,
    Lane(LaneId),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum After {
    Look,
    Read,
    Stop,
}

pub(crate) fn lane_index(id: LaneId) -> usize {
    usize::from(id.0)
}

fn piece(dice: &mut Dice) -> usize {
    1 + dice.index(dice.clone().one_of(&[1, 3, 20, 200, 5000, 100_000], 20))
}

impl World {
    fn lane(&mut self, id: LaneId) -> Option<&mut Lane> {
        self.lanes.get_mut(lane_index(id)).and_then(Option::as_mut)
    }

    fn source(&mut self, side: Side) -> Option<&mut Peer> {
        match side {
            Side::Client => Some(&mut self.socket),
            Side::Lane(id) => self.lane(id).map(|lane| &mut lane.peer),
        }
    }

    /// Whether everything goes on: one call for each thing that a session does.
    pub(crate) fn settle(&mut self) -> Result<(), String> {
        let mut moves = 0;
        while self.closed.is_none() {
            let before = self.calls;
            let mut moved = self.flush()?;
            moved |= self.pump_client()?;
            for index in 0..self.lanes.len() {
                moved |= self.pump_lane(LaneId(u16::try_from(index).unwrap()))?;
            }
            moved |= self.dialled()?;
            moved |= self.questioned()?;
            moved |= self.timed()?;
            if self.closed.is_none()
                && let Some(reason) = self.engine.is_over().cloned()
            {
                self.end(reason);
            }
            moves += self.calls - before;
            if moves > MOST_MOVES {
                return Err("it does not come to rest".to_owned());
            }
            if !moved {
                break;
            }
        }
        if self.closed.is_some() {
            let rest = std::mem::take(&mut self.socket.outbox);
            self.client.take(&rest, self.read)?;
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<bool, String> {
        let mut moved = false;
        if !self.socket.blocked && !self.socket.outbox.is_empty() {
            let most = piece(&mut self.dice).min(self.socket.outbox.len());
            let bytes: Vec<u8> = self.socket.outbox.drain(..most).collect();
            self.client.take(&bytes, self.read)?;
            moved = true;
        }
        for lane in self.lanes.iter_mut().flatten() {
            if lane.peer.blocked || lane.peer.outbox.is_empty() {
                continue;
            }
            let most = piece(&mut self.dice).min(lane.peer.outbox.len());
            let bytes: Vec<u8> = lane.peer.outbox.drain(..most).collect();
            lane.broker.take(self.now, &bytes, &mut self.dice)?;
            moved = true;
        }
        Ok(moved)
    }

    fn lanes_are_full(&self) -> bool {
        self.lanes.iter().flatten().any(|lane| !lane.peer.outbox.is_empty())
    }

    fn push(&mut self, out: Out, bytes: &[u8]) {
        match out {
            Out::Client => self.socket.outbox.extend(bytes),
            Out::Lane(id) => {
                if let Some(lane) = self.lane(id) {
                    lane.peer.outbox.extend(bytes);
                }
            }
        }
    }

    fn pump_client(&mut self) -> Result<bool, String> {
        let mut moved = false;
        while self.closed.is_none() && !self.lanes_are_full() {
            while let Some((bytes, out)) = self.socket.decided() {
                self.push(out, &bytes);
                moved = true;
            }
            if !self.socket.is_ahead() && self.socket.is_ripe() {
                let next = self.engine.from_client(self.now, self.socket.input_mut());
                let is_need = matches!(next, Move::Need(_));
                match self.carry_out(Side::Client, next)? {
                    After::Look => {
                        moved = true;
                        continue;
                    }
                    After::Read => {}
                    After::Stop => break,
                }
                if is_need && self.socket.holds() > 0 && self.engine.next_deadline().is_none() {
                    return Err("a part of a request is waited for without a deadline".to_owned());
                }
            }
            if self.lanes_are_full() {
                return Ok(true);
            }
            let before = self.socket.holds();
            if !self.socket.read(piece(&mut self.dice)) {
                break;
            }
            self.read += self.socket.holds() - before;
            moved = true;
        }
        Ok(moved)
    }

    fn pump_lane(&mut self, id: LaneId) -> Result<bool, String> {
        let mut moved = false;
        while self.closed.is_none() && self.socket.outbox.is_empty() {
            while let Some((bytes, out)) = self.lane(id).and_then(|lane| lane.peer.decided()) {
                self.push(out, &bytes);
                moved = true;
            }
            let Some(Some(lane)) = self.lanes.get_mut(lane_index(id)) else { return Ok(moved) };
            if !lane.peer.is_ahead() && lane.peer.is_ripe() {
                let next = self.engine.from_lane(self.now, id, lane.peer.input_mut());
                match self.carry_out(Side::Lane(id), next)? {
                    After::Look => {
                        moved = true;
                        continue;
                    }
                    After::Read => {}
                    After::Stop => return Ok(moved),
                }
            }
            if !self.socket.outbox.is_empty() {
                return Ok(true);
            }
            let most = piece(&mut self.dice);
            if !self.lane(id).is_some_and(|lane| lane.peer.read(most)) {
                return Ok(moved);
            }
            moved = true;
        }
        Ok(moved)
    }

    fn carry_out(&mut self, side: Side, next: Move) -> Result<After, String> {
        self.called()?;
        let Some(source) = self.source(side) else { return Ok(After::Stop) };
        let after = match next {
            Move::Need(bytes) => {
                if bytes <= source.holds() {
                    return Err(format!("{bytes} bytes are needed where {} are", source.holds()));
                }
                source.need(bytes);
                After::Read
            }
            Move::Keep(bytes, out) => {
                let kept = source.keep(bytes, out);
                self.push(out, &kept);
                After::Look
            }
            Move::Put(skip, put, out) => {
                source.skip(skip);
                self.push(out, &put);
                After::Look
            }
            Move::Zeros(count, out) => {
                source.look();
                self.push(out, &vec![0; wide(count)]);
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
                self.end(reason);
                After::Stop
            }
            Move::Hang(fault) => {
                self.judge(&fault)?;
                if let Side::Lane(id) = side {
                    self.lose(id)?;
                }
                After::Stop
            }
        };
        self.carry_out_effects()?;
        Ok(after)
    }

    /// The brokers here do nothing wrong but being late.
    fn judge(&mut self, fault: &Fault) -> Result<(), String> {
        match fault {
            Fault::Late if !self.calm => Ok(()),
            fault => Err(format!("a sound broker is hung up: {fault}")),
        }
    }

    pub(crate) fn carry_out_effects(&mut self) -> Result<(), String> {
        while let Some(effect) = self.engine.poll() {
            match effect {
                Effect::Send(id, frame) => self.push(Out::Lane(id), &frame),
                Effect::Answer(frame) => self.socket.outbox.extend(frame),
                Effect::Dial(id, to) => self.dial(id, to),
                Effect::Hang(id, fault) => {
                    self.judge(&fault)?;
                    self.forget(id);
                }
                Effect::Ask(cluster, need) => self.ask(cluster, need),
                Effect::Told(..) | Effect::Judge(_) => return Err("no client logs in here".to_owned()),
                Effect::Renew(id) => {
                    self.tally_renewals += 1;
                    self.engine.lane_says(self.now, id, &sasl::handshake("PLAIN"));
                }
                Effect::Renewing(id, _) => self.renewing(id),
                Effect::Note(Note::Unlisted(_) | Note::Refused(..)) => {}
                Effect::Close(reason) => self.end(reason),
            }
        }
        self.called()
    }

    /// A broker has answered a step of a login of ours.
    fn renewing(&mut self, id: LaneId) {
        let Some(lane) = self.lane(id) else { return };
        lane.said = (lane.said + 1) % 2;
        if lane.said == 1 {
            return self.engine.lane_says(self.now, id, &sasl::token(2, Bytes::from_static(b"token")));
        }
        let renews = self.renews();
        self.engine.lane_renewed(self.now, id, renews);
    }

    fn forget(&mut self, id: LaneId) {
        if self.lanes.get_mut(lane_index(id)).is_some_and(|lane| lane.take().is_some()) {
            self.socket.drop_ahead(Out::Lane(id));
        }
    }

    /// A lane is lost.
    pub(crate) fn lose(&mut self, id: LaneId) -> Result<(), String> {
        self.forget(id);
        self.engine.lane_lost(self.now, id);
        self.carry_out_effects()
    }

    fn dial(&mut self, id: LaneId, to: Destination) {
        if self.lanes.len() <= lane_index(id) {
            self.lanes.resize_with(lane_index(id) + 1, || None);
        }
        let dial = self.outcome_of_dial(id, to);
        self.dials.push(dial);
    }

    /// The connection is over.
    pub(crate) fn end(&mut self, reason: Reason) {
        self.closed.get_or_insert(reason);
    }
}
