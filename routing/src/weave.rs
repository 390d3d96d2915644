//! `weave-topics`: one catalogue over the topics of several clusters.
//!
//! ```text
//!   clients see   ny-orders   orders   orders-eu   london-fx
//!                     │          │         │           │
//!   route us      ny-orders   orders       │           │
//!   route eu                            orders     london-fx
//! ```
//!
//! A topic belongs to the route whose rule takes its name, and has a name of its own there; what no rule takes is nowhere to
//! be seen. Groups and transactional ids have a home each. What is addressed to a broker goes to that broker; what is about
//! topics of several routes falls into parts, one for each.

mod rules;
mod settings;
mod several;
mod strand;
mod subscription;

use std::collections::BTreeMap;
use std::sync::Arc;

use skein_filters::{Client, Edge};
use skein_protocol::code::Code;
use skein_protocol::frame::Head;
use skein_protocol::ids::{ApiKey, VirtualNodeId};
use skein_settings::{Fault, Table};

use self::rules::Rules;
pub use self::settings::{RouteSettings, Settings};
use self::strand::Strand;
use crate::apis::manner::{self, Place};
use crate::apis::woven::{self, Way};
use crate::graph::Manner;
use crate::kind::{Kind, Route};
use crate::nodes::NodeMap;
use crate::router::{Course, Cx, Owned, Owner, Request, RouteId, Router, Step};

/// The router.
pub struct Weave {
    map: NodeMap,
    rules: Arc<Rules>,
    edges: BTreeMap<RouteId, Arc<dyn Edge>>,
}

impl Kind for Weave {
    const NAME: &'static str = "weave-topics";
    const EXAMPLE: &'static str = include_str!("../../examples/weave-topics.toml");
    type Settings = Settings;
    type RouteSettings = RouteSettings;

    fn settings(table: &mut Table<'_>) -> Option<Settings> {
        settings::settings(table)
    }

    fn route_settings(table: &mut Table<'_>) -> Option<RouteSettings> {
        settings::route_settings(table)
    }

    fn prepare(settings: &Settings, routes: &[Route<RouteSettings>]) -> Result<Self, Vec<Fault>> {
        let compiled = settings::compile(settings, routes)?;
        let (map, rules) = (compiled.map, Arc::new(compiled.rules));
        let edge = |route: &Route<RouteSettings>| -> (RouteId, Arc<dyn Edge>) {
            let route = *route.id.get_ref();
            (route, Arc::new(Strand { rules: Arc::clone(&rules), map, route }))
        };
        Ok(Self { map, edges: routes.iter().map(edge).collect(), rules })
    }
}

impl Router for Weave {
    fn weaves(&self) -> bool {
        true
    }

    fn owner(&self, of: Owned, name: &[u8]) -> Owner {
        let home = |route: Option<RouteId>| Owner::Route(route.unwrap_or(self.rules.home));
        match of {
            Owned::Topic => self.rules.topic(name).map_or(Owner::Nobody, |(route, _)| Owner::Route(route)),
            Owned::Group => home(self.rules.groups.of(name)),
            Owned::TransactionalId => home(self.rules.transactional_ids.of(name)),
        }
    }

    fn offers(&self, key: ApiKey) -> bool {
        woven::way(key) != Way::NotOffered
    }

    fn fallback(&self) -> Option<RouteId> {
        Some(self.rules.home)
    }

    fn course(&self, head: &Head, at: Option<VirtualNodeId>, _client: &Client) -> Course {
        let route = match at {
            Some(at) => self.map.inner(at).map_or(self.rules.home, |(route, _)| route),
            None => self.rules.home,
        };
        match (woven::way(head.key), manner::place(head.key)) {
            (Way::Several(cap), _) => Course::Whole(cap),
            (Way::Addressed, Place::Broker(Manner::Stream)) => Course::Stream(route),
            (Way::Addressed, Place::Broker(Manner::Gather(cap))) => Course::Gather(route, cap),
            (Way::Addressed, Place::Ours | Place::Login | Place::NotOffered) | (Way::NotOffered, _) => {
                Course::Refuse(Code::UNSUPPORTED_VERSION)
            }
        }
    }

    fn node(&self, at: VirtualNodeId) -> Option<(RouteId, VirtualNodeId)> {
        self.map.inner(at).filter(|(route, _)| self.edges.contains_key(route))
    }

    fn outer(&self, route: RouteId, inner: VirtualNodeId) -> Option<VirtualNodeId> {
        self.map.outer(route, inner)
    }

    fn edge(&self, route: RouteId) -> Arc<dyn Edge> {
        match self.edges.get(&route) {
            Some(edge) => Arc::clone(edge),
            // A route that the graph does not have either.
            None => Arc::new(Strand { rules: Arc::clone(&self.rules), map: self.map, route }),
        }
    }

    fn route(&self, request: Request, cx: &Cx<'_>) -> Step {
        several::route(&self.rules, self.map, request, cx)
    }
}
