//! What one principal may do: the rules that are about it, made quick.
//!
//! A decision looks the name up once, and once more for each length that a prefix has. It is Kafka's: what any rule denies
//! is denied; what none allows is denied as well.

use std::collections::HashMap;

use super::operation::{Operation, Operations, Resource};
use crate::pattern::Pattern;

/// The name of the cluster among resources, as in Kafka.
pub const CLUSTER: &[u8] = b"kafka-cluster";

/// A rule, for whom it is about.
#[derive(Clone, Debug)]
pub struct Rule {
    /// Whether it allows or denies.
    pub effect: Effect,
    /// What.
    pub operations: Operations,
    /// To what.
    pub resource: Resource,
    /// Which of those.
    pub pattern: Pattern,
}

/// What a rule does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Effect {
    /// It allows.
    Allow,
    /// It denies.
    Deny,
}

/// What rules say of some names.
#[derive(Clone, Copy, Debug, Default)]
struct Said {
    allowed: Operations,
    denied: Operations,
}

impl Said {
    fn and(self, other: Self) -> Self {
        Self { allowed: self.allowed.and(other.allowed), denied: self.denied.and(other.denied) }
    }

    fn allows(self, operation: Operation) -> bool {
        self.allowed.has(operation) && !self.denied.has(operation)
    }
}

/// The rules about one kind of resource.
#[derive(Debug, Default)]
struct Names {
    any: Said,
    literal: HashMap<Box<[u8]>, Said>,
    prefix: HashMap<Box<[u8]>, Said>,
    /// The lengths of the prefixes, shortest first.
    lengths: Vec<usize>,
    /// How many look-ups there have been, of all of these names together.
    #[cfg(test)]
    looked_up: std::sync::atomic::AtomicU32,
}

impl Names {
    fn add(&mut self, rule: &Rule) {
        let said = match rule.effect {
            Effect::Allow => Said { allowed: rule.operations.with_implied(), denied: Operations::default() },
            Effect::Deny => Said { allowed: Operations::default(), denied: rule.operations },
        };
        let slot = match &rule.pattern {
            Pattern::Any => &mut self.any,
            Pattern::Literal(name) => self.literal.entry(name.clone()).or_default(),
            Pattern::Prefix(prefix) => {
                if let Err(at) = self.lengths.binary_search(&prefix.len()) {
                    self.lengths.insert(at, prefix.len());
                }
                self.prefix.entry(prefix.clone()).or_default()
            }
        };
        *slot = slot.and(said);
    }

    /// One look-up.
    #[inline]
    fn look_up(&self, among: &HashMap<Box<[u8]>, Said>, name: &[u8]) -> Option<Said> {
        #[cfg(test)]
        self.looked_up.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        among.get(name).copied()
    }

    /// What the prefixes of a name say, the whole of it included.
    fn prefixes(&self, name: &[u8]) -> Said {
        let of = |length: &usize| self.look_up(&self.prefix, name.get(..*length)?);
        self.lengths
            .iter()
            .map_while(|length| (*length <= name.len()).then(|| of(length)))
            .flatten()
            .fold(Said::default(), Said::and)
    }

    fn said(&self, name: &[u8]) -> Said {
        let literal = self.look_up(&self.literal, name).unwrap_or_default();
        self.any.and(literal).and(self.prefixes(name))
    }

    /// Whether some name is allowed: one that no rule denies. What begins as another does is denied with it.
    fn allows_some(&self, operation: Operation) -> bool {
        if self.any.denied.has(operation) {
            return false;
        }
        let undenied = |name: &[u8], said: Said| {
            said.allowed.has(operation) && !said.and(self.prefixes(name)).denied.has(operation)
        };
        let mut named = self.literal.iter().chain(&self.prefix);
        self.any.allowed.has(operation) || named.any(|(name, said)| undenied(name, *said))
    }
}

/// What one principal may do.
#[derive(Debug, Default)]
pub struct Grants {
    topics: Names,
    groups: Names,
    transactional_ids: Names,
    cluster: Names,
}

impl Grants {
    /// The grants that these rules make together; their order says nothing.
    pub fn new<'r>(rules: impl IntoIterator<Item = &'r Rule>) -> Self {
        let mut grants = Self::default();
        for rule in rules {
            match rule.resource {
                Resource::Topic => &mut grants.topics,
                Resource::Group => &mut grants.groups,
                Resource::TransactionalId => &mut grants.transactional_ids,
                Resource::Cluster => &mut grants.cluster,
            }
            .add(rule);
        }
        grants
    }

    fn names(&self, resource: Resource) -> &Names {
        match resource {
            Resource::Topic => &self.topics,
            Resource::Group => &self.groups,
            Resource::TransactionalId => &self.transactional_ids,
            Resource::Cluster => &self.cluster,
        }
    }

    /// Whether it may do something to something.
    pub fn allow(&self, operation: Operation, resource: Resource, name: &[u8]) -> bool {
        self.names(resource).said(name).allows(operation)
    }

    /// Whether it may do something to the cluster. Who may write to some topic may have a producer id (KIP-679).
    pub fn allow_cluster(&self, operation: Operation) -> bool {
        let itself = self.allow(operation, Resource::Cluster, CLUSTER);
        itself || operation == Operation::IdempotentWrite && self.topics.allows_some(Operation::Write)
    }

    /// Whether it may do something to every name that there could be.
    pub fn allow_every(&self, operation: Operation, resource: Resource) -> bool {
        let names = self.names(resource);
        let denied = |said: &Said| said.denied.has(operation);
        let some = names.literal.values().any(denied) || names.prefix.values().any(denied);
        names.any.allows(operation) && !some
    }

    /// How many look-ups there have been.
    #[cfg(test)]
    pub(super) fn looked_up(&self) -> u32 {
        let all = [&self.topics, &self.groups, &self.transactional_ids, &self.cluster];
        all.map(|names| names.looked_up.load(std::sync::atomic::Ordering::Relaxed)).iter().sum()
    }

    /// What it may do to something: a bit for each operation.
    pub fn bits(&self, resource: Resource, name: &[u8]) -> u32 {
        let said = self.names(resource).said(name);
        said.allowed.bits() & !said.denied.bits()
    }
}

impl Rule {
    /// One that allows operations on names of a kind: a name, a prefix with `*` at its end, or `"*"`.
    pub fn allow(operations: impl IntoIterator<Item = Operation>, resource: Resource, names: &str) -> Self {
        Self::new(Effect::Allow, operations, resource, names)
    }

    /// One that denies them.
    pub fn deny(operations: impl IntoIterator<Item = Operation>, resource: Resource, names: &str) -> Self {
        Self::new(Effect::Deny, operations, resource, names)
    }

    fn new(effect: Effect, operations: impl IntoIterator<Item = Operation>, resource: Resource, names: &str) -> Self {
        Self { effect, operations: Operations::of(operations), resource, pattern: Pattern::of(names) }
    }
}
