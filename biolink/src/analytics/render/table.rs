//! The tables of a report: one for each group.

use super::{Labels, ReportContext};
use crate::analytics::{
    group::GroupBy,
    metric::{Metric, Metrics},
    query::AnalyticsQuery,
    report::Report,
    tally::{Count, Tally},
    values::{GroupReport, ValueCount},
};

/// A table.
pub(super) struct Table {
    /// The names of the columns.
    pub(super) columns: Vec<&'static str>,
    /// The rows, each with a cell for each column.
    pub(super) rows: Vec<Vec<Cell>>,
    /// Whether the last row is that of all values that have no row.
    pub(super) has_other: bool,
}

/// A cell.
pub(super) enum Cell {
    Null,
    Text(String),
    Flag(bool),
    Number(u64),
    /// A ratio of two numbers. There is none by 0.
    Ratio(u64, u64),
}

/// The value of the row of all values that have none.
pub(super) const OTHER: &str = "(other)";

/// Returns the cells of the metrics of a tally. `views` are those by which clicks are divided.
pub(super) fn metric_cells(metrics: Metrics, tally: &Tally, views: u64) -> Vec<Cell> {
    let count = |count| tally.get(count);
    let cell = |metric| match metric {
        Metric::Views => Cell::Number(count(Count::Views)),
        Metric::Visitors => Cell::Number(count(Count::Visitors)),
        Metric::Clicks => Cell::Number(count(Count::Clicks)),
        Metric::UniqueClicks => Cell::Number(count(Count::UniqueClicks)),
        Metric::Ctr => Cell::Ratio(count(Count::Clicks), views),
        Metric::UniqueCtr => Cell::Ratio(count(Count::UniqueClicks), count(Count::Visitors)),
        Metric::Scans => Cell::Number(count(Count::Scans)),
        Metric::UniqueScans => Cell::Number(count(Count::UniqueScans)),
        Metric::ViewsConfirmed => Cell::Number(count(Count::ViewsConfirmed)),
        Metric::Bots => Cell::Number(count(Count::Bots)),
    };
    metrics.iter().map(cell).collect()
}

/// Returns the names of metrics.
pub(super) fn metric_names(metrics: Metrics) -> impl Iterator<Item = &'static str> {
    metrics.iter().map(Metric::as_str)
}

impl Table {
    /// Returns the table of the totals.
    pub(super) fn totals(query: &AnalyticsQuery, report: &Report) -> Self {
        let metrics = query.total_metrics();
        let totals = &report.all.totals;
        let row = metric_cells(metrics, totals, totals.get(Count::Views));
        Self { columns: metric_names(metrics).collect(), rows: vec![row], has_other: false }
    }

    /// Returns the table of a group.
    pub(super) fn group(
        query: &AnalyticsQuery,
        report: &Report,
        group: GroupBy,
        context: &ReportContext,
    ) -> Self {
        match group {
            GroupBy::Timeseries => series(query, report),
            GroupBy::Page => {
                let row = |(id, tally): &(_, Tally)| ValueCount { value: format!("{id}"), tally: *tally };
                let values = report.pages.iter().map(row).collect();
                values_table(query, report, group, &GroupReport { values, other: Tally::default() }, context)
            }
            _ => {
                let place = query.page_groups().position(|other| other == group);
                match place.and_then(|place| report.all.groups.get(place)) {
                    Some(values) => values_table(query, report, group, values, context),
                    None => values_table(query, report, group, &GroupReport::default(), context),
                }
            }
        }
    }
}

fn series(query: &AnalyticsQuery, report: &Report) -> Table {
    let metrics = query.metrics(GroupBy::Timeseries);
    let row = |(at, start): (usize, &shared::time::UnixMillis)| {
        let tally = report.all.series.get(at).copied().unwrap_or_default();
        let mut row = vec![Cell::Text(start.to_rfc3339())];
        row.extend(metric_cells(metrics, &tally, tally.get(Count::Views)));
        row
    };
    let mut columns = vec!["start"];
    columns.extend(metric_names(metrics));
    Table { columns, rows: query.buckets.iter().enumerate().map(row).collect(), has_other: false }
}

