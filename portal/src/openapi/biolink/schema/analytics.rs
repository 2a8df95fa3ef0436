//! The schemas of analytics.

use biolink::analytics::{AnalyticsRequest, GroupBy, Metric};
use serde_json::{Map, Value, json};

use super::parts::Presence::{Nullable, Optional, Required};
use super::parts::{
    Member, Use, boolean, constant, described, list, member, names_of, nullable, object, time,
};

/// Returns the schema components.
pub(super) fn components() -> Map<String, Value> {
    let components = [
        ("Analytics", analytics()),
        ("AnalyticsSeriesRow", row(vec![member("start", Required, time())])),
        ("AnalyticsPageRow", row(vec![text("id"), text("title"), text("slug"), other()])),
        (
            "AnalyticsLinkRow",
            row(vec![
                text("id"),
                text("title"),
                text("url"),
                member("deleted", Nullable, boolean("Whether no page has it now.")),
                other(),
            ]),
        ),
        ("AnalyticsValueRow", values()),
        ("LiveAnalytics", live()),
    ];
    components.into_iter().map(|(name, schema)| (name.to_owned(), schema)).collect()
}

fn analytics() -> Value {
    object(
        Use::Output,
        vec![
            constant("object", "analytics"),
            member("meta", Required, meta()),
            member(
                "totals",
                Required,
                described(
                    object(Use::Output, totals()),
                    "Those of `metrics`. A filter leaves out `views_confirmed`, and one by a property of visitors `bots` too.",
                ),
            ),
            member("ignored", Nullable, ignored()),
            member("previous", Optional, nullable(previous())),
            member("lifetime", Required, lifetime()),
            member("groups", Required, groups()),
        ],
    )
}

fn meta() -> Value {
    let granularities = AnalyticsRequest::granularities();
    object(
        Use::Output,
        vec![
            member("start", Required, time()),
            member("end", Required, described(time(), "The moment after the last.")),
            member("timezone", Required, json!({ "type": "string" })),
            member("granularity", Required, names_of(granularities.into_iter().skip(1))),
            member("window_days", Required, json!({ "type": "integer" })),
            member("earliest_available", Required, described(time(), "The earliest `start` of the plan.")),
            member("clamped", Required, boolean("Whether the period was cut to the window.")),
            member(
                "complete_until",
                Nullable,
                described(time(), "Every event before it is counted that was not lost. Null without pages."),
            ),
            member("gaps", Required, counted("Batches that are missing.")),
            member("dropped", Required, counted("Events that were dropped because nothing took them.")),
            member(
                "counting",
                Required,
                described(
                    names_of(["exact", "coalesced"]),
                    "`coalesced`: an isolate had several events in memory, which it sent together within a second.",
                ),
            ),
            member(
                "exact",
                Required,
                boolean(
                    "Whether visitors were counted and not estimated, and every value of a group for itself.",
                ),
            ),
            constant("visitor_definition", "daily"),
        ],
    )
}

fn ignored() -> Value {
    let reasons = [
        ("head", "HEAD requests."),
        ("prefetch", "Speculative requests of browsers."),
        ("preview", "Previews."),
        ("own", "Requests with `?notrack`."),
        ("flood", "Events of visitors with more than 60 in a minute."),
    ];
    let mut members: Vec<_> =
        reasons.into_iter().map(|(name, about)| member(name, Required, counted(about))).collect();
    members.push(member("other", Optional, counted("Other reasons.")));
    let bots = json!({ "type": "object", "additionalProperties": { "type": "integer", "minimum": 0 }, "description": "Events of programs, by class." });
    members.push(member("bot", Required, bots));
    described(
        object(Use::Output, members),
        "Events that count nowhere else, by reason. Null with a filter by a property of visitors, which ignored events do not have.",
    )
}

fn previous() -> Value {
    let mut members = vec![
        member("start", Required, time()),
        member("end", Required, time()),
        member("partial", Required, boolean("Whether the window has only a part of the period.")),
    ];
    members.extend(totals());
    described(object(Use::Output, members), "With `compare`. Null if the window has nothing of the period.")
}

