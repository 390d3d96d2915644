//! Logins of ours on links that are in use: each is made again before it is over (KIP-368).

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use bytes::Bytes;
use skein_link::dial::LoggedIn;
use skein_link::login::{Wire, log_in};
use skein_link::{Failure, Speaker};
use skein_routing::engine::LaneId;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::Session;
use super::peer::{Moved, Peer};
use crate::events::LinkLoss;

/// How much of its lifetime a login is used for: the rest is for making the next one, and not all are made at once.
const USED: std::ops::Range<f64> = 0.75..0.9;
/// When it is tried again to make one that nothing was there to make it with, as long as the last one holds.
const AGAIN: Duration = Duration::from_millis(500);

/// When a login that is made now is to be renewed.
pub(super) fn renews(login: LoggedIn, now: Instant) -> Option<Instant> {
    let used = USED.start + (USED.end - USED.start) * fastrand::f64();
    now.checked_add(login.lifetime?.mul_f64(used))
}

/// A login that is made again.
pub(super) struct Renewal {
    lane: LaneId,
    version: i16,
    /// Whether the broker has heard of it.
    has_begun: bool,
    /// What is to be said on the lane.
    says: UnboundedReceiver<Bytes>,
    /// What was answered there.
    hears: UnboundedSender<Bytes>,
    ends: Pin<Box<dyn Future<Output = Result<Option<Duration>, Failure>> + Send>>,
}

/// A lane, for whoever logs in on it. One frame is under way at a time.
struct LaneWire {
    says: UnboundedSender<Bytes>,
    hears: UnboundedReceiver<Bytes>,
}

impl Wire for LaneWire {
    async fn ask(&mut self, frame: Bytes) -> Result<Bytes, Failure> {
        // Both ends of the channels go with the renewal.
        let _ = self.says.send(frame);
        self.hears.recv().await.ok_or(Failure::LoginCut)
    }
}

impl Renewal {
    fn begin(lane: LaneId, speaker: Arc<Speaker>, version: i16) -> Self {
        let ((to_lane, says), (hears, from_lane)) = (unbounded_channel(), unbounded_channel());
        let mut wire = LaneWire { says: to_lane, hears: from_lane };
        // Each step has its time from when it is first in line, behind what was asked before; the engine sees to that.
        let ends = async move { log_in(&mut wire, &speaker, version).await };
        Self { lane, version, has_begun: false, says, hears, ends: Box::pin(ends) }
    }
}

impl Session {
    /// A lane's login is to be made again.
    pub(super) fn renew(&mut self, lane: LaneId) {
        let login = self.lane(lane).and_then(|peer| peer.login);
        let cluster = self.destinations.get(usize::from(lane.0)).map(|to| to.cluster);
        let speaker = cluster.and_then(|cluster| self.asker(cluster)).and_then(|asker| asker.speaker()).map(Arc::clone);
        match (login, speaker) {
            (Some(login), Some(speaker)) => self.renewals.push(Renewal::begin(lane, speaker, login.version)),
            // Nothing that has no login is renewed.
            (None, _) | (_, None) => self.engine.lane_renewed(self.now, lane, None),
        }
    }

    /// A broker has answered.
    pub(super) fn renewing(&mut self, lane: LaneId, frame: Bytes) {
        if let Some(renewal) = self.renewals.iter().find(|renewal| renewal.lane == lane) {
            let _ = renewal.hears.send(frame);
        }
    }

    /// A lane is gone, and its renewal with it.
    pub(super) fn forget_renewal(&mut self, lane: LaneId) {
        self.renewals.retain(|renewal| renewal.lane != lane);
    }

    pub(super) fn poll_renewals(&mut self, cx: &mut Context<'_>) -> Moved {
        let mut moved = Moved::No;
        let mut index = 0;
        while let Some(renewal) = self.renewals.get_mut(index) {
            let lane = renewal.lane;
            let ended = renewal.ends.as_mut().poll(cx);
            while let Ok(frame) = renewal.says.try_recv() {
                renewal.has_begun = true;
                self.engine.lane_says(self.now, lane, &frame);
                moved = Moved::Yes;
            }
            let Poll::Ready(ended) = ended else {
                index += 1;
                continue;
            };
            moved = Moved::Yes;
            let Renewal { version, has_begun, .. } = self.renewals.swap_remove(index);
            let now = self.now;
            let holds = |peer: &Peer| peer.login_ends.is_some_and(|ends| ends > now + AGAIN);
            match ended {
                Ok(lifetime) => {
                    let login = LoggedIn { version, lifetime };
                    if let Some(peer) = self.lane(lane) {
                        peer.logged_in(login, now);
                    }
                    self.engine.lane_renewed(now, lane, renews(login, now));
                }
                // What was asked before need not be lost because a secret is missing for a moment.
                Err(_) if !has_begun && self.lane(lane).is_some_and(|peer| holds(peer)) => {
                    self.engine.lane_renewed(now, lane, Some(now + AGAIN));
                }
                Err(why) => self.lose(lane, &LinkLoss::NotRenewed(&why)),
            }
        }
        if moved == Moved::Yes {
            self.carry_out_effects();
        }
        moved
    }
}
