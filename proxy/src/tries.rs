//! How often a source may fail to log in: who fails more often waits longer for each try.
//!
//! A try takes a place before it is judged, and counts as a failure until it is known to be none. So a source that tries on many
//! connections at once has no more tries than one that tries on one.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, timeout};

/// Failures of a source in a row that cost it no time: a slip of the pen, or a few clients with an old password.
const FREE: u32 = 20;
/// What each failure beyond costs, until it is forgotten.
const EACH: Duration = Duration::from_millis(500);
/// The longest that a try waits because of failures: what waits longer would not be judged any more.
const LONGEST: Duration = Duration::from_secs(8);
/// Failures beyond those that are free after which no try is judged until one is forgotten: as many as make the longest wait.
const MOST: u32 = 16;
/// How many sources are remembered. More than that do not guess by themselves; the one that failed longest ago is forgotten.
const SOURCES: usize = 16_384;
/// A failure is forgotten after so long.
const FORGOTTEN: Duration = Duration::from_secs(3);

/// The tries of sources that are not forgotten.
#[derive(Debug, Default)]
pub(crate) struct Tries {
    by_source: Mutex<BTreeMap<IpAddr, Tried>>,
}

/// The tries of one source. Its failures are as many as `clear` is away in units of [`FORGOTTEN`].
#[derive(Debug)]
struct Tried {
    /// When all failures are forgotten.
    clear: Instant,
    /// When the last one was.
    last: Instant,
    /// Tries that are being judged.
    open: u32,
    /// Told once for each of them that was no failure.
    given_back: Arc<Notify>,
}

impl Tried {
    fn new(now: Instant) -> Self {
        Self { clear: now, last: now, open: 0, given_back: Arc::default() }
    }

    /// Failures, and tries that may become some.
    fn count(&self, now: Instant) -> u32 {
        let left = self.clear.saturating_duration_since(now).as_millis();
        u32::try_from(left.div_ceil(FORGOTTEN.as_millis())).unwrap_or(u32::MAX).saturating_add(self.open)
    }

    fn fail(&mut self, now: Instant) {
        let most = now + FORGOTTEN * 2 * FREE;
        (self.clear, self.last) = (most.min(self.clear.max(now) + FORGOTTEN), now);
    }
}

/// The place of a try that is being judged. It has failed unless it is given back: who goes away before the answer may have seen
/// from its lateness what it would be.
#[derive(Debug)]
pub(crate) struct Place {
    tries: Arc<Tries>,
    source: IpAddr,
    how: Ended,
}

impl Place {
    /// The try was no failure.
    pub(crate) fn give_back(mut self) {
        self.how = Ended::GivenBack;
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.tries.ends(self.source, self.how);
    }
}

/// What has become of a try.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ended {
    GivenBack,
    Failed,
}

/// Who owns one address of IPv6 owns its whole network.
fn owner(source: IpAddr) -> IpAddr {
    match source.to_canonical() {
        v4 @ IpAddr::V4(_) => v4,
        IpAddr::V6(v6) => IpAddr::V6(Ipv6Addr::from(u128::from(v6) & (u128::MAX << 64))),
    }
}

impl Tries {
    /// Waits until a try of a source may be judged, and takes its place. Whoever has waited for a failure of others to be
    /// forgotten goes on as soon as it turns out to be none.
    pub(crate) async fn place(self: &Arc<Self>, source: IpAddr) -> Place {
        let (source, came) = (owner(source), Instant::now());
        loop {
            let given_back = match self.take(source, came) {
                Ok(place) => return place,
                Err(given_back) => given_back,
            };
            // It looks again after a while in any case: failures are forgotten without a word.
            let _ = timeout(EACH, given_back.notified()).await;
        }
    }

    /// The place of a try that came at a time, if it may be judged; or what tells that there may be one.
    fn take(self: &Arc<Self>, source: IpAddr, came: Instant) -> Result<Place, Arc<Notify>> {
        let mut by_source = self.locked();
        let now = Instant::now();
        make_room(&mut by_source, source, now);
        let tried = by_source.entry(source).or_insert_with(|| Tried::new(now));
        let beyond = tried.count(now).saturating_sub(FREE);
        if beyond > MOST || now < came + LONGEST.min(EACH * beyond) {
            return Err(Arc::clone(&tried.given_back));
        }
        tried.open = tried.open.saturating_add(1);
        Ok(Place { tries: Arc::clone(self), source, how: Ended::Failed })
    }

    fn ends(&self, source: IpAddr, how: Ended) {
        let mut by_source = self.locked();
        let now = Instant::now();
        make_room(&mut by_source, source, now);
        let tried = by_source.entry(source).or_insert_with(|| Tried::new(now));
        tried.open = tried.open.saturating_sub(1);
        match how {
            Ended::Failed => tried.fail(now),
            // Whoever waits has a share in it.
            Ended::GivenBack if tried.count(now) == 0 && Arc::strong_count(&tried.given_back) == 1 => {
                by_source.remove(&source);
            }
            Ended::GivenBack => tried.given_back.notify_one(),
        }
    }

