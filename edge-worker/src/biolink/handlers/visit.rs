//! Serves visitors: pages, their links, codes and cards, and the reports that they send.

use std::cell::RefCell;

use biolink::events::Seer;
use biolink::page::document::Follower;
use biolink::page::{AbuseReport, Slug};
use biolink::pages_api::{
    MAX_REPORT_BODY, Opened, ReportGuard, ReportSender, ReportStep, ReportsMessage, Served, Snapshot,
    logo_of, page_not_found, report_part, reports_exceeded, respond,
};
use biolink::route::{Visit, VisitPart};
use biolink::visitor::{check_unknown_pages, is_speculative};
use futures_util::future::join;
use shared::caller::{bucket, network_bucket};
use shared::minute_counters::MinuteCounters;
use shared::problem::Problem;
use shared::response::Response;

use super::images;
use crate::biolink::{denied_hosts, events, page_store, pages_client, reports, suspensions};
use crate::context::RequestContext;
use crate::runtime::client_request::CLIENT_ADDRESS;
use crate::runtime::task::boxed;
use crate::runtime::{body, clock, entropy};

/// The media type of a form.
const FORM: &str = "application/x-www-form-urlencoded";

/// The host under which a page is visited.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum VisitHost {
    /// One that shows all pages.
    Shared,
    /// A domain of the page's account.
    Own,
}

thread_local! {
    /// Addresses without a page that clients have opened.
    static UNKNOWN: RefCell<MinuteCounters> = const { RefCell::new(MinuteCounters::new()) };
    static REPORTS: RefCell<ReportGuard> = const { RefCell::new(ReportGuard::new()) };
}

pub(crate) async fn handle(
    context: &RequestContext<'_>,
    visit: &Visit<'_>,
    query: Option<&str>,
    host: VisitHost,
) -> Result<Response<Vec<u8>>, Problem> {
    let slug = visit.slug().ok_or_else(page_not_found)?;
    let part = report_part(visit.part, context.request.header("sec-fetch-site"));
    // Both are apart: what handles a visit would be too large for V8 with either (docs/decisions/edge.md, "Functions with one
    // caller stay functions").
    let (served, part) = boxed(find_screened(context, &slug, part, host)).await?;
    if part == VisitPart::Report {
        boxed(report(context, &served, &slug)).await?;
    }
    let logo = match logo_of(part, query) {
        Some(image) => images::logo(context, &image).await?,
        None => None,
    };
    let request = context.request;
    let country = events::country(context);
    let opened = Opened {
        slug: &slug,
        part,
        query,
        base: &match host {
            VisitHost::Shared => context.pages_url(),
            VisitHost::Own => context.called_url().to_owned(),
        },
        is_own_host: host == VisitHost::Own,
        speculative: is_speculative(|name| request.header(name)),
        follower: Follower {
            country: country.as_deref(),
            user_agent: request.header("user-agent"),
            languages: request.header("accept-language"),
        },
        seer: Seer { address: request.header(CLIENT_ADDRESS), user_agent: request.header("user-agent") },
        drawn: entropy::random().map_err(|error| entropy::unavailable(&error, Some(request.id)))?,
        logo: logo.as_deref(),
        now: clock::now(),
    };
    let (response, occurrence) = respond(served, &opened, &context.bindings.signing)?;
    if let Some(occurrence) = occurrence {
        events::record(context, occurrence, query, country.as_deref())?;
    }
    Ok(response)
}

/// Returns what there is at a slug without links that the operator denies, and the part of it that is shown.
async fn find_screened(
    context: &RequestContext<'_>,
    slug: &Slug,
    part: VisitPart,
    host: VisitHost,
) -> Result<(Served, VisitPart), Problem> {
    let denied = denied_hosts::load(&context.biolink()?.pages);
    // Both at once: a visitor waits for the slower one, not for their sum.
    let (mut served, denied) = join(find(context, slug, part), denied).await;
    // A host that is not told of a page's new slug yet leads to it, and not to itself.
    if let (VisitHost::Own, Ok(Served::Moved { to, .. })) = (host, &served) {
        let to = to.clone();
        served = find(context, &to, part).await;
    }
    let served = served?;
    let part = served.whole(part);
    Ok((denied.screen(served, part), part))
}

/// Keeps a visitor's report of a page, or counts it if too many come to this isolate.
async fn report(context: &RequestContext<'_>, served: &Served, slug: &Slug) -> Result<(), Problem> {
    let Served::Page { account, page, .. } = served else { return Ok(()) };
    let body = body::read_as(context.request, &context.head, &[FORM], MAX_REPORT_BODY).await?;
    let report = AbuseReport::parse(&String::from_utf8_lossy(&body))?;
    let (address, keys) = (context.request.header(CLIENT_ADDRESS), &context.bindings.signing);
    let network = address.map(|address| network_bucket(Some(address), "reports", keys));
    let step = REPORTS.with_borrow_mut(|guard| guard.record(*page, network, clock::now()))?;
    let ReportStep::Send { more } = step else { return Ok(()) };
    let sender = ReportSender { address, more };
    let message = ReportsMessage::add((*account, *page), slug, &report, sender, keys, clock::now());
    match reports::call(context, &message).await?.as_str() {
        "true" => Ok(()),
        _ => Err(reports_exceeded()),
    }
}

/// Returns what there is at a slug: from KV, or from the account if KV shows nothing, because KV
/// caches absence and a page may have been published since. A link of a suspended page leads nowhere,
/// even if KV still shows the page.
async fn find(context: &RequestContext<'_>, slug: &Slug, part: VisitPart) -> Result<Served, Problem> {
    let snapshot = match page_store::find(context, slug).await? {
        Some(snapshot) => Some(snapshot),
        None => find_at_account(context, slug).await?,
    };
    let served = Served::of(snapshot, clock::now());
    match (&served, part) {
        (Served::Page { account, page, .. }, VisitPart::Link(_) | VisitPart::Product(_))
            if suspensions::contain(context, *account, page).await? =>
        {
            Ok(Served::Gone)
        }
        _ => Ok(served),
    }
}

/// Asks the account. A client that tries slug after slug is refused before it costs an object a
/// request. Without the platform's header, as in development, there is no limit.
async fn find_at_account(context: &RequestContext<'_>, slug: &Slug) -> Result<Option<Snapshot>, Problem> {
    let address = context.request.header(CLIENT_ADDRESS);
    let bucket = address.map(|address| bucket(Some(address), "visits", &context.bindings.signing));
    if let Some(bucket) = bucket {
        UNKNOWN.with_borrow(|counters| check_unknown_pages(counters, bucket, clock::now()))?;
    }
    let found = pages_client::find(context, slug).await?;
    // Only what was not found. A page that KV does not show yet may have many visitors from one
    // address.
    if let (Some(bucket), None) = (bucket, &found) {
        UNKNOWN.with_borrow_mut(|counters| counters.record(bucket, clock::now()));
    }
    Ok(found)
}
