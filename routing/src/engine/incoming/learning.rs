//! The names of topic ids: filters that go by names ask for those that they have not seen, once, on the lane of the request
//! that named them. What is behind that request waits.

use std::time::Instant;

use bytes::Bytes;
use skein_protocol::frame::{self, Head};
use skein_protocol::ids::{ApiKey, Direction};
use skein_protocol::outline::Outline;
use skein_protocol::rewrite::{Rewritten, rewrite};

use super::{Effect, Engine, LaneId, Move, PlanId, Step};
use crate::apis::metadata;
use crate::engine::lanes::{Purpose, Ticket, framed, write};
use crate::engine::plan::Course;
use crate::engine::{Fault, tag};
use crate::path::{Seen, Translator};

impl Engine {
    /// Whether names are being asked for on a lane.
    pub(super) fn is_learning(&mut self, id: LaneId) -> bool {
        let waits = |ticket: &Ticket| matches!(ticket.purpose, Purpose::Learn(_));
        self.lane_mut(id).is_some_and(|lane| lane.tickets.iter().any(waits))
    }

    /// Asks for the names of topic ids. Where they cannot be asked for they stay unknown, and what names them is refused.
    pub(super) fn learn(&mut self, now: Instant, id: LaneId, ids: &[[u8; 16]]) -> Step {
        let Some(cluster) = self.lane_mut(id).map(|lane| lane.to.cluster) else { return Step::Again };
        let offer = self.view(cluster).and_then(|view| view.topology.offer.as_ref());
        let offered = offer.and_then(|offer| offer.apis.get(&ApiKey::METADATA).copied());
        if !offered.is_some_and(|offered| offered.has(metadata::BY_ID)) {
            return Step::Again;
        }
        let head = Head { length: 0, key: ApiKey::METADATA, version: metadata::BY_ID, correlation: 0 };
        let Course::One(plan_id) = self.plans.course(&head, &self.door, self.at, (&self.client, &self.guard)) else {
            return Step::Again;
        };
        let Some(plan) = self.plans.get(plan_id) else { return Step::Again };
        let mut question = metadata::names(ids);
        let (mut seen, tag) = (Seen::default(), tag(&self.views, cluster));
        let mut editor = Translator::new(&plan.path, plan.key, Direction::ToBroker, tag, &mut seen);
        let message = plan.request;
        match rewrite(message.layout, message.wants, &mut question, &mut editor, &mut Outline::off()) {
            Ok(Rewritten::InPlace) => {}
            Ok(Rewritten::Anew(other)) => question = other,
            Err(_) => return Step::Again,
        }
        let grant = self.door.limits.answer_margin;
        let Some(lane) = self.lane_mut(id) else { return Step::Again };
        let correlation = lane.correlation();
        write(&mut question, frame::CORRELATION, correlation.to_be_bytes());
        lane.push(now, Ticket { correlation, purpose: Purpose::Learn(plan_id), grant });
        self.effects.push_back(Effect::Send(id, framed(&question)));
        Step::Then(Move::Take(0))
    }

    /// The answer to such a question: a frame without its length.
    pub(in crate::engine) fn learnt(&mut self, plan_id: PlanId, mut frame: Vec<u8>) -> Result<(), Fault> {
        let Some(plan) = self.plans.get(plan_id) else { return Ok(()) };
        let (mut seen, tag) = (Seen::default(), tag(&self.views, plan.path.to.cluster));
        let mut editor = Translator::new(&plan.path, plan.key, Direction::ToClient, tag, &mut seen);
        let message = plan.response;
        let wants = plan.path.wants(plan.key, Direction::ToClient);
        let rewritten = rewrite(message.layout, wants, &mut frame, &mut editor, &mut Outline::off());
        if let Rewritten::Anew(other) = rewritten.map_err(Fault::Malformed)? {
            frame = other;
        }
        for (id, name) in metadata::named(&Bytes::from(frame)).map_err(|_| Fault::Unread)? {
            self.guard.learned(id, &name);
        }
        Ok(())
    }
}
