//! Frames: four bytes of length, then a header that says what the rest is.
//!
//! A head is read as soon as its twelve bytes are there; nothing is ever allocated by the length that it claims.

use crate::ids::ApiKey;
use crate::malformed::Malformed;
use crate::varint::wide;

/// Bytes of the length in front of a frame.
pub const LENGTH: usize = 4;
/// Bytes, from the start of the length, that a request's head takes.
pub const HEAD: usize = 12;
/// Bytes, from the start of the length, that a response's head takes.
pub const REPLY_HEAD: usize = 8;
/// Where the correlation id of a request stands behind the frame's length.
pub const CORRELATION: usize = 4;
/// The longest frame that Kafka's own int32 length can announce.
pub const LONGEST: u32 = 0x7fff_ffff;

/// What is known of a request before any of its body: key, version, length, correlation id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// Bytes of the frame behind its length.
    pub length: u32,
    /// Which API.
    pub key: ApiKey,
    /// Which version of it.
    pub version: i16,
    /// The client's correlation id: any number.
    pub correlation: i32,
}

/// What is known of a response before any of its body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplyHead {
    /// Bytes of the frame behind its length.
    pub length: u32,
    /// The correlation id of the request that it answers.
    pub correlation: i32,
}

/// Reads the head of the request that `input` starts with; `None` until it is there. `most`: the longest frame accepted.
///
/// # Errors
/// [`Malformed::FrameLength`], as soon as the length is there.
pub fn head(input: &[u8], most: u32) -> Result<Option<Head>, Malformed> {
    let Some(length) = length(input, 8, most)? else { return Ok(None) };
    let [_, _, _, _, k0, k1, v0, v1, c0, c1, c2, c3, ..] = *input else { return Ok(None) };
    Ok(Some(Head {
        length,
        key: ApiKey(i16::from_be_bytes([k0, k1])),
        version: i16::from_be_bytes([v0, v1]),
        correlation: i32::from_be_bytes([c0, c1, c2, c3]),
    }))
}

/// Reads the client id that stands behind the head of a request: `Err` is how many bytes of the input it takes to see it.
/// One that is null or reaches beyond its frame is none; whether the frame is sound is for those to say who walk it.
///
/// # Errors
/// The bytes that are needed, if fewer are there.
pub fn client_id<'a>(input: &'a [u8], head: &Head) -> Result<Option<&'a [u8]>, usize> {
    let whole = LENGTH + wide(head.length);
    let start = HEAD + 2;
    if whole < start {
        return Ok(None);
    }
    let Some([high, low]) = input.get(HEAD..start) else { return Err(start) };
    let length = i16::from_be_bytes([*high, *low]);
    let end = match usize::try_from(length) {
        Ok(length) if start + length <= whole => start + length,
        Ok(_) | Err(_) => return Ok(None),
    };
    input.get(start..end).map(Some).ok_or(end)
}

/// Reads the head of the response that `input` starts with; `None` until it is there.
///
/// # Errors
/// [`Malformed::FrameLength`], as soon as the length is there.
pub fn reply_head(input: &[u8]) -> Result<Option<ReplyHead>, Malformed> {
    let Some(length) = length(input, 4, LONGEST)? else { return Ok(None) };
    let [_, _, _, _, c0, c1, c2, c3, ..] = *input else { return Ok(None) };
    Ok(Some(ReplyHead { length, correlation: i32::from_be_bytes([c0, c1, c2, c3]) }))
}

fn length(input: &[u8], least: u32, most: u32) -> Result<Option<u32>, Malformed> {
    let [a, b, c, d, ..] = *input else { return Ok(None) };
    let signed = i32::from_be_bytes([a, b, c, d]);
    match u32::try_from(signed) {
        Ok(length) if length >= least && length <= most => Ok(Some(length)),
        _ => Err(Malformed::FrameLength { length: signed, least, most }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_read_as_soon_as_it_is_there() {
        let frame = [0, 0, 0, 10, 0, 3, 0, 12, 0xff, 0xff, 0xff, 0xff, 0, 0];
        for short in 0..HEAD {
            assert_eq!(head(&frame[..short], 100), Ok(None));
        }
        let expected = Head { length: 10, key: ApiKey::METADATA, version: 12, correlation: -1 };
        assert_eq!(head(&frame[..HEAD], 100), Ok(Some(expected)));
    }

    #[test]
    fn a_client_id_is_read_once_it_is_there() {
        let frame = [0, 0, 0, 13, 0, 18, 0, 3, 0, 0, 0, 0, 0, 2, b'm', b'e', 7];
        let head = head(&frame, 100).unwrap().unwrap();
        assert_eq!(client_id(&frame[..HEAD + 1], &head), Err(HEAD + 2));
        assert_eq!(client_id(&frame[..HEAD + 3], &head), Err(HEAD + 4));
        assert_eq!(client_id(&frame[..HEAD + 4], &head), Ok(Some(&b"me"[..])));
    }

    #[test]
    fn a_client_id_that_is_null_or_longer_than_its_frame_is_none() {
        let null = [0, 0, 0, 10, 0, 18, 0, 3, 0, 0, 0, 0, 0xff, 0xff];
        assert_eq!(client_id(&null, &head(&null, 100).unwrap().unwrap()), Ok(None));
        let long = [0, 0, 0, 11, 0, 18, 0, 3, 0, 0, 0, 0, 0, 2, b'm', b'e'];
        assert_eq!(client_id(&long, &head(&long, 100).unwrap().unwrap()), Ok(None));
        let none = [0, 0, 0, 9, 0, 18, 0, 3, 0, 0, 0, 0, 0];
        assert_eq!(client_id(&none, &head(&none, 100).unwrap().unwrap()), Ok(None));
    }

    #[test]
    fn what_is_not_kafka_is_named() {
        for (bytes, word) in [([0x16, 3, 1, 2], "TLS hello"), (*b"GET ", "HTTP"), ([0x15, 3, 3, 0], "TLS alert")] {
            assert!(head(&bytes, 1000).unwrap_err().to_string().contains(word));
        }
    }

    #[test]
    fn a_length_is_judged_before_anything_else_has_come() {
        for bytes in [[0x7f, 0xff, 0xff, 0xff], [0xff; 4], [0, 0, 0, 7], [0; 4]] {
            assert!(matches!(head(&bytes, 1 << 20), Err(Malformed::FrameLength { .. })));
        }
    }
}
