//! The CPU time of a report over a million events of one page: `cargo bench -p shared --bench
//! analytics`. The last table is by event.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::indexing_slicing,
    reason = "a bench fails by panicking and prints what it found"
)]

use std::{fs, hint::black_box, path::Path, time::Duration};

use biolink::{
    analytics::{AnalyticsRequest, GroupBy, PageCounter, PageQuery, SegmentColumns, Zone},
    events::{Columns, Dimension},
    stats::MAX_ROWS,
};
use criterion::Criterion;
use shared::time::{UnixMillis, UtcDay};

#[path = "../tests/analytics/realistic.rs"]
mod realistic;

const NOW: UnixMillis = UnixMillis(1_795_354_267_250);
const DAYS: u8 = 60;
const ROWS_OF_A_DAY: usize = 4;
/// 983,040 events.
const EVENTS: usize = DAYS as usize * ROWS_OF_A_DAY * MAX_ROWS;

struct Row {
    day: UtcDay,
    columns: Columns,
}

impl Row {
    fn bytes(&self) -> usize {
        let Columns { time, kind, visitor, dimensions } = &self.columns;
        [time, kind, visitor].into_iter().chain(dimensions).map(Vec::len).sum()
    }
}

fn rows() -> Vec<Row> {
    let today = NOW.day().0;
    let days = (today - u64::from(DAYS)..today).flat_map(|day| [day; ROWS_OF_A_DAY]);
    days.map(|day| Row { day: UtcDay(day), columns: realistic::segment(UtcDay(day), MAX_ROWS).encode() })
        .collect()
}

/// Counts as the store of a page does, with the columns that the query needs.
fn count(rows: &[Row], query: &PageQuery) {
    let (needed, (from, to)) = (query.columns(), query.days_without_time());
    let mut counter = PageCounter::new(query.clone());
    for Row { day, columns } in rows {
        let mut dimensions = [None; Dimension::COUNT];
        for dimension in &needed.dimensions {
            dimensions[dimension.index()] = Some(columns.dimensions[dimension.index()].as_slice());
        }
        let segment = SegmentColumns {
            day: *day,
            rows: MAX_ROWS,
            time: (!(from..to).contains(day)).then_some(columns.time.as_slice()),
            kind: &columns.kind,
            visitor: needed.visitor.then_some(columns.visitor.as_slice()),
            dimensions,
        };
        counter.add(&segment).unwrap();
    }
    black_box(counter.finish());
}

/// Returns what is asked for: each group alone, and what costs more.
fn questions() -> Vec<(String, String)> {
    let groups = GroupBy::ALL.into_iter().filter(|group| group.dimension().is_some());
    let named = |name: &str, query: &str| (name.to_owned(), format!("interval=90d&{query}"));
    let mut questions: Vec<_> = groups
        .map(|group| {
            let metrics = if group == GroupBy::BotClass { "bots" } else { "clicks" };
            named(group.as_str(), &format!("metrics={metrics}&group_by={}", group.as_str()))
        })
        .collect();
    questions.extend([
        named("totals without visitors", "metrics=views,clicks"),
        named("distinct visitors", "metrics=visitors"),
        named("days, distinct visitors", "metrics=visitors&group_by=timeseries"),
        named("days of Kathmandu, views", "metrics=views&group_by=timeseries&timezone=Asia/Kathmandu"),
        named("countries, distinct visitors", "metrics=visitors&group_by=country"),
        named("eight groups", "group_by=link,referrer,source,channel,country,device,browser,os"),
        named("two filters, one group", "metrics=views&browser=browser-0&device=mobile&group_by=source"),
    ]);
    questions
}

fn page_query(query: &str) -> PageQuery {
    let request = AnalyticsRequest::parse(Some(query)).unwrap();
    let (from, to) = AnalyticsRequest::zone_span(NOW, 90);
    let zone = match request.timezone() {
        None => Zone::utc(),
        Some(_) => Zone::build(from, to, |_| Some(20_700)).unwrap(),
    };
    request.resolve(&zone, NOW, 90).unwrap().page_query()
}

/// Returns the median of a measurement in nanoseconds, from criterion's own files.
fn measured(results: &Path, name: &str) -> f64 {
    let file = results.join(name).join("new/estimates.json");
    let estimates: serde_json::Value = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
    estimates["median"]["point_estimate"].as_f64().unwrap()
}

#[allow(clippy::cast_precision_loss, reason = "a million is exact")]
fn main() {
    let results = Path::new(env!("CARGO_TARGET_TMPDIR")).join("analytics");
    let mut c = Criterion::default()
        .output_directory(&results)
        .sample_size(10)
        .warm_up_time(Duration::from_millis(100))
        .measurement_time(Duration::from_millis(500))
        .configure_from_args();
    let (rows, questions) = (rows(), questions());
    for (name, query) in &questions {
        let query = page_query(query);
        c.bench_function(name, |b| b.iter(|| count(black_box(&rows), &query)));
    }
    c.final_summary();
    let bytes: usize = rows.iter().map(Row::bytes).sum();
    println!("\n{EVENTS} events of one page, {:.1} bytes each", bytes as f64 / EVENTS as f64);
    println!("{:<32} {:>10}", "", "ns / event");
    for (name, _) in &questions {
        let nanos = measured(&results, name) / EVENTS as f64;
        println!("{name:<32} {nanos:>10.2}");
    }
}
