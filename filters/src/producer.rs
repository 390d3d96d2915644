//! Producer ids as clients hold them: tagged, so that no two clusters' ids are ever the same.
//!
//! A broker does not check who issued the producer id of a non-transactional batch, and every cluster counts from 0: ids of
//! two clusters collide, and a collision is a silent duplicate or an error 45. A tagged id needs no state, survives a
//! restart, and is the same on every instance:
//!
//! ```text
//!   bit 63 = 0   bit 62 = 1   bits 61..48 hash of the issuer's cluster id   bits 47..40 = 0   bits 39..0 the issuer's id
//! ```

use sha2::{Digest, Sha256};

const TAGGED: i64 = 1 << 62;
const REAL_BITS: u32 = 40;
const HASH_SHIFT: u32 = 48;

/// The 14 bits that stand for the cluster which issues producer ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Tag(u16);

impl Tag {
    /// The tag of a Kafka cluster, from its own cluster id: the first 14 bits of the id's SHA-256.
    pub fn of_cluster(cluster_id: &str) -> Self {
        let hash = Sha256::digest(cluster_id.as_bytes());
        let high = u16::from(hash.first().copied().unwrap_or_default());
        let low = u16::from(hash.get(1).copied().unwrap_or_default());
        Self((high << 8 | low) >> 2)
    }

    /// The id that clients hold for `real`. Negative ids, tagged ones, and those that do not fit 40 bits pass unchanged.
    pub fn tagged(self, real: i64) -> i64 {
        if real < 0 || real >> REAL_BITS != 0 { real } else { TAGGED | i64::from(self.0) << HASH_SHIFT | real }
    }

    /// The issuer's own id, if `held` was issued by this cluster; any other id as it is.
    pub fn real(self, held: i64) -> i64 {
        let ours = held >> HASH_SHIFT == (TAGGED >> HASH_SHIFT | i64::from(self.0));
        if ours { held & ((1 << REAL_BITS) - 1) } else { held }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_is_fixed_for_ever() {
        // The first two bytes of the SHA-256 of "abc" are ba 78.
        assert_eq!(Tag::of_cluster("abc"), Tag(0xba78 >> 2));
        assert_eq!(Tag::of_cluster("abc").tagged(7), 0x6e9e_0000_0000_0007);
    }

    #[test]
    fn what_is_tagged_is_found_again_by_its_own_cluster_only() {
        let (one, two) = (Tag(5), Tag(6));
        for real in [0, 1, 999, (1 << 40) - 1] {
            assert_eq!(one.real(one.tagged(real)), real);
            assert_eq!(two.real(one.tagged(real)), one.tagged(real));
        }
    }

    #[test]
    fn what_is_no_real_id_passes() {
        let tag = Tag(5);
        for id in [-1, i64::MIN, 1 << 40, tag.tagged(3), i64::MAX] {
            assert_eq!(tag.tagged(id), id);
        }
        assert_eq!(tag.real(-1), -1);
        assert_eq!(tag.real(77), 77);
    }
}
