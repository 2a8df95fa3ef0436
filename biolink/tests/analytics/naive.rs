//! A report as anyone would count it: over the list of events, metric by metric. It shares no code
//! with the one under test.

use std::collections::{BTreeMap, BTreeSet};

use biolink::{
    events::{Dimension, Event, EventKind},
    page::PageId,
};
use jiff::tz::TimeZone;
use serde_json::{Map, Value, json};
use shared::time::UnixMillis;

use crate::{
    buckets,
    question::{Condition, DIMENSIONS, METRICS, Question},
    store::labels,
    world::{Happened, pages},
};

type Events<'a> = Vec<&'a Happened>;

/// Returns what the report says: `totals`, `ignored`, `groups` and `previous`.
pub(crate) fn report(question: &Question, events: &[Happened], earliest: UnixMillis) -> Value {
    let within = |start, end| -> Events<'_> {
        let asked = |page: &PageId| question.pages.is_empty() || question.pages.contains(page);
        let is_asked = |happened: &&Happened| {
            let at = happened.event.at;
            asked(&happened.page) && start <= at && at < end && matches(&question.conditions, &happened.event)
        };
        events.iter().filter(is_asked).collect()
    };
    let asked = within(question.start, question.end);
    let mut report = json!({
        "totals": row(&total_metrics(question), &asked, count("views", &asked)),
        "ignored": if question.leaves_out("bots") { Value::Null } else { ignored(&asked) },
        "groups": groups(question, &asked),
    });
    if question.compares {
        let (whole, end) = buckets::previous((question.start, question.end), question.zone);
        let start = whole.max(earliest);
        report["previous"] = if start < end {
            let before = within(start, end);
            let mut previous = row(&total_metrics(question), &before, count("views", &before));
            previous.insert("start".to_owned(), json!(start.to_rfc3339()));
            previous.insert("end".to_owned(), json!(end.to_rfc3339()));
            previous.insert("partial".to_owned(), json!(whole < earliest));
            previous.into()
        } else {
            Value::Null
        };
    }
    report
}

fn matches(conditions: &[Condition], event: &Event) -> bool {
    conditions.iter().all(|Condition { group, values, excludes }| {
        let (_, dimension) = DIMENSIONS.into_iter().find(|(name, _)| name == group).unwrap();
        let stored = event.value(dimension);
        // An event without any value of the column is one without a value of the group.
        let value = if stored.is_empty() { Some(String::new()) } else { value_of(group, event) };
        value.is_some_and(|value| values.contains(&value.as_str())) != *excludes
    })
}

/// Returns the value that an event has in a group; `None` if it does not belong to it.
fn value_of(group: &str, event: &Event) -> Option<String> {
    let (_, dimension) = DIMENSIONS.into_iter().find(|(name, _)| *name == group).unwrap();
    let value = event.value(dimension);
    let belongs = match group {
        "link" => value.starts_with("lnk_"),
        "product" => value.starts_with("prd_"),
        "qr_code" | "variant" => !value.is_empty(),
        "bot_class" => value.starts_with("bot:"),
        _ => true,
    };
    belongs.then(|| value.trim_start_matches("bot:").to_owned())
}

/// Returns a count of events or visitors.
fn count(metric: &str, events: &Events<'_>) -> u64 {
    let kind = |kind| events.iter().filter(move |it| it.event.is_counted() && it.event.kind == kind);
    let distinct = |kinds: &[EventKind]| {
        let counted = events.iter().filter(|it| it.event.is_counted() && kinds.contains(&it.event.kind));
        let visitors: BTreeSet<_> = counted
            .filter(|it| it.event.visitor != 0)
            .map(|it| (it.page, it.event.at.day(), it.event.visitor))
            .collect();
        visitors.len()
    };
    let count = match metric {
        "views" => kind(EventKind::View).count(),
        "clicks" => kind(EventKind::Click).count(),
        "scans" => kind(EventKind::Scan).count(),
        "visitors" => distinct(&[EventKind::View, EventKind::Click, EventKind::Scan]),
        "unique_clicks" => distinct(&[EventKind::Click]),
        "unique_scans" => distinct(&[EventKind::Scan]),
        "views_confirmed" => distinct(&[EventKind::Confirm]),
        "bots" => events.iter().filter(|it| is_ignored(it) && reason(it).starts_with("bot:")).count(),
        other => panic!("{other} is not a count"),
    };
    count as u64
}

