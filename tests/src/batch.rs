//! Record batches (magic 2) by hand: any producer id, epoch, sequence and flags, with a CRC that is right or wrong.
//!
//! Layout: offset 0 baseOffset, 8 batchLength, 12 partitionLeaderEpoch, 16 magic, 17 CRC-32C of everything from 21,
//! 21 attributes, 23 lastOffsetDelta, 27 and 35 timestamps, 43 producerId, 51 producerEpoch, 53 baseSequence, 57 count.

use anyhow::{Context, Result, ensure};
use bytes::{BufMut, Bytes, BytesMut};

/// Attribute bit of a batch that belongs to a transaction.
pub const TRANSACTIONAL: i16 = 1 << 4;

/// One record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Record {
    /// The key; `None` is null.
    pub key: Option<Bytes>,
    /// The value; `None` is a tombstone.
    pub value: Option<Bytes>,
    /// Headers in order; a key may come twice, a value may be null.
    pub headers: Vec<(String, Option<Bytes>)>,
}

impl Record {
    /// A record with a value and nothing else.
    pub fn of(value: impl Into<Bytes>) -> Record {
        Record { value: Some(value.into()), ..Record::default() }
    }

    /// With a header behind those it has.
    pub fn header(mut self, key: &str, value: Option<&[u8]>) -> Record {
        self.headers.push((key.to_owned(), value.map(Bytes::copy_from_slice)));
        self
    }
}

/// A batch to be built.
#[derive(Clone, Debug)]
pub struct Batch {
    /// Offset of the first record; 0 in Produce.
    pub base_offset: i64,
    /// −1 from clients.
    pub leader_epoch: i32,
    /// Codec, timestamp type, transactional and control bits.
    pub attributes: i16,
    /// Milliseconds.
    pub timestamp: i64,
    /// −1: none.
    pub producer_id: i64,
    /// −1: none.
    pub producer_epoch: i16,
    /// −1: none.
    pub sequence: i32,
    /// The records.
    pub records: Vec<Record>,
}

impl Batch {
    /// A batch of these records, of no producer.
    pub fn of(records: Vec<Record>) -> Batch {
        Batch {
            base_offset: 0,
            leader_epoch: -1,
            attributes: 0,
            timestamp: 1_700_000_000_000,
            producer_id: -1,
            producer_epoch: -1,
            sequence: -1,
            records,
        }
    }

    /// `count` small records, each with two headers of one key, the second null.
    pub fn small(count: usize) -> Batch {
        let record = |n| Record::of(format!("value {n}")).header("h", Some(b"1")).header("h", None);
        Batch::of((0..count).map(record).collect())
    }

    /// One record with a value of `bytes` bytes.
    pub fn large(bytes: usize) -> Batch {
        Batch::of(vec![Record::of(vec![0x5a; bytes])])
    }

    /// Sent by an idempotent producer.
    pub fn by(mut self, producer_id: i64, epoch: i16, sequence: i32) -> Batch {
        self.producer_id = producer_id;
        self.producer_epoch = epoch;
        self.sequence = sequence;
        self
    }

    /// Part of a transaction.
    pub fn transactional(mut self) -> Batch {
        self.attributes |= TRANSACTIONAL;
        self
    }

    /// The bytes, with the right CRC.
    pub fn build(&self) -> Bytes {
        let mut covered = BytesMut::new();
        covered.put_i16(self.attributes);
        let count = i32::try_from(self.records.len()).unwrap_or(i32::MAX);
        covered.put_i32(count - 1);
        covered.put_i64(self.timestamp);
        covered.put_i64(self.timestamp);
        covered.put_i64(self.producer_id);
        covered.put_i16(self.producer_epoch);
        covered.put_i32(self.sequence);
        covered.put_i32(count);
        for (delta, record) in self.records.iter().enumerate() {
            put_record(&mut covered, delta, record);
        }
        let mut batch = BytesMut::with_capacity(21 + covered.len());
        batch.put_i64(self.base_offset);
        batch.put_i32(i32::try_from(9 + covered.len()).unwrap_or(i32::MAX));
        batch.put_i32(self.leader_epoch);
        batch.put_i8(2);
        batch.put_u32(crc32c::crc32c(&covered));
        batch.put_slice(&covered);
        batch.freeze()
    }

    /// The bytes, with one bit of the CRC flipped.
    pub fn build_corrupt(&self) -> Bytes {
        let mut batch = BytesMut::from(&self.build()[..]);
        batch[17] ^= 1;
        batch.freeze()
    }
}

