//! Whether what was acknowledged arrives: every record once, and in order.
//!
//! Each producer numbers its records per partition, from 0 on. Such a *stream* has no holes, so what is lost, doubled or out
//! of order is seen from the numbers alone.

use std::collections::BTreeMap;
use std::ops::{AddAssign, Range};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// One producer's records in one partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct StreamId {
    pub(super) producer: u32,
    pub(super) partition: i32,
}

/// Counts of records. But for `on_the_way` and `lost` they never go down.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    /// Acknowledged by the cluster.
    pub(super) acknowledged: u64,
    /// Read by the group, each counted once.
    pub(super) arrived: u64,
    /// Acknowledged and not read yet, with none behind them read either.
    pub(super) on_the_way: u64,
    /// Acknowledged and not read, though one that was written later has been.
    pub(super) lost: u64,
    /// Read once more.
    pub(super) twice: u64,
    /// Read after one that was written later.
    pub(super) out_of_order: u64,
    /// Given up by the producer: the cluster never acknowledged them.
    pub(super) given_up: u64,
    /// Read, though no producer of this run has sent them.
    pub(super) foreign: u64,
}

impl Tally {
    /// Nothing is lost, doubled or out of order.
    pub(super) fn is_clean(&self) -> bool {
        self.lost == 0 && self.twice == 0 && self.out_of_order == 0
    }
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.acknowledged += other.acknowledged;
        self.arrived += other.arrived;
        self.on_the_way += other.on_the_way;
        self.lost += other.lost;
        self.twice += other.twice;
        self.out_of_order += other.out_of_order;
        self.given_up += other.given_up;
        self.foreign += other.foreign;
    }
}

/// The books on all streams of one virtual cluster; producers and consumers write into them.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    books: Mutex<Books>,
}

#[derive(Debug, Default)]
struct Books {
    streams: BTreeMap<StreamId, Stream>,
    foreign: u64,
}

impl Ledger {
    /// Takes the number of the next record of a stream, which is about to be sent.
    pub(super) fn number(&self, id: StreamId) -> u64 {
        let mut books = self.books();
        let stream = books.streams.entry(id).or_default();
        stream.numbered += 1;
        stream.numbered - 1
    }

    /// The record that was numbered last was not taken by the client: its number is free again.
    pub(super) fn not_sent(&self, id: StreamId) {
        let mut books = self.books();
        let stream = books.streams.entry(id).or_default();
        stream.numbered = stream.numbered.saturating_sub(1);
    }

    /// The cluster has acknowledged a record.
    pub(super) fn acknowledged(&self, id: StreamId, number: u64) {
        self.books().streams.entry(id).or_default().acknowledged.insert(number);
    }

    /// The producer has given a record up.
    pub(super) fn given_up(&self, id: StreamId, number: u64) {
        self.books().streams.entry(id).or_default().given_up.insert(number);
    }

    /// A consumer has read a record; `None`, if it is none of this run.
    pub(super) fn arrived(&self, record: Option<(StreamId, u64)>) {
        let books = &mut *self.books();
        let stream = record.and_then(|(id, number)| Some((books.streams.get_mut(&id)?, number)));
        match stream.filter(|(stream, number)| *number < stream.numbered) {
            Some((stream, number)) => stream.read(number),
            None => books.foreign += 1,
        }
    }

    /// How many records of each stream have been numbered.
    pub(super) fn numbered(&self) -> Vec<(StreamId, u64)> {
        self.books().streams.iter().map(|(id, stream)| (*id, stream.numbered)).collect()
    }

    /// Whether the fate of every record below these numbers is known to its producer.
    pub(super) fn settled(&self, marks: &[(StreamId, u64)]) -> bool {
        let books = self.books();
        let settled = |(id, mark): &(StreamId, u64)| books.streams.get(id).is_none_or(|stream| stream.settled(*mark));
        marks.iter().all(settled)
    }

    /// All counts as they are now.
    pub(super) fn tally(&self) -> Tally {
        let books = self.books();
        let mut tally = Tally { foreign: books.foreign, ..Tally::default() };
        books.streams.values().for_each(|stream| tally += stream.tally());
        tally
    }

    fn books(&self) -> MutexGuard<'_, Books> {
        // Counting cannot leave the books half written.
        self.books.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Debug, Default)]
