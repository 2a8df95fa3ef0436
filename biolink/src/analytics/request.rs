//! `GET /analytics?...`: what a client asks for.

use serde_json::{Map, Value};
use shared::{
    fields::{Fields, edit_distance},
    problem::{FieldError, Problem},
    query::parameters_with_lists,
    time::UnixMillis,
};

use super::{
    filter::Filter,
    granularity::Granularity,
    group::GroupBy,
    metric::{Metric, Metrics},
    parameter_error::ParameterError,
    period::{Interval, Moment, Period},
};
use crate::page::PageId;

/// A request for a report, before the offsets of its time zone are known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnalyticsRequest {
    pub(super) pages: Vec<PageId>,
    pub(super) period: Period,
    pub(super) timezone: String,
    pub(super) granularity: Option<Granularity>,
    /// The metrics that the client names.
    pub(super) metrics: Option<Metrics>,
    pub(super) groups: Vec<GroupBy>,
    pub(super) filters: Vec<Filter>,
    pub(super) limit: usize,
    pub(super) compares: bool,
    pub(super) format: Format,
}

/// The form of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// JSON.
    Json,
    /// Comma-separated values (RFC 4180).
    Csv,
}

const DAY_MS: u64 = 86_400_000;
const UTC: &str = "UTC";

impl AnalyticsRequest {
    /// The most pages that a query names.
    pub const MAX_PAGES: usize = 100;
    /// The most groups that a query names.
    pub const MAX_GROUPS: usize = 8;
    /// The most values of each group that a response has, and how many it has if the query does not
    /// say.
    pub const LIMITS: (usize, usize) = (100, 10);

    /// Returns the names of the intervals.
    pub fn intervals() -> [&'static str; 7] {
        Interval::ALL.map(|(name, _)| name)
    }

    /// Returns the names of the granularities, `auto` first.
    pub fn granularities() -> Vec<&'static str> {
        ["auto"].into_iter().chain(Granularity::ALL.map(Granularity::as_str)).collect()
    }

    /// Reads the query of a request.
    ///
    /// # Errors
    /// Returns `fields-invalid` with every fault.
    pub fn parse(query: Option<&str>) -> Result<Self, Problem> {
        let members = members(query)?;
        // Taken before it is read: a start that is malformed was still named.
        let names_start = members.contains_key("start");
        let mut fields = Fields::of(members);
        fields.hint(HINTS);
        let request = Self {
            pages: take(&mut fields, "page_id", pages).unwrap_or_default(),
            period: period(&mut fields, names_start),
            timezone: take(&mut fields, "timezone", timezone).unwrap_or_else(|| UTC.to_owned()),
            granularity: take(&mut fields, "granularity", granularity).flatten(),
            metrics: take(&mut fields, "metrics", metrics),
            groups: take(&mut fields, "group_by", groups).unwrap_or_default(),
            filters: filters(&mut fields),
            limit: take(&mut fields, "limit", limit).unwrap_or(Self::LIMITS.1),
            compares: take(&mut fields, "compare", compare).is_some(),
            format: take(&mut fields, "format", format).unwrap_or(Format::Json),
        };
        request.check(&mut fields);
        fields.finish().map(|()| request)
    }

    /// Returns the pages that are asked for; none if the report is about all.
    pub fn pages(&self) -> &[PageId] {
        &self.pages
    }

    /// Returns the name of the time zone; `None` for UTC, whose [`Zone`](super::Zone) is known.
    pub fn timezone(&self) -> Option<&str> {
        Some(self.timezone.as_str()).filter(|name| *name != UTC)
    }

    /// Returns the moments between which the [`Zone`](super::Zone) must be right.
    pub const fn zone_span(now: UnixMillis, window_days: u32) -> (UnixMillis, UnixMillis) {
        // Wider than the window, because no zone is more than a day off UTC and a week may begin
        // earlier.
        (now.minus((window_days as u64 + 3) * DAY_MS), now.plus(2 * DAY_MS))
    }

    /// Returns the refusal of a time zone that the shell does not know.
    pub fn unknown_timezone(&self) -> Problem {
        invalid("timezone", "is not a time zone; expected an IANA name such as Europe/Berlin or UTC")
    }

    /// Checks what several parameters say together.
    fn check(&self, fields: &mut Fields) {
        if self.format == Format::Csv && self.groups.len() > 1 {
            let detail = format!("csv has one table, and group_by names {}; ask for one", self.groups.len());
            fields.add_error("format", detail);
        }
        if self.format == Format::Csv && self.compares {
            fields.add_error("compare", "csv has one table; ask for the comparison as json".to_owned());
        }
        if let (true, Some(filter)) = (self.groups.contains(&GroupBy::BotClass), self.excluding(Metric::Bots))
        {
            let detail = format!("programs have no {}; leave out that filter or bot_class", filter.as_str());
            fields.add_error("group_by", detail);
        }
        self.check_metrics(fields);
    }

    /// Checks that each group, and what is left by the filters, has one of the metrics that are named.
    fn check_metrics(&self, fields: &mut Fields) {
        let Some(metrics) = self.metrics else { return };
        for group in &self.groups {
            if group.metrics().and(metrics).is_empty() {
                let names: Vec<_> = group.metrics().iter().map(Metric::as_str).collect();
                let detail = format!("has none that the group {} has: {}", group.as_str(), names.join(", "));
                fields.add_error("metrics", detail);
            }
        }
        for metric in metrics.iter() {
            if let Some(filter) = self.excluding(metric) {
                let detail = format!("{} cannot be filtered by {}", metric.as_str(), filter.as_str());
                fields.add_error("metrics", detail);
            }
        }
    }

    /// Returns the metrics that the filters leave.
    pub(super) fn available(&self) -> Metrics {
        self.filters.iter().fold(Metrics::ALL, |metrics, filter| metrics.and(filter.by.filtered_metrics()))
    }

    /// Returns the first filter that leaves a metric out.
    fn excluding(&self, metric: Metric) -> Option<GroupBy> {
        let mut filters = self.filters.iter().map(|filter| filter.by);
        filters.find(|by| by.filtered_metrics().and(Metrics::of(&[metric])).is_empty())
    }
}

