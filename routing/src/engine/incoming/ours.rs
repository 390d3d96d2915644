//! Requests that Skein answers itself, and what must be known of a cluster before anything can be sent to it.

use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use skein_protocol::frame::{self, Head};
use skein_protocol::ids::Direction;
use skein_protocol::outline::Outline;
use skein_protocol::rewrite::rewrite;
use skein_protocol::table::{Layout, Table};
use skein_protocol::varint::{narrow, wide};
use skein_protocol::{Malformed, Meanings};

use super::counting::Counter;
use super::{Effect, Engine, Move, Need, Reason, Step};
use crate::apis::{api_versions, least};
use crate::engine::{Note, View, guard};
use crate::path::Seen;
use crate::topology::{ClusterIndex, Offer};

/// A request of ours to answer is small.
const OURS: u32 = 64 << 10;

impl Engine {
    /// ApiVersions.
    pub(super) fn ours(&mut self, now: Instant, head: &Head, input: &mut [u8]) -> Step {
        if let Some(step) = self.complete(now, head, OURS, input) {
            return step;
        }
        if let Some(unknown) = self.views.iter().find(|view| view.topology.offer.is_none() && !self.does_without(view))
        {
            return self.wait_for(now, unknown.cluster, Need::Offer);
        }
        let Some(offer) = self.offer() else { return self.end(Reason::Unreachable) };
        for view in &mut self.views {
            view.since = None;
        }
        let body = input.get(frame::LENGTH..frame::LENGTH + wide(head.length)).unwrap_or(&[]);
        let frame = Bytes::copy_from_slice(body);
        if let Some(layout) = Table::get().layout(head.key, head.version, Direction::ToBroker)
            && let Err(malformed) = walk(layout, &frame)
        {
            return self.end(Reason::Malformed(malformed));
        }
        let expected = api_versions::Expected { cluster_id: self.door.face.cluster_id(), at: self.at };
        let may = |key| guard::offers(&self.door, key);
        let answered = api_versions::answer(head, &frame, &offer, expected, &may);
        let api_versions::Answered { frame, asked, refused } = answered;
        if let Some(code) = refused {
            self.effects.push_back(Effect::Note(Note::Refused(head.key, code)));
        }
        if let Some((name, version)) = asked.software {
            self.client.software = Some((Arc::from(name), Arc::from(version)));
        }
        self.arrived();
        let slot = self.slots.push(*head, Outline::off());
        self.answered(slot, &frame);
        Step::Then(Move::Take(narrow(frame::LENGTH) + head.length))
    }

    /// What all clusters offer, as far as it is known.
    fn offer(&self) -> Option<Arc<Offer>> {
        self.views.iter().find(|view| view.topology.offer.is_some())?;
        let least = |view: &View| view.topology.offer.clone().unwrap_or_else(|| Arc::new(least::offer()));
        let mut offers = self.views.iter().map(least);
        let first = offers.next()?;
        Some(offers.fold(first, |common, other| Arc::new(Offer::clone(&common).across(&other))))
    }

    /// Whether clients need not wait for what a cluster offers: it has been asked for in vain, and there are others.
    fn does_without(&self, view: &View) -> bool {
        let others = self.views.iter().any(|other| other.topology.offer.is_some());
        others && self.door.book.is_some() && view.since.is_some() && view.asked.is_none()
    }

    /// What a request waited for is known.
    pub(super) fn is_known(&mut self, cluster: ClusterIndex) {
        if let Some(view) = self.views.iter_mut().find(|view| view.cluster == cluster) {
            view.since = None;
        }
    }

    /// Waits for what must be known of a cluster; ends if it was not to be had.
    pub(super) fn wait_for(&mut self, now: Instant, cluster: ClusterIndex, need: Need) -> Step {
        let patience = self.door.limits.patience;
        let Some(view) = self.views.iter_mut().find(|view| view.cluster == cluster) else {
            return self.end(Reason::Unreachable);
        };
        match view.since {
            Some(since) if now.saturating_duration_since(since) >= patience => return self.end(Reason::Unreachable),
            Some(_) => {}
            None => view.since = Some(now),
        }
        self.ask(now, cluster, need);
        Step::Then(Move::Wait)
    }
}

/// Vouches for a frame.
fn walk(layout: &'static Layout, frame: &[u8]) -> Result<(), Malformed> {
    let mut copy = frame.to_vec();
    rewrite(layout, Meanings::NONE, &mut copy, &mut Counter { seen: &mut Seen::default() }, &mut Outline::off())
        .map(|_| ())
}