fn reason(happened: &Happened) -> &str {
    happened.event.value(Dimension::Ignored)
}

/// Images are fetched by programs too, which says nothing.
fn is_ignored(happened: &Happened) -> bool {
    !happened.event.is_counted() && happened.event.kind != EventKind::Confirm
}

fn ignored(events: &Events<'_>) -> Value {
    let of = |wanted: &str| events.iter().filter(|it| is_ignored(it) && reason(it) == wanted).count();
    let mut reasons = Map::new();
    for reason in ["head", "prefetch", "preview", "own", "embed", "flood"] {
        reasons.insert(reason.to_owned(), json!(of(reason)));
    }
    let mut bots = Map::new();
    for class in ["search-engine", "ai-crawler"] {
        let events = of(&format!("bot:{class}"));
        if events > 0 {
            bots.insert(class.to_owned(), json!(events));
        }
    }
    reasons.insert("bot".to_owned(), bots.into());
    reasons.into()
}

/// Returns a ratio with four digits, rounded half up.
fn ratio(part: u64, whole: u64) -> Value {
    if whole == 0 {
        return Value::Null;
    }
    let digits = part * 10_000 / whole + u64::from(part * 10_000 % whole * 2 >= whole);
    #[allow(clippy::cast_precision_loss, reason = "the numbers of a test are small")]
    if digits.is_multiple_of(10_000) { json!(digits / 10_000) } else { json!(digits as f64 / 10_000.0) }
}

/// Returns the members of a row. Clicks are divided by `views`.
fn row(metrics: &[&str], events: &Events<'_>, views: u64) -> Map<String, Value> {
    let value = |metric: &str| match metric {
        "ctr" => ratio(count("clicks", events), views),
        "unique_ctr" => ratio(count("unique_clicks", events), count("visitors", events)),
        counted => json!(count(counted, events)),
    };
    metrics.iter().map(|metric| ((*metric).to_owned(), value(metric))).collect()
}

fn total_metrics(question: &Question) -> Vec<&'static str> {
    let mut metrics = if question.metrics.is_empty() { METRICS.to_vec() } else { question.metrics.clone() };
    metrics.retain(|metric| !question.leaves_out(metric));
    metrics
}

fn group_metrics(question: &Question, group: &str) -> Vec<&'static str> {
    let default: &[&str] = match group {
        "timeseries" | "page" => &["views", "visitors", "clicks", "scans"],
        "link" | "product" => &["clicks", "unique_clicks", "ctr"],
        "qr_code" => &["scans", "unique_scans"],
        "bot_class" => &["bots"],
        "variant" => &["clicks", "unique_clicks"],
        _ => &["views", "clicks", "ctr"],
    };
    let asked = total_metrics(question).into_iter();
    match (question.metrics.is_empty(), group) {
        (true, _) => asked.filter(|metric| default.contains(metric)).collect(),
        (false, "timeseries" | "page") => asked.collect(),
        (false, "link" | "product") => {
            asked.filter(|metric| default.contains(metric) || *metric == "bots").collect()
        }
        (false, "bot_class") => asked.filter(|metric| *metric == "bots").collect(),
        (false, "variant") => asked.filter(|metric| default.contains(metric)).collect(),
        (false, "qr_code") => asked.filter(|metric| *metric != "views_confirmed").collect(),
        (false, _) => asked.filter(|metric| !matches!(*metric, "views_confirmed" | "bots")).collect(),
    }
}

