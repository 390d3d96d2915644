//! Two nested disguises behind a face, and what each identity is called on either side of them.

use std::collections::BTreeMap;
use std::sync::Arc;

use skein_filters::{Address, Face, Tag};
use skein_protocol::ids::{Direction, VirtualNodeId};
use skein_routing::disguise::{Disguise, Settings};
use skein_routing::path::Path;
use skein_routing::router::{RouteId, Router};
use skein_routing::topology::{ClusterIndex, Destination};

const STRIDE: i64 = 16;
const OUTER_ROUTE: u16 = 3;
const INNER_ROUTE: u16 = 5;
const OUTER_PREFIX: &str = "vo.";
const INNER_PREFIX: &str = "pi.-";
/// Two levels of one generation each.
const EPOCHS: i64 = 2 << 20;

/// The brokers that clients can reach, and one that they cannot.
pub(crate) const DECLARED: [i64; 2] = [0x2a_b5c7, 0x1d_93e5];
pub(crate) const UNDECLARED: i64 = 0x3c_6a9b;
/// A node of another route: none of this path's brokers.
pub(crate) const FOREIGN: i64 = (0x2a_b5c7 * STRIDE + 9) * STRIDE + 4;
/// What a disguise makes of it.
pub(crate) const NOBODY: i64 = 0x7fff_ffff;
pub(crate) const REAL_HOSTS: [&str; 2] = ["broker-one.physical.example", "b2.physical"];
pub(crate) const REAL_PORTS: [i64; 2] = [0x7a31, 0x5bc9];
pub(crate) const REAL_CLUSTER: &str = "pHySiCaL-cluster-00001";
/// The cluster id that clients send.
pub(crate) const SENT_CLUSTER: &str = "vIrTuAl-cluster-000002";

/// Something's names: the broker's, and the client's.
#[derive(Clone, Debug)]
pub(crate) struct Pair<T> {
    pub(crate) physical: T,
    pub(crate) client: T,
}

impl<T> Pair<T> {
    /// The side that a message comes from.
    pub(crate) fn from(&self, way: Direction) -> &T {
        if way == Direction::ToClient { &self.physical } else { &self.client }
    }

    /// The side that it goes to.
    pub(crate) fn to(&self, way: Direction) -> &T {
        if way == Direction::ToClient { &self.client } else { &self.physical }
    }
}

pub(crate) struct World {
    pub(crate) path: Path,
    pub(crate) outer: Disguise,
    pub(crate) tag: Tag,
    pub(crate) cluster_id: String,
    pub(crate) addresses: BTreeMap<i64, Address>,
    pub(crate) names: Vec<Pair<Vec<u8>>>,
    pub(crate) nodes: Vec<Pair<i64>>,
    pub(crate) ids: Vec<Pair<[u8; 16]>>,
    pub(crate) epochs: Vec<Pair<i64>>,
    pub(crate) producers: Vec<Pair<i64>>,
    pub(crate) patterns: Vec<Pair<Vec<u8>>>,
}

impl World {
    pub(crate) fn new() -> Self {
        let router = |stride, prefix: &str, route| {
            let settings = Settings { stride, prefix: prefix.to_owned(), generation: 1 };
            Disguise::new(settings, &[RouteId(route)]).unwrap()
        };
        let stride = i32::try_from(STRIDE).unwrap();
        let outer = router(stride, OUTER_PREFIX, OUTER_ROUTE);
        let inner = router(stride, INNER_PREFIX, INNER_ROUTE);
        let addresses: BTreeMap<_, _> = DECLARED
            .into_iter()
            .map(virtual_node)
            .zip([
                Address { host: Arc::from("first.seen-by-clients.example"), port: 19_092 },
                Address { host: Arc::from("c2"), port: 19_093 },
            ])
            .collect();
        let shown = addresses.iter().map(|(id, at)| (VirtualNodeId(i32::try_from(*id).unwrap()), at.clone())).collect();
        let face = Face::new("leak", shown);
        let cluster_id = face.cluster_id().to_owned();
        let edges = vec![Arc::new(face), outer.edge(RouteId(OUTER_ROUTE)), inner.edge(RouteId(INNER_ROUTE))];
        let path = Path::new(edges, Destination { cluster: ClusterIndex(0), node: None });
        let tag = Tag::of_cluster(REAL_CLUSTER);
        let nodes = [DECLARED[0], DECLARED[1], UNDECLARED];
        Self {
            path,
            outer,
            tag,
            cluster_id,
            addresses,
            names: names(),
            nodes: nodes.map(|real| Pair { physical: real, client: virtual_node(real) }).to_vec(),
            ids: [*b"physical-topic-1", *b"PHYSICAL_TOPIC_2"].map(id).to_vec(),
            epochs: [0x51a7, 0x6_c3d9].map(|real| Pair { physical: real, client: real + EPOCHS }).to_vec(),
            producers: [0x77_a1b2_c3d4, 0x12_3f5e_9d8b]
                .map(|real| Pair { physical: real, client: 1 << 62 | hash_bits() << 48 | real })
                .to_vec(),
            patterns: patterns(),
        }
    }
}

fn virtual_node(real: i64) -> i64 {
    (real * STRIDE + i64::from(INNER_ROUTE)) * STRIDE + i64::from(OUTER_ROUTE)
}

/// The first 14 bits of the SHA-256 of the cluster's id, as the tag has them.
fn hash_bits() -> i64 {
    (Tag::of_cluster(REAL_CLUSTER).tagged(0) >> 48) & 0x3fff
}

/// Names that lose both prefixes, that get both, and that lose one and get the other; short ones and long ones.
fn names() -> Vec<Pair<Vec<u8>>> {
    let bare = |name: &str| format!("{INNER_PREFIX}{OUTER_PREFIX}{name}");
    let dressed = |name: &str| format!("{OUTER_PREFIX}{INNER_PREFIX}{name}");
    let long = "Long".repeat(30);
    let (inner, outer) = (format!("{INNER_PREFIX}Swapped#"), format!("{OUTER_PREFIX}Swapped#"));
    let pairs = [
        (bare("Shorter#"), "Shorter#".to_owned()),
        ("Longer#".to_owned(), dressed("Longer#")),
        (inner, outer),
        (long.clone(), dressed(&long)),
    ];
    pairs.map(|(physical, client)| Pair { physical: physical.into_bytes(), client: client.into_bytes() }).to_vec()
}

/// The masks of both levels; what is common to both cancels out.
fn id(physical: [u8; 16]) -> Pair<[u8; 16]> {
    let mut client = physical;
    for (at, slot) in client.iter_mut().enumerate() {
        *slot ^= OUTER_PREFIX.as_bytes()[at % OUTER_PREFIX.len()] ^ INNER_PREFIX.as_bytes()[at % INNER_PREFIX.len()];
    }
    Pair { physical, client }
}

/// Patterns without anchors, which come back as they were.
fn patterns() -> Vec<Pair<Vec<u8>>> {
    let pair = |client: &str| Pair {
        physical: format!("\\Q{INNER_PREFIX}\\E(?:\\Q{OUTER_PREFIX}\\E(?:{client}))").into_bytes(),
        client: client.as_bytes().to_vec(),
    };
    vec![pair("Pattern#.*"), pair("Either#(a|b)|Or#")]
}
