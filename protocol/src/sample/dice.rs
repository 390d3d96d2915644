//! Numbers from a seed: splitmix64, so that a frame can be made again from what a failure says.

/// A source of numbers.
#[derive(Clone, Debug)]
pub struct Dice(u64);

impl Dice {
    /// Dice that fall the same for the same seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Any number.
    pub fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    /// A number below `end`; 0 if `end` is.
    pub fn below(&mut self, end: u32) -> u32 {
        let scaled = ((self.roll() >> 32) * u64::from(end)) >> 32;
        u32::try_from(scaled).unwrap_or_default()
    }

    /// An index below `end`; 0 if `end` is.
    pub fn index(&mut self, end: usize) -> usize {
        crate::varint::wide(self.below(crate::varint::narrow(end)))
    }

    /// Whether something happens that does `of_256` times in 256.
    pub fn chance(&mut self, of_256: u8) -> bool {
        of_256 > 0 && self.below(256) < u32::from(of_256)
    }

    /// One of these.
    pub fn one_of<T: Copy>(&mut self, choices: &[T], otherwise: T) -> T {
        choices.get(self.index(choices.len())).copied().unwrap_or(otherwise)
    }

    /// A byte.
    pub fn byte(&mut self) -> u8 {
        let [byte, ..] = self.roll().to_le_bytes();
        byte
    }

    /// A uuid.
    pub fn id(&mut self) -> [u8; 16] {
        (u128::from(self.roll()) << 64 | u128::from(self.roll())).to_be_bytes()
    }

    /// Appends letters that topic names are made of.
    pub fn letters(&mut self, count: usize, out: &mut Vec<u8>) {
        for _ in 0..count {
            out.push(self.one_of(b"abcdefghijklmnopqrstuvwxyz0123456789._-", b'a'));
        }
    }
}
