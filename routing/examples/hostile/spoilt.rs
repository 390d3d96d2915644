//! Frames as they are, or something worse, and what is made of logins.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use skein_protocol::sample::{Dice, Sample, spoil};
use skein_protocol::varint::narrow;
use skein_routing::engine::{Asked, Verdict};

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

/// What is made of a step of a login, by numbers that change with each; most go well. `None`: nobody judges it until it is late.
pub(crate) fn verdict(asked: &Asked, calls: u64, bytes: u64) -> Option<Verdict> {
    let token = Bytes::from_static(b"token");
    Some(match (asked, calls % 16) {
        (_, 0) if bytes.is_multiple_of(2) => Verdict::Unjudged,
        (_, 0) => Verdict::Refused("no".to_owned()),
        (_, 1) => return None,
        (Asked::Mechanism(_), 2) => Verdict::NotOffered(Vec::new()),
        (Asked::Mechanism(_), _) => Verdict::Chosen(Vec::new()),
        (Asked::Token(_), 2..6) => Verdict::Challenge(token),
        (Asked::Token(_), of) => {
            let lifetime = of.is_multiple_of(2).then(|| Duration::from_secs(of));
            let principal = Arc::from(if of == 15 { "another" } else { "one" });
            Verdict::LoggedIn { token, principal, lifetime }
        }
    })
}
