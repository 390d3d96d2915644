//! The topics of a consumer's subscription: the part of a group's metadata that every coordinator reads.
//!
//! int16 version, then an array of strings with int32 count and int16 lengths; what follows depends on the version and
//! passes. Source: ConsumerProtocolSubscription.json, v0 to v3.

use skein_protocol::passage::Edit;
use skein_protocol::varint::Inline;

/// The versions whose topics are read.
const KNOWN: std::ops::RangeInclusive<i16> = 0..=3;

/// The subscription with its topics renamed; `None` if it is none.
pub(super) fn renamed(metadata: &[u8], rename: impl Fn(&[u8]) -> Edit) -> Option<Inline> {
    let (version, rest) = metadata.split_first_chunk::<2>()?;
    let (count, mut rest) = rest.split_first_chunk::<4>()?;
    if !KNOWN.contains(&i16::from_be_bytes(*version)) {
        return None;
    }
    let mut out = Inline::from_slice(version);
    out.extend_from_slice(count);
    for _ in 0..u32::try_from(i32::from_be_bytes(*count)).ok()? {
        let (length, behind) = rest.split_first_chunk::<2>()?;
        let (name, behind) = behind.split_at_checked(usize::try_from(i16::from_be_bytes(*length)).ok()?)?;
        rest = behind;
        match rename(name) {
            Edit::Text(other) => put(&mut out, &other)?,
            Edit::Keep | Edit::Int(_) | Edit::Id(_) | Edit::Null | Edit::Drop | Edit::Hold => put(&mut out, name)?,
        }
    }
    out.extend_from_slice(rest);
    Some(out)
}

fn put(out: &mut Inline, name: &[u8]) -> Option<()> {
    out.extend_from_slice(&i16::try_from(name.len()).ok()?.to_be_bytes());
    out.extend_from_slice(name);
    Some(())
}
