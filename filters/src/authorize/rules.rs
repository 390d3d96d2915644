//! The rules as they stand in a file.

use skein_settings::{Fault, Spanned, Table, Text, Value, fields, list, text, words};

use super::grants::{CLUSTER, Effect, Rule};
use super::operation::{Operation, Operations, Resource};
use crate::pattern::{Pattern, pattern};

/// A rule of a file.
#[derive(Clone, Debug)]
pub struct DeclaredRule {
    allow: Option<Operations>,
    deny: Option<Operations>,
    principals: Vec<Who>,
    names: Vec<(Resource, Pattern)>,
    /// Whether it is said what it is about, be that right or not.
    is_about: bool,
}

/// Whom a rule is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Who {
    /// All, `ANONYMOUS` too.
    Everyone,
    /// One principal.
    One(String),
}

impl Who {
    fn is(&self, principal: &str) -> bool {
        match self {
            Self::Everyone => true,
            Self::One(one) => one == principal,
        }
    }
}

/// A rule, with those whom it is about.
#[derive(Clone, Debug)]
pub(super) struct About {
    principals: Vec<Who>,
    rules: Vec<Rule>,
}

impl About {
    /// A rule about one principal, or `"*"`.
    pub(super) fn new(principal: &str, rule: Rule) -> Self {
        let who = if principal == "*" { Who::Everyone } else { Who::One(principal.to_owned()) };
        Self { principals: vec![who], rules: vec![rule] }
    }

    /// Its rules, if it is about `principal`.
    pub(super) fn rules_of(&self, principal: &str) -> &[Rule] {
        if self.principals.iter().any(|who| who.is(principal)) { &self.rules } else { &[] }
    }
}

/// A list of rules.
pub(super) fn rules() -> impl Value<Out = Vec<Spanned<DeclaredRule>>> {
    list(
        0,
        fields("a rule", "a table `{ allow = [\"READ\"], principals = [\"alice\"], topics = [\"orders-*\"] }`", rule),
    )
}

fn rule(table: &mut Table<'_>) -> Option<DeclaredRule> {
    let allow = table.optional("allow", operations(), "What it allows. One of `allow` and `deny`.");
    let deny = table.optional("deny", operations(), "What it denies, whatever other rules allow.");
    let principals = table.required(
        "principals",
        list(1, who()),
        "Whom it is about: names as logins give them, `\"ANONYMOUS\"` for clients without a login, `\"*\"` for all.",
    );
    let topics = table.optional(
        "topics",
        list(1, pattern()),
        "Topics: a name, a prefix with `*` at its end, or `\"*\"` for all.",
    );
    let groups = table.optional("groups", list(1, pattern()), "Groups, in the same way.");
    let ids = table.optional("transactional-ids", list(1, pattern()), "Transactional ids, in the same way.");
    let cluster = table.optional(
        "cluster",
        words([("kafka-cluster", ())]),
        "`\"kafka-cluster\"`, which is Kafka's name for the cluster as a resource: then it is about the cluster itself.",
    );
    let (topics, groups, ids, cluster) = (topics?, groups?, ids?, cluster?);
    let is_about = topics.is_some() || groups.is_some() || ids.is_some() || cluster.is_some();
    let mut names = Vec::new();
    for (resource, patterns) in [(Resource::Topic, topics), (Resource::Group, groups), (Resource::TransactionalId, ids)]
    {
        let patterns = patterns.map(Spanned::into_inner).unwrap_or_default();
        names.extend(patterns.into_iter().map(|pattern| (resource, pattern.into_inner())));
    }
    names.extend(cluster.map(|_| (Resource::Cluster, Pattern::Literal(CLUSTER.into()))));
    Some(DeclaredRule {
        allow: allow?.map(set),
        deny: deny?.map(set),
        principals: principals?.into_inner().into_iter().map(Spanned::into_inner).collect(),
        names,
        is_about,
    })
}

/// Operations as a list of words.
fn operations() -> impl Value<Out = Vec<Spanned<Operations>>> {
    let single = Operation::ALL.map(|(word, operation)| (word, Operations::of([operation])));
    list(1, words(single.into_iter().chain([("ALL", Operations::every())])))
}

fn set(listed: Spanned<Vec<Spanned<Operations>>>) -> Operations {
    listed.into_inner().into_iter().map(Spanned::into_inner).fold(Operations::default(), Operations::and)
}

fn who() -> Text<Who> {
    text("the name of a principal without its type, such as \"alice\", or \"*\" for all", ".", |text| match text {
        "" => Err("a principal without a name".to_owned()),
        "*" => Ok(Who::Everyone),
        // As Kafka's own lists have it; here it would be nobody's name.
        name if name.starts_with("User:") => Err("a principal with its type".to_owned()),
        name => Ok(Who::One(name.to_owned())),
    })
}

/// What the rules of a file mean.
///
/// # Errors
/// Every rule that says nothing, or two things at once.
pub(super) fn compile(declared: &[Spanned<DeclaredRule>]) -> Result<Vec<About>, Vec<Fault>> {
    let (mut rules, mut faults) = (Vec::new(), Vec::new());
    for rule in declared {
        let at = || rule.span();
        let DeclaredRule { allow, deny, principals, names, is_about } = rule.get_ref();
        let (effect, operations) = match (allow, deny) {
            (Some(allow), None) => (Effect::Allow, *allow),
            (None, Some(deny)) => (Effect::Deny, *deny),
            (None, None) => {
                faults.push(Fault::new("a rule that neither allows nor denies", at(), "add `allow` or `deny`"));
                continue;
            }
            (Some(_), Some(_)) => {
                let right = "write two rules: what any rule denies is denied";
                faults.push(Fault::new("a rule that both allows and denies", at(), right));
                continue;
            }
        };
        if !is_about {
            let right = "add `topics`, `groups`, `transactional-ids` or `cluster`";
            faults.push(Fault::new("a rule about nothing", at(), right));
        }
        let one = |(resource, pattern): &(Resource, Pattern)| Rule {
            effect,
            operations,
            resource: *resource,
            pattern: pattern.clone(),
        };
        rules.push(About { principals: principals.clone(), rules: names.iter().map(one).collect() });
    }
    if faults.is_empty() { Ok(rules) } else { Err(faults) }
}