fn lifetime() -> Value {
    let members = ["views", "clicks", "scans"].map(|name| member(name, Required, count()));
    described(object(Use::Output, members.into()), "Counts of all times, or since the last reset.")
}

fn groups() -> Value {
    let rows = |group: GroupBy| match group {
        GroupBy::Timeseries => "AnalyticsSeriesRow",
        GroupBy::Page => "AnalyticsPageRow",
        GroupBy::Link | GroupBy::Product => "AnalyticsLinkRow",
        _ => "AnalyticsValueRow",
    };
    let members = GroupBy::ALL.map(|group| member(group.as_str(), Optional, list(rows(group))));
    described(object(Use::Output, members.into()), "Those of `group_by`.")
}

/// Returns the rows of the groups whose values are plain texts.
fn values() -> Value {
    let groups = GroupBy::ALL.into_iter().filter(|group| {
        !matches!(group, GroupBy::Timeseries | GroupBy::Page | GroupBy::Link | GroupBy::Product)
    });
    let value = |group: GroupBy| member(group.as_str(), Optional, nullable(json!({ "type": "string" })));
    let mut members: Vec<_> = groups.map(value).collect();
    members.push(other());
    described(row(members), "The value of the group, null for events without one, and its counts.")
}

/// Returns a row with these members and counts.
fn row(mut members: Vec<Member>) -> Value {
    members.extend(Metric::ALL.map(|metric| member(metric.as_str(), Optional, nullable(amount(metric)))));
    object(Use::Output, members)
}

fn totals() -> Vec<Member> {
    let total = |metric: Metric| {
        let schema = if is_ratio(metric) { nullable(amount(metric)) } else { amount(metric) };
        member(metric.as_str(), Optional, described(schema, about(metric)))
    };
    Metric::ALL.map(total).into()
}

const fn about(metric: Metric) -> &'static str {
    match metric {
        Metric::Views => "Loads of pages.",
        Metric::Visitors => "Visitors who viewed, clicked or scanned: each once for each page and UTC day.",
        Metric::Clicks => "Clicks on links and products.",
        Metric::UniqueClicks => "Visitors who clicked: each once for each page and UTC day.",
        Metric::Ctr => "Clicks by views. Null without views.",
        Metric::UniqueCtr => "Unique clicks by visitors. Null without visitors.",
        Metric::Scans => "Scans of QR codes.",
        Metric::UniqueScans => "Visitors who scanned: each once for each page and UTC day.",
        Metric::ViewsConfirmed => "Views whose page was laid out.",
        Metric::Bots => "Events of programs, which count nowhere else.",
    }
}

fn live() -> Value {
    let counts = || ["views", "visitors", "clicks", "scans"].map(|name| member(name, Required, count()));
    let minute = [member("start", Required, time())].into_iter().chain(counts()).collect();
    let minutes =
        json!({ "type": "array", "minItems": 5, "maxItems": 5, "items": object(Use::Output, minute) });
    object(
        Use::Output,
        vec![
            constant("object", "analytics_live"),
            member("start", Required, time()),
            member("end", Required, time()),
            member("totals", Required, object(Use::Output, counts().into())),
            member("minutes", Required, minutes),
        ],
    )
}

fn text(name: &'static str) -> Member {
    member(name, Nullable, json!({ "type": "string" }))
}

fn other() -> Member {
    member(
        "other",
        Optional,
        boolean(
            "True in the last row, of all values that have no row. Its visitors are not known: they are null.",
        ),
    )
}

const fn is_ratio(metric: Metric) -> bool {
    matches!(metric, Metric::Ctr | Metric::UniqueCtr)
}

fn amount(metric: Metric) -> Value {
    if is_ratio(metric) { json!({ "type": "number", "minimum": 0 }) } else { count() }
}

fn count() -> Value {
    json!({ "type": "integer", "minimum": 0 })
}

fn counted(about: &str) -> Value {
    described(count(), about)
}
