//! A report in JSON. It is put together as text, in the order in which people read it.

use super::{
    Completeness, ReportContext,
    object::Object,
    table::{Table, metric_cells, metric_names},
};
use crate::analytics::{
    group::BOT,
    page_query::PageQuery,
    query::AnalyticsQuery,
    report::{IgnoredCount, Report},
    tally::Count,
};

pub(super) fn write(
    query: &AnalyticsQuery,
    report: &Report,
    previous: Option<&Report>,
    context: &ReportContext,
) -> String {
    let mut text = String::new();
    Object::write(&mut text, |body| {
        body.text("object", "analytics");
        Object::write(body.name("meta"), |meta| write_meta(meta, query, report, &context.delivery));
        push_rows(body.name("totals"), &Table::totals(query, report), false);
        let ignored = body.name("ignored");
        match query.counts_ignored() {
            true => Object::write(ignored, |ignored| write_ignored(ignored, &report.all.ignored)),
            // Not zeros: nobody knows which ignored events would have passed the filter.
            false => ignored.push_str("null"),
        }
        if query.request.compares {
            let text = body.name("previous");
            match previous.zip(query.previous_query()) {
                Some((previous, asked)) => write_previous(text, query, previous, &asked),
                None => text.push_str("null"),
            }
        }
        if let Some(lifetime) = context.lifetime {
            Object::write(body.name("lifetime"), |object| {
                object.number("views", lifetime.views);
                object.number("clicks", lifetime.clicks);
                object.number("scans", lifetime.scans);
            });
        }
        Object::write(body.name("groups"), |groups| {
            for group in &query.request.groups {
                let table = Table::group(query, report, *group, context);
                push_rows(groups.name(group.as_str()), &table, true);
            }
        });
    });
    text
}

fn write_meta(meta: &mut Object<'_>, query: &AnalyticsQuery, report: &Report, delivery: &Completeness) {
    meta.moment("start", query.span.start);
    meta.moment("end", query.span.end);
    meta.text("timezone", &query.request.timezone);
    meta.text("granularity", query.granularity.as_str());
    meta.number("window_days", query.window_days.into());
    meta.moment("earliest_available", query.earliest);
    meta.flag("clamped", query.is_clamped);
    match delivery.complete_until {
        Some(at) => meta.moment("complete_until", at),
        None => meta.name("complete_until").push_str("null"),
    }
    meta.number("gaps", delivery.gaps);
    meta.number("dropped", delivery.dropped);
    meta.text("counting", if delivery.coalesced { "coalesced" } else { "exact" });
    meta.flag("exact", report.all.exact);
    meta.text("visitor_definition", "daily");
}

/// Writes why events were not counted. The reasons that are known are always there.
fn write_ignored(object: &mut Object<'_>, counts: &[IgnoredCount]) {
    const KNOWN: [&str; 6] = ["head", "prefetch", "preview", "own", "embed", "flood"];
    for reason in KNOWN {
        let count = counts.iter().find(|count| count.reason == reason);
        object.number(reason, count.map_or(0, |count| count.events));
    }
    let others = || counts.iter().filter(|count| !KNOWN.contains(&count.reason.as_str()));
    let unknown: u64 =
        others().filter(|count| !count.reason.starts_with(BOT)).map(|count| count.events).sum();
    // A reason of a newer program. Left out, the sum of the reasons would be too small.
    if unknown > 0 {
        object.number("other", unknown);
    }
    Object::write(object.name("bot"), |bots| {
        for count in others() {
            if let Some(class) = count.reason.strip_prefix(BOT) {
                bots.number(class, count.events);
            }
        }
    });
}

fn write_previous(text: &mut String, query: &AnalyticsQuery, report: &Report, asked: &PageQuery) {
    Object::write(text, |object| {
        object.moment("start", asked.start);
        object.moment("end", asked.end);
        // Whether the window has only a part of it.
        object.flag("partial", asked.start > query.previous.start);
        let (metrics, totals) = (query.total_metrics(), &report.all.totals);
        let cells = metric_cells(metrics, totals, totals.get(Count::Views));
        for (name, cell) in metric_names(metrics).zip(&cells) {
            object.cell(name, cell);
        }
    });
}

/// Writes the rows of a table as objects, in an array or alone.
fn push_rows(text: &mut String, table: &Table, in_array: bool) {
    text.push_str(if in_array { "[" } else { "" });
    for (at, row) in table.rows.iter().enumerate() {
        text.push_str(if at == 0 { "" } else { "," });
        Object::write(text, |object| {
            for (name, cell) in table.columns.iter().zip(row) {
                object.cell(name, cell);
            }
            if table.has_other && at + 1 == table.rows.len() {
                object.flag("other", true);
            }
        });
    }
    text.push_str(if in_array { "]" } else { "" });
}
