//! Why an address gave no answer, or none that a broker gives.

use std::io;

use skein_protocol::code::Code;
use skein_protocol::messages;

use crate::ask::MOST_ANSWER;
use crate::dial::ONE_ADDRESS;
use crate::tls;

/// Why an address gave no answer, or none that a broker gives.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The network.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// Its name could not be looked up.
    #[error("its name was not found: {0}")]
    Unresolved(io::Error),
    /// Its name stands for nothing.
    #[error("its name has no address")]
    Nameless,
    /// No answer in time.
    #[error("no answer within {} s", ONE_ADDRESS.as_secs())]
    Late,
    /// A frame length that no answer has.
    #[error("an answer of {0} bytes; between 4 and {MOST_ANSWER} are right")]
    Length(i32),
    /// An answer with another correlation id.
    #[error("an answer to something that was not asked")]
    Correlation,
    /// What came could not be read.
    #[error(transparent)]
    Unread(#[from] messages::Unread),
    /// The question could not be put.
    #[error("{0}")]
    Unasked(String),
    /// The broker refused, with this code.
    #[error("error {0}")]
    Refused(i16),
    /// It closed the connection instead of saying what it offers, which brokers say before any login.
    #[error(
        "it takes connections, and closes them when asked what it offers: a listener with TLS, or no Kafka? a table `tls` of the cluster has Skein speak TLS"
    )]
    Unspoken,
    /// The same, after a handshake of TLS.
    #[error(
        "it shakes hands, and closes the connection when asked what it offers: it may want a certificate, see `certificate` and `key` in `tls`"
    )]
    UnspokenUnderTls,
    /// It answered with an alert of TLS, and TLS was not spoken.
    #[error("it speaks TLS: a table `tls` of the cluster has Skein do the same")]
    SpeaksTls,
    /// It closed the connection in the handshake.
    #[error(
        "it closes the connection when TLS begins: a listener without TLS, or one that agrees to none of the versions?"
    )]
    Unshaken,
    /// What it answered to a hello of TLS is none.
    #[error("it speaks no TLS: leave out the table `tls` of the cluster, or name the port of a listener with TLS")]
    NoTls,
    /// Its certificate is for other names.
    #[error(
        "its certificate is not for `{0}`: address it by a name that it is for, or write that as `server-name` in `tls`"
    )]
    OtherName(String),
    /// Its certificate leads to nobody who is trusted.
    #[error("its certificate is of an unknown issuer: `ca` in `tls` says whom to trust")]
    UnknownIssuer,
    /// Its certificate is too old.
    #[error("its certificate has expired")]
    Expired,
    /// Its certificate cannot be believed for another reason.
    #[error("its certificate cannot be believed: {0}")]
    Certificate(String),
    /// It wants to see a certificate that it believes.
    #[error("it wants a certificate that it believes: see `certificate` and `key` in `tls`")]
    CertificateWanted,
    /// It ended TLS with an alert.
    #[error("it ends TLS with the alert {0}")]
    Alert(String),
    /// TLS failed in another way.
    #[error("TLS fails: {0}")]
    Tls(String),
    /// It closed the connection instead of naming its brokers.
    #[error(
        "it closes the connection when asked for its brokers: it probably wants a login; see `login` of a cluster, and of a listener"
    )]
    LoginWanted,
    /// There is nothing to log in with.
    #[error("there is nothing to log in with: {0}")]
    NoCredential(String),
    /// The broker has no login that Skein speaks.
    #[error("the broker takes no login, or none of a version that Skein knows: leave `login` out of its cluster")]
    NoLogin,
    /// It does not take the mechanism.
    #[error("the broker does not take logins by {mechanism} ({code}); it takes {offered}")]
    NotTaken {
        /// The mechanism.
        mechanism: &'static str,
        /// The broker's code.
        code: Code,
        /// What it takes.
        offered: String,
    },
    /// It refused the login.
    #[error("the broker refused the login by {mechanism} ({code}): {said}")]
    LoginRefused {
        /// The mechanism.
        mechanism: &'static str,
        /// The broker's code.
        code: Code,
        /// In its own words.
        said: String,
    },
    /// It does not know the password either, or breaks the rules of the mechanism.
    #[error("the broker did not keep to {mechanism}: {why}")]
    Impostor {
        /// The mechanism.
        mechanism: &'static str,
        /// What was wrong.
        why: String,
    },
    /// It closed the connection in the middle of the login.
    #[error("the broker closed the connection in the middle of the login")]
    LoginCut,
    /// The broker offers no version of an API that Skein could ask in.
    #[error("the broker offers no version of Metadata that Skein knows")]
    NoVersion,
}

