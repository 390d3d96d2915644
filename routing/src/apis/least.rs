//! What a cluster has at least that nobody has reached yet: the oldest release that Skein is for.
//!
//! Facts of Kafka 3.9's message definitions; stable versions of APIs that brokers have for clients.

use skein_protocol::ids::ApiKey;
use skein_protocol::table::Versions;

use crate::topology::Offer;

/// API key, lowest and highest version.
const LEAST: [(i16, i16, i16); 63] = [
    (0, 0, 11),
    (1, 0, 17),
    (2, 0, 9),
    (3, 0, 12),
    (8, 0, 9),
    (9, 0, 9),
    (10, 0, 6),
    (11, 0, 9),
    (12, 0, 4),
    (13, 0, 5),
    (14, 0, 5),
    (15, 0, 5),
    (16, 0, 5),
    (17, 0, 1),
    (18, 0, 4),
    (19, 0, 7),
    (20, 0, 6),
    (21, 0, 2),
    (22, 0, 5),
    (23, 0, 4),
    (24, 0, 5),
    (25, 0, 4),
    (26, 0, 4),
    (27, 0, 1),
    (28, 0, 4),
    (29, 0, 3),
    (30, 0, 3),
    (31, 0, 3),
    (32, 0, 4),
    (33, 0, 2),
    (34, 0, 2),
    (35, 0, 4),
    (36, 0, 2),
    (37, 0, 3),
    (38, 0, 3),
    (39, 0, 2),
    (40, 0, 2),
    (41, 0, 3),
    (42, 0, 2),
    (43, 0, 2),
    (44, 0, 1),
    (45, 0, 0),
    (46, 0, 0),
    (47, 0, 0),
    (48, 0, 1),
    (49, 0, 1),
    (50, 0, 0),
    (51, 0, 0),
    (55, 0, 2),
    (57, 0, 1),
    (60, 0, 1),
    (61, 0, 0),
    (64, 0, 0),
    (65, 0, 0),
    (66, 0, 1),
    (68, 0, 0),
    (69, 0, 0),
    (71, 0, 0),
    (72, 0, 0),
    (74, 0, 0),
    (75, 0, 0),
    (80, 0, 0),
    (81, 0, 0),
];

/// That, as an offer without any feature.
pub fn offer() -> Offer {
    let versions = |(key, from, to): &(i16, i16, i16)| (ApiKey(*key), Versions { from: *from, to: *to });
    Offer { apis: LEAST.iter().map(versions).collect(), epoch: -1, ..Offer::default() }
}