struct Stream {
    numbered: u64,
    acknowledged: Numbers,
    given_up: Numbers,
    arrived: Numbers,
    /// One more than the highest number that was read.
    end: u64,
    twice: u64,
    out_of_order: u64,
}

impl Stream {
    fn read(&mut self, number: u64) {
        if !self.arrived.insert(number) {
            self.twice += 1;
        } else if number < self.end {
            self.out_of_order += 1;
        } else {
            self.end = number + 1;
        }
    }

    fn settled(&self, mark: u64) -> bool {
        let unsettled = |acknowledged: bool, given_up: bool| !acknowledged && !given_up;
        count(0..mark, [&self.acknowledged, &self.given_up], unsettled) == 0
    }

    fn tally(&self) -> Tally {
        let waiting =
            |range| count(range, [&self.acknowledged, &self.arrived], |acknowledged, arrived| acknowledged && !arrived);
        Tally {
            acknowledged: self.acknowledged.count,
            arrived: self.arrived.count,
            on_the_way: waiting(self.end..self.numbered),
            lost: waiting(0..self.end),
            twice: self.twice,
            out_of_order: self.out_of_order,
            given_up: self.given_up.count,
            foreign: 0,
        }
    }
}

/// How many numbers of a range `fit`, which is told whether they are in the one set and in the other.
fn count(range: Range<u64>, sets: [&Numbers; 2], fit: impl Fn(bool, bool) -> bool) -> u64 {
    let (mut at, mut count) = (range.start, 0);
    while at < range.end {
        let [(in_one, one), (in_other, other)] = sets.map(|numbers| numbers.run(at));
        let end = range.end.min(one).min(other);
        if fit(in_one, in_other) {
            count += end - at;
        }
        at = end;
    }
    count
}

/// A set of numbers. A run of them takes as much room as one: what is given up leaves a hole for ever, and much comes behind.
#[derive(Debug, Default)]
struct Numbers {
    /// First number and end of each run; none touches the next.
    runs: BTreeMap<u64, u64>,
    count: u64,
}

impl Numbers {
    /// Whether it is new.
    fn insert(&mut self, number: u64) -> bool {
        if self.run(number).0 {
            return false;
        }
        let before = self.runs.range(..number).next_back().filter(|(_, end)| **end == number);
        let first = before.map_or(number, |(first, _)| *first);
        let end = self.runs.remove(&(number + 1)).unwrap_or(number + 1);
        self.runs.insert(first, end);
        self.count += 1;
        true
    }

