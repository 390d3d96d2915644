//! What a client library may be able to do, and what two runs show of it.

use serde_json::Value;

/// The members of the scenarios' results, over all scenarios of a family, and what each is about.
pub const FEATURES: [(&str, &str); 23] = [
    ("produce", "produce: acks 0, 1, all; every codec; headers, nulls, 1 MB"),
    ("consume", "consume: all of that, read back"),
    ("seek", "seek by offset and by time"),
    ("idempotent", "idempotent producer"),
    ("transactions", "transactions: commit, abort, offsets, fencing, read_committed"),
    ("eager", "classic group, eager rebalance"),
    ("cooperative", "classic group, cooperative rebalance"),
    ("kip848", "consumer group of the new protocol (KIP-848)"),
    ("share", "share group (KIP-932)"),
    ("streams", "Streams group (KIP-1071)"),
    ("cluster", "administration: the cluster and its brokers"),
    ("topics", "administration: topics"),
    ("configs", "administration: configurations"),
    ("partitions", "administration: partitions, their offsets, elections"),
    ("delete-records", "administration: deletion of records"),
    ("log-dirs", "administration: log directories"),
    ("reassignments", "administration: reassignments"),
    ("groups", "administration: groups"),
    ("offsets", "administration: offsets of groups"),
    ("producers", "administration: active producers"),
    ("list-transactions", "administration: open transactions"),
    ("quotas", "administration: quotas of clients"),
    ("features", "administration: features"),
];

/// What comes of a feature without a proxy and through one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The same.
    Same,
    /// Not the same.
    Differs,
    /// The run without a proxy has found that the library does not have it; with what it found.
    Lacks(String),
}

/// Compares what a run without a proxy saw of a feature with what runs through proxies saw.
pub fn verdict(direct: &Value, through: &[&Value]) -> Verdict {
    if let Some(found) = lack(direct) {
        return Verdict::Lacks(found.to_owned());
    }
    if through.iter().all(|seen| *seen == direct) { Verdict::Same } else { Verdict::Differs }
}

/// What a result says that the library lacks, if it says that and nothing else.
pub(super) fn lack(result: &Value) -> Option<&str> {
    let members = result.as_object().filter(|members| members.len() == 1)?;
    members.get("lacks")?.as_str()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_feature_is_the_same_only_if_all_runs_saw_the_same() {
        let (one, other) = (json!({"a": 1}), json!({"a": 2}));
        assert_eq!(verdict(&one, &[&one, &one]), Verdict::Same);
        assert_eq!(verdict(&one, &[&one, &other]), Verdict::Differs);
    }

    #[test]
    fn what_a_library_lacks_is_told_by_the_run_without_a_proxy() {
        let lacks = json!({"lacks": "Client has no share"});
        assert_eq!(verdict(&lacks, &[]), Verdict::Lacks("Client has no share".to_owned()));
        assert_eq!(verdict(&json!({"a": 1}), &[&lacks]), Verdict::Differs);
    }
}
