//! Record batches (magic 2) of an exact size, without compression.

use crate::wire::Encoder;
use anyhow::{Result, ensure};

/// Bytes before the first record.
const HEADER: usize = 61;
/// Bytes of the value of every record but the last.
const VALUE: usize = 1_000;
/// The smallest batch that `build` makes. (Of 126 bytes there is none: where a length grows by a byte, a size is left out.)
pub const SMALLEST: usize = 200;

/// A batch of exactly `size` bytes: records of 1,000 bytes, the last one as long as it must be.
///
/// # Errors
/// If `size` is below `SMALLEST`.
pub fn build(size: usize) -> Result<Vec<u8>> {
    ensure!(size >= SMALLEST, "a record batch of {size} bytes: the smallest has {SMALLEST}");
    let mut records = Encoder::new();
    let mut count = 0;
    while size - HEADER - records.len() > 3 * VALUE {
        record(&mut records, count, 0, VALUE);
        count += 1;
    }
    last_record(&mut records, count, size - HEADER);
    count += 1;

    let mut covered = Encoder::new(); // what the checksum covers
    covered.i16(0).i32(count as i32 - 1).i64(0).i64(0);
    covered.i64(-1).i16(-1).i32(-1).i32(count as i32).raw(&records.into_bytes());
    let covered = covered.into_bytes();
    let mut batch = Encoder::new();
    batch.i64(0).i32(size as i32 - 12).i32(0).i8(2);
    batch.raw(&crc32c(&covered).to_be_bytes()).raw(&covered);
    Ok(batch.into_bytes())
}

/// One record; `key` is the length of its key, 0 for a null one.
fn record(records: &mut Encoder, offset: usize, key: usize, value: usize) {
    let mut body = Encoder::new();
    body.i8(0).varint(0).varint(offset as i64);
    match key {
        0 => body.varint(-1),
        _ => body.varint(key as i64).raw(&vec![b'k'; key]),
    };
    body.varint(value as i64).raw(&filler(value)).varint(0);
    records.varint(body.len() as i64).raw(&body.into_bytes());
}

/// Appends the record that brings `records` to `target` bytes.
///
/// Where the width of a length changes, one size cannot be reached with a value alone; a key of one byte helps.
fn last_record(records: &mut Encoder, offset: usize, target: usize) {
    let (room, start) = (target - records.len(), std::mem::take(records).into_bytes());
    for (key, spare) in (0..2).flat_map(|key| (7..24).map(move |spare| (key, spare))) {
        let mut attempt = Encoder::new();
        record(&mut attempt, offset, key, room.saturating_sub(spare));
        if attempt.len() == room {
            records.raw(&start).raw(&attempt.into_bytes());
            return;
        }
    }
    unreachable!("a record of {room} bytes exists for every room of this size")
}

/// Bytes that do not compress to nothing and are the same in every run.
fn filler(length: usize) -> Vec<u8> {
    let mut state = 0x2545_f491_u32;
    std::iter::repeat_with(|| {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        (state >> 24) as u8
    })
    .take(length)
    .collect()
}

/// CRC-32C (Castagnoli), by a table of one byte.
fn crc32c(bytes: &[u8]) -> u32 {
    let table: [u32; 256] = std::array::from_fn(|index| {
        (0..8).fold(index as u32, |crc, _| if crc & 1 == 1 { (crc >> 1) ^ 0x82f6_3b78 } else { crc >> 1 })
    });
    !bytes.iter().fold(!0_u32, |crc, byte| table[usize::from(crc as u8 ^ byte)] ^ (crc >> 8))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_castagnolis() {
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
    }

    #[test]
    fn a_batch_has_the_size_that_was_asked_for() {
        for size in (SMALLEST..9_000).chain([65_536, 1_048_576]) {
            assert_eq!(build(size).unwrap().len(), size);
        }
    }
}
