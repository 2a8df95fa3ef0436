//! The parameters of `GET /analytics`.

use biolink::analytics::{AnalyticsRequest, Filter, GroupBy, Metric};
use serde_json::{Map, Value, json};

use super::example;

/// The component that selects pages.
pub(super) const PAGES: &str = "page_ids";
/// The components that are not filters, apart from [`PAGES`].
const OWN: [&str; 10] = [
    "interval",
    "start",
    "end",
    "timezone",
    "granularity",
    "metrics",
    "group_by",
    "limit_values",
    "compare",
    "format",
];

/// Returns the names of the components, apart from [`PAGES`].
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    OWN.into_iter().chain(filters().map(GroupBy::as_str))
}

fn filters() -> impl Iterator<Item = GroupBy> {
    GroupBy::ALL.into_iter().filter(|group| group.dimension().is_some())
}

/// Returns the components. Those with an example are the query of the response's example.
pub(super) fn components(page: &str) -> Map<String, Value> {
    let filters = filters().map(|group| (group.as_str(), filter(group)));
    let own = scope(page).into_iter().chain(counting());
    own.chain(filters).map(|(name, component)| (name.to_owned(), component)).collect()
}

/// Returns the components that say which events a report is about, apart from filters.
fn scope(page: &str) -> [(&'static str, Value); 5] {
    // Code generators have no type for a date or a time.
    let moment = || json!({ "type": "string", "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}([Tt ].+)?$" });
    [
        (
            PAGES,
            list(
                "page_id",
                "Ids of pages. Without it, all pages of the account.",
                (AnalyticsRequest::MAX_PAGES, json!({ "type": "string", "pattern": "^pg_[0-9A-Za-z]{17}$" })),
                Some(json!([page])),
            ),
        ),
        (
            "interval",
            query(
                "interval",
                "A period that ends now, or with yesterday. It is cut to the window of the plan. Without it and without `start`: `30d`.",
                names_of(&AnalyticsRequest::intervals()),
                Some(example::INTERVAL.into()),
            ),
        ),
        (
            "start",
            query(
                "start",
                "The first day, such as 2026-11-01, or moment, such as 2026-11-01T08:00:00Z, in place of `interval`.",
                moment(),
                None,
            ),
        ),
        (
            "end",
            query(
                "end",
                "The last day, or the moment after the last. Needs `start`. Without it: now.",
                moment(),
                None,
            ),
        ),
        (
            "timezone",
            query(
                "timezone",
                "The IANA time zone in which days begin.",
                json!({ "type": "string", "minLength": 1, "maxLength": 64, "default": "UTC" }),
                Some(example::TIMEZONE.into()),
            ),
        ),
    ]
}

/// Returns the components that say how events are counted and shown.
fn counting() -> [(&'static str, Value); 6] {
    let (most, usual) = AnalyticsRequest::LIMITS;
    [
        (
            "granularity",
            query(
                "granularity",
                "The buckets of the group `timeseries`. `auto` suits them to the period.",
                defaulted(names_of(&AnalyticsRequest::granularities()), "auto"),
                None,
            ),
        ),
        (
            "metrics",
            list(
                "metrics",
                "What to count. Without it, totals have every metric, and each group those that suit it. `views_confirmed` has no properties, and `bots` have none of visitors: groups and filters by those do not have them.",
                (Metric::ALL.len(), names_of(&Metric::ALL.map(Metric::as_str))),
                None,
            ),
        ),
        (
            "group_by",
            list(
                "group_by",
                "What to group by.",
                (AnalyticsRequest::MAX_GROUPS, names_of(&GroupBy::ALL.map(GroupBy::as_str))),
                Some(json!(example::GROUPS)),
            ),
        ),
        (
            "limit_values",
            query(
                "limit",
                "The most values of each group. The others are one row, `(other)`.",
                json!({ "type": "integer", "minimum": 1, "maximum": most, "default": usual }),
                None,
            ),
        ),
        (
            "compare",
            query(
                "compare",
                "Adds the totals of the period of the same length before.",
                names_of(&["previous_period"]),
                Some("previous_period".into()),
            ),
        ),
        (
            "format",
            query(
                "format",
                "`csv` has one table: that of the one group, or of the totals.",
                defaulted(names_of(&["json", "csv"]), "json"),
                None,
            ),
        ),
    ]
}

fn filter(group: GroupBy) -> Value {
    let about = "Counts only events with one of these values. With `-` before each, only events with none of them. `(none)` is an event without a value.";
    list(group.as_str(), about, (Filter::MAX_VALUES, json!({ "type": "string", "minLength": 1 })), None)
}

fn query(name: &str, about: &str, schema: Value, example: Option<Value>) -> Value {
    let mut parameter = json!({ "name": name, "in": "query", "description": about, "schema": schema });
    if let (Some(members), Some(example)) = (parameter.as_object_mut(), example) {
        members.insert("example".to_owned(), example);
    }
    parameter
}

/// Returns a parameter that is a list of at most so many items. It is described in the form that
/// code generators write, repeated. Commas are taken too.
fn list(name: &str, about: &str, (most, items): (usize, Value), example: Option<Value>) -> Value {
    let schema = json!({ "type": "array", "minItems": 1, "maxItems": most, "items": items });
    query(name, about, schema, example)
}

fn names_of(names: &[&str]) -> Value {
    json!({ "type": "string", "enum": names })
}

fn defaulted(mut schema: Value, default: &str) -> Value {
    if let Some(members) = schema.as_object_mut() {
        members.insert("default".to_owned(), default.into());
    }
    schema
}
