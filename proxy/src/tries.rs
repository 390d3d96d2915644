//! How often a source may fail to log in: who fails more often waits longer for each try.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// Failures of a source in a row that cost it no time: a slip of the pen, or a few clients with an old password.
const FREE: u32 = 20;
/// What each failure beyond costs, until it is forgotten.
const EACH: Duration = Duration::from_millis(500);
/// The longest that a try waits: what waits longer would not be judged any more.
const LONGEST: Duration = Duration::from_secs(8);
/// How many sources are remembered. More than that do not guess by themselves; the one that failed longest ago is forgotten.
const SOURCES: usize = 16_384;
/// A failure is forgotten after so long.
const FORGOTTEN: Duration = Duration::from_secs(3);

/// The failures of sources that are not forgotten.
#[derive(Debug, Default)]
pub(crate) struct Tries {
    by_source: Mutex<BTreeMap<IpAddr, Failed>>,
}

/// The failures of one source: as many as `clear` is away in units of [`FORGOTTEN`].
#[derive(Clone, Copy, Debug)]
struct Failed {
    /// When all of them are forgotten.
    clear: Instant,
    /// When the last one was.
    last: Instant,
}

impl Failed {
    fn count(self, now: Instant) -> u32 {
        let left = self.clear.saturating_duration_since(now).as_millis();
        u32::try_from(left.div_ceil(FORGOTTEN.as_millis())).unwrap_or(u32::MAX)
    }
}

/// Who owns one address of IPv6 owns its whole network.
fn owner(source: IpAddr) -> IpAddr {
    match source.to_canonical() {
        v4 @ IpAddr::V4(_) => v4,
        IpAddr::V6(v6) => IpAddr::V6(Ipv6Addr::from(u128::from(v6) & (u128::MAX << 64))),
    }
}

impl Tries {
    /// When a source's next try is looked at; `None`: at once.
    pub(crate) fn turn(&self, source: IpAddr) -> Option<Instant> {
        let by_source = self.by_source.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        let beyond = by_source.get(&owner(source))?.count(now).checked_sub(FREE).filter(|beyond| *beyond > 0)?;
        now.checked_add(LONGEST.min(EACH * beyond))
    }

    /// A source has failed.
    pub(crate) fn failed(&self, source: IpAddr) {
        let mut by_source = self.by_source.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        let source = owner(source);
        if by_source.len() >= SOURCES && !by_source.contains_key(&source) {
            by_source.retain(|_, failed| failed.clear > now);
            let oldest = by_source.iter().min_by_key(|(_, failed)| failed.last).map(|(source, _)| *source);
            if let Some(oldest) = oldest.filter(|_| by_source.len() >= SOURCES) {
                by_source.remove(&oldest);
            }
        }
        let failed = by_source.entry(source).or_insert(Failed { clear: now, last: now });
        let most = now + FORGOTTEN * 2 * FREE;
        *failed = Failed { clear: most.min(failed.clear.max(now) + FORGOTTEN), last: now };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(last: u8) -> IpAddr {
        IpAddr::from([10, 0, 0, last])
    }

    #[tokio::test(start_paused = true)]
    async fn who_fails_often_waits_and_who_stops_does_not() {
        let tries = Tries::default();
        for _ in 0..FREE {
            tries.failed(source(1));
        }
        assert_eq!(tries.turn(source(1)), None);
        for _ in 0..5 {
            tries.failed(source(1));
        }
        let wait = tries.turn(source(1)).unwrap() - Instant::now();
        assert!(wait >= EACH * 4 && wait <= LONGEST, "{wait:?}");
        assert_eq!(tries.turn(source(2)), None, "others do not wait");
        for _ in 0..1000 {
            tries.failed(source(1));
        }
        assert_eq!(tries.turn(source(1)), Some(Instant::now() + LONGEST));
        tokio::time::advance(FORGOTTEN * FREE + FORGOTTEN).await;
        assert_eq!(tries.turn(source(1)), None);
    }

    #[tokio::test(start_paused = true)]
    async fn however_many_sources_fail_only_so_many_are_remembered() {
        let tries = Tries::default();
        for number in 0..u32::try_from(SOURCES).unwrap() + 100 {
            tries.failed(IpAddr::from(number.to_be_bytes()));
        }
        assert_eq!(tries.by_source.lock().unwrap().len(), SOURCES);
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