/// Names that other products give to a parameter.
const HINTS: &[(&str, &str)] = &[
    ("event", "name what is counted in metrics"),
    ("period", "use interval, or start and end"),
    ("date_range", "use interval, or start and end"),
    ("tz", "use timezone"),
    ("from", "use start"),
    ("to", "use end"),
    ("until", "use end"),
    ("since", "use start"),
    ("page", "use page_id"),
    ("dimensions", "use group_by"),
    ("region", "regions are not stored; use country"),
    ("city", "cities are not stored; use country"),
];

/// Reads a query as programs write it (`application/x-www-form-urlencoded`), where a plus sign is a
/// space. Values of a list are separated by commas, however the client wrote them.
pub(super) fn members(query: Option<&str>) -> Result<Map<String, Value>, Problem> {
    let query = query.map(|query| query.replace('+', "%20"));
    let mut members = Map::new();
    for (name, value) in parameters_with_lists(query.as_deref(), is_list)? {
        members.insert(name.to_owned(), Value::String(value.into_owned()));
    }
    Ok(members)
}

/// Returns true for a parameter that takes several values.
fn is_list(name: &str) -> bool {
    matches!(name, "page_id" | "metrics" | "group_by")
        || GroupBy::ALL.iter().any(|group| group.dimension().is_some() && group.as_str() == name)
}

/// Returns the refusal of one parameter.
pub(super) fn invalid(name: &str, detail: &str) -> Problem {
    Problem::invalid_fields(&[FieldError { pointer: format!("#/{name}"), detail: detail.to_owned() }])
}

pub(super) fn take<T>(
    fields: &mut Fields,
    name: &'static str,
    parse: impl FnOnce(&str) -> Result<T, ParameterError>,
) -> Option<T> {
    fields.optional(name, |value| parse(value.as_str().unwrap_or_default()))
}

pub(super) fn pages(text: &str) -> Result<Vec<PageId>, ParameterError> {
    let mut pages = Vec::new();
    for id in text.split(',') {
        let expected = "ids of pages, which begin with pg_, with commas";
        let id = PageId::parse(id.trim()).ok_or(ParameterError::Malformed { expected })?;
        if !pages.contains(&id) {
            pages.push(id);
        }
    }
    at_most(AnalyticsRequest::MAX_PAGES, text, "pages").map(|()| pages)
}

