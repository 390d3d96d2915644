//! Topic ids that nobody has met: the clusters list their topics, once for all who ask, and the request waits for it.

use std::time::Instant;

use skein_protocol::frame::{self, Head};
use skein_protocol::ids::{ApiKey, Direction, VirtualTopicId};
use skein_protocol::outline::Outline;
use skein_protocol::passage::{Edit, Editor, Value};
use skein_protocol::rewrite::rewrite;
use skein_protocol::table::{Fact, Layout, Table};
use skein_protocol::varint::wide;
use skein_protocol::{Malformed, Meaning, Meanings};

use super::{Effect, Engine, Move, Need, Step};
use crate::topology::ClusterIndex;

const BY_ID: Meanings = Meanings::of(&[Meaning::TopicId]);

/// Collects the topic ids of a request.
#[derive(Default)]
struct Ids(Vec<[u8; 16]>);

impl Editor for Ids {
    fn edit(&mut self, _fact: &'static Fact, value: Value<'_>) -> Edit {
        if let Value::Id(id) = value {
            self.0.push(id);
        }
        Edit::Keep
    }

    fn producer_id(&mut self, _id: i64) -> Option<i64> {
        None
    }
}

impl Engine {
    /// Has clusters list their topics because of these ids.
    pub(in crate::engine) fn list(&mut self, now: Instant, clusters: &[ClusterIndex], ids: Vec<[u8; 16]>) -> Step {
        let until = now + self.door.limits.patience;
        self.learning = ids;
        for view in self.views.iter_mut().filter(|view| clusters.contains(&view.cluster)) {
            view.listing = Some(until);
            self.effects.push_back(Effect::Ask(view.cluster, Need::Topics));
        }
        Step::Then(Move::Take(0))
    }

    /// The topic ids of a complete answer that clients could not be told, as nobody has met them: a broker may name a topic
    /// first, in what it assigns to a member. Each is asked for once.
    pub(in crate::engine) fn unheld_ids(
        &mut self, key: ApiKey, layout: &'static Layout, cluster: ClusterIndex, body: &mut [u8],
    ) -> Result<Vec<[u8; 16]>, Malformed> {
        let Some(book) = &self.door.book else { return Ok(Vec::new()) };
        if !layout.meanings().meets(BY_ID) || !book.must_be_learnt(key) {
            return Ok(Vec::new());
        }
        let mut ids = Ids::default();
        rewrite(layout, BY_ID, body, &mut ids, &mut Outline::off())?;
        let asked = std::mem::take(&mut self.learning);
        let is_unheld = |id: &[u8; 16]| *id != [0; 16] && !book.meets(cluster, *id) && !asked.contains(id);
        ids.0.retain(is_unheld);
        Ok(ids.0)
    }

    /// The topic ids of a request to several clusters that nobody has met, and that have not been asked for because of it.
    pub(super) fn unlisted_ids(&mut self, head: &Head, input: &[u8]) -> Result<Vec<[u8; 16]>, Malformed> {
        let asked = std::mem::take(&mut self.learning);
        let (Some(book), Some(layout)) =
            (&self.door.book, Table::get().layout(head.key, head.version, Direction::ToBroker))
        else {
            return Ok(Vec::new());
        };
        if !layout.meanings().meets(BY_ID) {
            return Ok(Vec::new());
        }
        let mut frame = input.get(frame::LENGTH..frame::LENGTH + wide(head.length)).unwrap_or(&[]).to_vec();
        let mut ids = Ids::default();
        rewrite(layout, BY_ID, &mut frame, &mut ids, &mut Outline::off())?;
        let is_new = |id: &[u8; 16]| *id != [0; 16] && book.name(VirtualTopicId(*id)).is_none() && !asked.contains(id);
        ids.0.retain(is_new);
        Ok(ids.0)
    }
}
