//! What concerns the process and not one virtual cluster: how it stops, whom it lets in, where it is watched.

use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::time::Duration;

use serde::de::{Deserialize, Deserializer, Error, Unexpected};

/// `[process]`: how it stops.
#[derive(Clone, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Process {
    /// How long open requests may take to be answered when Skein stops, or when a virtual cluster has changed.
    #[serde(deserialize_with = "time")]
    pub drain_timeout: Duration,
}

impl Default for Process {
    fn default() -> Self {
        Self { drain_timeout: Duration::from_secs(30) }
    }
}

/// `[admin]`: where the process is watched.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Admin {
    /// The address of the admin listener; `None`: there is none.
    pub bind: Option<SocketAddr>,
}

/// `[connections]`: bounds of the connections of clients. `None`: no bound.
#[derive(Clone, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Connections {
    /// Open connections of one listener, all its ports together.
    pub most_per_listener: Option<NonZeroU32>,
    /// Open connections of one listener from one IP address.
    pub most_per_source: Option<NonZeroU32>,
    /// Connections that one port accepts in a second; those beyond wait.
    pub accepts_per_second: Option<NonZeroU32>,
    /// How long the first whole request may take to come.
    #[serde(deserialize_with = "time")]
    pub first_request_timeout: Duration,
    /// How long nothing may come from a client that is owed nothing.
    #[serde(deserialize_with = "time")]
    pub idle_timeout: Duration,
    /// How old a connection may become, give or take a tenth; it ends between two requests.
    #[serde(deserialize_with = "some_time")]
    pub most_age: Option<Duration>,
}

impl Default for Connections {
    fn default() -> Self {
        Self {
            most_per_listener: None,
            most_per_source: None,
            accepts_per_second: None,
            first_request_timeout: Duration::from_secs(30),
            // As brokers have it (connections.max.idle.ms).
            idle_timeout: Duration::from_secs(600),
            most_age: None,
        }
    }
}

/// A time as it is written: a whole number above 0 and its unit, such as `"30s"`.
fn time<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
    let text = String::deserialize(from)?;
    let wrong =
        || D::Error::invalid_value(Unexpected::Str(&text), &"a time such as \"500ms\", \"30s\", \"10m\" or \"1h\"");
    let digits = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at_checked(digits).ok_or_else(wrong)?;
    let milliseconds = match unit {
        "ms" => 1,
        "s" => 1000,
        "m" => 60_000,
        "h" => 3_600_000,
        _ => return Err(wrong()),
    };
    let number: u32 = number.parse().map_err(|_| wrong())?;
    if number == 0 { Err(wrong()) } else { Ok(Duration::from_millis(u64::from(number) * milliseconds)) }
}

fn some_time<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Duration>, D::Error> {
    time(from).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_has_a_number_and_a_unit() {
        let read = |text: &str| toml::from_str::<Process>(&format!("drain-timeout = {text}"));
        for (text, milliseconds) in
            [("\"500ms\"", 500), ("\"30s\"", 30_000), ("\"10m\"", 600_000), ("\"2h\"", 7_200_000)]
        {
            assert_eq!(read(text).unwrap().drain_timeout, Duration::from_millis(milliseconds));
        }
        for text in ["30", "\"30\"", "\"s\"", "\"0s\"", "\"-1s\"", "\"1 s\"", "\"1d\"", "\"99999999999s\"", "\"\""] {
            assert!(read(text).is_err(), "{text}");
        }
    }
}
