//! The past calls of a key: `GET /v1/usage?interval=&group_by=&format=`.

use serde_json::{Map, Value, json};
use strum::{EnumString, IntoStaticStr};

use crate::meter::{HourCounts, MeterSnapshot};
use crate::problem::Problem;
use crate::query::{invalid, parameters, unknown_parameter};
use crate::response::Response;
use crate::time::{HOUR_MS, UnixMillis, UtcDay};

/// The most hours of an interval in hours.
const MAX_HOURS: u64 = 48;
/// The most days of an interval.
const MAX_DAYS: u64 = 30;

/// A request for the past calls of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HistoryRequest {
    interval: Interval,
    group: Group,
    format: Format,
}

/// The last hours or days, the one that is not over included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Interval {
    Hours(u64),
    Days(u64),
}

/// The rows of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq, EnumString, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
enum Group {
    Hour,
    Day,
    Tool,
    Status,
    Secret,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Json,
    Csv,
}

/// The calls of an hour or a day.
#[derive(Default)]
struct Counted {
    start: UnixMillis,
    calls: u32,
    by_tool: Named,
    by_status: Named,
    /// As charged, the key's own secret without a name.
    by_secret: Named,
}

/// Calls by the name of a tool, status or secret, in the order of the names.
#[derive(Default)]
struct Named(Vec<(String, u32)>);

impl HistoryRequest {
    /// Reads the query.
    ///
    /// # Errors
    /// Returns `fields-invalid` for a parameter that is unknown or sent twice, and for a value out of
    /// bounds.
    pub fn read(query: Option<&str>) -> Result<Self, Problem> {
        let (mut interval, mut group, mut format) = (None, Group::Day, Format::Json);
        for (name, value) in parameters(query)? {
            match name {
                "interval" => interval = Some(Interval::parse(&value).ok_or_else(not_an_interval)?),
                "group_by" => group = value.parse::<Group>().map_err(|_| not_a_group())?,
                "format" if value == "json" => format = Format::Json,
                "format" if value == "csv" => format = Format::Csv,
                "format" => return Err(invalid("format is json or csv")),
                _ => {
                    return Err(unknown_parameter(name, "interval, group_by and format"));
                }
            }
        }
        let interval = interval.unwrap_or(match group {
            Group::Hour => Interval::Hours(MAX_HOURS),
            Group::Day | Group::Tool | Group::Status | Group::Secret => Interval::Days(MAX_DAYS),
        });
        match (group, interval) {
            (Group::Hour, Interval::Days(days)) if days * 24 > MAX_HOURS => {
                Err(invalid("by the hour there are the last 48 hours: interval is at most 48h or 2d"))
            }
            (Group::Day, Interval::Hours(_)) => Err(invalid("by the day, interval is in days, such as 7d")),
            _ => Ok(Self { interval, group, format }),
        }
    }

    /// Returns the first hour that the response has, counted from the epoch.
    pub const fn since(&self, now: UnixMillis) -> u64 {
        match self.interval {
            Interval::Hours(hours) => (now.hour() + 1).saturating_sub(hours),
            Interval::Days(days) => first_day(now, days).start().hour(),
        }
    }

    /// Returns the hour from which on the meter must tell what it has kept: a day begins at its first one.
    pub const fn since_kept(&self, now: UnixMillis) -> u64 {
        UnixMillis(self.since(now).saturating_mul(HOUR_MS)).day().start().hour()
    }

    /// Returns the response: the calls of the interval until `now`, as the key's meter knows them.
    pub fn response(&self, snapshot: &MeterSnapshot, now: UnixMillis) -> Response {
        let current =
            HourCounts { hour: now.hour(), calls: snapshot.day_used, tally: snapshot.tally.clone() };
        let kept = snapshot.hours.iter().filter(|kept| kept.hour < current.hour);
        let counts: Vec<&HourCounts> = kept.chain([&current]).collect();
        let counted: Vec<Counted> = match (self.group, self.interval) {
            (Group::Hour, _) | (_, Interval::Hours(_)) => {
                (self.since(now)..=now.hour()).map(|hour| Counted::of_hour(&counts, hour)).collect()
            }
            (_, Interval::Days(days)) => (first_day(now, days).0..=now.day().0)
                .map(|day| Counted::of_day(&counts, UtcDay(day)))
                .collect(),
        };
        match self.format {
            Format::Json => Response::json(self.object(&counted, now).to_string()),
            Format::Csv => self.table(&counted),
        }
    }

    fn object(&self, counted: &[Counted], now: UnixMillis) -> Value {
        let data: Vec<Value> = match self.group {
            Group::Hour | Group::Day => counted.iter().map(Counted::describe).collect(),
            Group::Tool | Group::Status | Group::Secret => {
                let name = self.group_name();
                let row = |(of, calls): (String, u32)| {
                    let of = match self.group {
                        // A number, as in a response's status line.
                        Group::Status => json!(of.parse::<u16>().ok()),
                        // The key's own secret has no id.
                        _ if of.is_empty() => Value::Null,
                        _ => Value::from(of),
                    };
                    json!({ name: of, "calls": calls })
                };
                self.sums(counted).0.into_iter().map(row).collect()
            }
        };
        json!({
            "object": "usage",
            "group_by": self.group_name(),
            "from": UnixMillis(self.since(now).saturating_mul(HOUR_MS)).to_rfc3339(),
            "to": now.to_rfc3339(),
            "calls": counted.iter().map(|counted| u64::from(counted.calls)).sum::<u64>(),
            "data": data,
        })
    }

