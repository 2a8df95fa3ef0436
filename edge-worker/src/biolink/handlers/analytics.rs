//! `GET /analytics`, `GET /analytics/live` and `POST /pages/{id}/analytics/reset`. The account has
//! admitted the call, and each page's store counts for itself.

use biolink::analytics::{
    AnalyticsQuery, AnalyticsRequest, Completeness, EventCounts, LiveRequest, Report, ReportContext, Zone,
};
use biolink::page::PageId;
use biolink::pages_api::account_unavailable;
use biolink::policy;
use biolink::stats::{PageReading, ReadReply, ReadRequest, StatsMessage};
use futures_util::future::try_join_all;
use shared::json;
use shared::key::KeyRecord;
use shared::problem::Problem;
use shared::response::Response;
use shared::time::UnixMillis;

use crate::biolink::{pages_client, stats_client, time_zone};
use crate::context::RequestContext;
use crate::runtime::durable_rpc::RpcError;
use crate::runtime::log;

/// Returns the report about the pages.
///
/// # Errors
/// Those of the query, `analytics-too-wide`, and `pages-unavailable` if a store does not respond: half
/// a report would look like a whole one.
pub(super) async fn report(
    context: &RequestContext<'_>,
    query: Option<&str>,
    record: &KeyRecord,
    pages: &[PageId],
) -> Result<Response, Problem> {
    let (request, now) = (AnalyticsRequest::parse(query)?, context.request.now);
    let days = policy::analytics_days(record.biolink_plan);
    let zone = match request.timezone() {
        None => Zone::utc(),
        Some(name) => time_zone::find(name, AnalyticsRequest::zone_span(now, days))
            .ok_or_else(|| request.unknown_timezone())?,
    };
    let query = request.resolve(&zone, now, days)?;
    let question = ReadRequest { query: query.page_query(), previous: query.previous_query() };
    let mut too_wide: Option<UnixMillis> = None;
    let (mut counted, mut delivery, mut lifetime) =
        (Vec::new(), None::<Completeness>, EventCounts::default());
    for (page, reply) in read(context, pages, &question).await? {
        match reply {
            // The latest start suits every page. Any earlier one would be refused again.
            ReadReply::TooWide(start) => too_wide = too_wide.max(Some(start)),
            ReadReply::Counted(reading) => {
                match &mut delivery {
                    Some(delivery) => delivery.merge(&reading.delivery),
                    None => delivery = Some(reading.delivery),
                }
                lifetime = lifetime.plus(reading.lifetime);
                counted.push((page, reading));
            }
        }
    }
    if let Some(start) = too_wide {
        return Err(query.too_wide(start));
    }
    let labels = pages_client::names(context, record.account()).await?;
    let report_context =
        ReportContext { labels, delivery: delivery.unwrap_or_default(), lifetime: Some(lifetime) };
    Ok(render(&query, counted, &report_context))
}

fn render(query: &AnalyticsQuery, counted: Vec<(PageId, PageReading)>, context: &ReportContext) -> Response {
    let (mut reports, mut before) = (Vec::new(), Vec::new());
    for (page, reading) in counted {
        reports.push((page, reading.report));
        before.extend(reading.previous.map(|previous| (page, previous)));
    }
    let previous = query.previous_query().map(|_| Report::merge(before));
    query.render(&Report::merge(reports), previous.as_ref(), context)
}

/// Returns the last five minutes.
///
/// # Errors
/// `pages-unavailable` if a store does not respond.
pub(super) async fn live(context: &RequestContext<'_>, pages: &[PageId]) -> Result<Response, Problem> {
    let now = context.request.now;
    let question = ReadRequest { query: LiveRequest::page_query(now), previous: None };
    let replies = read(context, pages, &question).await?;
    let reports = replies.into_iter().filter_map(|(page, reply)| match reply {
        ReadReply::Counted(reading) => Some((page, reading.report)),
        // Five minutes are never too wide.
        ReadReply::TooWide(_) => None,
    });
    Ok(LiveRequest::render(now, &Report::merge(reports)))
}

/// Drops the events of pages so far.
///
/// # Errors
/// `pages-unavailable`. The store may have dropped them even so, and may be asked again.
pub(super) async fn reset(context: &RequestContext<'_>, pages: &[PageId]) -> Result<Response, Problem> {
    let stats = &context.biolink()?.stats;
    let resets = pages.iter().map(|page| stats_client::call(stats, page, &StatsMessage::Reset));
    try_join_all(resets).await.map_err(|error| unavailable(context, &error))?;
    Ok(Response::no_content())
}

/// Asks the stores of pages concurrently.
async fn read(
    context: &RequestContext<'_>,
    pages: &[PageId],
    question: &ReadRequest,
) -> Result<Vec<(PageId, ReadReply)>, Problem> {
    let (stats, message) = (&context.biolink()?.stats, StatsMessage::Read(question.clone()));
    let replies = pages.iter().map(|page| async {
        let reply = stats_client::call(stats, page, &message).await?;
        Ok::<_, RpcError>((*page, json::from_str(&reply)?))
    });
    try_join_all(replies).await.map_err(|error| unavailable(context, &error))
}

fn unavailable(context: &RequestContext<'_>, error: &RpcError) -> Problem {
    log::error(log::Event("analytics not read"), Some(context.request.id), &[("error", error)]);
    account_unavailable()
}
