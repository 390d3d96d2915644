//! Which route a name belongs to, and what it is called there.
//!
//! Topics: a bijection between the names that clients see and those of each route that are exposed. Groups and transactional
//! ids keep their names, and each has one home.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use skein_filters::pattern::Pattern;
use skein_protocol::varint::narrow;

use crate::router::RouteId;

/// The longest name that a topic can have.
pub(super) const LONGEST_NAME: usize = 249;

/// Names, each of which belongs to one route at most: a name before a prefix, a longer prefix before a shorter.
#[derive(Clone, Debug, Default)]
pub(super) struct Belongs {
    literal: HashMap<Box<[u8]>, RouteId>,
    prefix: HashMap<Box<[u8]>, RouteId>,
    /// The lengths of the prefixes, longest first.
    lengths: Vec<usize>,
}

impl Belongs {
    /// Gives names to a route; or tells whose they are.
    pub(super) fn give(&mut self, pattern: &Pattern, route: RouteId) -> Result<(), RouteId> {
        let (names, text): (_, &[u8]) = match pattern {
            Pattern::Literal(name) => (&mut self.literal, name),
            Pattern::Prefix(start) => (&mut self.prefix, start),
            Pattern::Any => (&mut self.prefix, &[]),
        };
        if let Some(other) = names.get(text) {
            return Err(*other);
        }
        names.insert(text.into(), route);
        if !matches!(pattern, Pattern::Literal(_)) && !self.lengths.contains(&text.len()) {
            self.lengths.push(text.len());
            self.lengths.sort_unstable_by(|one, other| other.cmp(one));
        }
        Ok(())
    }

    /// The route of a name.
    pub(super) fn of(&self, name: &[u8]) -> Option<RouteId> {
        let by_prefix = || self.lengths.iter().find_map(|length| self.prefix.get(name.get(..*length)?));
        self.literal.get(name).or_else(by_prefix).copied()
    }
}

/// What the topics of a route are called on its two sides.
#[derive(Clone, Debug, Default)]
pub(super) struct Names {
    /// Names on the inner side, and what clients see instead.
    pub(super) renamed: HashMap<Box<[u8]>, Box<[u8]>>,
    /// The same from the other side.
    pub(super) stands_for: HashMap<Box<[u8]>, Box<[u8]>>,
    /// What other names have in front of them on the outer side.
    pub(super) prefix: Box<[u8]>,
    /// What they have in front of them on the inner side.
    pub(super) strip: Box<[u8]>,
}

impl Names {
    /// Whether every name is the same on both sides.
    fn is_identity(&self) -> bool {
        self.renamed.is_empty() && self.prefix == self.strip
    }

    /// By how many bytes a name becomes longer at most, on the way in and on the way out; `None`: no name changes.
    fn growth(&self) -> Option<[u32; 2]> {
        if self.is_identity() {
            return None;
        }
        let more = |from: &[u8], to: &[u8]| narrow(to.len()).saturating_sub(narrow(from.len()));
        let begin = [more(&self.prefix, &self.strip), more(&self.strip, &self.prefix)];
        let most = |[inward, outward]: [u32; 2], (inner, outer): (&[u8], &[u8])| {
            [inward.max(more(outer, inner)), outward.max(more(inner, outer))]
        };
        Some(self.renamed.iter().map(|(inner, outer)| (&**inner, &**outer)).fold(begin, most))
    }

    /// What a topic of the route is called on the inner side. `None`: nothing there has this name.
    fn inner<'n>(&self, outer: &'n [u8]) -> Option<Cow<'n, [u8]>> {
        if let Some(inner) = self.stands_for.get(outer) {
            return Some(Cow::Owned(inner.to_vec()));
        }
        let inner = joined(&self.strip, outer.strip_prefix(&*self.prefix)?, outer);
        // What has been renamed is not there a second time under its own name.
        (inner.len() <= LONGEST_NAME && !self.renamed.contains_key(&*inner)).then_some(inner)
    }

    /// What a topic of the inner side is called on the outer side, if it is exposed at all.
    fn outer<'n>(&self, inner: &'n [u8]) -> Option<Cow<'n, [u8]>> {
        if let Some(outer) = self.renamed.get(inner) {
            return Some(Cow::Owned(outer.to_vec()));
        }
        let outer = joined(&self.prefix, inner.strip_prefix(&*self.strip)?, inner);
        (outer.len() <= LONGEST_NAME).then_some(outer)
    }
}

/// A name with another start, or the name itself if that is the same.
fn joined<'n>(start: &[u8], rest: &'n [u8], whole: &'n [u8]) -> Cow<'n, [u8]> {
    if whole.len() == start.len() + rest.len() && whole.starts_with(start) {
        return Cow::Borrowed(whole);
    }
    Cow::Owned([start, rest].concat())
}

/// The rules of a router.
#[derive(Clone, Debug, Default)]
pub(super) struct Rules {
    pub(super) topics: Belongs,
    pub(super) names: BTreeMap<RouteId, Names>,
    /// Names of topics that may be created, where not all that a route has may be.
    pub(super) created: BTreeMap<RouteId, Vec<Pattern>>,
    pub(super) groups: Belongs,
    pub(super) transactional_ids: Belongs,
    /// The route of what no other rule gives a home.
    pub(super) home: RouteId,
}

