//! Frames as they are, or something worse.

use skein_protocol::sample::{Dice, Sample, spoil};
use skein_protocol::varint::narrow;

/// The sample as it is, in `sound` of 256 cases, or something worse.
pub(crate) fn disturb(sample: &Sample, sound: u8, dice: &mut Dice, bytes: &mut Vec<u8>) {
    if dice.chance(sound) {
        bytes.clone_from(&sample.frame);
    } else if dice.chance(200) {
        spoil::spoil(sample, dice, bytes);
    } else {
        spoil::noise(dice, 200, bytes);
    }
}

/// A frame behind its length, which now and then is another one.
pub(crate) fn with_length(frame: &[u8], sound: u8, dice: &mut Dice) -> Vec<u8> {
    let length = narrow(frame.len());
    let claimed = if dice.chance((255 - sound) / 16) { length ^ 1 << dice.below(32) } else { length };
    [&claimed.to_be_bytes(), frame].concat()
}
