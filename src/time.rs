//! Valid time: microseconds UTC, half-open intervals, and how a start is known. No clock lives here.
//!
//! 1. A [`Time`] read from text names an instant exactly: RFC 3339 with an offset, or a date alone (its first
//!    instant in UTC). A time without an offset is refused.
//! 2. [`Since::Unbounded`] is before every other time; [`Since::Observed`] is the stamp of the commit that said it.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::error::Error;

/// An instant of valid time, in microseconds since 1970, UTC.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(i64);

impl Time {
    /// Before every instant: the start of what was always so, as far as anyone knows.
    pub const UNBOUNDED: Time = Time(i64::MIN);

    /// The first instant that may be told: the year 1 begins.
    pub const FIRST_TOLD: Time = Time(-62_135_596_800_000_000);

    /// The last instant that may be told: the year 9999 ends somewhere.
    pub const LAST_TOLD: Time = Time(253_402_207_200_000_000);

    /// The instant, if RFC 3339 can say it.
    ///
    /// # Errors
    /// `invalid`, naming the range.
    pub(crate) fn told(self) -> Result<Time, Error> {
        if (Time::FIRST_TOLD..=Time::LAST_TOLD).contains(&self) {
            return Ok(self);
        }
        Err(Error::invalid(format!(
            "a told time lies from {} to {}, found {} microseconds since 1970; what was always so is \"unbounded\"",
            Time::FIRST_TOLD,
            Time::LAST_TOLD,
            self.0
        )))
    }

    /// An instant from microseconds since 1970.
    pub fn from_micros(micros: i64) -> Time {
        Time(micros)
    }

    /// Microseconds since 1970.
    pub fn micros(self) -> i64 {
        self.0
    }
}

impl From<jiff::Timestamp> for Time {
    fn from(timestamp: jiff::Timestamp) -> Time {
        Time(timestamp.as_microsecond())
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_microsecond(self.0) {
            Ok(timestamp) => write!(f, "{timestamp:.6}"),
            Err(_) => f.write_str("unbounded"),
        }
    }
}

impl fmt::Debug for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::str::FromStr for Time {
    type Err = Error;

    /// RFC 3339 with any offset, or a date alone.
    fn from_str(text: &str) -> Result<Time, Error> {
        if let Ok(timestamp) = text.parse::<jiff::Timestamp>() {
            return Ok(timestamp.into());
        }
        let midnight = format!("{text}T00:00:00Z");
        if text.len() == 10
            && let Ok(timestamp) = midnight.parse::<jiff::Timestamp>()
        {
            return Ok(timestamp.into());
        }
        if text.parse::<jiff::civil::DateTime>().is_ok() {
            return Err(Error::invalid(format!(
                "the time {text:?} has no offset; add one, such as {text}Z for UTC or {text}+02:00"
            )));
        }
        Err(Error::invalid(format!(
            "expected a time such as 2026-03-01T09:30:00Z or a date such as 2026-03-01, found {text:?}"
        )))
    }
}

impl Serialize for Time {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Time, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

impl schemars::JsonSchema for Time {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Time".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string", "description": "RFC 3339 with an offset, or a date" })
    }
}

/// A half-open stretch of valid time, `[from, until)`; no `until` means *still so*.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Interval {
    /// The first instant inside.
    pub from: Time,
    /// The first instant after it, if it ends.
    pub until: Option<Time>,
}

impl Interval {
    /// Whether `at` lies inside.
    pub fn contains(&self, at: Time) -> bool {
        self.from <= at && self.until.is_none_or(|until| at < until)
    }
}

/// How the start of a fact is known.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Since {
    /// Nobody said: it holds from the commit that observed it. Such a start is not content.
    Observed,
    /// It was said to have held for as long as anyone knows.
    Unbounded,
    /// It was said to hold from this instant on.
    Told(Time),
}

impl Since {
    /// The instant from which the fact holds when it is recorded at `stamp`.
    pub fn from(self, stamp: Time) -> Time {
        match self {
            Since::Observed => stamp,
            Since::Unbounded => Time::UNBOUNDED,
            Since::Told(at) => at,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_normalised_to_utc() {
        for (text, expected) in [
            ("2026-03-01T09:30:00Z", "2026-03-01T09:30:00.000000Z"),
            ("2026-03-01T09:30:00+02:00", "2026-03-01T07:30:00.000000Z"),
            ("2026-03-01", "2026-03-01T00:00:00.000000Z"),
            ("2026-03-01T09:30:00.1234569Z", "2026-03-01T09:30:00.123456Z"),
            ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00.000000Z"),
        ] {
            assert_eq!(text.parse::<Time>().unwrap().to_string(), expected, "{text}");
        }
    }

    /// A time that no answer can spell would be shown as another one.
    #[test]
    fn told_times_can_be_spelt() {
        let (first, last) = (Time::FIRST_TOLD, Time::LAST_TOLD);
        assert_eq!(first.to_string(), "0001-01-01T00:00:00.000000Z");
        assert_eq!(last.to_string(), "9999-12-30T22:00:00.000000Z");
        for (micros, good) in [
            (first.0, true),
            (last.0, true),
            (0, true),
            (first.0 - 1, false),
            (last.0 + 1, false),
            (i64::MAX, false),
            (i64::MIN, false),
        ] {
            assert_eq!(Time(micros).told().is_ok(), good, "{micros}");
        }
    }

    /// A wall-clock time without a place would be read differently on two machines.
    #[test]
    fn a_time_without_offset_says_what_to_add() {
        let error = "2026-03-01T09:30:00".parse::<Time>().unwrap_err();
        assert!(error.to_string().contains("add one, such as 2026-03-01T09:30:00Z"), "{error}");
        for bad in ["", "yesterday", "2026-13-01", "2026-03-01T25:00:00Z", "2026-3-1"] {
            assert!(bad.parse::<Time>().is_err(), "{bad}");
        }
    }

    #[test]
    fn intervals_are_half_open() {
        let at = Time::from_micros;
        let span = Interval { from: at(10), until: Some(at(20)) };
        assert_eq!([9, 10, 19, 20].map(|t| span.contains(at(t))), [false, true, true, false]);
    }
}
