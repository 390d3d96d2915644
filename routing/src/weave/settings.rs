//! The rules as they stand in a file.

use std::collections::BTreeMap;

use skein_filters::pattern::{Pattern, pattern};
use skein_settings::{Fault, Spanned, Table, Text, list, named, quoted, text};

use super::rules::{Belongs, LONGEST_NAME, Names, Rules};
use crate::kind::Route;
use crate::nodes::{self, NodeMap};
use crate::router::RouteId;

/// What stands in the table of such a router.
#[derive(Clone, Debug)]
pub struct Settings {
    stride: i32,
    home: Option<Spanned<String>>,
}

/// What stands in the table of a route.
#[derive(Clone, Debug)]
pub struct RouteSettings {
    topics: Option<Vec<Spanned<Pattern>>>,
    rename: BTreeMap<Spanned<String>, Option<String>>,
    prefix: Option<Spanned<String>>,
    strip: Option<Spanned<String>>,
    place: Option<Vec<Spanned<Pattern>>>,
    groups: Vec<Spanned<Pattern>>,
    transactional_ids: Vec<Spanned<Pattern>>,
}

/// Asks for the keys of the router.
pub(super) fn settings(table: &mut Table<'_>) -> Option<Settings> {
    let stride = nodes::stride(table);
    let home = table.optional(
        "home",
        route_name(),
        "The route of groups and transactional ids that no route names, and of all else that belongs to no topic. It is \
         needed where there are several routes.",
    );
    Some(Settings { stride: stride?, home: home? })
}

/// Asks for the keys of a route.
pub(super) fn route_settings(table: &mut Table<'_>) -> Option<RouteSettings> {
    let topics = table.optional(
        "topics",
        list(1, pattern()),
        "The topics of this route, as clients see them: a name, a prefix with `*` at its end, or `\"*\"`. A name goes before \
         a prefix, a longer prefix before a shorter. Without it: those of `rename`; without that, all with `prefix`. A topic \
         that no route has is nowhere to be seen.",
    );
    let rename = table.optional(
        "rename",
        named(1, topic()),
        "Topics with other names here than on the inner side: `{ \"orders-eu\" = \"orders\" }`, the name that clients see first.",
    );
    let prefix = table.optional("prefix", start(), "What names have in front of them for clients only.");
    let strip = table.optional(
        "strip",
        start(),
        "What names have in front of them on the inner side only; topics whose names do not begin so are nowhere to be seen.",
    );
    let place = table.optional(
        "place",
        list(0, pattern()),
        "Those of its topics, as clients see them, that may be created. Without it: all of them.",
    );
    let groups = table.optional("groups", list(1, pattern()), "Groups whose home it is, written as `topics` are.");
    let transactional_ids =
        table.optional("transactional-ids", list(1, pattern()), "Transactional ids whose home it is, in the same way.");
    Some(RouteSettings {
        topics: topics?.map(Spanned::into_inner),
        rename: rename?.map(Spanned::into_inner).unwrap_or_default(),
        prefix: prefix?,
        strip: strip?,
        place: place?.map(Spanned::into_inner),
        groups: groups?.map(Spanned::into_inner).unwrap_or_default(),
        transactional_ids: transactional_ids?.map(Spanned::into_inner).unwrap_or_default(),
    })
}

fn route_name() -> Text<String> {
    text("the name of a route, such as \"us\"", ".", |text| Ok(text.to_owned()))
}

fn topic() -> Text<String> {
    text("a topic's name, such as \"orders\"", "^[a-zA-Z0-9._-]{1,249}$|\\$\\{", |text| match wrong(text, 1) {
        Some(what) => Err(what),
        None => Ok(text.to_owned()),
    })
}

fn start() -> Text<String> {
    text("the start of topics' names, such as \"eu.\"", "^[a-zA-Z0-9._-]{1,200}$|\\$\\{", |text| {
        match wrong(text, 50) {
            Some(what) => Err(what),
            None => Ok(text.to_owned()),
        }
    })
}

/// Why a text is no topic's name, or no start of one to which so many letters can be added.
fn wrong(text: &str, more: usize) -> Option<String> {
    let legal = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '.' | '_' | '-');
    let most = LONGEST_NAME - (more - 1);
    match text {
        "" => Some("an empty name".to_owned()),
        "." | ".." if more == 1 => Some(format!("{} is no name that a topic can have", quoted(text))),
        _ if text.len() > most => Some(format!("a text of {} letters; at most {most} are right", text.len())),
        _ => {
            let letter = text.chars().find(|letter| !legal(*letter))?;
            Some(format!(
                "{} has a letter that topics' names cannot have: {}",
                quoted(text),
                quoted(&letter.to_string())
            ))
        }
    }
}

/// A router's settings, made rules.
pub(super) struct Compiled {
    pub(super) map: NodeMap,
    pub(super) rules: Rules,
}

/// Compiles the rules of all routes.
///
/// # Errors
/// Everything that is wrong.
pub(super) fn compile(settings: &Settings, routes: &[Route<RouteSettings>]) -> Result<Compiled, Vec<Fault>> {
    let mut compile = Compile { routes, faults: nodes::beyond(settings.stride, routes), rules: Rules::default() };
    compile.home(settings);
    for route in routes {
        compile.route(route);
    }
    let Compile { faults, rules, .. } = compile;
    match NodeMap::new(settings.stride) {
        Some(map) if faults.is_empty() => Ok(Compiled { map, rules }),
        _ => Err(faults),
    }
}

struct Compile<'r> {
    routes: &'r [Route<RouteSettings>],
    faults: Vec<Fault>,
    rules: Rules,
}

/// Which of the rules' names something is about.
#[derive(Clone, Copy)]
enum About {
    Topics,
    Groups,
    TransactionalIds,
}

