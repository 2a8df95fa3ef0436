//! The refusals of the pages API.

use crate::{
    endpoint::Endpoint,
    key::BiolinkPlan,
    page::{PageId, Slug, SourceId},
    policy::BIOLINK_PAGES,
    problem::{Code, Problem},
    product_sync::MAX_SOURCES,
};

/// Checks that an account's plan includes the REST API.
///
/// # Errors
/// Returns `plan-required`.
pub fn plan_required(plan: BiolinkPlan) -> Result<(), Problem> {
    let has = match plan {
        BiolinkPlan::Business => return Ok(()),
        BiolinkPlan::Standard => "standard",
        BiolinkPlan::None => "none",
    };
    let detail = format!(
        "the bio-link API needs the plan business, and this key has {has}; the operator who issued the key can change `biolink_plan` with PATCH /v1/keys/{{id}}"
    );
    Err(Problem::new(Code::PlanRequired, detail)
        .with_member("plan", has)
        .with_member("required_plan", "business"))
}

/// Returns the refusal of a call while the account or the slugs do not respond.
#[must_use]
pub fn account_unavailable() -> Problem {
    Problem::new(Code::PagesUnavailable, "the store of pages does not respond; nothing was changed")
        .retry_after(1)
}

/// Returns the refusal of a visit to an address without a page.
#[must_use]
pub fn page_not_found() -> Problem {
    Problem::new(Code::RouteUnknown, "no page has this address")
}

/// Returns the refusal of a visit to a page that is not shown any more.
#[must_use]
pub fn page_gone() -> Problem {
    Problem::new(Code::PageGone, "the page at this address is not shown any more")
        .with_header("x-robots-tag", "noindex")
}

/// Returns true if a problem is shown as a page: to visitors, unless they ask for JSON, and to
/// browsers that open an unknown address.
#[must_use]
pub fn is_shown_as_page(endpoint: Option<Endpoint>, accept: Option<&str>) -> bool {
    let accept = accept.unwrap_or_default();
    match endpoint {
        Some(Endpoint::Visit(_)) => !accept.contains("json"),
        Some(_) => false,
        None => accept.contains("text/html"),
    }
}

/// Returns the refusal of every route of pages at a proxy that serves clients itself.
#[must_use]
pub fn served_by_edge() -> Problem {
    Problem::new(
        Code::RouteUnknown,
        "bio-link pages, their API and the console are served by the edge; this gateway runs without one",
    )
}

/// Returns the refusal of an operator's call about a page that does not exist.
#[must_use]
pub fn page_not_known() -> Problem {
    Problem::new(
        Code::PageUnknown,
        "no page has this id or slug; a page that was created a moment ago is found by its slug",
    )
}

/// Returns the refusal of an `Idempotency-Key` that was sent with another request.
pub(crate) fn idempotency_key_reused() -> Problem {
    let detail = "this Idempotency-Key was sent with another request within the last 24 hours";
    Problem::new(Code::IdempotencyKeyReused, detail)
}

pub(super) fn page_unknown(id: &PageId) -> Problem {
    Problem::new(Code::PageUnknown, format!("this account has no page {id}"))
}

pub(super) fn source_unknown(id: &SourceId) -> Problem {
    Problem::new(Code::SourceUnknown, format!("this page has no product source {id}"))
}

pub(super) fn source_limit_reached() -> Problem {
    let detail = format!("the page has {MAX_SOURCES} product sources, which is the limit; delete one first");
    Problem::new(Code::SourceLimitReached, detail)
}

/// Returns the refusal of a refresh so soon after the last one.
#[must_use]
pub fn refresh_too_early(seconds: u64) -> Problem {
    let detail = format!("the source was refreshed a moment ago; try again in {seconds} seconds");
    Problem::new(Code::RefreshTooEarly, detail).retry_after(seconds)
}

/// Returns the refusal of a push to a source that is not there, or takes none.
#[must_use]
pub fn push_unknown() -> Problem {
    Problem::new(Code::SourceUnknown, "no product source that takes pushes has this id")
}

/// Returns the refusal of an address that keeps sending pushes which are not signed.
#[must_use]
pub fn push_limited() -> Problem {
    let detail = "this address sends too many pushes that are not signed by a shop";
    Problem::new(Code::TooManyRequests, detail).retry_after(60)
}

/// Returns the refusal of a push that is not signed by the shop.
#[must_use]
pub fn push_unsigned(detail: String) -> Problem {
    Problem::new(Code::SignatureInvalid, detail)
}

pub(super) fn page_limit_reached() -> Problem {
    let detail = format!("the account has {BIOLINK_PAGES} pages, which is the limit; delete one first");
    Problem::new(Code::PageLimitReached, detail).with_member("limit", BIOLINK_PAGES)
}

pub(super) fn slug_taken(slug: &Slug, suggestions: &[Slug]) -> Problem {
    let names: Vec<_> = suggestions.iter().map(Slug::as_str).collect();
    let detail = match names[..] {
        [] => format!("the slug `{slug}` is taken"),
        _ => format!("the slug `{slug}` is taken; {} can be had now", names.join(", ")),
    };
    Problem::new(Code::SlugTaken, detail).with_member("suggestions", names)
}
