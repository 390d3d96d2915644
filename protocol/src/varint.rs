//! Unsigned varints (LEB128, at most five bytes) and the widths that lint rules make us spell out.

use smallvec::SmallVec;

/// A few bytes that take the place of others: kept inline up to 32.
pub type Inline = SmallVec<[u8; 32]>;

/// What a look at the start of a varint found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Uvarint {
    /// The value, and how many bytes it took.
    Read(u32, u8),
    /// More bytes are needed.
    Short,
    /// It does not fit 32 bits.
    TooLong,
}

/// Reads an unsigned varint from the start of `input`.
pub fn read(input: &[u8]) -> Uvarint {
    let mut value = 0u32;
    for (index, byte) in (0u8..5).zip(input) {
        let bits = u32::from(byte & 0x7f);
        if index == 4 && *byte > 0x0f {
            return Uvarint::TooLong;
        }
        value |= bits << (7 * u32::from(index));
        if byte & 0x80 == 0 {
            return Uvarint::Read(value, index + 1);
        }
    }
    Uvarint::Short
}

/// Appends `value` in as few bytes as it takes.
pub fn put(out: &mut impl Extend<u8>, mut value: u32) {
    while value >= 0x80 {
        out.extend([low(value) | 0x80]);
        value >>= 7;
    }
    out.extend([low(value)]);
}

/// The most that [`put_padded`] can write.
pub const MOST_PADDED: u32 = (1 << 28) - 1;

/// Appends `value`, at most [`MOST_PADDED`], in exactly four bytes; every reader of Kafka's takes padded varints.
pub fn put_padded(out: &mut impl Extend<u8>, value: u32) {
    out.extend([low(value) | 0x80, low(value >> 7) | 0x80, low(value >> 14) | 0x80, low(value >> 21)]);
}

/// Writes `value` as a varint of just as many bytes as `slot` has; what does not fit in them is lost.
pub fn write(slot: &mut [u8], value: u32) {
    let mut rest = value;
    let last = slot.len().saturating_sub(1);
    for (index, byte) in slot.iter_mut().enumerate() {
        *byte = low(rest) | if index < last { 0x80 } else { 0 };
        rest >>= 7;
    }
}

/// How many bytes [`put`] takes for `value`.
pub fn width(value: u32) -> usize {
    match value {
        0..0x80 => 1,
        0x80..0x4000 => 2,
        0x4000..0x20_0000 => 3,
        0x20_0000..0x1000_0000 => 4,
        _ => 5,
    }
}

fn low(value: u32) -> u8 {
    value.to_le_bytes()[0] & 0x7f
}

/// A 32-bit length as an index.
#[expect(clippy::as_conversions, reason = "a usize has at least 32 bits on every target that tokio runs on")]
pub const fn wide(length: u32) -> usize {
    length as usize
}

/// A length in memory as a frame length. Frames are below 2³¹, so what is cut off by saturation never fits anyway.
pub fn narrow(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_put_is_read() {
        for value in [0, 1, 127, 128, 16_383, 16_384, 0x1f_ffff, 0x20_0000, 0x0fff_ffff, 0x1000_0000, u32::MAX] {
            let mut out = Vec::new();
            put(&mut out, value);
            assert_eq!(out.len(), width(value));
            assert_eq!(read(&out), Uvarint::Read(value, u8::try_from(out.len()).unwrap()));
            assert_eq!(read(&out[..out.len() - 1]), Uvarint::Short);
        }
    }

    #[test]
    fn a_padded_varint_has_four_bytes() {
        for value in [0, 5, 300, 0x0fff_ffff] {
            let mut out = Vec::new();
            put_padded(&mut out, value);
            assert_eq!(read(&out), Uvarint::Read(value, 4));
        }
    }

    #[test]
    fn what_is_written_fills_its_slot() {
        for (len, value) in [(1, 100), (2, 100), (4, 100), (5, u32::MAX)] {
            let mut slot = vec![0; len];
            write(&mut slot, value);
            assert_eq!(read(&slot), Uvarint::Read(value, u8::try_from(len).unwrap()));
        }
    }

    #[test]
    fn a_fifth_byte_beyond_32_bits_is_refused() {
        assert_eq!(read(&[0xff, 0xff, 0xff, 0xff, 0x10]), Uvarint::TooLong);
        assert_eq!(read(&[0xff, 0xff, 0xff, 0xff, 0x80]), Uvarint::TooLong);
    }
}
