//! What happens to clients before they are in.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use skein_config::visible;

use crate::behind::Unspoken;
use crate::meters::Meters;

/// Why a client did not come in.
#[derive(Debug)]
pub(crate) enum What {
    /// It closed the connection, without a byte.
    Left,
    /// It closed the connection on its way in.
    LeftInside,
    /// Its socket failed.
    Broken(io::Error),
    /// It took too long.
    Late,
    /// It took longest when others wanted its place.
    PushedOut,
    /// It speaks TLS to a listener without.
    Hello,
    /// It speaks no TLS to a listener with TLS.
    Plain,
    /// It sends a header of the PROXY protocol to a listener that has none.
    HeaderUnasked,
    /// It sends none, or has to, and is nobody whose header is believed.
    HeaderUntrusted,
    /// It sends no header to a listener that wants one.
    HeaderMissing,
    /// Its header cannot be read.
    HeaderMalformed,
    /// It means nobody who is there: the name in its hello, if there is one.
    Nobody(Option<Arc<str>>),
    /// The handshake failed.
    Handshake(io::Error),
    /// Its certificate has no names that could be read, or no principal comes of them.
    Nameless,
    /// Nobody speaks for it at a cluster.
    Unspoken(Unspoken),
    /// A limit is reached, which has been told.
    TurnedAway,
}

impl What {
    /// The word for it in metrics.
    pub(crate) fn label(&self) -> &'static str {
        match self {
            Self::Left | Self::LeftInside => "left",
            Self::Broken(_) => "broken",
            Self::Late => "late",
            Self::PushedOut => "pushed_out",
            Self::Hello => "tls_hello",
            Self::Plain => "no_tls",
            Self::HeaderUnasked => "proxy_header_unasked",
            Self::HeaderUntrusted => "proxy_header_untrusted",
            Self::HeaderMissing => "proxy_header_missing",
            Self::HeaderMalformed => "proxy_header_malformed",
            Self::Nobody(_) => "unknown_name",
            Self::Handshake(_) => "handshake",
            Self::Nameless => "no_principal",
            Self::Unspoken(_) => "unspoken",
            Self::TurnedAway => "turned_away",
        }
    }

    /// What was wrong, and what would be right.
    pub(crate) fn words(&self, leads: &str) -> String {
        match self {
            Self::Left => "closed before the first byte".to_owned(),
            Self::LeftInside => "closed in the middle of its arrival, by a client that does not trust the certificate, perhaps".to_owned(),
            Self::Broken(error) => error.to_string(),
            Self::Late => "it did not say in time who it is".to_owned(),
            Self::PushedOut => "it was slowest to say who it is, and others waited".to_owned(),
            Self::Hello => "it speaks TLS, and this listener does not: the client should have `security.protocol` PLAINTEXT or SASL_PLAINTEXT, or come to another port".to_owned(),
            Self::Plain => "it speaks no TLS, and this listener does: the client should have `security.protocol` SSL or SASL_SSL, or come to another port".to_owned(),
            Self::HeaderUnasked => "it begins with a header of the PROXY protocol, which is off here: see `proxy-protocol`".to_owned(),
            Self::HeaderUntrusted => "it comes from nobody whose PROXY header is believed: see `proxy-from`".to_owned(),
            Self::HeaderMissing => "it begins without a header of the PROXY protocol, which is required here: does the balancer send one?".to_owned(),
            Self::HeaderMalformed => "its header of the PROXY protocol cannot be read".to_owned(),
            Self::Nobody(Some(name)) => format!("its TLS hello names `{}`, and known are {leads}", visible(name)),
            Self::Nobody(None) => format!("its TLS hello has no name, as of a client that connects by IP address, and known are {leads}"),
            Self::Handshake(error) => error.to_string(),
            Self::Nameless => "no principal comes of its certificate: see `principal` in `tls`".to_owned(),
            Self::Unspoken(why) => why.to_string(),
            Self::TurnedAway => "a limit is reached".to_owned(),
        }
    }
}

/// A client did not come in.
pub(crate) struct Unwelcome<'a> {
    pub(crate) what: &'a What,
    /// Where it comes from, as far as that is known.
    pub(crate) source: SocketAddr,
    /// Where it would have come in.
    pub(crate) leads: &'a str,
}

impl Unwelcome<'_> {
    pub(crate) fn emit(&self, meters: &Meters) {
        let (reason, peer, to) = (self.what.label(), self.source, self.leads);
        let error = self.what.words(self.leads);
        match self.what {
            What::TurnedAway => {}
            // Whoever looks whether a port is open, as balancers do.
            What::Left | What::Broken(_) => {
                meters.arrivals_failed.count([("reason", reason)]);
                tracing::debug!(%peer, to, reason, error, "client not let in");
            }
            _ => {
                meters.arrivals_failed.count([("reason", reason)]);
                tracing::warn!(%peer, to, reason, error, "client not let in");
            }
        }
    }
}

/// Files of certificates or keys have changed.
pub(crate) struct FilesRenewed<'a> {
    pub(crate) files: &'a str,
    /// Why what was used before still is; `None`: they are used from now on.
    pub(crate) why: Option<&'a str>,
}

impl FilesRenewed<'_> {
    pub(crate) fn emit(&self, meters: &Meters) {
        let files = self.files;
        match self.why {
            None => {
                meters.renewals.count([("reason", "taken_over")]);
                tracing::info!(files, "certificates taken over");
            }
            Some(error) => {
                meters.renewals.count([("reason", "faulty")]);
                tracing::error!(files, error, "certificates not taken over: what was used before still is");
            }
        }
    }
}

/// A certificate is used that clients will not take.
pub(crate) struct OutOfDate<'a> {
    pub(crate) what: &'a str,
}

impl OutOfDate<'_> {
    pub(crate) fn emit(&self) {
        tracing::warn!(reason = self.what, "a certificate is not good now");
    }
}
