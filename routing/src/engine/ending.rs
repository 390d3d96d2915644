//! Why a connection or a lane ends, and what else is worth telling.

use skein_protocol::Malformed;
use skein_protocol::code::Code;
use skein_protocol::ids::{ApiKey, VirtualNodeId};

/// Why a client's connection ends.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Reason {
    /// It broke the protocol.
    #[error("the client sent what is not Kafka: {0}")]
    Malformed(Malformed),
    /// An API or version that was not offered.
    #[error("the client sent API key {key} version {version}, which was not offered")]
    NotOffered {
        /// The key.
        key: i16,
        /// The version.
        version: i16,
    },
    /// Something other than a login on a listener that wants one first.
    #[error("the client sent {key:?} before it had logged in")]
    BeforeLogin {
        /// The API.
        key: ApiKey,
    },
    /// SaslHandshake v0, after which tokens come without frames.
    #[error("the client sent SaslHandshake version 0; version 1 is needed")]
    OldHandshake,
    /// A login that Skein has refused. The client was told.
    #[error("the client's login was refused")]
    LoginRefused,
    /// A login that could not be judged in time: whom Skein asks does not answer.
    #[error("the client's login could not be judged")]
    LoginUnjudged,
    /// A step of a login that was not its turn. The client was told.
    #[error("the client sent {key:?} where another step of its login was due")]
    LoginOutOfTurn {
        /// The API.
        key: ApiKey,
    },
    /// A request when the login was over, and no new one had been made (KIP-368).
    #[error("the client's login had expired, and it did not log in again")]
    LoginExpired,
    /// A request that says it is a broker's.
    #[error("the client sent {key:?} as a replica")]
    Replica {
        /// The API.
        key: ApiKey,
    },
    /// A filter refused a request, and its API has no answer that says so.
    #[error("the client may not send this {key:?}, and no answer to it says so")]
    Forbidden {
        /// The API.
        key: ApiKey,
    },
    /// A completed request above the cap of its API.
    #[error("the client sent {key:?} of {length} bytes; at most {cap} are right")]
    TooLarge {
        /// The API.
        key: ApiKey,
        /// Bytes of the frame.
        length: u32,
        /// The cap.
        cap: u32,
    },
    /// Memory for a completed request was not to be had in time.
    #[error("{key:?} of {length} bytes must be completed, and there was no memory for it in time")]
    NoMemory {
        /// The API.
        key: ApiKey,
        /// Bytes of the frame.
        length: u32,
    },
    /// A frame that did not arrive in time.
    #[error("the client's request did not arrive in time")]
    Stalled,
    /// A broker was lost in the middle of an answer that had begun to pass.
    #[error("a broker was lost in the middle of an answer")]
    AnswerCut,
    /// A broker was lost, and no error code can say so for this request.
    #[error("a broker was lost, and {key:?} has no answer that says so")]
    NoAnswer {
        /// The API.
        key: ApiKey,
    },
    /// A Produce without answers failed; closing is how a broker says so.
    #[error("a Produce with acks=0 could not be passed on")]
    Unacknowledged,
    /// The node that the connection came to belongs to no route.
    #[error("node {0} belongs to no route")]
    NoSuchNode(VirtualNodeId),
    /// What had to be known of the cluster was not to be had in time.
    #[error("the cluster could not be reached")]
    Unreachable,
    /// The engine lost track of itself. It never should, and an end that is told is better than a wait without one.
    #[error("an invariant of this connection does not hold: this is a bug")]
    Astray,
    /// The one lane of a relayed login was lost.
    #[error("the broker closed the connection on which the client had logged in")]
    LoginLost,
}

impl Reason {
    /// The word for it in metrics and logs: from a closed list.
    pub fn label(&self) -> &'static str {
        match self {
            Self::Malformed(_) => "malformed",
            Self::NotOffered { .. } => "not_offered",
            Self::BeforeLogin { .. } => "before_login",
            Self::OldHandshake => "old_handshake",
            Self::LoginRefused => "login_refused",
            Self::LoginUnjudged => "login_unjudged",
            Self::LoginOutOfTurn { .. } => "login_out_of_turn",
            Self::LoginExpired => "login_expired",
            Self::Replica { .. } => "replica",
            Self::Forbidden { .. } => "forbidden",
            Self::TooLarge { .. } => "too_large",
            Self::NoMemory { .. } => "no_memory",
            Self::Stalled => "stalled",
            Self::AnswerCut => "answer_cut",
            Self::NoAnswer { .. } => "no_answer",
            Self::Unacknowledged => "unacknowledged",
            Self::NoSuchNode(_) => "no_such_node",
            Self::Unreachable => "unreachable",
            Self::Astray => "astray",
            Self::LoginLost => "login_lost",
        }
    }
}

/// What is wrong with a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The broker broke the protocol.
    #[error("the broker sent what is not Kafka: {0}")]
    Malformed(Malformed),
    /// An answer to something that was not asked.
    #[error("an answer with correlation id {found} came, where {expected:?} was due")]
    Correlation {
        /// What came.
        found: i32,
        /// What was due; `None` if nothing was.
        expected: Option<i32>,
    },
    /// An answer that must be completed is above the cap.
    #[error("an answer of {length} bytes that must be completed; at most {cap} are right")]
    TooLarge {
        /// Bytes of the frame.
        length: u32,
        /// The cap.
        cap: u32,
    },
    /// An answer to a request that has not gone out whole.
    #[error("the broker answered a request that it does not have yet")]
    Early,
    /// No answer in the time that the request granted, and the margin.
    #[error("the broker did not answer in time")]
    Late,
    /// An answer to a question of ours that could not be read.
    #[error("the broker's answer to a question could not be read")]
    Unread,
}

/// Something worth telling, which changes nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Note {
    /// A broker was left out of an answer, since no address is declared for it.
    Unlisted(VirtualNodeId),
    /// A request, or some of it, was answered with an error of ours: its broker was lost, or a filter refused it.
    Refused(ApiKey, Code),
}