    /// Whether a number is in it, and the next one of which the contrary is true.
    fn run(&self, number: u64) -> (bool, u64) {
        match self.runs.range(..=number).next_back() {
            Some((_, end)) if number < *end => (true, *end),
            _ => (false, self.runs.range(number..).next().map_or(u64::MAX, |(first, _)| *first)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STREAM: StreamId = StreamId { producer: 1, partition: 0 };

    /// Books on a stream of four acknowledged records, of which these were read.
    fn after_reading(numbers: &[u64]) -> Tally {
        let ledger = Ledger::default();
        for _ in 0..4 {
            let number = ledger.number(STREAM);
            ledger.acknowledged(STREAM, number);
        }
        numbers.iter().for_each(|number| ledger.arrived(Some((STREAM, *number))));
        ledger.tally()
    }

    #[test]
    fn all_once_and_in_order_is_clean() {
        let tally = after_reading(&[0, 1, 2, 3]);
        assert_eq!(tally, Tally { acknowledged: 4, arrived: 4, ..Tally::default() });
        assert!(tally.is_clean());
    }

    #[test]
    fn a_record_that_is_passed_over_is_lost() {
        let tally = after_reading(&[0, 2, 3]);
        assert_eq!(tally, Tally { acknowledged: 4, arrived: 3, lost: 1, ..Tally::default() });
        assert!(!tally.is_clean());
    }

    #[test]
    fn the_last_records_are_on_the_way_until_they_are_read() {
        let tally = after_reading(&[0, 1]);
        assert_eq!(tally, Tally { acknowledged: 4, arrived: 2, on_the_way: 2, ..Tally::default() });
        assert!(tally.is_clean());
    }

    #[test]
    fn a_record_that_is_read_again_is_counted() {
        let tally = after_reading(&[0, 1, 1, 2, 3]);
        assert_eq!(tally, Tally { acknowledged: 4, arrived: 4, twice: 1, ..Tally::default() });
        assert!(!tally.is_clean());
    }

    #[test]
    fn a_record_that_comes_late_is_out_of_order_and_not_lost() {
        let tally = after_reading(&[0, 2, 1, 3]);
        assert_eq!(tally, Tally { acknowledged: 4, arrived: 4, out_of_order: 1, ..Tally::default() });
        assert!(!tally.is_clean());
    }

    #[test]
    fn a_record_may_be_read_before_its_acknowledgement_comes() {
        let ledger = Ledger::default();
        let number = ledger.number(STREAM);
        ledger.arrived(Some((STREAM, number)));
        assert!(ledger.tally().is_clean());
        ledger.acknowledged(STREAM, number);
        assert_eq!(ledger.tally(), Tally { acknowledged: 1, arrived: 1, ..Tally::default() });
    }

    #[test]
    fn what_was_never_acknowledged_cannot_be_lost() {
        let ledger = Ledger::default();
        let [first, second] = [(); 2].map(|()| ledger.number(STREAM));
        ledger.given_up(STREAM, first);
        ledger.acknowledged(STREAM, second);
        ledger.arrived(Some((STREAM, second)));
        assert_eq!(ledger.tally(), Tally { acknowledged: 1, arrived: 1, given_up: 1, ..Tally::default() });
    }

    #[test]
    fn records_that_nobody_sent_are_foreign() {
        let ledger = Ledger::default();
        ledger.number(STREAM);
        ledger.arrived(None);
        ledger.arrived(Some((STREAM, u64::MAX)));
        ledger.arrived(Some((StreamId { producer: 9, ..STREAM }, 0)));
        assert_eq!(ledger.tally(), Tally { foreign: 3, ..Tally::default() });
    }

    #[test]
    fn a_stream_is_settled_when_the_fate_of_every_record_is_known() {
        let ledger = Ledger::default();
        let [first, second] = [(); 2].map(|()| ledger.number(STREAM));
        let marks = ledger.numbered();
        ledger.acknowledged(STREAM, second);
        assert!(!ledger.settled(&marks));
        ledger.given_up(STREAM, first);
        assert!(ledger.settled(&marks));
        ledger.number(STREAM);
        assert!(ledger.settled(&marks), "later records do not count");
    }

    #[test]
    fn a_record_that_is_given_up_makes_the_books_no_longer() {
        let ledger = Ledger::default();
        for number in 0..10_000 {
            ledger.number(STREAM);
            if number == 10 {
                ledger.given_up(STREAM, number);
            } else {
                ledger.acknowledged(STREAM, number);
                ledger.arrived(Some((STREAM, number)));
            }
        }
        let tally = ledger.tally();
        assert_eq!(tally, Tally { acknowledged: 9_999, arrived: 9_999, given_up: 1, ..Tally::default() });
        let books = ledger.books();
        let Stream { acknowledged, given_up, arrived, .. } = &books.streams[&STREAM];
        assert_eq!([acknowledged, given_up, arrived].map(|numbers| numbers.runs.len()), [2, 1, 2]);
    }

    #[test]
    fn a_set_of_numbers_is_what_was_put_into_it() {
        let mut numbers = Numbers::default();
        let mut put = std::collections::BTreeSet::new();
        for step in 0..1000 {
            let number = step * 389 % 700;
            assert_eq!(numbers.insert(number), put.insert(number), "{number}");
            assert_eq!(numbers.count, u64::try_from(put.len()).unwrap());
            let runs: Vec<u64> = numbers.runs.iter().flat_map(|(first, end)| *first..*end).collect();
            assert!(runs.iter().eq(&put), "{runs:?}");
        }
        assert_eq!(numbers.runs, BTreeMap::from([(0, 700)]));
    }

    #[test]
    fn a_number_that_was_not_sent_is_taken_again() {
        let ledger = Ledger::default();
        assert_eq!(ledger.number(STREAM), 0);
        ledger.not_sent(STREAM);
        assert_eq!(ledger.number(STREAM), 0);
    }
}
