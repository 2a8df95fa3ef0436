//! The refusals of the pages API.

use crate::codes;
use shared::{key::BiolinkPlan, problem::Problem};

use crate::{
    domains::HostName,
    page::{DomainId, ImageId, PageId, Slug, SourceId},
    policy::{DOMAINS, IMAGE_BYTES, IMAGES, PAGES},
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
    Err(Problem::new(codes::PLAN_REQUIRED, detail)
        .with_member("plan", has)
        .with_member("required_plan", "business"))
}

/// Returns the refusal of a call while the account or the slugs do not respond.
pub fn account_unavailable() -> Problem {
    Problem::new(
        codes::PAGES_UNAVAILABLE,
        "the store of pages does not respond; a change may have been made even so",
    )
    .retry_after(1)
}

/// Returns the refusal of a call while the store of images does not respond.
pub fn images_unavailable() -> Problem {
    let detail = "the store of images does not respond; the image may have been stored even so";
    Problem::new(codes::IMAGES_UNAVAILABLE, detail).retry_after(1)
}

/// Returns the refusal of a visit to an address without an image.
pub fn image_not_found() -> Problem {
    Problem::new(codes::ROUTE_UNKNOWN, "no image has this address")
}

pub(super) fn image_unknown(id: &ImageId) -> Problem {
    Problem::new(codes::IMAGE_UNKNOWN, format!("this account has no image {id}"))
}

pub(super) fn image_limit_reached() -> Problem {
    let detail = format!(
        "with this image, the account would have more than {IMAGES} images or {IMAGE_BYTES} bytes; delete one first"
    );
    Problem::new(codes::IMAGE_LIMIT_REACHED, detail)
}

/// Returns the refusal of a visit to an address without a page.
pub fn page_not_found() -> Problem {
    Problem::new(codes::ROUTE_UNKNOWN, "no page has this address")
}

/// Returns the refusal of a visit to a page that is not shown any more.
pub fn page_gone() -> Problem {
    Problem::new(codes::PAGE_GONE, "the page at this address is not shown any more")
        .with_header("x-robots-tag", "noindex")
}

/// Returns the refusal of an operator's call about a page that does not exist.
pub fn page_not_known() -> Problem {
    Problem::new(
        codes::PAGE_UNKNOWN,
        "no page has this id or slug; a page that was created a moment ago is found by its slug",
    )
}

/// Returns the refusal of an `Idempotency-Key` that was sent with another request.
pub(crate) fn idempotency_key_reused() -> Problem {
    let detail = "this Idempotency-Key was sent with another request within the last 24 hours";
    Problem::new(codes::IDEMPOTENCY_KEY_REUSED, detail)
}

/// Returns the refusal of a call about a page that the account does not have.
pub fn page_unknown(id: &PageId) -> Problem {
    Problem::new(codes::PAGE_UNKNOWN, format!("this account has no page {id}"))
}

pub(super) fn source_unknown(id: &SourceId) -> Problem {
    Problem::new(codes::SOURCE_UNKNOWN, format!("this page has no product source {id}"))
}

pub(super) fn source_limit_reached() -> Problem {
    let detail = format!("the page has {MAX_SOURCES} product sources, which is the limit; delete one first");
    Problem::new(codes::SOURCE_LIMIT_REACHED, detail)
}

/// Returns the refusal of a refresh so soon after the last one.
pub fn refresh_too_early(seconds: u64) -> Problem {
    let detail = format!("the source was refreshed a moment ago; try again in {seconds} seconds");
    Problem::new(codes::REFRESH_TOO_EARLY, detail).retry_after(seconds)
}

/// Returns the refusal of a push to a source that is not there, or takes none.
pub fn push_unknown() -> Problem {
    Problem::new(codes::SOURCE_UNKNOWN, "no product source that takes pushes has this id")
}

/// Returns the refusal of an address that keeps sending pushes which are not signed.
pub fn push_limited() -> Problem {
    let detail = "this address sends too many pushes that are not signed by a shop";
    Problem::new(codes::TOO_MANY_REQUESTS, detail).retry_after(60)
}

/// Returns the refusal of a push that is not signed by the shop.
pub fn push_unsigned(detail: String) -> Problem {
    Problem::new(codes::SIGNATURE_INVALID, detail)
}

pub(super) fn domain_unknown(id: &DomainId) -> Problem {
    Problem::new(codes::DOMAIN_UNKNOWN, format!("this account has no domain {id}"))
}

pub(super) fn domain_limit_reached() -> Problem {
    let detail = format!("the account has {DOMAINS} domains, which is the limit; delete one first");
    Problem::new(codes::DOMAIN_LIMIT_REACHED, detail)
}

pub(super) fn domain_exists(host: &HostName) -> Problem {
    Problem::new(codes::DOMAIN_TAKEN, format!("this account has the domain `{host}` already"))
}

pub(super) fn domain_taken(host: &HostName) -> Problem {
    let detail = format!(
        "another account shows `{host}`, although its record names this one; have it removed there, or remove the record of the other account"
    );
    Problem::new(codes::DOMAIN_TAKEN, detail)
}

pub(super) fn page_limit_reached() -> Problem {
    let detail = format!("the account has {PAGES} pages, which is the limit; delete one first");
    Problem::new(codes::PAGE_LIMIT_REACHED, detail).with_member("limit", PAGES)
}

pub(super) fn slug_taken(slug: &Slug, suggestions: &[Slug]) -> Problem {
    let names: Vec<_> = suggestions.iter().map(Slug::as_str).collect();
    let detail = match names[..] {
        [] => format!("the slug `{slug}` is taken"),
        _ => format!("the slug `{slug}` is taken; {} can be had now", names.join(", ")),
    };
    Problem::new(codes::SLUG_TAKEN, detail).with_member("suggestions", names)
}