fn values_table(
    query: &AnalyticsQuery,
    report: &Report,
    group: GroupBy,
    values: &GroupReport,
    context: &ReportContext,
) -> Table {
    let metrics = query.metrics(group);
    let mut columns = label_columns(group);
    columns.extend(metric_names(metrics));
    let views = |tally: &Tally| match group {
        // A link has no views of its own. Its rate is by those of the pages.
        GroupBy::Link | GroupBy::Product => report.all.totals.get(Count::Views),
        _ => tally.get(Count::Views),
    };
    let (top, other) = top(values, metrics, query.request.limit);
    let mut rows = Vec::new();
    for row in top {
        let mut cells = label_cells(group, &row.value, &context.labels);
        cells.extend(metric_cells(metrics, &row.tally, views(&row.tally)));
        rows.push(cells);
    }
    if let Some(other) = &other {
        let mut cells: Vec<_> = label_columns(group).iter().map(|_| Cell::Null).collect();
        cells.first_mut().into_iter().for_each(|cell| *cell = Cell::Text(OTHER.to_owned()));
        let counts = metric_cells(metrics, other, views(other));
        for (metric, cell) in metrics.iter().zip(counts) {
            // A visitor can have several of the other values, so those of each do not add up.
            cells.push(if Metrics::of(&[metric]).needs_visitors() { Cell::Null } else { cell });
        }
        rows.push(cells);
    }
    Table { columns, rows, has_other: other.is_some() }
}

/// Returns the first values, and the sum of all others if there are any. Why they are not sorted:
/// docs/decisions/edge.md, "New types are not sorted or collected into maps without need".
fn top(values: &GroupReport, metrics: Metrics, limit: usize) -> (Vec<&ValueCount>, Option<Tally>) {
    let key = |row: &ValueCount| metrics.iter().next().map_or(0, |metric| sort_key(metric, &row.tally));
    let is_shown = |row: &&ValueCount| metrics.iter().any(|metric| sort_key(metric, &row.tally) > 0);
    let mut rest: Vec<_> = values.values.iter().filter(is_shown).map(|row| (key(row), row)).collect();
    let mut top = Vec::new();
    while top.len() < limit {
        let mut best: Option<usize> = None;
        for (at, (count, row)) in rest.iter().enumerate() {
            let is_better = best
                .and_then(|best| rest.get(best))
                // By value among equals, so that the same question has the same rows each time.
                .is_none_or(|(most, other)| count > most || count == most && row.value < other.value);
            best = if is_better { Some(at) } else { best };
        }
        let Some(best) = best else { break };
        top.push(rest.swap_remove(best).1);
    }
    let mut other = values.other;
    rest.iter().for_each(|(_, row)| other.add(&row.tally));
    let has_other = !rest.is_empty() || metrics.iter().any(|metric| sort_key(metric, &other) > 0);
    (top, has_other.then_some(other))
}

/// Returns the count by which values are ordered.
fn sort_key(metric: Metric, tally: &Tally) -> u64 {
    tally.get(match metric {
        Metric::Views => Count::Views,
        Metric::Visitors => Count::Visitors,
        Metric::Clicks | Metric::Ctr => Count::Clicks,
        Metric::UniqueClicks | Metric::UniqueCtr => Count::UniqueClicks,
        Metric::Scans => Count::Scans,
        Metric::UniqueScans => Count::UniqueScans,
        Metric::ViewsConfirmed => Count::ViewsConfirmed,
        Metric::Bots => Count::Bots,
    })
}

/// Returns the columns that say which value a row is about.
fn label_columns(group: GroupBy) -> Vec<&'static str> {
    match group {
        GroupBy::Page => vec!["id", "title", "slug"],
        GroupBy::Link | GroupBy::Product => vec!["id", "title", "url", "deleted"],
        _ => vec![group.as_str()],
    }
}

fn label_cells(group: GroupBy, value: &str, labels: &Labels) -> Vec<Cell> {
    let id = if value.is_empty() { Cell::Null } else { Cell::Text(value.to_owned()) };
    let text = |text: Option<&String>| text.map_or(Cell::Null, |text| Cell::Text(text.clone()));
    match group {
        GroupBy::Link | GroupBy::Product => {
            let label = labels.links.iter().find(|label| label.id == value);
            let url = text(label.and_then(|label| label.url.as_ref()));
            let deleted = Cell::Flag(label.is_none_or(|label| label.deleted));
            vec![id, text(label.map(|label| &label.title)), url, deleted]
        }
        GroupBy::Page => {
            let label = labels.pages.iter().find(|label| label.id.to_string() == value);
            vec![id, text(label.map(|label| &label.title)), text(label.map(|label| &label.slug))]
        }
        _ => vec![id],
    }
}
