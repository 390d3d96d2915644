//! What concerns the process and not one virtual cluster: how it stops, whom it lets in, where it is watched.

use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::time::Duration;

use skein_settings::{Integer, Spanned, Table, Time, integer, time};

use crate::values;

/// `[process]`: how it stops.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    /// How long open requests may take to be answered when Skein stops, or when a virtual cluster has changed.
    pub drain_timeout: Duration,
}

impl Default for Process {
    fn default() -> Self {
        Self { drain_timeout: Duration::from_secs(30) }
    }
}

/// `[admin]`: where the process is watched.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Admin {
    /// The address of the admin listener; `None`: there is none.
    pub bind: Option<SocketAddr>,
}

/// `[connections]`: bounds of the connections of clients. `None`: no bound.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Connections {
    /// Open connections of one listener, all its ports together.
    pub most_per_listener: Option<NonZeroU32>,
    /// Open connections of one listener from one IP address.
    pub most_per_source: Option<NonZeroU32>,
    /// Connections that one port accepts in a second; those beyond wait.
    pub accepts_per_second: Option<NonZeroU32>,
    /// How long the first whole request may take to come.
    pub first_request_timeout: Duration,
    /// How long a client may take to log in, where it has to.
    pub login_timeout: Duration,
    /// How long nothing may come from a client that is owed nothing.
    pub idle_timeout: Duration,
    /// How old a connection may become, give or take a tenth; it ends between two requests.
    pub most_age: Option<Duration>,
}

impl Default for Connections {
    fn default() -> Self {
        Self {
            most_per_listener: None,
            most_per_source: None,
            accepts_per_second: None,
            first_request_timeout: Duration::from_secs(30),
            login_timeout: Duration::from_secs(30),
            // As brokers have it (connections.max.idle.ms).
            idle_timeout: Duration::from_secs(600),
            most_age: None,
        }
    }
}

/// `[admin]` as it stands in the file.
#[derive(Clone, Debug, Default)]
pub struct DeclaredAdmin {
    /// What is bound, and its place: no listener may have the same port.
    pub bind: Option<Spanned<SocketAddr>>,
}

impl From<DeclaredAdmin> for Admin {
    fn from(declared: DeclaredAdmin) -> Self {
        Self { bind: declared.bind.map(Spanned::into_inner) }
    }
}

pub(crate) fn process(table: &mut Table<'_>) -> Option<Process> {
    let drain_timeout = table.or(
        "drain-timeout",
        span(),
        Process::default().drain_timeout,
        "How long open requests may take to be answered when Skein stops, or when their virtual cluster has changed; then \
         their connections are cut.",
    );
    Some(Process { drain_timeout: drain_timeout?.into_inner() })
}

pub(crate) fn admin(table: &mut Table<'_>) -> Option<DeclaredAdmin> {
    let bind = table.optional(
        "bind",
        values::bind(),
        "The IP address and port of the admin listener. It wants no login: bind it where only those who may know can \
         connect. A change of it takes a restart.",
    );
    Some(DeclaredAdmin { bind: bind? })
}

pub(crate) fn connections(table: &mut Table<'_>) -> Option<Connections> {
    let usual = Connections::default();
    let most_per_listener =
        table.optional("most-per-listener", count(), "Open connections of one listener, all its ports together.");
    let most_per_source =
        table.optional("most-per-source", count(), "Open connections of one listener from one IP address.");
    let accepts_per_second = table.optional(
        "accepts-per-second",
        count(),
        "Connections that one port accepts in a second; those beyond wait to be accepted.",
    );
    let first_request_timeout = table.or(
        "first-request-timeout",
        span(),
        usual.first_request_timeout,
        "How long a client may take to begin its first request; from then on `frame-arrival` holds.",
    );
    let login_timeout = table.or(
        "login-timeout",
        span(),
        usual.login_timeout,
        "How long a client may take until it is logged in, where it has to.",
    );
    let idle_timeout = table.or(
        "idle-timeout",
        span(),
        usual.idle_timeout,
        "How long nothing may come from a client that is owed nothing.",
    );
    let most_age = table.optional(
        "most-age",
        span(),
        "How old a connection may become, give or take a tenth; it ends between two requests, and the client comes back, \
         to another instance perhaps.",
    );
    Some(Connections {
        most_per_listener: bound(most_per_listener?),
        most_per_source: bound(most_per_source?),
        accepts_per_second: bound(accepts_per_second?),
        first_request_timeout: first_request_timeout?.into_inner(),
        login_timeout: login_timeout?.into_inner(),
        idle_timeout: idle_timeout?.into_inner(),
        most_age: most_age?.map(Spanned::into_inner),
    })
}

/// From the shortest that can be kept to the longest that makes sense.
fn span() -> Time {
    time(Duration::from_millis(100)..=Duration::from_secs(30 * 24 * 3600))
}

fn count() -> Integer<u32> {
    integer(1, i64::from(u32::MAX))
}

fn bound(declared: Option<Spanned<u32>>) -> Option<NonZeroU32> {
    declared.and_then(|declared| NonZeroU32::new(declared.into_inner()))
}
