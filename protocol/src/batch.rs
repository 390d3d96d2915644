//! The header of a record batch (magic 2): the only part of records that a proxy reads, or patches, on the way.

use crate::crc;

/// Bytes of a batch before its first record.
pub const HEADER: usize = 61;

/// Bytes that `batchLength` does not count: the base offset and itself.
const OUTSIDE: u32 = 12;
const LENGTH: usize = 8;
const MAGIC: usize = 16;
const CRC: usize = 17;
const ATTRIBUTES: usize = 21;
const PRODUCER_ID: usize = 43;
/// The end of producer id, epoch and base sequence.
const PRODUCER_END: usize = 57;

const TRANSACTIONAL: u8 = 0x10;

/// The whole length of the batch whose header starts `bytes`, in bytes. `None`: not a batch of magic 2, or a length that
/// cannot hold its own header.
pub fn length(bytes: &[u8]) -> Option<u32> {
    if *bytes.get(MAGIC)? != 2 {
        return None;
    }
    let field = bytes.get(LENGTH..LENGTH + 4)?;
    let length = u32::try_from(i32::from_be_bytes(field.try_into().ok()?)).ok()?.checked_add(OUTSIDE)?;
    (crate::varint::wide(length) >= HEADER).then_some(length)
}

/// The producer id of a transactional batch; `None` for any other.
pub fn transactional_producer(header: &[u8]) -> Option<i64> {
    let transactional = header.get(ATTRIBUTES + 1)? & TRANSACTIONAL != 0;
    let id = header.get(PRODUCER_ID..PRODUCER_ID + 8)?;
    transactional.then_some(i64::from_be_bytes(id.try_into().ok()?))
}

/// Gives a transactional batch of `length` bytes, whose header is given, the producer id that `other` says, if any.
#[inline]
pub fn translate(header: &mut [u8], length: u32, other: impl FnOnce(i64) -> Option<i64>) {
    if let Some(id) = transactional_producer(header).and_then(other) {
        put_producer_id(header, length, id);
    }
}

/// Writes another producer id into a batch of `length` bytes whose header is given, and patches the CRC by the difference.
///
/// The CRC is patched, never made anew: a batch that was corrupt stays corrupt, and the broker says so.
pub fn put_producer_id(header: &mut [u8], length: u32, id: i64) {
    let Some(old) = read::<8>(header, PRODUCER_ID) else { return };
    let Some(old_crc) = read::<4>(header, CRC) else { return };
    let new = id.to_be_bytes();
    let mut difference = [0u8; PRODUCER_END - PRODUCER_ID];
    for ((slot, old), new) in difference.iter_mut().zip(old).zip(new) {
        *slot = old ^ new;
    }
    let behind = length - crate::varint::narrow(PRODUCER_END);
    let patched = crc::patch(u32::from_be_bytes(old_crc), &difference, behind);
    write(header, PRODUCER_ID, new);
    write(header, CRC, patched.to_be_bytes());
}

fn read<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at + N)?.try_into().ok()
}

fn write<const N: usize>(bytes: &mut [u8], at: usize, value: [u8; N]) {
    if let Some(slot) = bytes.get_mut(at..at + N) {
        slot.copy_from_slice(&value);
    }
}
