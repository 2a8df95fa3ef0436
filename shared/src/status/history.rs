//! The availability of each tool over 90 days, from a sample a minute.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::StatusReport;
use crate::sorted_map::SortedMap;
use crate::time::{UnixMillis, UtcDay};
use crate::tool::Tool;

/// Days of the history, today among them.
pub const HISTORY_DAYS: usize = 90;
/// Time from one sample to the next, in milliseconds.
pub const SAMPLE_MS: u64 = 60_000;

/// Minutes of a tool that have a sample, and those of them in which it was available.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SampledMinutes {
    /// Minutes with a sample.
    pub known: u32,
    /// Minutes in which the tool was available.
    pub available: u32,
}

impl SampledMinutes {
    /// Returns the availability in hundredths of a percent, rounded down: 10,000 is never said of a tool that was
    /// away. `None` if nothing is known.
    pub fn basis_points(self) -> Option<u32> {
        let share = u64::from(self.available) * 10_000;
        share.checked_div(u64::from(self.known)).and_then(|points| u32::try_from(points).ok())
    }

    fn plus(self, other: Self) -> Self {
        Self { known: self.known + other.known, available: self.available + other.available }
    }
}

/// The samples of a UTC day.
///
/// ```
/// use shared::{
///     status::{StatusReport, history::DaySamples},
///     time::UnixMillis,
///     tool::Tool,
/// };
///
/// let noon = UnixMillis(1_763_726_400_000);
/// let mut today = DaySamples::new(noon.day());
/// assert!(today.record(&StatusReport::new(|_| true), noon));
/// assert!(!today.record(&StatusReport::new(|_| false), noon.plus(59_999)), "the minute has its sample");
/// assert!(today.record(&StatusReport::new(|tool| tool != Tool::Qr), noon.plus(60_000)));
/// assert_eq!(today.minutes(Tool::Qr).basis_points(), Some(5_000));
/// assert_eq!(today.minutes(Tool::Pdf).basis_points(), Some(10_000));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DaySamples {
    /// The day.
    pub day: UtcDay,
    /// The minute of the newest sample, from the start of the day.
    last: Option<u64>,
    /// By the name of the tool: those that only another version knows are kept.
    tools: SortedMap<String, SampledMinutes>,
}

impl DaySamples {
    /// Returns a day without a sample.
    pub const fn new(day: UtcDay) -> Self {
        Self { day, last: None, tools: SortedMap::new() }
    }

    /// Counts a sample of this day. Returns false if its minute, or a later one, has a sample: an alarm may run twice,
    /// and a clock may go back.
    pub fn record(&mut self, report: &StatusReport, now: UnixMillis) -> bool {
        let minute = now.since(self.day.start()) / SAMPLE_MS;
        if now.day() != self.day || self.last.is_some_and(|last| minute <= last) {
            return false;
        }
        self.last = Some(minute);
        for status in &report.tools {
            let minutes = self.tools.get_or_default(status.tool.as_str().to_owned());
            *minutes = minutes.plus(SampledMinutes { known: 1, available: u32::from(status.available) });
        }
        true
    }

    /// Returns the minutes of a tool.
    pub fn minutes(&self, tool: Tool) -> SampledMinutes {
        self.tools.get(tool.as_str()).copied().unwrap_or_default()
    }
}

/// The days that are kept, by rising day. A day without a sample may be absent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct AvailabilityHistory(pub Vec<DaySamples>);

impl AvailabilityHistory {
    /// Returns the first day that is kept at `now`.
    pub fn first_day(now: UnixMillis) -> UtcDay {
        UtcDay(now.day().0.saturating_sub(HISTORY_DAYS as u64 - 1))
    }

    /// Returns the minutes of a tool on each day, the oldest first, with the day.
    pub fn days(&self, tool: Tool, now: UnixMillis) -> impl Iterator<Item = (UtcDay, SampledMinutes)> {
        (Self::first_day(now).0..=now.day().0).map(move |day| {
            let found = self.0.iter().find(|samples| samples.day.0 == day);
            (UtcDay(day), found.map(|samples| samples.minutes(tool)).unwrap_or_default())
        })
    }

