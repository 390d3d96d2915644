//! A record of the demo as text, so that a person can read it with any client.

use super::verifier::StreamId;

/// Keys in use; each has its partition.
const KEYS: u64 = 1000;

/// What one record says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Record {
    /// The run that wrote it.
    pub(super) run: String,
    /// Its producer and the partition that it was written to.
    pub(super) stream: StreamId,
    /// Its place in that stream, from 0 on.
    pub(super) number: u64,
}

impl Record {
    /// The value: `run=5f3a producer=1 partition=2 number=42`.
    pub(super) fn value(&self) -> String {
        let Self { run, stream: StreamId { producer, partition }, number } = self;
        format!("run={run} producer={producer} partition={partition} number={number}")
    }

    /// The key. All records of a key are in one partition.
    pub(super) fn key(&self) -> String {
        format!("key-{}-{}", self.stream.partition, self.number % KEYS)
    }

    /// Reads a value. `None`: it is no record of a demo.
    pub(super) fn read(value: &[u8]) -> Option<Self> {
        let mut words = std::str::from_utf8(value).ok()?.split(' ');
        let mut next = |name: &str| words.next()?.strip_prefix(name)?.strip_prefix('=');
        let run = next("run")?.to_owned();
        let stream =
            StreamId { producer: next("producer")?.parse().ok()?, partition: next("partition")?.parse().ok()? };
        let number = next("number")?.parse().ok()?;
        words.next().is_none().then_some(Self { run, stream, number })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let stream = StreamId { producer: 1, partition: 2 };
        let record = Record { run: "5f3a".to_owned(), stream, number: 1042 };
        assert_eq!(record.value(), "run=5f3a producer=1 partition=2 number=1042");
        assert_eq!(record.key(), "key-2-42");
        assert_eq!(Record::read(record.value().as_bytes()), Some(record));
    }

    #[test]
    fn what_others_write_is_no_record() {
        for value in ["", "hello", "run=a producer=1 partition=2", "run=a producer=x partition=2 number=3"] {
            assert_eq!(Record::read(value.as_bytes()), None, "{value}");
        }
        assert_eq!(Record::read(b"run=a producer=1 partition=2 number=3 more"), None);
        assert_eq!(Record::read(&[0xff, 0xfe]), None);
    }
}