impl Compile<'_> {
    fn name(&self, id: RouteId) -> String {
        let route = self.routes.iter().find(|route| *route.id.get_ref() == id);
        quoted(route.map_or("", |route| route.name.get_ref()))
    }

    fn home(&mut self, settings: &Settings) {
        let names: Vec<_> = self.routes.iter().map(|route| quoted(route.name.get_ref())).collect();
        let defined = || format!("its routes are {}", names.join(", "));
        match (&settings.home, self.routes) {
            (None, [only]) => self.rules.home = *only.id.get_ref(),
            (None, []) => {}
            (None, [first, ..]) => self.faults.push(Fault::new(
                "a router with several routes, and nothing says where groups are at home",
                first.name.span(),
                format!("add `home = \"…\"` to the router: {}", defined()),
            )),
            (Some(home), routes) => match routes.iter().find(|route| route.name.get_ref() == home.get_ref()) {
                Some(route) => self.rules.home = *route.id.get_ref(),
                None => {
                    let what = format!("route {} is not defined", quoted(home.get_ref()));
                    self.faults.push(Fault::new(what, home.span(), defined()));
                }
            },
        }
    }

    fn give(&mut self, about: About, pattern: &Pattern, at: std::ops::Range<usize>, route: RouteId) {
        let (belongs, what): (&mut Belongs, _) = match about {
            About::Topics => (&mut self.rules.topics, "topics"),
            About::Groups => (&mut self.rules.groups, "groups"),
            About::TransactionalIds => (&mut self.rules.transactional_ids, "transactional ids"),
        };
        if let Err(other) = belongs.give(pattern, route) {
            let (one, other) = (self.name(other), self.name(route));
            let told = if one == other {
                format!("route {one} names the same {what} twice")
            } else {
                format!("routes {one} and {other} both take these {what}")
            };
            let right = "give each name and each prefix to one route; a name goes before a prefix, a longer prefix before a shorter";
            self.faults.push(Fault::new(told, at, right));
        }
    }

    fn route(&mut self, route: &Route<RouteSettings>) {
        let (id, settings) = (*route.id.get_ref(), &route.settings);
        let start = |text: &Option<Spanned<String>>| text.as_ref().map(|text| text.get_ref().as_bytes().into());
        let prefix: Box<[u8]> = start(&settings.prefix).unwrap_or_default();
        let strip: Box<[u8]> = start(&settings.strip).unwrap_or_default();
        let mut names = Names { prefix: prefix.clone(), strip, ..Names::default() };
        for (outer, inner) in &settings.rename {
            self.rename(id, outer, inner.as_deref(), &mut names);
        }
        let all = if prefix.is_empty() { Pattern::Any } else { Pattern::Prefix(prefix.clone()) };
        match &settings.topics {
            None if settings.rename.is_empty() => self.give(About::Topics, &all, route.name.span(), id),
            None => {}
            Some(topics) => {
                for pattern in topics {
                    self.takes(id, pattern, &names);
                }
            }
        }
        if let Some(place) = &settings.place {
            self.rules.created.insert(id, place.iter().map(|pattern| pattern.get_ref().clone()).collect());
        }
        self.rules.names.insert(id, names);
        for group in &settings.groups {
            self.give(About::Groups, group.get_ref(), group.span(), id);
        }
        for of in &settings.transactional_ids {
            self.give(About::TransactionalIds, of.get_ref(), of.span(), id);
        }
    }

    fn rename(&mut self, id: RouteId, outer: &Spanned<String>, inner: Option<&str>, names: &mut Names) {
        // What is wrong with the inner name has been told.
        let Some(inner) = inner else { return };
        if let Some(what) = wrong(outer.get_ref(), 1) {
            self.faults.push(Fault::new(what, outer.span(), "write a topic's name, such as \"orders\""));
            return;
        }
        let (seen, real): (Box<[u8]>, Box<[u8]>) = (outer.get_ref().as_bytes().into(), inner.as_bytes().into());
        self.give(About::Topics, &Pattern::Literal(seen.clone()), outer.span(), id);
        if let Some(other) = names.renamed.insert(real.clone(), seen.clone()) {
            let what = format!(
                "{} and {} are both names of the topic {}",
                quoted(&String::from_utf8_lossy(&other)),
                quoted(outer.get_ref()),
                quoted(inner)
            );
            self.faults.push(Fault::new(what, outer.span(), "give each topic one name"));
        }
        names.stands_for.insert(seen, real);
    }

    /// Topics that a route takes by name or prefix.
    fn takes(&mut self, id: RouteId, pattern: &Spanned<Pattern>, names: &Names) {
        self.give(About::Topics, pattern.get_ref(), pattern.span(), id);
        let text = match pattern.get_ref() {
            Pattern::Any => &[][..],
            Pattern::Literal(text) | Pattern::Prefix(text) => text,
        };
        let shown = |text: &[u8]| quoted(&String::from_utf8_lossy(text));
        let meets = text.starts_with(&names.prefix)
            || !matches!(pattern.get_ref(), Pattern::Literal(_)) && names.prefix.starts_with(text);
        if !meets {
            let what = format!("names of this route begin with {} for clients, and these do not", shown(&names.prefix));
            self.faults.push(Fault::new(what, pattern.span(), "write names as clients see them"));
        }
        let inner = text.strip_prefix(&*names.prefix).map(|rest| [&*names.strip, rest].concat());
        if let (Pattern::Literal(_), Some(inner)) = (pattern.get_ref(), inner)
            && let Some(other) = names.renamed.get(&*inner)
        {
            let what = format!("{} and {} are both names of the topic {}", shown(other), shown(text), shown(&inner));
            self.faults.push(Fault::new(what, pattern.span(), "give each topic one name"));
        }
    }
}
