//! The problem codes of bio-link, beside those of the gateway.

pub use shared::problem::codes::*;
use shared::problem::{Code, Retry, Row};

shared::problem_codes! {
    SIGNATURE_INVALID = Row::new(
        "signature-invalid",
        401,
        "The signature of the push is not valid",
        "A push of a shop is signed with the secret of its product source, over the bytes of the body. The detail says which header was read and what is wrong with it.",
        "Sign the bytes of the body as they are sent, with the current secret of the source and a fresh timestamp.",
    )
    .challenge(r#"Signature realm="products""#);
    PLAN_REQUIRED = Row::new(
        "plan-required",
        403,
        "The plan does not include this",
        "The bio-link API is part of the plan business. The operator who issued the key sets its plan with PATCH /v1/keys/{id}.",
        "Ask the operator for the plan `business`.",
    );
    PAGE_LIMIT_REACHED = Row::new(
        "page-limit-reached",
        403,
        "The account has all the pages it may have",
        "An account has at most 25 pages. Delete one, or change one.",
        "Delete one that you do not need, or change it.",
    );
    WEBHOOK_LIMIT_REACHED = Row::new(
        "webhook-limit-reached",
        403,
        "The account has all the webhooks it may have",
        "An account has at most 10 webhooks. Delete one, or change one.",
        "Delete one that you do not need, or change it.",
    );
    PAGE_SUSPENDED = Row::new(
        "page-suspended",
        403,
        "The page or its account is suspended",
        "The operator has suspended the page or the whole account, and visitors get 410. Its owner can read and edit it, but not publish, rename or delete it. Ask the operator of the service.",
        "Ask the operator of the service what was reported.",
    );
    SOURCE_LIMIT_REACHED = Row::new(
        "source-limit-reached",
        403,
        "The page has as many product sources as it may have",
        "A page may have 3 product sources. Delete one first.",
        "Delete one that you do not need, or change it.",
    );
    IMAGE_LIMIT_REACHED = Row::new(
        "image-limit-reached",
        403,
        "The account has all the images it may have",
        "An account has at most 200 images with 100 MiB in all. GET /account shows what is used. Delete an image first.",
        "Delete one that you do not need, or send a smaller one.",
    );
    DOMAIN_LIMIT_REACHED = Row::new(
        "domain-limit-reached",
        403,
        "The account has all the domains it may have",
        "An account has at most 10 domains. Delete one, or change one.",
        "Delete one that you do not need, or change it.",
    );
    ANALYTICS_WINDOW_EXCEEDED = Row::new(
        "analytics-window-exceeded",
        403,
        "The plan does not show events so old",
        "start is before the first day that the plan shows, which earliest_available names. Ask for a later start, or use interval, which is cut to the window. Totals of all times are in lifetime.",
        "Send a `start` that is not before `earliest_available`, or use `interval`.",
    )
    .members(&[("earliest_available", r#""2025-12-06T00:00:00.000Z""#)]);
    PAGE_UNKNOWN = Row::new(
        "page-unknown",
        404,
        "There is no page with this id",
        "The account has no page with this id. It may have been deleted, or belong to another account.",
        "Read the list that has the id, and drop what you have stored of this one.",
    );
    LINK_UNKNOWN = Row::new(
        "link-unknown",
        404,
        "The page has no link with this id",
        "The page has no link with this id. GET /pages/{id} shows the links it has.",
        "Read the list that has the id, and drop what you have stored of this one.",
    );
    REVISION_UNKNOWN = Row::new(
        "revision-unknown",
        404,
        "The revision is not kept",
        "The last 10 revisions of a page are kept. GET /pages/{id}/revisions lists them.",
        "Read the list that has the id, and drop what you have stored of this one.",
    );
    WEBHOOK_UNKNOWN = Row::new(
        "webhook-unknown",
        404,
        "There is no such webhook",
        "The account has no webhook with this id. It may have been deleted.",
        "Read the list that has the id, and drop what you have stored of this one.",
    );
    DELIVERY_UNKNOWN = Row::new(
        "delivery-unknown",
        404,
        "There is no such delivery",
        "The webhook has no delivery with this id. Deliveries are kept for 30 days.",
        "Read the list that has the id, and drop what you have stored of this one.",
    );
    EVENT_UNKNOWN = Row::new(
        "event-unknown",
        404,
        "There is no such event",
        "The account has no event with this id. Events are kept for 30 days, and only those that a webhook wants.",
        "Read the list that has the id, and drop what you have stored of this one.",
    );
    SOURCE_UNKNOWN = Row::new(
        "source-unknown",
        404,
        "There is no product source with this id",
        "The page has no product source with this id. GET /pages/{id}/product-sources lists them. A push meets it too if the source does not take pushes.",
        "Read the list that has the id, and drop what you have stored of this one.",
    );
    IMAGE_UNKNOWN = Row::new(
        "image-unknown",
        404,
        "There is no image with this id",
        "The account has no image with this id. GET /images lists those that it has.",
        "Read the list that has the id, and drop what you have stored of this one.",
    );
    DOMAIN_UNKNOWN = Row::new(
        "domain-unknown",
        404,
        "There is no domain with this id",
        "The account has no domain with this id. GET /domains lists those that it has.",
        "Read the list that has the id, and drop what you have stored of this one.",
    );
    DOMAIN_TAKEN = Row::new(
        "domain-taken",
        409,
        "The domain is taken",
        "The account has the domain already, or another account shows its page there. A host belongs to one account. It is free when that account removes it, or a day after its TXT record is gone.",
        "Remove the domain where it is, then verify it again.",
    );
    SLUG_TAKEN = Row::new(
        "slug-taken",
        409,
        "The slug is taken",
        "Another page has the slug, or had it and may still take it back. suggestions lists slugs that can be had.",
        "Take one of `suggestions`, or another slug.",
    )
    .members(&[("suggestions", r#"["ada-1","ada-links"]"#)]);
    PAGE_GONE = Row::new(
        "page-gone",
        410,
        "The page is not here any more",
        "There was a page at this address. Its owner or the operator took it down.",
        "Remove the link to the page.",
    );
    REVISION_MISMATCH = Row::new(
        "revision-mismatch",
        412,
        "The page was changed since it was read",
        "If-Match names another version than the one there is. Read the page again, repeat the change, and send its new ETag.",
        "The page was changed meanwhile. Merge both changes.",
    )
    .header("etag", r#""v8""#)
    .retry(Retry::AfterRead);
    ANALYTICS_TOO_WIDE = Row::new(
        "analytics-too-wide",
        422,
        "The period has too many events for this report",
        "A report with filters or with several groups reads at most 30,000,000 events of a page. Ask for the period from answered_start to answered_end, or for totals and one group without filters, which have no limit.",
        "Ask for a shorter period, or for fewer groups and no filter.",
    )
    .members(&[("answered_start", r#""2025-12-20T00:00:00.000Z""#), ("answered_end", r#""2026-01-05T00:00:00.000Z""#)]);
    REFRESH_TOO_EARLY = Row::new(
        "refresh-too-early",
        429,
        "The product source was refreshed a moment ago",
        "A product source can be refreshed every 15 minutes, and every minute if it takes pushes. Retry-After says when the next refresh is taken.",
        "Wait. The feed is fetched every 6 hours by itself.",
    );
    PAGES_UNAVAILABLE = Row::new(
        "pages-unavailable",
        503,
        "The store of pages does not respond",
        "The account's pages cannot be read or changed at the moment. Retry-After says when to try again.",
        "Nothing is wrong with the request. Send it again.",
    );
    IMAGES_UNAVAILABLE = Row::new(
        "images-unavailable",
        503,
        "The store of images does not respond",
        "The image cannot be stored or read at the moment. Retry-After says when to try again.",
        "Nothing is wrong with the request. Send it again.",
    );
    WEBHOOKS_UNAVAILABLE = Row::new(
        "webhooks-unavailable",
        503,
        "The store of webhooks does not respond",
        "The account's webhooks cannot be read or changed at the moment. Retry-After says when to try again. Events wait meanwhile, and none is lost.",
        "Nothing is wrong with the request. Send it again.",
    );
}

/// Returns every code of the gateway and of bio-link once, by rising status.
pub fn all() -> impl Iterator<Item = Code> {
    let mut all: Vec<_> = shared::problem::codes::TABLE.iter().chain(TABLE).copied().collect();
    all.sort_by_key(|code| code.status());
    all.into_iter()
}

/// Returns the code with this name, or `None` if there is none.
pub fn parse(slug: &str) -> Option<Code> {
    shared::problem::codes::parse(slug).or_else(|| TABLE.iter().copied().find(|code| code.as_str() == slug))
}

#[cfg(test)]
mod tests {
    use shared::problem::Problem;
    use shared::request_id::RequestId;

    use super::*;

    #[test]
    fn every_code_is_found_by_its_own_name_only() {
        for code in all() {
            assert_eq!(parse(code.as_str()), Some(code), "two codes share {}", code.as_str());
        }
        assert!(TABLE.is_sorted_by_key(|code| code.status()));
    }

    #[test]
    fn problem_of_every_code_says_whether_to_retry() {
        for code in all() {
            let rendered = Problem::new(code, "why").render(&RequestId([7; 16]));
            let body: serde_json::Value = serde_json::from_str(&rendered.body).unwrap();
            let expected = match (code.as_str(), code.status()) {
                ("revision-mismatch", _) => "after_read",
                ("request-timeout" | "idempotency-conflict", _) | (_, 429 | 500 | 503) => "later",
                _ => "never",
            };
            assert_eq!(body["retry"], expected, "{code:?}");
        }
    }
}
