//! Who is let in: bounds on the connections of a listener, and on the descriptors of the process.

use std::collections::BTreeMap;
use std::fs::File;
use std::net::IpAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use rustix::process::{Resource, getrlimit, setrlimit};
use skein_config::process::Connections;
use tokio::net::TcpListener;
use tokio::time::Instant;

use crate::events::Why;

/// Who is connected to a listener, by source address.
#[derive(Debug, Default)]
pub(crate) struct Guests {
    by_source: Mutex<BTreeMap<IpAddr, u32>>,
    all: AtomicUsize,
}

impl Guests {
    /// How many are connected.
    pub(crate) fn len(&self) -> usize {
        self.all.load(Ordering::Relaxed)
    }

    /// Lets one in, until what is given back is dropped.
    pub(crate) fn admit(self: &Arc<Self>, source: IpAddr, limits: &Connections) -> Result<Guest, Why> {
        let mut by_source = self.by_source.lock().unwrap_or_else(PoisonError::into_inner);
        let is_reached = |found: usize, most: Option<std::num::NonZeroU32>| {
            most.is_some_and(|most| usize::try_from(most.get()).is_ok_and(|most| found >= most))
        };
        if is_reached(self.all.load(Ordering::Relaxed), limits.most_per_listener) {
            return Err(Why::Listener);
        }
        let from_there = by_source.get(&source).copied().unwrap_or(0);
        if limits.most_per_source.is_some_and(|most| from_there >= most.get()) {
            return Err(Why::Source);
        }
        by_source.insert(source, from_there + 1);
        self.all.fetch_add(1, Ordering::Relaxed);
        Ok(Guest { guests: Arc::clone(self), source })
    }
}

/// The guests of every listener, by the names of its virtual cluster and its own: those who came to a former form of it count
/// until they have left.
#[derive(Debug, Default)]
pub(crate) struct GuestBook(BTreeMap<(Arc<str>, Arc<str>), Weak<Guests>>);

impl GuestBook {
    /// The guests of a listener.
    pub(crate) fn of(&mut self, virtual_cluster: &Arc<str>, listener: &Arc<str>) -> Arc<Guests> {
        let page = self.0.entry((Arc::clone(virtual_cluster), Arc::clone(listener))).or_default();
        page.upgrade().unwrap_or_else(|| {
            let guests = Arc::default();
            *page = Arc::downgrade(&guests);
            guests
        })
    }

    /// Forgets listeners that are gone and have no guests left.
    pub(crate) fn tidy(&mut self) {
        self.0.retain(|_, guests| guests.strong_count() > 0);
    }
}

/// One who was let in.
#[derive(Debug)]
pub(crate) struct Guest {
    guests: Arc<Guests>,
    source: IpAddr,
}

impl Drop for Guest {
    fn drop(&mut self) {
        let mut by_source = self.guests.by_source.lock().unwrap_or_else(PoisonError::into_inner);
        match by_source.get_mut(&self.source) {
            Some(many @ 2..) => *many -= 1,
            _ => {
                by_source.remove(&self.source);
            }
        }
        self.guests.all.fetch_sub(1, Ordering::Relaxed);
    }
}

/// How many may come in a second; who comes faster waits.
#[derive(Debug)]
pub(crate) struct Pace {
    /// When the next one would be due if all came evenly.
    due: Instant,
}

impl Pace {
    pub(crate) fn new() -> Self {
        Self { due: Instant::now() }
    }

    /// When the next one may come in; `None`: at once. A second's worth may.
    pub(crate) fn turn(&mut self, limits: &Connections) -> Option<Instant> {
        let rate = limits.accepts_per_second?;
        let now = Instant::now();
        let burst = Duration::from_secs(1);
        let long_ago = now.checked_sub(burst).unwrap_or(now);
        self.due = self.due.max(long_ago) + burst / rate.get();
        (self.due > now).then_some(self.due)
    }
}

/// The file descriptors of the process. Clients leave some for links to brokers, and one is kept in reserve, with which a
/// connection can be turned away when there are none left.
#[derive(Debug)]
pub(crate) struct Descriptors {
    /// Those that connections of clients may bring the process to.
    for_clients: usize,
    /// Those that the process had before anyone came.
    others: AtomicUsize,
    held: AtomicUsize,
    reserve: Mutex<Option<File>>,
}

/// The part that clients leave for links to brokers: an eighth.
const FOR_LINKS: usize = 8;
/// What a process holds that cannot count its descriptors.
const GUESSED: usize = 64;

impl Descriptors {
    /// As many as the system allows.
    pub(crate) fn new() -> Arc<Self> {
        let mut limits = getrlimit(Resource::Nofile);
        let soft = limits.current;
        // A proxy wants what it may have. If that is not to be had, what there is has to do.
        limits.current = limits.maximum;
        let raised = setrlimit(Resource::Nofile, limits).is_ok();
        let most = if raised { limits.maximum } else { soft };
        let most = most.map_or(usize::MAX, |most| usize::try_from(most).unwrap_or(usize::MAX));
        Arc::new(Self {
            for_clients: most - most / FOR_LINKS,
            others: AtomicUsize::new(GUESSED),
            held: AtomicUsize::new(0),
            reserve: Mutex::new(File::open("/dev/null").ok()),
        })
    }