fn groups(question: &Question, events: &Events<'_>) -> Value {
    let groups = question.groups.iter().map(|group| {
        let rows = match *group {
            "timeseries" => series(question, events),
            _ => values(question, group, events),
        };
        ((*group).to_owned(), rows.into())
    });
    Value::Object(groups.collect())
}

fn series(question: &Question, events: &Events<'_>) -> Vec<Value> {
    let zone = TimeZone::get(question.zone).unwrap();
    let starts = buckets::starts((question.start, question.end), question.granularity, &zone);
    let metrics = group_metrics(question, "timeseries");
    let ends = starts.iter().skip(1).copied().chain([question.end]);
    let bucket = |(start, end): (&UnixMillis, UnixMillis)| {
        let inside = events.iter().copied().filter(|it| *start <= it.event.at && it.event.at < end).collect();
        let mut row = row(&metrics, &inside, count("views", &inside));
        row.insert("start".to_owned(), json!(start.to_rfc3339()));
        row.into()
    };
    starts.iter().zip(ends).map(bucket).collect()
}

fn values(question: &Question, group: &str, events: &Events<'_>) -> Vec<Value> {
    let mut values: BTreeMap<String, Events<'_>> = BTreeMap::new();
    for happened in events {
        let value = match group {
            "page" => Some(happened.page.to_string()),
            _ => value_of(group, &happened.event),
        };
        value.into_iter().for_each(|value| values.entry(value).or_default().push(happened));
    }
    let metrics = group_metrics(question, group);
    let counted = |metric: &str| match metric {
        "ctr" => "clicks".to_owned(),
        "unique_ctr" => "unique_clicks".to_owned(),
        counted => counted.to_owned(),
    };
    let views = |of: &Events<'_>| match group {
        "link" | "product" => count("views", events),
        _ => count("views", of),
    };
    let mut rows: Vec<_> = values.into_iter().collect();
    rows.retain(|(_, of)| metrics.iter().any(|metric| count(&counted(metric), of) > 0));
    // Stable: values with equal counts stay in the order of their texts.
    rows.sort_by_key(|(_, of)| std::cmp::Reverse(count(&counted(metrics[0]), of)));
    let rest: Events<'_> = rows.iter().skip(question.limit).flat_map(|(_, of)| of.iter().copied()).collect();
    let has_rest = rows.len() > question.limit;
    let shown = rows.iter().take(question.limit).map(|(value, of)| {
        let mut row = row(&metrics, of, views(of));
        row.extend(label(group, value));
        row.into()
    });
    let mut shown: Vec<Value> = shown.collect();
    if has_rest {
        let mut other = row(&metrics, &rest, views(&rest));
        for (metric, value) in &mut other {
            // A visitor can have several of the other values.
            if metric.starts_with("unique") || metric == "visitors" || metric == "views_confirmed" {
                *value = Value::Null;
            }
        }
        other.extend(label(group, "(other)"));
        other.insert("other".to_owned(), json!(true));
        shown.push(other.into());
    }
    shown
}

fn label(group: &str, value: &str) -> Map<String, Value> {
    let text = |text: &str| if text.is_empty() { Value::Null } else { json!(text) };
    let label = match (group, value) {
        ("page", "(other)") => json!({"id": value, "title": null, "slug": null}),
        ("page", _) => {
            let number = pages().iter().position(|page| page.to_string() == value).unwrap() + 1;
            json!({"id": value, "title": format!("Page {number}"), "slug": format!("page-{number}")})
        }
        ("link" | "product", "(other)") => json!({"id": value, "title": null, "url": null, "deleted": null}),
        ("link" | "product", _) => match labels().links.iter().find(|link| link.id == value) {
            Some(link) => json!({"id": value, "title": link.title, "url": link.url, "deleted": false}),
            None => json!({"id": value, "title": null, "url": null, "deleted": true}),
        },
        _ => json!({ group: text(value) }),
    };
    label.as_object().unwrap().clone()
}
