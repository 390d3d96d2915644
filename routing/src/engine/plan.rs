//! How one kind of request goes on this connection: worked out once per API and version.

use std::sync::Arc;

use skein_filters::Client;
use skein_protocol::Meanings;
use skein_protocol::frame::Head;
use skein_protocol::ids::{ApiKey, Direction, VirtualNodeId};
use skein_protocol::table::{Layout, Table};

use super::guard::{self, Guard, Wanted, Whole};
use crate::apis::manner::{self, Place};
use crate::graph::{Descent, Door, Manner};
use crate::path::{Lengths, Path};

/// The number of a plan within its connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PlanId(u16);

/// A kind of request to one broker.
pub(super) struct Plan {
    pub(super) key: ApiKey,
    pub(super) version: i16,
    pub(super) path: Path,
    pub(super) manner: Manner,
    pub(super) request: Message,
    pub(super) response: Message,
}

/// One direction of a plan.
#[derive(Clone, Copy)]
pub(super) struct Message {
    pub(super) layout: &'static Layout,
    pub(super) wants: Meanings,
    pub(super) lengths: Lengths,
    /// What filters want of it.
    pub(super) guarded: Wanted,
}

/// What can be said of a request from its head.
pub(super) enum Course {
    /// It goes to one broker.
    One(PlanId),
    /// It is ours to answer.
    Ours,
    /// It goes to several.
    Whole(Descent),
    /// It is counted off and answered with a code; the layout is known.
    Refuse(skein_protocol::code::Code),
    /// It is unknown, or was not offered.
    NotOffered,
    /// The node that it came to belongs to no route.
    NoSuchNode,
}

/// The plans of a connection.
#[derive(Default)]
pub(super) struct Plans {
    plans: Vec<Plan>,
    last: usize,
}

impl Plans {
    /// The plan of a number that [`Plans::course`] gave.
    pub(super) fn get(&self, id: PlanId) -> Option<&Plan> {
        self.plans.get(usize::from(id.0))
    }

    /// The course of a request. What depends on the graph is worked out at the first of its kind.
    /// `guard`: the connection's filters, which are open if it needs them.
    pub(super) fn course(
        &mut self, head: &Head, door: &Door, at: Option<VirtualNodeId>, (client, guard): (&Client, &Guard),
    ) -> Course {
        let is = |plan: &Plan| plan.key == head.key && plan.version == head.version;
        if self.plans.get(self.last).is_some_and(is) {
            return self.found(self.last);
        }
        if let Some(index) = self.plans.iter().position(is) {
            self.last = index;
            return self.found(index);
        }
        if !guard::offers(door, head.key) {
            return Course::NotOffered;
        }
        let manner = match manner::place(head.key) {
            Place::Ours => return Course::Ours,
            Place::Login => Manner::Gather(door.limits.frame_before_login),
            Place::Broker(manner) => manner,
            Place::NotOffered => return Course::NotOffered,
        };
        let table = Table::get();
        let layouts = [Direction::ToBroker, Direction::ToClient].map(|way| table.layout(head.key, head.version, way));
        let ([Some(request), Some(response)], true) = (layouts, head.version <= manner::highest(head.key)) else {
            return Course::NotOffered;
        };
        let face = Arc::clone(&door.face);
        match door.target.descend(head, at, client, (vec![face], manner, door.book.as_ref())) {
            Descent::One { manner, path } => self.add(head, path, manner, [request, response], guard),
            Descent::Refuse(code) => Course::Refuse(code),
            Descent::NoSuchNode => Course::NoSuchNode,
            whole @ Descent::Whole { .. } => Course::Whole(whole),
        }
    }

    fn found(&self, index: usize) -> Course {
        u16::try_from(index).map_or(Course::NotOffered, |index| Course::One(PlanId(index)))
    }

    fn add(&mut self, head: &Head, path: Path, manner: Manner, layouts: [&'static Layout; 2], guard: &Guard) -> Course {
        let key = head.key;
        let message = |layout: &'static Layout| {
            let guarded = guard.wants(key, layout.direction());
            let wants = path.wants(key, layout.direction()).and(guarded.fields);
            // What filters leave out of an answer changes its length.
            let lengths = if guarded.whole == Whole::Yes { Lengths::Any } else { path.lengths(key, layout) };
            Message { layout, wants, lengths, guarded }
        };
        let [request, response] = layouts.map(message);
        let manner = match (manner, request.lengths) {
            // Without tagged fields there is no filler: a frame whose length changes is completed.
            (Manner::Stream, Lengths::Any) => Manner::Gather(skein_protocol::frame::LONGEST),
            (manner, _) => manner,
        };
        self.plans.push(Plan { key, version: head.version, path, manner, request, response });
        self.last = self.plans.len() - 1;
        self.found(self.last)
    }
}