    fn locked(&self) -> MutexGuard<'_, BTreeMap<IpAddr, Tried>> {
        self.by_source.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Forgets a source if there are too many to remember another.
fn make_room(by_source: &mut BTreeMap<IpAddr, Tried>, source: IpAddr, now: Instant) {
    if by_source.len() < SOURCES || by_source.contains_key(&source) {
        return;
    }
    by_source.retain(|_, tried| tried.count(now) > 0);
    let oldest = by_source.iter().min_by_key(|(_, tried)| (tried.open > 0, tried.last)).map(|(source, _)| *source);
    if let Some(oldest) = oldest.filter(|_| by_source.len() >= SOURCES) {
        by_source.remove(&oldest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(last: u8) -> IpAddr {
        IpAddr::from([10, 0, 0, last])
    }

    /// Has so many tries fail, one after the other; how long they waited.
    async fn fail(tries: &Arc<Tries>, source: IpAddr, times: u32) -> Duration {
        let begun = Instant::now();
        for _ in 0..times {
            drop(tries.place(source).await);
        }
        begun.elapsed()
    }

    #[tokio::test(start_paused = true)]
    async fn who_fails_often_waits_and_who_stops_does_not() {
        let tries = Arc::new(Tries::default());
        assert_eq!(fail(&tries, source(1), FREE + 1).await, Duration::ZERO);
        let waited = fail(&tries, source(1), 5).await;
        assert!(waited >= EACH * 5, "{waited:?}");
        assert_eq!(fail(&tries, source(2), 1).await, Duration::ZERO, "others do not wait");
        let (begun, times) = (Instant::now(), 100);
        fail(&tries, source(1), times).await;
        assert!(begun.elapsed() >= FORGOTTEN * (times - MOST), "one for each that is forgotten");
        assert!(fail(&tries, source(1), 1).await <= LONGEST);
        tokio::time::advance(FORGOTTEN * (FREE + MOST)).await;
        assert_eq!(fail(&tries, source(1), 1).await, Duration::ZERO);
    }

    #[tokio::test(start_paused = true)]
    async fn who_tries_on_many_connections_has_no_more_tries_than_on_one() {
        let tries = Arc::new(Tries::default());
        let judged = Arc::new(Mutex::new(Vec::new()));
        let begun = Instant::now();
        for _ in 0..1000 {
            let (tries, judged) = (Arc::clone(&tries), Arc::clone(&judged));
            tokio::spawn(async move {
                let place = tries.place(source(1)).await;
                judged.lock().unwrap().push(begun.elapsed());
                tokio::time::sleep(Duration::from_millis(100)).await;
                drop(place);
            });
        }
        tokio::time::sleep(Duration::from_secs(60)).await;
        let judged = judged.lock().unwrap();
        let at_once = judged.iter().filter(|at| at.is_zero()).count();
        assert!(at_once <= usize::try_from(FREE).unwrap() + 1, "{at_once}");
        let most = FREE + MOST + 1 + 60 / 3;
        assert!(judged.len() <= usize::try_from(most).unwrap(), "{} in a minute", judged.len());
    }

    #[tokio::test(start_paused = true)]
    async fn many_who_are_right_do_not_hold_each_other_up() {
        let tries = Arc::new(Tries::default());
        let begun = Instant::now();
        let right = (0..1000).map(|_| {
            let tries = Arc::clone(&tries);
            tokio::spawn(async move {
                let place = tries.place(source(1)).await;
                tokio::time::sleep(Duration::from_millis(1)).await;
                place.give_back();
            })
        });
        for one in right.collect::<Vec<_>>() {
            one.await.unwrap();
        }
        assert!(begun.elapsed() < EACH, "{:?}", begun.elapsed());
        assert!(tries.locked().is_empty(), "nothing is remembered of them");
    }

    #[tokio::test(start_paused = true)]
    async fn however_many_sources_fail_only_so_many_are_remembered() {
        let tries = Arc::new(Tries::default());
        for number in 0..u32::try_from(SOURCES).unwrap() + 100 {
            fail(&tries, IpAddr::from(number.to_be_bytes()), 1).await;
        }
        assert_eq!(tries.locked().len(), SOURCES);
    }

    #[test]
    fn all_of_a_network_of_ipv6_is_one_source() {
        let one: IpAddr = "2001:db8::1".parse().unwrap();
        let other: IpAddr = "2001:db8::2:3".parse().unwrap();
        assert_eq!(owner(one), owner(other));
        assert_ne!(owner(one), owner("2001:db8:0:1::1".parse().unwrap()));
        assert_eq!(owner("::ffff:10.0.0.1".parse().unwrap()), source(1));
    }
}
