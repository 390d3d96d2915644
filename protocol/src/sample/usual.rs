//! The frames that make up most of the traffic, as today's clients and brokers write them.

use super::{BatchKind, Dice, batches};
use crate::varint;

/// Produce v13: one topic, one partition, acks all, one batch of plain records; about `payload` bytes of them.
pub fn produce(payload: usize, dice: &mut Dice) -> Vec<u8> {
    let mut frame = vec![0, 0, 0, 13, 0, 0, 0, 9, 0, 10];
    frame.extend(b"producer-1");
    // No tags, no transactional id, acks, timeout.
    frame.extend([0, 0, 0xff, 0xff, 0, 0, 0x75, 0x30]);
    frame.push(2);
    frame.extend(dice.id());
    frame.extend([2, 0, 0, 0, 3]);
    records(&mut frame, payload, dice);
    frame.extend([0, 0, 0]);
    frame
}

/// A Fetch v18 answer: one topic, one partition, about `payload` bytes of records.
pub fn fetched(payload: usize, dice: &mut Dice) -> Vec<u8> {
    let mut frame = vec![0, 0, 0, 9, 0];
    // Throttle time, error, session, then the topic.
    frame.extend([0, 0, 0, 0, 0, 0, 0, 0, 0, 7, 2]);
    frame.extend(dice.id());
    frame.extend([2, 0, 0, 0, 3, 0, 0]);
    for _ in 0..3 {
        frame.extend(u64::from(dice.below(1 << 30)).to_be_bytes());
    }
    // No aborted transactions, no preferred replica.
    frame.extend([0, 0xff, 0xff, 0xff, 0xff]);
    records(&mut frame, payload, dice);
    frame.extend([0, 0, 0]);
    frame
}

/// A Metadata v12 answer: three brokers, and so many topics of three partitions with three replicas.
pub fn metadata(topics: u32, dice: &mut Dice) -> Vec<u8> {
    let mut frame = vec![0, 0, 0, 9, 0, 0, 0, 0, 0, 4];
    for broker in 0..3u8 {
        frame.extend([0, 0, 0, broker, 9]);
        frame.extend(b"broker-");
        frame.extend([b'0' + broker, 0, 0, 0x23, 0x84, 0, 0]);
    }
    frame.push(23);
    dice.letters(22, &mut frame);
    frame.extend([0, 0, 0, 1]);
    varint::put(&mut frame, topics + 1);
    for _ in 0..topics {
        frame.extend([0, 0, 13]);
        dice.letters(12, &mut frame);
        frame.extend(dice.id());
        frame.extend([0, 4]);
        for partition in 0..3u8 {
            frame.extend([0, 0, 0, 0, 0, partition, 0, 0, 0, partition, 0, 0, 0, 5]);
            for _ in 0..2 {
                frame.extend([4, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 2]);
            }
            frame.extend([1, 0]);
        }
        frame.extend([0x80, 0, 0, 0, 0]);
    }
    frame.push(0);
    frame
}

fn records(frame: &mut Vec<u8>, payload: usize, dice: &mut Dice) {
    let mut batch = Vec::new();
    batches::put_sized(&mut batch, dice, BatchKind::Plain, 4711, payload);
    varint::put(frame, varint::narrow(batch.len()) + 1);
    frame.extend(batch);
}
