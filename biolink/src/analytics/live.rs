//! `GET /analytics/live`: the last five minutes.

use shared::{fields::Fields, problem::Problem, response::Response, time::UnixMillis};

use super::{
    page_query::PageQuery,
    render::Object,
    report::Report,
    request::{members, pages, take},
    tally::{Count, Tally},
};
use crate::page::PageId;

/// A request for the last five minutes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiveRequest {
    pages: Vec<PageId>,
}

const MINUTES: u64 = 5;
const MINUTE_MS: u64 = 60_000;

impl LiveRequest {
    /// Reads the query of a request.
    ///
    /// # Errors
    /// Returns `fields-invalid` for another parameter than `page_id`, and for what is no id.
    pub fn parse(query: Option<&str>) -> Result<Self, Problem> {
        let mut fields = Fields::of(members(query)?);
        let pages = take(&mut fields, "page_id", pages).unwrap_or_default();
        fields.finish().map(|()| Self { pages })
    }

    /// Returns the pages that are asked for; none if it is about all.
    pub fn pages(&self) -> &[PageId] {
        &self.pages
    }

    /// Returns what each page is asked for: the minute of `now` and the four before it.
    pub fn page_query(now: UnixMillis) -> PageQuery {
        let minute = now.0 - now.0 % MINUTE_MS;
        let bucket = |ago: u64| UnixMillis(minute.saturating_sub(ago * MINUTE_MS));
        PageQuery {
            start: bucket(MINUTES - 1),
            end: UnixMillis(minute + MINUTE_MS),
            buckets: (0..MINUTES).rev().map(bucket).collect(),
            bucket_visitors: true,
            visitors: true,
            filters: Vec::new(),
            groups: Vec::new(),
        }
    }

    /// Returns the response.
    pub fn render(now: UnixMillis, report: &Report) -> Response {
        let query = Self::page_query(now);
        let mut text = String::new();
        Object::write(&mut text, |body| {
            body.text("object", "analytics_live");
            body.moment("start", query.start);
            body.moment("end", query.end);
            Object::write(body.name("totals"), |object| write_tally(object, &report.all.totals));
            let minutes = body.name("minutes");
            minutes.push('[');
            for (at, start) in query.buckets.iter().enumerate() {
                minutes.push_str(if at == 0 { "" } else { "," });
                Object::write(minutes, |object| {
                    object.moment("start", *start);
                    write_tally(object, &report.all.series.get(at).copied().unwrap_or_default());
                });
            }
            minutes.push(']');
        });
        Response::json(text)
    }
}

fn write_tally(object: &mut Object<'_>, tally: &Tally) {
    object.number("views", tally.get(Count::Views));
    object.number("visitors", tally.get(Count::Visitors));
    object.number("clicks", tally.get(Count::Clicks));
    object.number("scans", tally.get(Count::Scans));
}
