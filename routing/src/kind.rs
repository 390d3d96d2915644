//! The kinds of router and of filter there are. A new kind is one file with an impl of [`Kind`] or [`FilterKind`], and one
//! line in a [`Registry`].

use std::collections::BTreeMap;
use std::sync::Arc;

use skein_filters::authorize::Authorize;
use skein_filters::{FilterKind, Prepared};
use skein_settings::{Fault, Integer, Item, Shape, Spanned, Table, Value, fields, integer, named, quoted, words};

use crate::declared::{DeclaredFilter, DeclaredRoute, DeclaredRouter, DeclaredTarget, target};
use crate::router::{RouteId, Router};
use crate::weave::Weave;

/// A route as its router's kind sees it.
#[derive(Clone, Debug)]
pub struct Route<S> {
    /// Its name, with its place in the file.
    pub name: Spanned<String>,
    /// Its number, with its place in the file.
    pub id: Spanned<RouteId>,
    /// What else stands in its table.
    pub settings: S,
}

/// A kind of router.
pub trait Kind: Router + Sized + 'static {
    /// The word in `kind = "…"`.
    const NAME: &'static str;
    /// A whole configuration that the manual shows and a test loads.
    const EXAMPLE: &'static str;
    /// What stands in the router's table besides `kind` and `routes`.
    type Settings: 'static;
    /// What stands in a route's table besides `id` and `target`.
    type RouteSettings: 'static;

    /// Asks a router's table for the keys of this kind; `None` if one of them has a fault.
    fn settings(table: &mut Table<'_>) -> Option<Self::Settings>;

    /// Asks a route's table for the keys of this kind; `None` if one of them has a fault.
    fn route_settings(table: &mut Table<'_>) -> Option<Self::RouteSettings>;

    /// Makes the router, once per virtual cluster.
    ///
    /// # Errors
    /// Everything that is wrong, not only the first, at the place of the [`Spanned`] value that is wrong.
    fn prepare(settings: &Self::Settings, routes: &[Route<Self::RouteSettings>]) -> Result<Self, Vec<Fault>>;
}

/// A kind, as a registry knows it.
#[derive(Clone, Copy)]
struct Entry {
    example: &'static str,
    /// Asks a router's table for everything but `kind`.
    ask: fn(&mut Table<'_>) -> Option<DeclaredRouter>,
}

/// A kind of filter, as a registry knows it.
#[derive(Clone, Copy)]
struct FilterEntry {
    example: &'static str,
    /// Asks a filter's table for everything but `kind`.
    ask: fn(&mut Table<'_>) -> Option<DeclaredFilter>,
}

/// The kinds of a build, by name.
#[derive(Clone, Default)]
pub struct Registry {
    kinds: BTreeMap<&'static str, Entry>,
    filters: BTreeMap<&'static str, FilterEntry>,
}

impl Registry {
    /// The kinds that Skein comes with.
    pub fn standard() -> Self {
        Self::default().with::<Weave>().with_filter::<Authorize>()
    }

    /// With one more kind.
    #[must_use]
    pub fn with<K: Kind>(mut self) -> Self {
        self.kinds.insert(K::NAME, Entry { example: K::EXAMPLE, ask: ask::<K> });
        self
    }

    /// With one more kind of filter.
    #[must_use]
    pub fn with_filter<F: FilterKind>(mut self) -> Self {
        self.filters.insert(F::NAME, FilterEntry { example: F::EXAMPLE, ask: ask_filter::<F> });
        self
    }

    /// A filter of any of the kinds, as it stands in a file.
    pub fn filter(&self) -> impl Value<Out = DeclaredFilter> + '_ {
        AnyFilter { kinds: self }
    }

    /// The names of the kinds of router, in order.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.kinds.keys().copied()
    }

    /// A router of any of the kinds, as it stands in a file.
    pub fn router(&self) -> impl Value<Out = DeclaredRouter> + '_ {
        AnyKind { kinds: self }
    }

    /// The example of each kind.
    pub fn examples(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        let routers = self.kinds.iter().map(|(name, entry)| (*name, entry.example));
        routers.chain(self.filters.iter().map(|(name, entry)| (*name, entry.example)))
    }
}

/// The routers of a file: of which kind each is, says its `kind`.
struct AnyKind<'r> {
    kinds: &'r Registry,
}

const ABOUT_KIND: &str = "Which kind of router it is. Each kind has keys of its own beside those that all have.";