    /// Returns the minutes of a tool on all days together.
    pub fn total(&self, tool: Tool, now: UnixMillis) -> SampledMinutes {
        self.days(tool, now).fold(SampledMinutes::default(), |total, (_, minutes)| total.plus(minutes))
    }

    /// Returns the response body of `GET /v1/status/history`.
    pub fn describe(&self, now: UnixMillis) -> Value {
        let tools = Tool::ALL.map(|tool| {
            let days: Vec<_> = self.days(tool, now).map(|(_, minutes)| ratio(minutes)).collect();
            json!({ "tool": tool, "availability": ratio(self.total(tool, now)), "days": days })
        });
        json!({ "from": date(Self::first_day(now)), "to": date(now.day()), "tools": tools })
    }
}

/// Returns the availability from 0 to 1; `None` if nothing is known.
fn ratio(minutes: SampledMinutes) -> Option<f64> {
    minutes.basis_points().map(|points| f64::from(points) / 10_000.0)
}

/// Returns a day as `2026-11-26`.
pub fn date(day: UtcDay) -> String {
    day.start().to_rfc3339().chars().take(10).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOON: UnixMillis = UnixMillis(1_763_726_400_000);
    const DAY_MS: u64 = 86_400_000;

    fn up(tool: Tool, is_up: bool) -> StatusReport {
        StatusReport::new(|other| other != tool || is_up)
    }

    #[test]
    fn minute_counts_once_however_often_it_is_sampled() {
        let mut today = DaySamples::new(NOON.day());
        for _ in 0..1_000 {
            today.record(&up(Tool::Qr, false), NOON.plus(1));
        }
        assert!(!today.record(&up(Tool::Qr, true), NOON.minus(60_000)), "a clock that went back");
        assert!(!today.record(&up(Tool::Qr, true), NOON.plus(DAY_MS)), "another day");
        assert_eq!(today.minutes(Tool::Qr), SampledMinutes { known: 1, available: 0 });
        assert_eq!(today.minutes(Tool::Pdf), SampledMinutes { known: 1, available: 1 });
    }

    #[test]
    fn availability_is_rounded_down_and_unknown_without_a_sample() {
        let points = |known, available| SampledMinutes { known, available }.basis_points();
        assert_eq!((points(0, 0), points(1, 0), points(1_440, 1_440)), (None, Some(0), Some(10_000)));
        assert_eq!(points(129_600, 129_599), Some(9_999), "a minute in 90 days shows");
    }

    #[test]
    fn history_has_90_days_of_every_tool_and_null_for_what_is_not_known() {
        let mut days =
            [DaySamples::new(UtcDay(NOON.day().0 - 90)), DaySamples::new(UtcDay(NOON.day().0 - 2))];
        days[0].record(&up(Tool::Qr, false), NOON.minus(90 * DAY_MS));
        days[1].record(&up(Tool::Qr, false), NOON.minus(2 * DAY_MS));
        days[1].record(&up(Tool::Qr, true), NOON.minus(2 * DAY_MS - 60_000));
        let history = AvailabilityHistory(days.into());
        let body = history.describe(NOON);
        assert_eq!((&body["from"], &body["to"]), (&json!("2025-08-24"), &json!("2025-11-21")));
        let qr = body["tools"].as_array().unwrap().iter().find(|tool| tool["tool"] == "qr").unwrap();
        let days = qr["days"].as_array().unwrap();
        assert_eq!((days.len(), &days[87], &days[89]), (HISTORY_DAYS, &json!(0.5), &Value::Null));
        assert_eq!(qr["availability"], 0.5, "what is older than 90 days does not count");
        assert_eq!(AvailabilityHistory::default().describe(NOON)["tools"][0]["availability"], Value::Null);
    }

    #[test]
    fn stored_day_reads_back() {
        let mut today = DaySamples::new(NOON.day());
        today.record(&up(Tool::Qr, false), NOON);
        let text = serde_json::to_string(&today).unwrap();
        assert_eq!(serde_json::from_str::<DaySamples>(&text).unwrap(), today);
    }
}
