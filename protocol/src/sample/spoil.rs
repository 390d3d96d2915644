//! What hostile peers, and broken ones, make of a frame.

use super::{Dice, Sample, Written};
use crate::varint;

/// Lengths and counts that liars like.
const LIES: [u32; 12] = [0, 1, 2, 0x7e, 0x7f, 0x80, 0x7fff, 0xffff, 0x00ff_ffff, 0x7fff_ffff, 0x8000_0000, u32::MAX];

/// Makes a frame of `sample` that is broken in a few places, into `out`.
pub fn spoil(sample: &Sample, dice: &mut Dice, out: &mut Vec<u8>) {
    out.clear();
    out.extend(&sample.frame);
    // Lies first: they need the places as they are.
    match dice.below(8) {
        0..3 => lie(sample, dice, out),
        3 => repeat_tag(sample, dice, out),
        _ => {}
    }
    for _ in 0..1 + dice.below(2) {
        match dice.below(8) {
            0 | 1 => flip(dice, out),
            2 => out.truncate(dice.index(out.len() + 1)),
            3 => insert(dice, out),
            4 => remove(dice, out),
            5 => copy(dice, out),
            6 => overwrite(dice, out),
            _ => {}
        }
    }
}

/// Random bytes, into `out`.
pub fn noise(dice: &mut Dice, most: usize, out: &mut Vec<u8>) {
    out.clear();
    let len = dice.index(most + 1);
    // Small numbers look like lengths and counts; any others end the walk soon.
    let small = dice.chance(128);
    for _ in 0..len {
        let byte = dice.byte();
        out.push(if small { byte % 5 } else { byte });
    }
}

/// One length, or a few, says something else.
fn lie(sample: &Sample, dice: &mut Dice, out: &mut Vec<u8>) {
    let Some(length) = sample.lengths.get(dice.index(sample.lengths.len())) else { return };
    let lie = match dice.below(3) {
        0 => dice.one_of(&LIES, 0),
        1 => dice.below(300),
        _ => u32::try_from(sample.frame.len() - length.at).unwrap_or_default(),
    };
    let bytes = lie.to_be_bytes();
    let (width, put) = match length.written {
        Written::Two => (2, bytes.get(2..).unwrap_or(&[]).to_vec()),
        Written::Four => (4, bytes.to_vec()),
        Written::Varint(width) => {
            let mut put = Vec::new();
            varint::put(&mut put, lie);
            if dice.chance(16) {
                put = vec![0xff; 6];
            }
            (usize::from(width), put)
        }
    };
    out.splice(length.at..(length.at + width).min(out.len()), put);
}

/// A tag stands twice, and its section's count says so.
fn repeat_tag(sample: &Sample, dice: &mut Dice, out: &mut Vec<u8>) {
    let Some(tag) = sample.tags.get(dice.index(sample.tags.len())) else { return };
    let again = out.get(tag.at..tag.at + tag.len).unwrap_or(&[]).to_vec();
    out.splice(tag.at..tag.at, again);
    if let Some(count) = out.get_mut(tag.count_at) {
        *count = count.wrapping_add(1);
    }
}

fn flip(dice: &mut Dice, out: &mut [u8]) {
    for _ in 0..1 + dice.below(4) {
        let (at, bit) = (dice.index(out.len()), dice.below(8));
        if let Some(byte) = out.get_mut(at) {
            *byte ^= 1 << bit;
        }
    }
}

fn insert(dice: &mut Dice, out: &mut Vec<u8>) {
    let at = dice.index(out.len() + 1);
    let bytes = match dice.below(3) {
        0 => vec![0xff; 5],
        1 => vec![0x80; 1 + dice.index(4)],
        _ => vec![0; 1 + dice.index(8)],
    };
    out.splice(at..at, bytes);
}

fn remove(dice: &mut Dice, out: &mut Vec<u8>) {
    let from = dice.index(out.len() + 1);
    let to = (from + 1 + dice.index(8)).min(out.len());
    out.drain(from..to);
}

/// A piece of the frame stands at another place too.
fn copy(dice: &mut Dice, out: &mut Vec<u8>) {
    let from = dice.index(out.len() + 1);
    let to = (from + dice.index(64)).min(out.len());
    let piece = out.get(from..to).unwrap_or(&[]).to_vec();
    let at = dice.index(out.len() + 1);
    out.splice(at..at, piece);
}

fn overwrite(dice: &mut Dice, out: &mut [u8]) {
    let lie = dice.one_of(&LIES, 0).to_be_bytes();
    let at = dice.index(out.len() + 1);
    if let Some(slot) = out.get_mut(at..at + 4) {
        slot.copy_from_slice(&lie);
    }
}