impl Rules {
    /// The route of a topic, and what it is called there. `None`: no rule exposes it.
    pub(super) fn topic<'n>(&self, outer: &'n [u8]) -> Option<(RouteId, Cow<'n, [u8]>)> {
        let route = self.topics.of(outer)?;
        Some((route, self.names.get(&route)?.inner(outer)?))
    }

    /// What a topic of a route is called here. `None`: it is not exposed.
    pub(super) fn shown<'n>(&self, route: RouteId, inner: &'n [u8]) -> Option<Cow<'n, [u8]>> {
        let outer = self.names.get(&route)?.outer(inner)?;
        (self.topics.of(&outer) == Some(route) && self.names.get(&route)?.inner(&outer)? == inner).then_some(outer)
    }

    /// Whether a topic of a route may be created.
    pub(super) fn may_create(&self, route: RouteId, outer: &[u8]) -> bool {
        self.created.get(&route).is_none_or(|patterns| patterns.iter().any(|pattern| pattern.has(outer)))
    }

    /// See [`Names::growth`].
    pub(super) fn growth(&self, route: RouteId) -> Option<[u32; 2]> {
        self.names.get(&route)?.growth()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Short names over few letters, so that rules meet.
    fn name() -> impl Strategy<Value = Box<[u8]>> {
        "[ab.]{1,4}".prop_map(|name| name.into_bytes().into())
    }

    fn start() -> impl Strategy<Value = Box<[u8]>> {
        "[ab.]{0,2}".prop_map(|name| name.into_bytes().into())
    }

    fn pattern() -> impl Strategy<Value = Pattern> {
        prop_oneof![1 => Just(Pattern::Any), 2 => name().prop_map(Pattern::Literal), 3 => name().prop_map(Pattern::Prefix)]
    }

    type Route = (Vec<Pattern>, Vec<(Box<[u8]>, Box<[u8]>)>, Box<[u8]>, Box<[u8]>);

    fn rules() -> impl Strategy<Value = Rules> {
        let route =
            (prop::collection::vec(pattern(), 0..4), prop::collection::vec((name(), name()), 0..3), start(), start());
        prop::collection::vec(route, 1..4).prop_map(|routes| made(&routes))
    }

    /// Rules as a file's are compiled: what another rule has taken is not taken again.
    fn made(routes: &[Route]) -> Rules {
        let mut rules = Rules::default();
        for (route, (topics, renames, prefix, strip)) in (0..).map(RouteId).zip(routes) {
            let mut names = Names { prefix: prefix.clone(), strip: strip.clone(), ..Names::default() };
            for (outer, inner) in renames {
                let is_new = !names.renamed.contains_key(inner);
                if is_new && rules.topics.give(&Pattern::Literal(outer.clone()), route).is_ok() {
                    names.renamed.insert(inner.clone(), outer.clone());
                    names.stands_for.insert(outer.clone(), inner.clone());
                }
            }
            for pattern in topics {
                let _ = rules.topics.give(pattern, route);
            }
            rules.names.insert(route, names);
        }
        rules
    }

    proptest! {
        #[test]
        fn what_clients_see_is_one_topic_of_one_route_and_back(rules in rules(), names in prop::collection::vec(name(), 1..20)) {
            for outer in &names {
                if let Some((route, inner)) = rules.topic(outer) {
                    let back = rules.shown(route, &inner);
                    prop_assert_eq!(back.as_deref(), Some(&**outer));
                }
            }
            for inner in &names {
                for route in rules.names.keys() {
                    if let Some(outer) = rules.shown(*route, inner) {
                        let (back, same) = rules.topic(&outer).unwrap();
                        prop_assert_eq!((back, &*same), (*route, &**inner));
                    }
                }
            }
        }

        #[test]
        fn no_name_grows_by_more_than_is_told(rules in rules(), names in prop::collection::vec(name(), 1..20)) {
            for outer in &names {
                let Some((route, inner)) = rules.topic(outer) else { continue };
                let [inward, outward] = rules.growth(route).unwrap_or_default();
                prop_assert!(inner.len() <= outer.len() + usize::try_from(inward).unwrap());
                prop_assert!(outer.len() <= inner.len() + usize::try_from(outward).unwrap());
            }
        }
    }

    #[test]
    fn a_name_goes_before_a_prefix_and_a_longer_prefix_before_a_shorter() {
        let mut belongs = Belongs::default();
        for (route, pattern) in ["*", "ny-*", "ny-fx-*", "ny-fx-orders"].into_iter().enumerate() {
            belongs.give(&Pattern::of(pattern), RouteId(u16::try_from(route).unwrap())).unwrap();
        }
        for (route, name) in ["la", "ny-orders", "ny-fx-trades", "ny-fx-orders"].into_iter().enumerate() {
            assert_eq!(belongs.of(name.as_bytes()), Some(RouteId(u16::try_from(route).unwrap())), "{name}");
        }
        assert_eq!(belongs.give(&Pattern::of("ny-*"), RouteId(9)), Err(RouteId(1)));
    }
}