impl Failure {
    /// The word for it in metrics.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Io(error) if error.kind() == io::ErrorKind::ConnectionRefused => "refused",
            // The system gives up on what is mute as well, and may be set to do so sooner.
            Self::Io(error) if error.kind() == io::ErrorKind::TimedOut => "late",
            Self::Late => "late",
            Self::Unresolved(_) | Self::Nameless => "no_address",
            Self::Length(_) | Self::Correlation | Self::Unread(_) | Self::Unspoken => "not_kafka",
            Self::NoCredential(_)
            | Self::NoLogin
            | Self::NotTaken { .. }
            | Self::LoginRefused { .. }
            | Self::Impostor { .. }
            | Self::LoginCut => "login",
            Self::OtherName(_) | Self::UnknownIssuer | Self::Expired | Self::Certificate(_) => "certificate",
            Self::UnspokenUnderTls
            | Self::SpeaksTls
            | Self::Unshaken
            | Self::NoTls
            | Self::CertificateWanted
            | Self::Alert(_)
            | Self::Tls(_) => "tls",
            Self::Io(error) if error.kind() == io::ErrorKind::InvalidData => "tls",
            Self::Io(_) | Self::Unasked(_) | Self::Refused(_) | Self::LoginWanted | Self::NoVersion => "other",
        }
    }

    /// What it says if TLS was spoken.
    #[expect(clippy::wildcard_enum_match_arm, reason = "whatever else failed, failed the same way without TLS")]
    pub(crate) fn under_tls(self) -> Self {
        match self {
            Self::Io(error) if error.kind() == io::ErrorKind::InvalidData => tls::failure(error, ""),
            Self::Unspoken => Self::UnspokenUnderTls,
            other => other,
        }
    }

    /// Whether the broker has said that it does not take the login.
    pub fn is_refusal(&self) -> bool {
        matches!(self, Self::NotTaken { .. } | Self::LoginRefused { .. })
    }

    /// If the other side has closed the connection, `meaning` is what that says.
    pub(crate) fn closed_means(self, meaning: Self) -> Self {
        let closed = [io::ErrorKind::UnexpectedEof, io::ErrorKind::ConnectionReset];
        let is_closed = matches!(&self, Self::Io(error) if closed.contains(&error.kind()));
        if is_closed { meaning } else { self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_counted_under_what_an_operator_would_look_at() {
        let io = |kind| Failure::from(io::Error::from(kind));
        let all = [
            (io(io::ErrorKind::ConnectionRefused), "refused"),
            (io(io::ErrorKind::TimedOut), "late"),
            (io(io::ErrorKind::ConnectionReset), "other"),
            (Failure::Late, "late"),
            (Failure::Nameless, "no_address"),
            (Failure::Length(0x1503_0300), "not_kafka"),
            (Failure::Refused(33), "other"),
            (io(io::ErrorKind::UnexpectedEof).closed_means(Failure::Unspoken), "not_kafka"),
            (io(io::ErrorKind::ConnectionReset).closed_means(Failure::LoginWanted), "other"),
            (io(io::ErrorKind::ConnectionRefused).closed_means(Failure::Unspoken), "refused"),
        ];
        for (failure, reason) in all {
            assert_eq!(failure.reason(), reason, "{failure}");
        }
    }
}
