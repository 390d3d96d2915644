//! What happens to logins of clients.

use skein_config::visible;
use skein_login::{Mechanism, Why};

use super::Connection;
use crate::behind::Unspoken;
use crate::meters::Meters;

/// Letters of a name that a stranger has chosen, and that are told: no mechanism has more.
const MOST_TOLD: usize = 64;

/// What can be told of a name that may be as long as a frame.
fn shortened(name: &str) -> String {
    let told: String = name.chars().take(MOST_TOLD).collect();
    let rest = if told.len() < name.len() { "…" } else { "" };
    format!("{}{rest}", visible(&told))
}

/// How a login has ended.
pub(crate) enum Outcome<'a> {
    /// It is done.
    Done,
    /// The mechanism is not offered.
    NotOffered(&'a str),
    /// It was refused.
    Refused(&'a Why),
    /// Whoever has to be asked did not answer.
    NotJudged,
    /// It is good, and another principal's than the one before on this connection.
    OtherPrincipal,
    /// It is good, and nobody speaks for the principal at a cluster.
    Unspoken(&'a Unspoken),
}

/// A client's login has ended.
pub(crate) struct LoginEnded<'a> {
    pub(crate) connection: &'a Connection,
    pub(crate) listener: &'a str,
    /// `None`: none that is offered.
    pub(crate) mechanism: Option<Mechanism>,
    /// Whose it is, or would have been.
    pub(crate) principal: Option<&'a str>,
    pub(crate) outcome: Outcome<'a>,
}

impl LoginEnded<'_> {
    pub(crate) fn emit(&self, meters: &Meters) {
        let Connection { number, virtual_cluster, peer } = self.connection;
        let (listener, mechanism) = (self.listener, self.mechanism.map_or("none", Mechanism::name));
        let reason = match &self.outcome {
            Outcome::Done => "done",
            Outcome::NotOffered(_) => "not_offered",
            Outcome::NotJudged => "not_judged",
            Outcome::OtherPrincipal => "other_principal",
            Outcome::Refused(why) => why.word(),
            Outcome::Unspoken(Unspoken::Unmapped(_)) => "unmapped",
            Outcome::Unspoken(Unspoken::NothingToPass(_)) => "nothing_to_pass",
            Outcome::Unspoken(Unspoken::Refused(..)) => "refused_by_cluster",
            Outcome::Unspoken(Unspoken::Unreached(..)) => "cluster_not_reached",
        };
        let labels = [("virtual_cluster", &**virtual_cluster), ("listener", listener), ("reason", reason)];
        meters.logins.count(labels);
        // Who is not known says what it likes.
        let principal = self.principal.map(visible);
        let principal = principal.as_deref();
        let error = match &self.outcome {
            Outcome::Done => {
                tracing::debug!(connection = number, %virtual_cluster, listener, %peer, principal, mechanism, "logged in");
                return;
            }
            Outcome::NotOffered(name) => format!("the mechanism {} is not offered", shortened(name)),
            Outcome::OtherPrincipal => "a login that is repeated must be that of the same principal".to_owned(),
            Outcome::NotJudged => "the keys that would judge it could not be had".to_owned(),
            Outcome::Refused(why) => why.to_string(),
            Outcome::Unspoken(why) => why.to_string(),
        };
        tracing::warn!(connection = number, %virtual_cluster, listener, %peer, principal, mechanism, reason, error, "login refused");
    }
}

/// A file of users does not say what those see who are nobody, so each instance of Skein tells them something else.
pub(crate) struct NoDecoys<'a> {
    pub(crate) file: &'a str,
}

impl NoDecoys<'_> {
    pub(crate) fn emit(&self) {
        tracing::warn!(
            file = self.file,
            "a file of users has no decoys: who asks two instances of Skein can tell which names are real"
        );
    }
}
