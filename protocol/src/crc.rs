//! CRC-32C (Castagnoli), and how it changes when a few bytes of a long message do.
//!
//! A CRC is affine: at equal length the initial value and the final xor cancel, so the new CRC is the old one xor the raw
//! CRC of the difference, moved past the bytes behind it. Moving by `k` bytes is a multiplication by x^(8k) modulo the
//! polynomial; one table per byte of `k` makes that at most four multiplications, whatever the length.

/// The polynomial, bit-reflected: the highest bit stands for x⁰.
const POLYNOMIAL: u32 = 0x82f6_3b78;
/// x⁰.
const ONE: u32 = 0x8000_0000;
/// x⁸.
const X8: u32 = 0x0080_0000;

const BYTES: [u32; 256] = byte_table();
/// `POWERS[j][n]` = x^(8 · n · 256^j).
const POWERS: [[u32; 256]; 4] = power_tables();

#[expect(clippy::indexing_slicing, clippy::as_conversions, reason = "evaluated when compiled")]
const fn byte_table() -> [u32; 256] {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut value = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            value = if value & 1 == 1 { value >> 1 ^ POLYNOMIAL } else { value >> 1 };
            bit += 1;
        }
        table[byte] = value;
        byte += 1;
    }
    table
}

/// The product of two polynomials modulo the CRC's.
const fn multiply(a: u32, b: u32) -> u32 {
    let mut product = 0;
    let mut moved = b;
    let mut bit = 32;
    while bit > 0 {
        bit -= 1;
        if a >> bit & 1 == 1 {
            product ^= moved;
        }
        moved = if moved & 1 == 1 { moved >> 1 ^ POLYNOMIAL } else { moved >> 1 };
    }
    product
}

#[expect(clippy::indexing_slicing, reason = "evaluated when compiled")]
const fn power_tables() -> [[u32; 256]; 4] {
    let mut tables = [[ONE; 256]; 4];
    let mut unit = X8;
    let mut table = 0;
    while table < 4 {
        let mut n = 1;
        while n < 256 {
            tables[table][n] = multiply(tables[table][n - 1], unit);
            n += 1;
        }
        unit = multiply(tables[table][255], unit);
        table += 1;
    }
    tables
}

/// The CRC register after `bytes`, from zero, without the final xor.
fn raw(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0, |register, byte| step(register, *byte))
}

fn step(register: u32, byte: u8) -> u32 {
    let [low, ..] = register.to_le_bytes();
    BYTES.get(usize::from(low ^ byte)).copied().unwrap_or_default() ^ register >> 8
}

/// The CRC-32C of `bytes`.
pub fn checksum(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |register, byte| step(register, *byte))
}

/// The CRC of a message that had `crc`, once some of its bytes have been changed by xor with `difference`.
///
/// `behind`: how many bytes of the message stand behind the changed ones.
pub fn patch(crc: u32, difference: &[u8], behind: u32) -> u32 {
    let mut moved = raw(difference);
    for (powers, digit) in POWERS.iter().zip(behind.to_le_bytes()) {
        if digit != 0 {
            moved = multiply(powers.get(usize::from(digit)).copied().unwrap_or(ONE), moved);
        }
    }
    crc ^ moved
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch;

    #[test]
    fn the_check_value_of_the_polynomial() {
        assert_eq!(checksum(b"123456789"), 0xe306_9283);
    }

    #[test]
    fn a_patched_batch_has_the_crc_that_was_computed_elsewhere() {
        let mut bytes = vec![0; 21];
        bytes[8..12].copy_from_slice(&58i32.to_be_bytes());
        bytes[16] = 2;
        bytes[17..21].copy_from_slice(&0x7ef6_209bu32.to_be_bytes());
        bytes.extend([0, 0, 0, 0, 0, 0]);
        bytes.extend(1000i64.to_be_bytes());
        bytes.extend(1000i64.to_be_bytes());
        bytes.extend(7i64.to_be_bytes());
        bytes.extend([0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
        bytes.extend([0x10, 0, 0, 0, 1, 4, 0x68, 0x69, 0]);
        assert_eq!(checksum(&bytes[21..]), 0x7ef6_209b);
        let length = u32::try_from(bytes.len()).unwrap();
        batch::put_producer_id(&mut bytes, length, 0x4000_0500_0000_0007);
        assert_eq!(u32::from_be_bytes(bytes[17..21].try_into().unwrap()), 0x20f7_42b5);
        assert_eq!(checksum(&bytes[21..]), 0x20f7_42b5);
    }

    #[test]
    fn a_patch_agrees_with_a_fresh_checksum_at_any_length() {
        for length in [57usize, 61, 70, 313, 65_537, 1 << 20] {
            let mut bytes: Vec<u8> = (0..length).map(|n| u8::try_from(n * 31 % 251).unwrap()).collect();
            let old = checksum(&bytes[21..]);
            let difference = [0x5a, 0, 0xff, 1, 2, 3, 4, 5, 0, 0, 0, 0, 0, 9];
            for (byte, change) in bytes[43..57].iter_mut().zip(difference) {
                *byte ^= change;
            }
            let behind = u32::try_from(length - 57).unwrap();
            assert_eq!(patch(old, &difference, behind), checksum(&bytes[21..]));
        }
    }
}