impl Value for AnyKind<'_> {
    type Out = DeclaredRouter;

    fn shape(&self) -> Shape {
        let of_kind = |(name, entry): (&&'static str, &Entry)| {
            let this = words([(*name, *entry)]);
            let all = |table: &mut Table<'_>| {
                table.required("kind", this.clone(), ABOUT_KIND);
                (entry.ask)(table)
            };
            fields(TITLE, SHOWN, all).shape()
        };
        Shape::Either(self.kinds.kinds.iter().map(of_kind).collect())
    }

    fn wanted(&self) -> String {
        SHOWN.to_owned()
    }

    fn read(&self, item: &Item<'_>) -> Option<DeclaredRouter> {
        if self.kinds.kinds.is_empty() {
            item.fault("this build of Skein has no kind of router", "leave routers out");
            return None;
        }
        let kinds = words(self.kinds.kinds.iter().map(|(name, entry)| (*name, *entry)));
        let all = |table: &mut Table<'_>| match table.required("kind", kinds.clone(), ABOUT_KIND) {
            Some(entry) => (entry.into_inner().ask)(table),
            None => {
                table.leave();
                None
            }
        };
        fields(TITLE, SHOWN, all).read(item)
    }
}

/// The filters of a virtual cluster: of which kind each is, says its `kind`.
struct AnyFilter<'r> {
    kinds: &'r Registry,
}

const ABOUT_FILTER: &str = "Which kind of filter it is. Each kind has keys of its own.";

impl Value for AnyFilter<'_> {
    type Out = DeclaredFilter;

    fn shape(&self) -> Shape {
        let of_kind = |(name, entry): (&&'static str, &FilterEntry)| {
            let this = words([(*name, *entry)]);
            let all = |table: &mut Table<'_>| {
                table.required("kind", this.clone(), ABOUT_FILTER);
                (entry.ask)(table)
            };
            fields(A_FILTER, FILTER_SHOWN, all).shape()
        };
        Shape::Either(self.kinds.filters.iter().map(of_kind).collect())
    }

    fn wanted(&self) -> String {
        FILTER_SHOWN.to_owned()
    }

    fn read(&self, item: &Item<'_>) -> Option<DeclaredFilter> {
        let kinds = words(self.kinds.filters.iter().map(|(name, entry)| (*name, *entry)));
        let all = |table: &mut Table<'_>| match table.required("kind", kinds.clone(), ABOUT_FILTER) {
            Some(entry) => (entry.into_inner().ask)(table),
            None => {
                table.leave();
                None
            }
        };
        fields(A_FILTER, FILTER_SHOWN, all).read(item)
    }
}

const A_FILTER: &str = "a filter";
const FILTER_SHOWN: &str = "a table `[[virtual-clusters.NAME.filters]]`";

/// Asks for what a kind of filter has.
fn ask_filter<F: FilterKind>(table: &mut Table<'_>) -> Option<DeclaredFilter> {
    let settings = F::settings(table)?;
    let prepare = move || F::prepare(&settings).map(|filter| -> Arc<dyn Prepared> { Arc::new(filter) });
    Some(DeclaredFilter { kind: F::NAME, prepare: Box::new(prepare) })
}

const TITLE: &str = "a router";
const SHOWN: &str = "a table `[routers.NAME]`";

/// A route whose table has been read.
struct Read<S> {
    id: Spanned<RouteId>,
    target: DeclaredTarget,
    settings: S,
}

/// Asks for what the routers of all kinds have, and for what a kind adds.
fn ask<K: Kind>(table: &mut Table<'_>) -> Option<DeclaredRouter> {
    let routes = table.required(
        "routes",
        named(1, fields("a route", "a table `[routers.NAME.routes.NAME]`", route::<K>)),
        "Its routes, by name; at least one.",
    );
    let settings = K::settings(table);
    let (routes, settings) = (routes?, settings?);
    let (mut declared, mut seen) = (Vec::new(), Vec::new());
    let mut ids = BTreeMap::new();
    for (name, route) in routes.into_inner() {
        let Read { id, target, settings } = route?;
        if let Some(other) = ids.insert(*id.get_ref(), name.get_ref().clone()) {
            let what = format!("routes {} and {} have one id", quoted(&other), quoted(name.get_ref()));
            table.tell(Fault::new(what, id.span(), "give each route an id of its own, for ever"));
        }
        seen.push(Route { name: name.clone(), id: id.clone(), settings });
        declared.push(DeclaredRoute { name, id, target });
    }
    let prepare = move || K::prepare(&settings, &seen).map(|router| -> Box<dyn Router> { Box::new(router) });
    Some(DeclaredRouter { kind: K::NAME, routes: declared, prepare: Box::new(prepare) })
}

fn route<K: Kind>(table: &mut Table<'_>) -> Option<Read<K::RouteSettings>> {
    let id =
        table.required("id", route_id(), "A number that never changes: node ids that clients hold are made from it.");
    let target = table.required("target", target(), "As above: one `cluster` or one `router`.");
    let settings = K::route_settings(table);
    let id = id?;
    let at = id.span();
    Some(Read { id: Spanned::new(at, RouteId(id.into_inner())), target: target?.into_inner(), settings: settings? })
}

fn route_id() -> Integer<u16> {
    integer(0, i64::from(u16::MAX))
}
