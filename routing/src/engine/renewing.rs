//! Logins of ours on lanes: each is renewed before its lifetime is over, between two requests (KIP-368).
//!
//! A lane that renews its login takes no request until it has; what was asked before is answered meanwhile. It is renewed only
//! when there is something to send: a broker takes a new login even when the old one is over, and ends no connection before
//! something else comes.

use std::time::Instant;

use super::lanes::{LaneId, LaneState, Purpose};
use super::{Effect, Engine};

impl Engine {
    /// A lane is logged in; its login is to be renewed then, when there is something to send. `None`: it holds for ever.
    pub fn lane_renewed(&mut self, now: Instant, id: LaneId, renews: Option<Instant>) {
        let Some(lane) = self.lanes.get_mut(usize::from(id.0)) else { return };
        (lane.state, lane.renews) = (LaneState::Up, renews);
        for (frame, purpose, grant) in std::mem::take(&mut lane.queued) {
            let frame = lane.send(now, frame, purpose, grant);
            self.effects.push_back(Effect::Send(id, frame));
        }
    }

    /// Sends a step of a login of ours, a frame without its length, on a lane that renews it (KIP-368).
    pub fn lane_says(&mut self, now: Instant, id: LaneId, frame: &[u8]) {
        let grant = self.door.limits.answer_margin;
        let Some(lane) = self.lane_mut(id).filter(|lane| lane.state == LaneState::Renewing) else { return };
        let frame = lane.send(now, frame.to_vec(), Purpose::Login, grant);
        self.effects.push_back(Effect::Send(id, frame));
    }
}