/// What the head of a batch says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// As stored, right or wrong.
    pub crc: u32,
    /// Of the bytes from 21 on.
    pub computed_crc: u32,
    /// Codec and flags.
    pub attributes: i16,
    /// −1: none.
    pub producer_id: i64,
    /// −1: none.
    pub producer_epoch: i16,
    /// −1: none.
    pub sequence: i32,
    /// Number of records.
    pub count: i32,
}

/// Reads the head of one whole batch.
///
/// # Errors
/// The bytes are not exactly one batch of magic 2.
pub fn head(batch: &[u8]) -> Result<Head> {
    ensure!(batch.len() >= 61, "a batch has at least 61 bytes, here are {}", batch.len());
    let length = usize::try_from(i32::from_be_bytes(field(batch, 8)?))?;
    ensure!(length + 12 == batch.len(), "batchLength {length} does not fit the {} bytes here", batch.len());
    ensure!(batch[16] == 2, "magic {}", batch[16]);
    Ok(Head {
        crc: u32::from_be_bytes(field(batch, 17)?),
        computed_crc: crc32c::crc32c(&batch[21..]),
        attributes: i16::from_be_bytes(field(batch, 21)?),
        producer_id: i64::from_be_bytes(field(batch, 43)?),
        producer_epoch: i16::from_be_bytes(field(batch, 51)?),
        sequence: i32::from_be_bytes(field(batch, 53)?),
        count: i32::from_be_bytes(field(batch, 57)?),
    })
}

/// The batch but for its CRC and producer id, for comparing what must pass.
pub fn without_producer(batch: &[u8]) -> Vec<u8> {
    let mut rest = batch.to_vec();
    rest[17..21].fill(0);
    rest[43..51].fill(0);
    rest
}

fn field<const N: usize>(batch: &[u8], at: usize) -> Result<[u8; N]> {
    batch.get(at..at + N).and_then(|bytes| bytes.try_into().ok()).context("the batch is cut")
}

fn put_record(out: &mut BytesMut, delta: usize, record: &Record) {
    let mut body = BytesMut::new();
    body.put_i8(0);
    put_varint(&mut body, 0);
    put_varint(&mut body, length(delta));
    put_nullable(&mut body, record.key.as_ref());
    put_nullable(&mut body, record.value.as_ref());
    put_varint(&mut body, length(record.headers.len()));
    for (key, value) in &record.headers {
        put_varint(&mut body, length(key.len()));
        body.put_slice(key.as_bytes());
        put_nullable(&mut body, value.as_ref());
    }
    put_varint(out, length(body.len()));
    out.put_slice(&body);
}

fn put_nullable(out: &mut BytesMut, bytes: Option<&Bytes>) {
    match bytes {
        None => put_varint(out, -1),
        Some(bytes) => {
            put_varint(out, length(bytes.len()));
            out.put_slice(bytes);
        }
    }
}

fn length(bytes: usize) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

/// Zigzag, then seven bits a byte.
fn put_varint(out: &mut BytesMut, value: i64) {
    let mut rest = ((value << 1) ^ (value >> 63)).cast_unsigned();
    while rest >= 0x80 {
        out.put_u8((rest & 0x7f) as u8 | 0x80);
        rest >>= 7;
    }
    out.put_u8(rest as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_batch_of_the_protocol_page_has_its_crc() {
        let mut batch = Batch::of(vec![Record::of("hi")]).by(7, 0, 0);
        batch.timestamp = 1000;
        let bytes = batch.build();
        assert_eq!(bytes.len(), 70);
        let head = head(&bytes).unwrap();
        assert_eq!(head.crc, 0x7ef6_209b);
        assert_eq!(head.crc, head.computed_crc);
        let tagged = batch.by(0x4000_0500_0000_0007, 0, 0).build();
        assert_eq!(super::head(&tagged).unwrap().crc, 0x20f7_42b5);
    }

    #[test]
    fn a_corrupt_batch_differs_in_one_bit_of_its_crc() {
        let batch = Batch::small(3).by(1, 2, 3).transactional();
        let head = head(&batch.build_corrupt()).unwrap();
        assert_eq!(head.crc ^ head.computed_crc, 0x0100_0000);
        assert_eq!((head.producer_id, head.producer_epoch, head.sequence, head.count), (1, 2, 3, 3));
    }
}