fn period(fields: &mut Fields, names_start: bool) -> Period {
    let interval = take(fields, "interval", |text| {
        let place = place(text, &AnalyticsRequest::intervals())?;
        Ok(Interval::ALL.get(place).map_or(Interval::Days(30), |(_, interval)| *interval))
    });
    let moment = |text: &str| {
        let expected = "a date such as 2026-11-01, or a time such as 2026-11-01T08:00:00Z (RFC 3339)";
        // The plus sign of an offset, if it was not percent-encoded, is a space.
        Moment::parse(&text.replace(' ', "+")).ok_or(ParameterError::Malformed { expected })
    };
    let start = take(fields, "start", moment);
    let end = take(fields, "end", moment);
    if interval.is_some() && names_start {
        fields.add_error("interval", "cannot be combined with start".to_owned());
    }
    if end.is_some() && !names_start {
        fields.add_error("end", "needs a start".to_owned());
    }
    match start {
        Some(start) => Period::Explicit { start, end },
        None => Period::Interval(interval.unwrap_or(Interval::Days(30))),
    }
}

fn timezone(name: &str) -> Result<String, ParameterError> {
    let is_name = |c: u8| c.is_ascii_alphanumeric() || matches!(c, b'_' | b'-' | b'+' | b'/');
    let name = name.replace(' ', "+");
    match name.as_str() {
        "Etc/UTC" | "utc" | "Z" => Ok(UTC.to_owned()),
        _ if (1..=64).contains(&name.len()) && name.bytes().all(is_name) => Ok(name),
        _ => Err(ParameterError::Malformed { expected: "an IANA name such as Europe/Berlin or UTC" }),
    }
}

fn granularity(text: &str) -> Result<Option<Granularity>, ParameterError> {
    let place = place(text, &AnalyticsRequest::granularities())?;
    Ok(place.checked_sub(1).and_then(|place| Granularity::ALL.get(place)).copied())
}

fn metrics(text: &str) -> Result<Metrics, ParameterError> {
    let mut metrics = Metrics::default();
    for name in text.split(',') {
        let place = place(name.trim(), &Metric::ALL.map(Metric::as_str))?;
        Metric::ALL.get(place).into_iter().for_each(|metric| metrics.add(*metric));
    }
    at_most(Metric::ALL.len(), text, "metrics").map(|()| metrics)
}

fn groups(text: &str) -> Result<Vec<GroupBy>, ParameterError> {
    let mut groups = Vec::new();
    for name in text.split(',') {
        let place = place(name.trim(), &GroupBy::ALL.map(GroupBy::as_str))?;
        let group = GroupBy::ALL.get(place).filter(|group| !groups.contains(*group));
        groups.extend(group.copied());
    }
    at_most(AnalyticsRequest::MAX_GROUPS, text, "groups").map(|()| groups)
}

/// Checks the length of a list as it is written: one that repeats a value is as long as it looks.
fn at_most(max: usize, list: &str, what: &'static str) -> Result<(), ParameterError> {
    let count = list.split(',').count();
    if count > max { Err(ParameterError::TooMany { count, what, max }) } else { Ok(()) }
}

fn filters(fields: &mut Fields) -> Vec<Filter> {
    let mut filters = Vec::new();
    for by in GroupBy::ALL.into_iter().filter(|by| by.dimension().is_some()) {
        filters.extend(take(fields, by.as_str(), |text| Filter::parse(by, text)));
    }
    filters
}

fn limit(text: &str) -> Result<usize, ParameterError> {
    let (max, _) = AnalyticsRequest::LIMITS;
    let limit = text.parse().ok().filter(|limit| (1..=max).contains(limit));
    limit.ok_or(ParameterError::OutOfRange { max })
}

fn compare(text: &str) -> Result<(), ParameterError> {
    place(text, &["previous_period"]).map(|_| ())
}

fn format(text: &str) -> Result<Format, ParameterError> {
    Ok(if place(text, &["json", "csv"])? == 0 { Format::Json } else { Format::Csv })
}

/// Returns the place of a name in a list.
fn place(name: &str, names: &[&str]) -> Result<usize, ParameterError> {
    if let Some(place) = names.iter().position(|other| *other == name) {
        return Ok(place);
    }
    // The name is the client's and goes into the response.
    let shown: String = name.chars().take(40).collect();
    let lower = shown.to_ascii_lowercase();
    Err(match names.iter().find(|other| edit_distance(other, &lower) <= 2 && lower.len() > 2) {
        Some(meant) => ParameterError::Misspelled { name: shown, meant: (*meant).to_owned() },
        None => {
            let known = names.iter().map(|name| (*name).to_owned()).collect();
            ParameterError::Unknown { name: shown, known }
        }
    })
}

#[cfg(test)]
mod tests;