    /// Counts what is open beside connections: listeners have been bound, or closed.
    pub(crate) fn count_others(&self) {
        let open = std::fs::read_dir("/proc/self/fd").map(Iterator::count).unwrap_or(GUESSED);
        self.others.store(open.saturating_sub(self.held.load(Ordering::Relaxed)), Ordering::Relaxed);
    }

    /// A connection takes one, until what is given back is dropped.
    pub(crate) fn hold(self: &Arc<Self>) -> Held {
        self.held.fetch_add(1, Ordering::Relaxed);
        Held(Arc::clone(self))
    }

    /// Those that are in use.
    pub(crate) fn used(&self) -> usize {
        self.others.load(Ordering::Relaxed) + self.held.load(Ordering::Relaxed)
    }

    /// Whether there is one for another client.
    pub(crate) fn has_room(&self) -> bool {
        self.used() < self.for_clients
    }

    /// Turns one away who waits to be accepted: with nothing left it would wait for ever.
    pub(crate) async fn turn_away(&self, socket: &TcpListener) {
        let reserve = self.reserve.lock().unwrap_or_else(PoisonError::into_inner).take();
        if reserve.is_none() {
            return;
        }
        drop(reserve);
        // Somebody else may be quicker, with the descriptor or with the guest.
        let _ = tokio::time::timeout(Duration::from_millis(1), socket.accept()).await;
        *self.reserve.lock().unwrap_or_else(PoisonError::into_inner) = File::open("/dev/null").ok();
    }

    /// Takes the reserve back, if it was lost.
    pub(crate) fn refill(&self) {
        let mut reserve = self.reserve.lock().unwrap_or_else(PoisonError::into_inner);
        if reserve.is_none() {
            *reserve = File::open("/dev/null").ok();
        }
    }
}

/// A descriptor that is in use.
#[derive(Debug)]
pub(crate) struct Held(Arc<Descriptors>);

impl Drop for Held {
    fn drop(&mut self) {
        self.0.held.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use super::*;

    fn limits(listener: u32, source: u32) -> Connections {
        let (listener, source) = (NonZeroU32::new(listener), NonZeroU32::new(source));
        Connections { most_per_listener: listener, most_per_source: source, ..Connections::default() }
    }

    #[test]
    fn each_source_and_all_together_have_a_bound_and_who_leaves_makes_room() {
        let (guests, limits) = (Arc::new(Guests::default()), limits(3, 2));
        let [one, two]: [IpAddr; 2] = [[10, 0, 0, 1].into(), [10, 0, 0, 2].into()];
        let first = guests.admit(one, &limits).unwrap();
        let _second = guests.admit(one, &limits).unwrap();
        assert_eq!(guests.admit(one, &limits).unwrap_err(), Why::Source);
        let _third = guests.admit(two, &limits).unwrap();
        assert_eq!(guests.admit(two, &limits).unwrap_err(), Why::Listener);
        drop(first);
        let last = guests.admit(one, &limits).unwrap();
        drop((last, _second, _third));
        assert!(guests.by_source.lock().unwrap().is_empty());
        assert_eq!(guests.all.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn a_listener_has_its_guests_until_it_is_gone_and_they_have_left() {
        let (mut book, limits) = (GuestBook::default(), limits(1, 1));
        let [cluster, listener]: [Arc<str>; 2] = ["main".into(), "plain".into()];
        let guest = book.of(&cluster, &listener).admit([10, 0, 0, 1].into(), &limits).unwrap();
        book.tidy();
        assert_eq!(book.of(&cluster, &listener).len(), 1, "the next form of it");
        assert_eq!(book.of(&listener, &cluster).len(), 0, "another");
        drop(guest);
        book.tidy();
        assert!(book.0.is_empty());
    }

    #[test]
    fn what_connections_hold_is_counted() {
        let descriptors = Descriptors::new();
        let before = descriptors.used();
        let held = descriptors.hold();
        assert_eq!(descriptors.used(), before + 1);
        drop(held);
        assert_eq!(descriptors.used(), before);
        assert!(descriptors.has_room());
    }

    #[tokio::test(start_paused = true)]
    async fn who_comes_faster_than_may_be_waits() {
        let limits = Connections { accepts_per_second: NonZeroU32::new(10), ..Connections::default() };
        let (mut pace, begun) = (Pace::new(), Instant::now());
        for _ in 0..30 {
            if let Some(turn) = pace.turn(&limits) {
                tokio::time::sleep_until(turn).await;
            }
        }
        let took = begun.elapsed();
        assert!((Duration::from_millis(1900)..=Duration::from_millis(3100)).contains(&took), "{took:?}");
    }
}
