//! Routers, routes and filters as the configuration declares them, before names are resolved.

use std::sync::Arc;

use skein_filters::Prepared;
use skein_settings::{Fault, Spanned, Table, Text, Value, fields, text};

use crate::router::{RouteId, Router};

/// Where a route or a virtual cluster leads, by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeclaredTarget {
    /// To a cluster.
    Cluster(Spanned<String>),
    /// To a router.
    Router(Spanned<String>),
}

impl DeclaredTarget {
    /// The name, with its place in the file.
    pub fn name(&self) -> &Spanned<String> {
        let (Self::Cluster(name) | Self::Router(name)) = self;
        name
    }
}

/// A route, less what its router's kind knows of it.
#[derive(Clone, Debug)]
pub struct DeclaredRoute {
    /// Its name.
    pub name: Spanned<String>,
    /// Its number.
    pub id: Spanned<RouteId>,
    /// Where it leads.
    pub target: DeclaredTarget,
}

/// Makes a router of settings that have been read.
type Prepare = Box<dyn Fn() -> Result<Box<dyn Router>, Vec<Fault>>>;

/// A router whose settings have been read.
pub struct DeclaredRouter {
    /// The word for its kind.
    pub kind: &'static str,
    /// Its routes, by name in order.
    pub routes: Vec<DeclaredRoute>,
    pub(crate) prepare: Prepare,
}

impl DeclaredRouter {
    /// Makes the router, once per virtual cluster.
    ///
    /// # Errors
    /// Everything that is wrong with its settings.
    pub fn prepare(&self) -> Result<Box<dyn Router>, Vec<Fault>> {
        (self.prepare)()
    }
}

/// Makes a filter of settings that have been read.
type PrepareFilter = Box<dyn Fn() -> Result<Arc<dyn Prepared>, Vec<Fault>>>;

/// A filter whose settings have been read.
pub struct DeclaredFilter {
    /// The word for its kind.
    pub kind: &'static str,
    pub(crate) prepare: PrepareFilter,
}

impl DeclaredFilter {
    /// Makes the filter, once per virtual cluster.
    ///
    /// # Errors
    /// Everything that is wrong with its settings.
    pub fn prepare(&self) -> Result<Arc<dyn Prepared>, Vec<Fault>> {
        (self.prepare)()
    }
}

/// A target: one cluster or one router.
pub fn target() -> impl Value<Out = DeclaredTarget> {
    fields("a target", "`target.cluster = \"NAME\"` or `target.router = \"NAME\"`", |table: &mut Table<'_>| {
        let cluster = table.optional("cluster", name(), "The name of a cluster.");
        let router = table.optional("router", name(), "The name of a router.");
        match (cluster?, router?) {
            (Some(cluster), None) => Some(DeclaredTarget::Cluster(cluster)),
            (None, Some(router)) => Some(DeclaredTarget::Router(router)),
            _ => None,
        }
    })
    .exactly_one()
}

fn name() -> Text<String> {
    text("a name, such as \"one\"", "", |text| Ok(text.to_owned()))
}