    /// Returns the same rows as comma-separated values (RFC 4180). No value needs quotes.
    fn table(&self, counted: &[Counted]) -> Response {
        let rows = match self.group {
            Group::Hour | Group::Day => {
                counted.iter().map(|counted| (counted.start.to_rfc3339(), counted.calls)).collect()
            }
            Group::Tool | Group::Status | Group::Secret => self.sums(counted).0,
        };
        let name = self.group_name();
        let lines: String = rows.iter().map(|(of, calls)| format!("{of},{calls}\r\n")).collect();
        let body = format!("{name},calls\r\n{lines}");
        Response::csv(&format!("usage-by-{name}"), body)
    }

    fn group_name(&self) -> &'static str {
        self.group.into()
    }

    fn sums(&self, counted: &[Counted]) -> Named {
        let mut sums = Named::default();
        for counted in counted {
            let by = match self.group {
                Group::Tool => &counted.by_tool,
                Group::Secret => &counted.by_secret,
                Group::Hour | Group::Day | Group::Status => &counted.by_status,
            };
            by.0.iter().for_each(|(name, calls)| sums.add(name, *calls));
        }
        sums
    }
}

impl Interval {
    fn parse(text: &str) -> Option<Self> {
        let (number, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
        let number = number.parse::<u64>().ok()?;
        match unit {
            "h" if (1..=MAX_HOURS).contains(&number) => Some(Self::Hours(number)),
            "d" if (1..=MAX_DAYS).contains(&number) => Some(Self::Days(number)),
            _ => None,
        }
    }
}

impl Counted {
    /// Returns the calls of an hour: what its day had at its end and not at the end of the hour before.
    fn of_hour(counts: &[&HourCounts], hour: u64) -> Self {
        let start = UnixMillis(hour.saturating_mul(HOUR_MS));
        let of_day = |counts: &&&HourCounts| counts.day() == start.day();
        let end = counts.iter().find(|counts| counts.hour == hour);
        let before = counts.iter().filter(of_day).rev().find(|counts| counts.hour < hour);
        Self::between(before.copied(), end.copied(), start)
    }

    fn of_day(counts: &[&HourCounts], day: UtcDay) -> Self {
        let end = counts.iter().rev().find(|counts| counts.day() == day);
        Self::between(None, end.copied(), day.start())
    }

    fn between(before: Option<&HourCounts>, end: Option<&HourCounts>, start: UnixMillis) -> Self {
        let Some(end) = end else { return Self { start, ..Self::default() } };
        // What was refunded since is less than what there was.
        let calls = end.calls.saturating_sub(before.map_or(0, |before| before.calls));
        let (mut by_tool, mut by_status) = (Named::default(), Named::default());
        for (tool, calls) in end.tally.by_tool.iter() {
            let known = before.and_then(|before| before.tally.by_tool.get(tool)).copied();
            by_tool.add(tool.as_str(), calls.saturating_sub(known.unwrap_or(0)));
        }
        for (status, calls) in end.tally.by_status.iter() {
            let known = before.and_then(|before| before.tally.by_status.get(status)).copied();
            by_status.add(&status.to_string(), calls.saturating_sub(known.unwrap_or(0)));
        }
        let mut by_secret = Named::default();
        let mut own = calls;
        for (secret, calls) in end.tally.by_secret.iter() {
            let known = before.and_then(|before| before.tally.by_secret.get(secret)).copied();
            let calls = calls.saturating_sub(known.unwrap_or(0));
            by_secret.add(&secret.to_string(), calls);
            own = own.saturating_sub(calls);
        }
        by_secret.add("", own);
        Self { start, calls, by_tool, by_status, by_secret }
    }

    fn describe(&self) -> Value {
        json!({
            "start": self.start.to_rfc3339(),
            "calls": self.calls,
            "by_tool": self.by_tool.describe(),
            "by_status": self.by_status.describe(),
        })
    }
}

impl Named {
    fn add(&mut self, name: &str, calls: u32) {
        match self.0.binary_search_by(|(other, _)| other.as_str().cmp(name)) {
            Ok(at) => {
                if let Some((_, sum)) = self.0.get_mut(at) {
                    *sum = sum.saturating_add(calls);
                }
            }
            Err(at) if calls > 0 => self.0.insert(at, (name.to_owned(), calls)),
            Err(_) => {}
        }
    }

    fn describe(&self) -> Value {
        let mut members = Map::new();
        for (name, calls) in &self.0 {
            members.insert(name.clone(), (*calls).into());
        }
        Value::Object(members)
    }
}

const fn first_day(now: UnixMillis, days: u64) -> UtcDay {
    UtcDay((now.day().0 + 1).saturating_sub(days))
}

fn not_an_interval() -> Problem {
    invalid("interval is a number of hours from 1h to 48h, or of days from 1d to 30d")
}

fn not_a_group() -> Problem {
    invalid("group_by is hour, day, tool, status or secret")
}

#[cfg(test)]
mod tests;
