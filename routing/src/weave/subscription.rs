//! What members of a group say of themselves, where the group's home calls topics otherwise.
//!
//! Members read each other's bytes; the coordinator reads the names in front, to know whose offsets are still needed. So the
//! home's names go in front, and the member's own bytes behind, where no coordinator looks:
//!
//! ```text
//!   int16 version   int32 count, names as home has them   what followed   the member's own bytes   their length   MARK
//! ```
//!
//! Source: ConsumerProtocolSubscription.json, v0 to v3, whose first fields never change.

use std::borrow::Cow;

/// What bytes of a member end with if others stand in front of them.
const MARK: &[u8; 8] = b"\x00skein\x00\x01";

/// A member's bytes with the home's names in front. `None`: they are no subscription, or it has the same names there.
pub(super) fn wrapped<'n>(own: &'n [u8], inner: impl Fn(&'n [u8]) -> Option<Cow<'n, [u8]>>) -> Option<Vec<u8>> {
    let (version, rest) = own.split_first_chunk::<2>()?;
    let (count, mut rest) = rest.split_first_chunk::<4>()?;
    let (mut out, mut changed, mut known) = (version.to_vec(), false, 0_i32);
    out.extend_from_slice(count);
    for _ in 0..u32::try_from(i32::from_be_bytes(*count)).ok()? {
        let (length, behind) = rest.split_first_chunk::<2>()?;
        let (name, behind) = behind.split_at_checked(usize::try_from(i16::from_be_bytes(*length)).ok()?)?;
        rest = behind;
        match inner(name) {
            Some(inner) => {
                changed |= *inner != *name;
                known += 1;
                out.extend_from_slice(&i16::try_from(inner.len()).ok()?.to_be_bytes());
                out.extend_from_slice(&inner);
            }
            // Home has no offsets of what it does not have.
            None => changed = true,
        }
    }
    if !changed {
        return None;
    }
    out.get_mut(2..6)?.copy_from_slice(&known.to_be_bytes());
    out.extend_from_slice(rest);
    out.extend_from_slice(own);
    out.extend_from_slice(&u32::try_from(own.len()).ok()?.to_be_bytes());
    out.extend_from_slice(MARK);
    Some(out)
}

/// The member's own bytes; `None` if nothing stands in front of them.
pub(super) fn unwrapped(bytes: &[u8]) -> Option<Vec<u8>> {
    let (rest, length) = bytes.strip_suffix(MARK)?.split_last_chunk::<4>()?;
    let length = usize::try_from(u32::from_be_bytes(*length)).ok()?;
    rest.get(rest.len().checked_sub(length)?..).map(<[u8]>::to_vec)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subscription(topics: &[&str]) -> Vec<u8> {
        let mut out = vec![0, 1, 0, 0, 0, u8::try_from(topics.len()).unwrap()];
        for topic in topics {
            out.extend_from_slice(&i16::try_from(topic.len()).unwrap().to_be_bytes());
            out.extend_from_slice(topic.as_bytes());
        }
        out.extend_from_slice(&[0xff; 4]);
        out
    }

    fn inner(name: &[u8]) -> Option<Cow<'_, [u8]>> {
        match name {
            b"orders-eu" => Some(Cow::Borrowed(b"orders")),
            b"foreign" => None,
            other => Some(Cow::Borrowed(other)),
        }
    }

    #[test]
    fn home_reads_its_own_names_and_members_read_what_members_said() {
        let own = subscription(&["orders-eu", "foreign", "same"]);
        let wrapped = wrapped(&own, inner).unwrap();
        let seen = subscription(&["orders", "same"]);
        assert_eq!(wrapped.get(..seen.len()), Some(&*seen));
        assert_eq!(unwrapped(&wrapped).as_ref(), Some(&own));
        // Levels nest.
        let twice = super::wrapped(&wrapped, |name| Some(Cow::Owned([b"x.", name].concat()))).unwrap();
        assert_eq!(unwrapped(&twice), Some(wrapped));
    }

    #[test]
    fn what_is_the_same_there_or_no_subscription_stays() {
        assert_eq!(wrapped(&subscription(&["same"]), inner), None);
        for bytes in [&b""[..], b"\x00", b"\x00\x01\xff\xff\xff\xff", b"\x00\x01\x00\x00\x00\x02\x00\x01a", MARK] {
            assert_eq!(wrapped(bytes, inner), None);
            assert_eq!(unwrapped(bytes), None);
        }
    }
}
