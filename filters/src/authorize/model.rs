//! The grants against rules read one by one, as Kafka's manual tells them.

use proptest::prelude::*;
use skein_login::ANONYMOUS;

use super::Authorize;
use super::grants::{Effect, Rule};
use super::operation::{Operation, Operations, Resource};
use crate::pattern::Pattern;

/// Names over few letters, so that they meet.
const NAMES: [&str; 8] = ["a", "ab", "abc", "abd", "b", "ba", "bab", "c"];
const PRINCIPALS: [&str; 3] = ["alice", "bob", ANONYMOUS];

fn pattern() -> impl Strategy<Value = Pattern> {
    prop_oneof![
        1 => Just(Pattern::Any),
        3 => prop::sample::select(&NAMES[..]).prop_map(Pattern::of),
        2 => prop::sample::select(&NAMES[..]).prop_map(|name| Pattern::of(&format!("{name}*"))),
    ]
}

fn rule() -> impl Strategy<Value = (&'static str, Rule)> {
    let who = prop::sample::select(&["alice", "bob", ANONYMOUS, "*"][..]);
    let effect = prop_oneof![3 => Just(Effect::Allow), 1 => Just(Effect::Deny)];
    let operations = prop::collection::vec(prop::sample::select(&Operation::ALL[..]), 1..3);
    let resource = prop::sample::select(&Resource::ALL[..]);
    (who, effect, operations, resource, pattern()).prop_map(|(who, effect, operations, resource, pattern)| {
        let operations = Operations::of(operations.into_iter().map(|(_, operation)| operation));
        (who, Rule { effect, operations, resource, pattern })
    })
}

fn matches(rule: &(&str, Rule), principal: &str, resource: Resource, name: &str) -> bool {
    let (who, rule) = rule;
    (*who == "*" || *who == principal) && rule.resource == resource && rule.pattern.has(name.as_bytes())
}

/// The operations, each of which brings this one along if it is allowed.
fn stands_for(operation: Operation) -> Vec<Operation> {
    let others: &[Operation] = match operation {
        Operation::Describe => &[Operation::Read, Operation::Write, Operation::Delete, Operation::Alter],
        Operation::DescribeConfigs => &[Operation::AlterConfigs],
        Operation::Read
        | Operation::Write
        | Operation::Create
        | Operation::Delete
        | Operation::Alter
        | Operation::ClusterAction
        | Operation::AlterConfigs
        | Operation::IdempotentWrite => &[],
    };
    [&[operation], others].concat()
}

fn may(rules: &[(&str, Rule)], principal: &str, operation: Operation, resource: Resource, name: &str) -> bool {
    let of = |effect: Effect, operations: &[Operation]| {
        let about = |rule: &(&str, Rule)| rule.1.effect == effect && matches(rule, principal, resource, name);
        let has = |rule: &(&str, Rule)| operations.iter().any(|operation| rule.1.operations.has(*operation));
        rules.iter().any(|rule| about(rule) && has(rule))
    };
    !of(Effect::Deny, &[operation]) && of(Effect::Allow, &stands_for(operation))
}

proptest! {
    #[test]
    fn the_grants_decide_as_the_rules_say(rules in prop::collection::vec(rule(), 0..12)) {
        let authorize = Authorize::new(rules.iter().cloned());
        for principal in PRINCIPALS {
            let grants = authorize.grants(principal);
            for (_, operation) in Operation::ALL {
                for resource in Resource::ALL {
                    for name in NAMES.into_iter().chain(["", "zebra"]) {
                        let must = may(&rules, principal, operation, resource, name);
                        prop_assert_eq!(grants.allow(operation, resource, name.as_bytes()), must);
                        let bit = grants.bits(resource, name.as_bytes()) & 1 << operation.code() != 0;
                        prop_assert_eq!(bit, must);
                        if grants.allow_every(operation, resource) {
                            prop_assert!(must, "{:?} of every {:?}, and not of {}", operation, resource, name);
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn who_may_write_some_topic_may_have_a_producer_id(rules in prop::collection::vec(rule(), 0..12)) {
        let authorize = Authorize::new(rules.iter().cloned());
        for principal in PRINCIPALS {
            let grants = authorize.grants(principal);
            let write = |name: &str| may(&rules, principal, Operation::Write, Resource::Topic, name);
            // A name that no rule but its own prefix has in mind stands for all that begin so.
            let longer = NAMES.map(|name| format!("{name}~"));
            let some = NAMES.iter().any(|name| write(name)) || longer.iter().any(|name| write(name)) || write("zebra");
            let itself = may(&rules, principal, Operation::IdempotentWrite, Resource::Cluster, "kafka-cluster");
            prop_assert_eq!(grants.allow_cluster(Operation::IdempotentWrite), some || itself);
        }
    }
}

#[test]
fn what_no_rule_names_is_denied() {
    let grants = Authorize::new([]).grants(ANONYMOUS);
    for (_, operation) in Operation::ALL {
        assert!(!grants.allow(operation, Resource::Topic, b"a") && !grants.allow_cluster(operation));
    }
}
