//! Node ids: one bijection per router.

use skein_protocol::ids::VirtualNodeId;
use skein_settings::{Fault, Table, integer};

use crate::kind::Route;
use crate::router::RouteId;

/// The largest virtual node id. Java before 4.4 names a coordinator's connection `MAX_INT − id`, so ids stay below 2³⁰.
pub const LARGEST: i32 = (1 << 30) - 1;

/// The node ids of one router: `outer = route + stride · inner`. The stride is a declared constant: were it the number of
/// routes, a new route would rename every broker that a client has cached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeMap {
    stride: i32,
}

impl NodeMap {
    /// `None`: a stride below 1.
    pub fn new(stride: i32) -> Option<Self> {
        (stride >= 1).then_some(Self { stride })
    }

    /// How many routes have ids of their own.
    pub fn stride(self) -> i32 {
        self.stride
    }

    /// The id on the outer side. Negative ids (−1 is "none") pass unchanged. `None`: beyond [`LARGEST`].
    pub fn outer(self, route: RouteId, inner: VirtualNodeId) -> Option<VirtualNodeId> {
        if inner.0 < 0 {
            return Some(inner);
        }
        let outer = inner.0.checked_mul(self.stride)?.checked_add(i32::from(route.0))?;
        (outer <= LARGEST).then_some(VirtualNodeId(outer))
    }

    /// The route and the id on the inner side; `None` for a negative id, which belongs to no route.
    pub fn inner(self, outer: VirtualNodeId) -> Option<(RouteId, VirtualNodeId)> {
        let id = u32::try_from(outer.0).ok()?;
        let stride = u32::try_from(self.stride).ok()?;
        let route = u16::try_from(id.checked_rem(stride)?).ok()?;
        let inner = i32::try_from(id.checked_div(stride)?).ok()?;
        Some((RouteId(route), VirtualNodeId(inner)))
    }
}

/// Asks a router's table for the stride of its node ids; `None` if it has a fault.
pub fn stride(table: &mut Table<'_>) -> Option<i32> {
    let about =
        "How many routes have node ids of their own: `id + stride · inner`. It never changes: clients hold these ids.";
    table.or("stride", integer(1, i64::from(u16::MAX) + 1), 16, about).map(skein_settings::Spanned::into_inner)
}

/// The routes whose ids a stride has no room for.
pub fn beyond<S>(stride: i32, routes: &[Route<S>]) -> Vec<Fault> {
    let beyond = |route: &&Route<S>| i32::from(route.id.get_ref().0) >= stride;
    let right = format!("use ids below the stride, which is {stride}");
    let fault = |route: &Route<S>| {
        let what = format!("route id {} makes node ids of another route", route.id.get_ref().0);
        Fault::new(what, route.id.span(), &right)
    };
    routes.iter().filter(beyond).map(fault).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_belongs_to_exactly_one_route() {
        let map = NodeMap::new(16).unwrap();
        let mut seen = std::collections::HashSet::new();
        for route in 0..16 {
            for inner in [0, 1, 7, 1001, 1_000_000] {
                let outer = map.outer(RouteId(route), VirtualNodeId(inner)).unwrap();
                assert!(seen.insert(outer));
                assert_eq!(map.inner(outer), Some((RouteId(route), VirtualNodeId(inner))));
            }
        }
    }

    #[test]
    fn negative_ids_pass_and_large_ones_are_refused() {
        let map = NodeMap::new(16).unwrap();
        assert_eq!(map.outer(RouteId(3), VirtualNodeId(-1)), Some(VirtualNodeId(-1)));
        assert_eq!(map.inner(VirtualNodeId(-1)), None);
        assert_eq!(map.outer(RouteId(3), VirtualNodeId(LARGEST / 16 + 1)), None);
        assert_eq!(map.outer(RouteId(3), VirtualNodeId(i32::MAX)), None);
    }
}
