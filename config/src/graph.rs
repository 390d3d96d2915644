//! Names of clusters and routers become a graph, for one virtual cluster.

use std::collections::BTreeMap;
use std::sync::Arc;

use skein_routing::declared::{DeclaredRouter, DeclaredTarget};
use skein_routing::graph::{Level, Target};
use skein_routing::topology::ClusterIndex;
use skein_settings::{Fault, nearest, quoted};

use crate::document::{Document, Named};

/// Routers on one way: each is passed by every request.
const MOST_LEVELS: usize = 16;
/// Ways from a virtual cluster to clusters: routers that branch again and again make twice as many at each level.
const MOST_WAYS: usize = 1024;

/// Names that a fault lists.
const MOST_LISTED: usize = 10;
/// Faults after which no name is sought that may have been meant: it takes time for each name that there is.
const HINTED: usize = 100;

/// Where a cluster that the file names is in the blueprint.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Place {
    At(ClusterIndex),
    /// It has a fault, which has been told.
    Faulty,
}

/// The graph below one virtual cluster.
pub(crate) struct Graph<'d, 'f> {
    document: &'d Document,
    places: &'f BTreeMap<&'d str, Place>,
    faults: &'f mut Vec<Fault>,
    /// The routers on the way, for cycles.
    above: Vec<&'d str>,
    /// Routers that have been made, each once.
    made: BTreeMap<&'d str, Option<Node>>,
}

/// A part of the graph.
#[derive(Clone)]
struct Node {
    target: Target,
    /// Ways from here to clusters.
    ways: usize,
}

impl<'d, 'f> Graph<'d, 'f> {
    pub(crate) fn new(
        document: &'d Document, places: &'f BTreeMap<&'d str, Place>, faults: &'f mut Vec<Fault>,
    ) -> Self {
        Self { document, places, faults, above: Vec::new(), made: BTreeMap::new() }
    }

    /// What a virtual cluster leads to; `None`: a fault has been told.
    pub(crate) fn resolve(&mut self, declared: &'d DeclaredTarget) -> Option<Target> {
        let Node { target, ways } = self.target(declared)?;
        if ways > MOST_WAYS {
            let what = format!("there are {ways} ways from here to clusters");
            self.fault(what, declared, format!("use fewer routes: at most {MOST_WAYS} ways in all"));
            return None;
        }
        Some(target)
    }

    fn fault(&mut self, what: impl AsRef<str>, at: &DeclaredTarget, right: impl AsRef<str>) {
        self.faults.push(Fault::new(what, at.name().span(), right));
    }

    /// What would be right in the place of a name that is not defined: all there are, and the one that may have been meant.
    fn defined<T>(&self, what: &str, name: &str, named: &Named<T>) -> String {
        let names = || named.keys().map(|name| name.get_ref().as_str());
        let listed: Vec<_> = names().take(MOST_LISTED).map(quoted).collect();
        if listed.is_empty() {
            return format!("define it: there are no {what}");
        }
        // With so many faults no report shows this one.
        let meant = if self.faults.len() < HINTED { nearest(name, names()) } else { None };
        let meant = meant.map(|known| format!("did you mean `{known}`? ")).unwrap_or_default();
        let more = if listed.len() < named.len() { ", …" } else { "" };
        format!("{meant}defined {what}: {}{more}", listed.join(", "))
    }

    fn target(&mut self, declared: &'d DeclaredTarget) -> Option<Node> {
        match declared {
            DeclaredTarget::Cluster(name) => match self.places.get(name.get_ref().as_str()) {
                Some(Place::At(index)) => Some(Node { target: Target::Cluster(*index), ways: 1 }),
                Some(Place::Faulty) => None,
                None => {
                    let right = self.defined("clusters", name.get_ref(), &self.document.clusters);
                    self.fault(format!("cluster {} is not defined", quoted(name.get_ref())), declared, right);
                    None
                }
            },
            DeclaredTarget::Router(name) => self.router(name.get_ref(), declared),
        }
    }

    fn router(&mut self, name: &str, declared: &'d DeclaredTarget) -> Option<Node> {
        let Some((name, router)) = self.document.routers.get_key_value(name) else {
            let right = self.defined("routers", name, &self.document.routers);
            self.fault(format!("router {} is not defined", quoted(name)), declared, right);
            return None;
        };
        let name = name.get_ref().as_str();
        if let Some(at) = self.above.iter().position(|above| *above == name) {
            let cycle: Vec<_> = self.above.iter().skip(at).chain([&name]).map(|name| quoted(name)).collect();
            let what = format!("router {} leads back to itself: {}", quoted(name), cycle.join(" → "));
            self.fault(what, declared, "let the routes lead on to clusters: routers form no cycle");
            return None;
        }
        if let Some(made) = self.made.get(name) {
            return made.clone();
        }
        if self.above.len() >= MOST_LEVELS {
            let what = format!("more than {MOST_LEVELS} routers on one way");
            self.fault(what, declared, "let routes lead to clusters earlier");
            return None;
        }
        self.above.push(name);
        let made = router.as_ref().and_then(|router| self.level(name, router));
        self.above.pop();
        self.made.insert(name, made.clone());
        made
    }

    fn level(&mut self, name: &str, router: &'d DeclaredRouter) -> Option<Node> {
        let (kind, mut routes, mut ways) = (router.kind, Vec::new(), 0_usize);
        for route in &router.routes {
            if let Some(node) = self.target(&route.target) {
                ways = ways.saturating_add(node.ways);
                routes.push((*route.id.get_ref(), route.name.get_ref().as_str(), node.target));
            }
        }
        let whole = routes.len() == router.routes.len();
        match router.prepare() {
            Ok(router) if whole => {
                let level = Level::new((name, kind), router, routes);
                Some(Node { target: Target::Router(Arc::new(level)), ways })
            }
            Ok(_) => None,
            Err(faults) => {
                self.faults.extend(faults);
                None
            }
        }
    }
}
