//! Record batches: valid ones with records in them, old message sets, and ones that are cut off.

use super::{BatchKind, Dice};
use crate::{batch, crc};

/// Appends a valid batch of magic 2 with a few records; says how many bytes it took.
pub fn put(out: &mut Vec<u8>, dice: &mut Dice, kind: BatchKind, producer: i64) -> usize {
    put_sized(out, dice, kind, producer, 0)
}

/// The same with a first record whose value has `payload` bytes.
pub fn put_sized(out: &mut Vec<u8>, dice: &mut Dice, kind: BatchKind, producer: i64, payload: usize) -> usize {
    let start = out.len();
    if kind == BatchKind::Old {
        old(out, dice);
        return out.len() - start;
    }
    let mut records = Vec::new();
    let count = 1 + dice.below(3);
    for delta in 0..count {
        let value = if delta == 0 && payload > 0 { payload } else { dice.index(20) };
        record(&mut records, dice, delta, value);
    }
    let attributes: i16 = if kind == BatchKind::Transactional { 0x10 } else { 0 };
    let mut checked = Vec::with_capacity(batch::HEADER + records.len());
    checked.extend(attributes.to_be_bytes());
    checked.extend((count - 1).to_be_bytes());
    checked.extend([0, 0, 1, 0x8f, 0, 0, 0, 0]);
    checked.extend([0, 0, 1, 0x8f, 0, 0, 0, 9]);
    checked.extend(producer.to_be_bytes());
    checked.extend([0, dice.byte()]);
    checked.extend([0, 0, 0, dice.byte()]);
    checked.extend(count.to_be_bytes());
    checked.extend(&records);
    out.extend(u64::from(dice.below(1 << 30)).to_be_bytes());
    // The leader epoch, the magic and the CRC are counted too.
    let length = u32::try_from(checked.len() + 9).unwrap_or_default();
    out.extend(length.to_be_bytes());
    out.extend([0, 0, 0, dice.byte(), 2]);
    out.extend(crc::checksum(&checked).to_be_bytes());
    out.extend(&checked);
    if kind == BatchKind::Cut {
        let kept = 1 + dice.index(out.len() - start - 1);
        out.truncate(start + kept);
    }
    out.len() - start
}

/// A record: attributes, timestamp delta, offset delta, key, value and headers, all lengths zigzag.
fn record(out: &mut Vec<u8>, dice: &mut Dice, delta: u32, value: usize) {
    let mut body = vec![0];
    zigzag(&mut body, 0);
    zigzag(&mut body, i64::from(delta));
    zigzag(&mut body, -1);
    zigzag(&mut body, i64::try_from(value).unwrap_or_default());
    dice.letters(value, &mut body);
    zigzag(&mut body, 0);
    zigzag(out, i64::try_from(body.len()).unwrap_or_default());
    out.extend(body);
}

fn zigzag(out: &mut Vec<u8>, value: i64) {
    let folded = u32::try_from(if value < 0 { -2 * value - 1 } else { 2 * value }).unwrap_or_default();
    crate::varint::put(out, folded);
}

/// A message of magic 1: offset, size, CRC, magic, attributes, timestamp, null key, value.
fn old(out: &mut Vec<u8>, dice: &mut Dice) {
    let value = dice.below(80);
    out.extend(u64::from(dice.below(1000)).to_be_bytes());
    out.extend((22 + value).to_be_bytes());
    out.extend([1, 2, 3, 4, 1, 0]);
    out.extend([0; 8]);
    out.extend([0xff; 4]);
    out.extend(value.to_be_bytes());
    dice.letters(crate::varint::wide(value), out);
}

/// Whether the CRC of a whole batch is right.
pub fn is_sound(batch: &[u8]) -> bool {
    let Some((head, checked)) = batch.split_at_checked(21) else { return false };
    head.last_chunk::<4>().is_some_and(|crc| u32::from_be_bytes(*crc) == crc::checksum(checked))
}

/// The producer id in a batch's header.
pub fn producer(batch: &[u8]) -> Option<i64> {
    batch.get(43..51)?.try_into().ok().map(i64::from_be_bytes)
}
