//! Feeds a passage as a socket would: in one piece, or in many.

use super::Dice;
use crate::edit::Editor;
use crate::malformed::Malformed;
use crate::outline::Outline;
use crate::passage::{Next, Passage};
use crate::varint::wide;

/// In which pieces a frame arrives.
#[derive(Debug)]
pub enum Pieces<'d> {
    /// All at once.
    Whole,
    /// A byte at a time.
    Bytes,
    /// As the dice say.
    Random(&'d mut Dice),
}

/// Feeds `frame`, without its length, to `passage`; what leaves is appended to `out`. `window` is memory to use again.
///
/// # Errors
/// As [`Passage::next`].
///
/// # Panics
/// If the passage breaks its word: it does not end, asks for what is there or will never be, or ends early.
pub fn feed<E: Editor + ?Sized>(
    mut passage: Passage, frame: &[u8], editor: &mut E, outline: &mut Outline, mut pieces: Pieces<'_>,
    window: &mut Vec<u8>, out: &mut Vec<u8>,
) -> Result<(), Malformed> {
    window.clear();
    let mut arrival = Arrival { frame, window, taken: 0, given: 0 };
    if matches!(pieces, Pieces::Whole) {
        arrival.give(frame.len());
    }
    // A byte may come alone, be part of three tokens, and a token may be told after the bytes before it were.
    let most = 8 * frame.len() + 64;
    for _ in 0..most {
        match passage.next(arrival.window, editor, outline)? {
            Next::Need(bytes) => {
                assert!(bytes > arrival.window.len(), "what is needed is there");
                assert!(arrival.taken + bytes <= frame.len(), "more is needed than the frame has");
                arrival.give(match &mut pieces {
                    Pieces::Whole => 0,
                    Pieces::Bytes => 1,
                    Pieces::Random(dice) => 1 + dice.index(2 * bytes + 40),
                });
            }
            Next::Keep(bytes) => arrival.take(wide(bytes), |kept| out.extend(kept)),
            Next::Put { skip, put } => {
                assert!(wide(skip) <= arrival.window.len(), "what is replaced is there");
                arrival.take(wide(skip), |_| {});
                out.extend(put);
            }
            Next::Zeros(bytes) => out.resize(out.len() + wide(bytes), 0),
            // No editor of a sample holds anything.
            Next::Hold | Next::End => {
                assert_eq!(arrival.taken, frame.len(), "the passage ends before its frame");
                return Ok(());
            }
        }
    }
    #[expect(clippy::panic, reason = "a passage that does not end is what is looked for")]
    {
        panic!("the passage does not end")
    }
}

/// A frame that arrives in pieces.
struct Arrival<'a> {
    frame: &'a [u8],
    window: &'a mut Vec<u8>,
    /// Bytes that the passage took, and bytes given to the window.
    taken: usize,
    given: usize,
}

impl Arrival<'_> {
    fn give(&mut self, bytes: usize) {
        let to = (self.given + bytes).min(self.frame.len());
        self.window.extend(self.frame.get(self.given..to).unwrap_or(&[]));
        self.given = to;
    }

    fn take(&mut self, bytes: usize, kept: impl FnOnce(&[u8])) {
        self.give(bytes.saturating_sub(self.window.len()));
        assert!(bytes <= self.window.len(), "the passage takes more than the frame has");
        kept(self.window.get(..bytes).unwrap_or(&[]));
        self.window.drain(..bytes);
        self.taken += bytes;
    }
}
