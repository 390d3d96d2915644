//! Quantities with their units: bytes and time.

use std::ops::RangeInclusive;
use std::time::Duration;

use bytesize::ByteSize;
use serde_json::Value as Json;

use super::{Item, Value, Written};
use crate::fault::quoted;
use crate::shape::Shape;

/// A number of bytes from a range, written with its unit.
#[derive(Clone, Debug)]
pub struct Size {
    range: RangeInclusive<u64>,
}

/// A number of bytes, written such as "64MiB".
pub fn size(range: RangeInclusive<u64>) -> Size {
    Size { range }
}

/// A time from a range, written with its unit.
#[derive(Clone, Debug)]
pub struct Time {
    range: RangeInclusive<Duration>,
}

/// A time, written such as "30s".
pub fn time(range: RangeInclusive<Duration>) -> Time {
    Time { range }
}

impl Value for Size {
    type Out = u64;

    fn shape(&self) -> Shape {
        shape(&self.range, |bytes| show_size(*bytes))
    }

    fn wanted(&self) -> String {
        wanted("a size", &self.range, |bytes| show_size(*bytes))
    }

    fn read(&self, item: &Item<'_>) -> Option<u64> {
        let text = item.text(&self.wanted())?;
        // A bare number could be meant in any unit.
        let has_unit = text.ends_with(|letter: char| letter.is_ascii_alphabetic());
        let bytes = has_unit.then(|| text.parse::<ByteSize>().ok()).flatten().map(|size| size.as_u64());
        within(&self.range, bytes, item, &text, "a size", &self.wanted())
    }
}

impl Written for Size {
    fn write(&self, value: &u64) -> Json {
        Json::from(show_size(*value))
    }
}

impl Value for Time {
    type Out = Duration;

    fn shape(&self) -> Shape {
        shape(&self.range, |time| show_time(*time))
    }

    fn wanted(&self) -> String {
        wanted("a time", &self.range, |time| show_time(*time))
    }

    fn read(&self, item: &Item<'_>) -> Option<Duration> {
        let text = item.text(&self.wanted())?;
        within(&self.range, humantime::parse_duration(&text).ok(), item, &text, "a time", &self.wanted())
    }
}

impl Written for Time {
    fn write(&self, value: &Duration) -> Json {
        Json::from(show_time(*value))
    }
}

fn shape<T>(range: &RangeInclusive<T>, show: impl Fn(&T) -> String) -> Shape {
    let range = format!("From {} to {}.", show(range.start()), show(range.end()));
    Shape::Plain { schema: Shape::text("^\\s*[0-9]"), range }
}

fn wanted<T>(what: &str, range: &RangeInclusive<T>, show: impl Fn(&T) -> String) -> String {
    format!("{what} from \"{}\" to \"{}\", with its unit", show(range.start()), show(range.end()))
}

fn within<T: PartialOrd>(
    range: &RangeInclusive<T>, found: Option<T>, item: &Item<'_>, text: &str, what: &str, wanted: &str,
) -> Option<T> {
    match found {
        Some(found) if range.contains(&found) => return Some(found),
        Some(_) => item.fault(format!("{} cannot be {}", item.called, quoted(text)), format!("write {wanted}")),
        None => item.fault(format!("{} is not {what}", quoted(text)), format!("write {wanted}")),
    }
    None
}

/// A number of bytes in its largest unit that needs no fraction: `64MiB`.
pub fn show_size(bytes: u64) -> String {
    let units = [("GiB", bytesize::GIB), ("MiB", bytesize::MIB), ("KiB", bytesize::KIB)];
    let whole = units.into_iter().find(|(_, unit)| bytes >= *unit && bytes.is_multiple_of(*unit));
    whole.map_or_else(|| format!("{bytes}B"), |(name, unit)| format!("{}{name}", bytes / unit))
}

fn show_time(time: Duration) -> String {
    humantime::format_duration(time).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_can_be_read() {
        for bytes in [1, 1023, 1024, 65_536, 1 << 20, (1 << 20) + 1, 3 << 30] {
            assert_eq!(show_size(bytes).parse::<ByteSize>().map(|size| size.as_u64()), Ok(bytes));
        }
        for time in [1, 500, 1000, 30_000, 90_000, 3_600_000].map(Duration::from_millis) {
            assert_eq!(humantime::parse_duration(&show_time(time)).ok(), Some(time));
        }
    }
}
