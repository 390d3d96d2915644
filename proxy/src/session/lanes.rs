//! A session's links to brokers.

use std::sync::Arc;
use std::task::{Context, Poll};

use skein_link::dial::Whose;
use skein_link::{Linked, connect};
use skein_routing::engine::{Fault, LaneId, Need, Out};
use skein_routing::graph::LoginMode;
use skein_routing::topology::{ClusterIndex, Destination};

use super::peer::{Moved, Peer};
use super::renewing::renews;
use super::{After, Session, Side};
use crate::events::{LinkLoss, LinkLost, LinkOpened};
use crate::meters::BrokerMeters;

impl Session {
    pub(super) fn lane(&mut self, id: LaneId) -> Option<&mut Peer> {
        self.lanes.get_mut(usize::from(id.0)).and_then(Option::as_mut)
    }

    pub(super) fn pump_lane(&mut self, id: LaneId, cx: &mut Context<'_>) -> Moved {
        let mut moved = Moved::No;
        while self.closing.is_none() && self.client.outbox.is_empty() {
            while let Some((bytes, out)) = self.lane(id).and_then(|lane| lane.source.decided()) {
                self.push(out, bytes);
                moved = Moved::Yes;
            }
            let Some(Some(lane)) = self.lanes.get_mut(usize::from(id.0)) else { return moved };
            if !lane.source.is_ahead() && lane.source.is_ripe() {
                let next = self.engine.from_lane(self.now, id, lane.source.input());
                if let (Some(took), Some(link)) = (self.engine.latency(id), &lane.link) {
                    link.answered(took);
                }
                match self.carry_out(Side::Lane(id), next) {
                    After::Look => {
                        moved = Moved::Yes;
                        continue;
                    }
                    After::Read => {}
                    After::Stop => return moved,
                }
            }
            if !self.client.outbox.is_empty() {
                // The client takes what it can first: the buffer is then free for the next read.
                return Moved::Yes;
            }
            let Some(Some(lane)) = self.lanes.get_mut(usize::from(id.0)) else { return Moved::Yes };
            match lane.poll_read(&self.house.pool, cx) {
                Poll::Ready(Ok(_)) => moved = Moved::Yes,
                Poll::Ready(Err(over)) => {
                    self.lose(id, &LinkLoss::Broken(over.as_ref()));
                    return Moved::Yes;
                }
                Poll::Pending => return moved,
            }
        }
        moved
    }

    /// A lane is lost: the engine answers for what was on it.
    pub(super) fn lose(&mut self, id: LaneId, loss: &LinkLoss<'_>) {
        let Some(to) = self.forget(id) else { return };
        self.tell(to, loss);
        self.engine.lane_lost(self.now, id);
        self.carry_out_effects();
    }

    /// The engine has given a lane up.
    pub(super) fn hung_up(&mut self, id: LaneId, fault: Fault) {
        if let Some(to) = self.forget(id) {
            self.tell(to, &LinkLoss::Fault(fault));
        }
    }

    fn forget(&mut self, id: LaneId) -> Option<Destination> {
        let mut lane = self.lanes.get_mut(usize::from(id.0))?.take()?;
        lane.let_go(self.now);
        lane.source.rest(&self.house.pool);
        self.client.source.drop_ahead(Out::Lane(id));
        self.forget_renewal(id);
        self.destinations.get(usize::from(id.0)).copied()
    }

    fn tell(&self, to: Destination, loss: &LinkLoss<'_>) {
        let cluster = self.asker(to.cluster).map_or("", |asker| &asker.cluster().name);
        let node = to.node.map(|node| node.0);
        LinkLost { connection: &self.connection, cluster, node, loss }.emit(&self.house.meters);
    }

    pub(super) fn dial(&mut self, id: LaneId, to: Destination) {
        let Some(asker) = self.asker(to.cluster).map(Arc::clone) else { return };
        let index = usize::from(id.0);
        if self.lanes.len() <= index {
            self.lanes.resize_with(index + 1, || None);
            self.destinations.resize(index + 1, to);
        }
        if let Some(slot) = self.destinations.get_mut(index) {
            *slot = to;
        }
        let relayed = self.entrance.door.login == LoginMode::Relay;
        let dialling = connect(asker, to.node, if relayed { Whose::Clients } else { Whose::Askers });
        self.dials.push((id, to, Box::pin(dialling)));
    }

    pub(super) fn poll_dials(&mut self, cx: &mut Context<'_>) -> Moved {
        let mut moved = Moved::No;
        let mut index = 0;
        while let Some((id, to, dialling)) = self.dials.get_mut(index) {
            let (id, to) = (*id, *to);
            let Poll::Ready(dialled) = dialling.as_mut().poll(cx) else {
                index += 1;
                continue;
            };
            drop(self.dials.swap_remove(index));
            moved = Moved::Yes;
            match dialled {
                Ok(linked) => self.linked(id, to, linked),
                Err(error) => {
                    self.tell(to, &LinkLoss::Unreached(&error));
                    self.engine.lane_lost(self.now, id);
                }
            }
            self.carry_out_effects();
        }
        moved
    }

    /// A dial has succeeded.
    fn linked(&mut self, id: LaneId, to: Destination, Linked { stream, login }: Linked) {
        let Some(behind) = self.entrance.tenant.cluster(to.cluster) else { return };
        let (connection, node) = (&self.connection, to.node.map(|node| node.0));
        LinkOpened { connection, cluster: &behind.asker.cluster().name, node }.emit(&self.house.meters);
        let link = BrokerMeters::opened(&behind.meters);
        if let Some(slot) = self.lanes.get_mut(usize::from(id.0)) {
            let held = self.house.descriptors.hold();
            let mut peer = Peer::new(stream, held, Arc::clone(&behind.meters.side), Some(link));
            if let Some(login) = login {
                peer.logged_in(login, self.now);
            }
            *slot = Some(peer);
        }
        self.engine.lane_renewed(self.now, id, login.and_then(|login| renews(login, self.now)));
    }

    pub(super) fn ask(&mut self, cluster: ClusterIndex, need: Need) {
        let Some(asker) = self.asker(cluster).map(Arc::clone) else { return };
        let asking = async move {
            asker.next(need).await;
            asker.watch().borrow().clone()
        };
        self.questions.push((cluster, Box::pin(asking)));
    }

    pub(super) fn poll_questions(&mut self, cx: &mut Context<'_>) -> Moved {
        let mut moved = Moved::No;
        let mut index = 0;
        while let Some((cluster, asking)) = self.questions.get_mut(index) {
            let cluster = *cluster;
            let Poll::Ready(known) = asking.as_mut().poll(cx) else {
                index += 1;
                continue;
            };
            drop(self.questions.swap_remove(index));
            moved = Moved::Yes;
            self.engine.learned(cluster, known.failure.is_none().then_some(known.topology));
            self.carry_out_effects();
        }
        moved
    }
}
