//! Bounds and times that an operator can set. Defaults are those of the code that keeps them.

use std::ops::Range;
use std::time::Duration;

use skein_routing::graph::Limits;
use skein_settings::{Spanned, Table, integer, size, time};

use crate::blueprint::Memory;

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

/// The limits of a virtual cluster, and where that of an answer stands.
#[derive(Clone, Debug, Default)]
pub struct DeclaredLimits {
    /// As they are to be kept.
    pub limits: Limits,
    /// The place of `completed-answer`, which depends on `answers-memory`; `None`: of the file, where it is not.
    pub completed_answer: Option<Range<usize>>,
}

/// The memory of the process, and where that for answers stands.
#[derive(Clone, Debug, Default)]
pub struct DeclaredMemory {
    /// As it is to be kept.
    pub memory: Memory,
    /// The place of `answers-memory`, or of its table.
    pub answers: Range<usize>,
}

/// `[virtual-clusters.NAME.limits]`.
pub(crate) fn limits(table: &mut Table<'_>) -> Option<DeclaredLimits> {
    let usual = Limits::default();
    let seconds = |from, to| time(Duration::from_secs(from)..=Duration::from_secs(to));
    let open_requests = table.or(
        "open-requests",
        integer(1, 65_536),
        usual.open_requests,
        "Requests of one connection that have no answer yet. With so many nothing more is read from it.",
    );
    let frame = table.or(
        "frame",
        size(MIB..=GIB),
        u64::from(usual.frame),
        "Bytes of a request. More than `socket.request.max.bytes` of the brokers serves nothing.",
    );
    let frame_before_login = table.or(
        "frame-before-login",
        size(4 * KIB..=MIB),
        u64::from(usual.frame_before_login),
        "Bytes of a request before the client has logged in.",
    );
    let completed_answer = table.or(
        "completed-answer",
        size(MIB..=GIB),
        u64::from(usual.completed_answer),
        "Bytes of an answer that must be complete before it goes on: all but those to Fetch. At most half of `answers-memory`.",
    );
    let answer_margin = table.or(
        "answer-margin",
        seconds(1, 600),
        usual.answer_margin,
        "What a broker is given to answer, beyond the time that the request itself grants it.",
    );
    let frame_arrival = table.or(
        "frame-arrival",
        seconds(1, 600),
        usual.frame_arrival,
        "How long a request or an answer may take to arrive once it has begun, beside a second per 64 KiB.",
    );
    let patience = table.or(
        "patience",
        seconds(1, 600),
        usual.patience,
        "How long a request waits for what must be known of the cluster, for a broker, or for memory.",
    );
    let completed_answer = completed_answer?;
    Some(DeclaredLimits {
        completed_answer: Some(completed_answer.span()),
        limits: Limits {
            open_requests: open_requests?.into_inner(),
            frame: bytes(frame?),
            frame_before_login: bytes(frame_before_login?),
            completed_answer: bytes(completed_answer),
            answer_margin: answer_margin?.into_inner(),
            frame_arrival: frame_arrival?.into_inner(),
            patience: patience?.into_inner(),
        },
    })
}

/// A size whose range ends at 1 GiB.
fn bytes(size: Spanned<u64>) -> u32 {
    u32::try_from(size.into_inner()).unwrap_or(u32::MAX)
}

/// `[limits]`: what all connections of the process share.
pub(crate) fn memory(table: &mut Table<'_>) -> Option<DeclaredMemory> {
    let usual = Memory::default();
    let requests = table.or(
        "requests-memory",
        size(64 * MIB..=64 * GIB),
        usual.requests,
        "Memory for requests above 256 KiB that must be complete before they go on. Each takes twice what has come of it.",
    );
    let answers = table.or(
        "answers-memory",
        size(64 * MIB..=64 * GIB),
        usual.answers,
        "Memory for answers above 256 KiB that must be complete before they go on. Each takes twice its length.",
    );
    let idle_buffers = table.or(
        "idle-buffers",
        integer(0, 65_536),
        usual.idle_buffers,
        "Read buffers of 256 KiB that are kept while nobody needs them.",
    );
    let answers = answers?;
    Some(DeclaredMemory {
        answers: answers.span(),
        memory: Memory {
            requests: requests?.into_inner(),
            answers: answers.into_inner(),
            idle_buffers: idle_buffers?.into_inner(),
        },
    })
}
