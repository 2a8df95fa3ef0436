//! The bodies' schemas. Those of requests are what the reader of pages takes, and no more: a test
//! compares the two.
mod analytics;
mod document;
mod events;
mod parts;
mod products;
mod webhooks;

pub(super) use events::event_schema;

use biolink::page::ReportReason;
use biolink::pages_api::{DeniedHosts, MAX_REASON, PageStatus};
use biolink::policy;
use serde_json::{Value, json};
use shared::key::BiolinkPlan;

use self::document::{document, link, link_order, page_input, product, social};
use self::parts::Presence::{Defaulted, Nullable, Required};
use self::parts::{
    Member, Use, boolean, constant, described, limited, line, list, member, metadata, names_of, object, tags,
    time,
};

/// Returns every schema component by name.
pub(super) fn all() -> Value {
    let mut schemas = json!({
        "PageInput": page_input(Use::Input),
        "PagePatch": page_input(Use::Patch),
        "LinkInput": link(Use::Input),
        "LinkPatch": link(Use::Patch),
        "ProductInput": product(Use::Input),
        "SocialInput": social(Use::Input),
        "LinkOrder": link_order(),
        "Page": page(),
        "PageSummary": object(Use::Output, summary()),
        "Link": link(Use::Output),
        "Product": product(Use::Output),
        "Social": social(Use::Output),
        "PageList": object(Use::Output, vec![
            constant("object", "list"),
            member("data", Required, list("PageSummary")),
            member("has_more", Required, json!({ "type": "boolean" })),
            member("next_cursor", Nullable, json!({ "type": "string" })),
            member("total", Required, json!({ "type": "integer", "description": "Pages that match." })),
        ]),
        "RevisionList": object(Use::Output, vec![
            constant("object", "list"),
            member("data", Required, json!({ "type": "array", "items": object(Use::Output, vec![
                member("revision", Required, json!({ "type": "integer" })),
                member("created_at", Required, time()),
                member("live", Required, json!({ "type": "boolean", "description": "Whether visitors see it." })),
            ]) })),
        ]),
        "Revision": object(Use::Output, vec![
            constant("object", "revision"),
            member("revision", Required, json!({ "type": "integer" })),
            member("page", Required, json!({ "type": "string" })),
            member("document", Required, object(Use::Output, document(Use::Output))),
            member("metadata", Required, metadata()),
        ]),
        "Account": account(),
        "ExportLine": json!({
            "type": "object", "required": ["object"], "additionalProperties": true, "description": "One line. `key` is the key that asked. `event` is what a visitor of the page before it did: `page_id`, `kind`, `at`, and each property that is known of it. `ignored` says why it is not counted. `webhook` has no secret.",
            "properties": { "object": names_of(["account", "key", "page", "revision", "event", "webhook", "product_source", "end"]) },
        }),
        "SuspensionInput": object(Use::Input, vec![member("reason", Defaulted, described(line(1, MAX_REASON), "Your note, without line breaks. Owners do not see it."))]),
        "InspectedPage": object(Use::Output, inspected_page()),
        "InspectedAccount": object(Use::Output, vec![
            constant("object", "account"),
            member("id", Required, json!({ "type": "string" })),
            member("suspended", Required, json!({ "type": "boolean" })),
            member("suspension", Nullable, suspension()),
            member("pages", Required, list("InspectedPage")),
        ]),
        "DeniedHostsInput": object(Use::Input, vec![member("hosts", Required, limited(hosts(), DeniedHosts::MAX))]),
        "DeniedHosts": object(Use::Output, vec![
            constant("object", "denied_hosts"),
            member("count", Required, json!({ "type": "integer" })),
            member("hosts", Required, hosts()),
        ]),
        "ReportList": object(Use::Output, vec![
            member("reports", Required, json!({ "type": "array", "items": object(Use::Output, report()) })),
            member("cursor", Nullable, json!({ "type": "string", "description": "Where the next part begins; null on the last." })),
        ]),
        "Problem": problem(),
    });
    if let Some(schemas) = schemas.as_object_mut() {
        schemas.extend(analytics::components());
        schemas.extend(webhooks::components());
        schemas.extend(events::components());
        schemas.extend(products::components());
    }
    schemas
}

/// Returns what lists show of a page.
fn summary() -> Vec<Member> {
    let string = || json!({ "type": "string" });
    let moment = |name, presence| member(name, presence, time());
    vec![
        member("id", Required, json!({ "type": "string", "pattern": "^pg_[0-9A-Za-z]{17}$" })),
        constant("object", "page"),
        member("external_id", Nullable, string()),
        member("status", Required, names_of(PageStatus::ALL.map(PageStatus::as_str))),
        member("suspended", Required, boolean("Whether the operator has suspended the page or the account.")),
        member("slug", Required, string()),
        member(
            "former_slugs",
            Required,
            json!({
                "type": "array", "description": "They redirect to the page until then.",
                "items": object(Use::Output, vec![member("slug", Required, string()), moment("until", Required)]),
            }),
        ),
        member("title", Required, string()),
        member("tags", Required, tags()),
        member(
            "revision",
            Required,
            json!({ "type": "integer", "description": "Counts the changes of the content." }),
        ),
        member(
            "published_revision",
            Nullable,
            json!({ "type": "integer", "description": "The revision that is live, or was last." }),
        ),
        member("has_unpublished_changes", Required, json!({ "type": "boolean" })),
        member(
            "urls",
            Required,
            object(
                Use::Output,
                vec![
                    member(
                        "public",
                        Required,
                        json!({ "type": "string", "description": "The page's address." }),
                    ),
                    member(
                        "qr",
                        Required,
                        json!({ "type": "string", "description": "The image of its QR code." }),
                    ),
                ],
            ),
        ),
        moment("created_at", Required),
        moment("updated_at", Required),
        moment("published_at", Nullable),
    ]
}

/// Returns what the operator sees of a page.
fn inspected_page() -> Vec<Member> {
    let mut members = summary();
    members.push(member("account", Required, json!({ "type": "string" })));
    members.push(member("suspension", Nullable, suspension()));
    members
}

fn suspension() -> Value {
    object(
        Use::Output,
        vec![member("at", Required, time()), member("reason", Nullable, json!({ "type": "string" }))],
    )
}

fn report() -> Vec<Member> {
    let string = |name| member(name, Required, json!({ "type": "string" }));
    vec![
        member("id", Required, json!({ "type": "integer" })),
        member("at", Required, time()),
        string("account"),
        string("page"),
        string("slug"),
        member("reason", Required, names_of(ReportReason::ALL.map(ReportReason::as_str))),
        string("details"),
    ]
}

fn hosts() -> Value {
    json!({ "type": "array", "items": { "type": "string", "maxLength": 253 }, "description": "Names such as example.com, without scheme, port, path or wildcard. Each stands for everything below it too." })
}

fn page() -> Value {
    let mut members = summary();
    members.retain(|member| member.name != "title");
    members.extend(document(Use::Output));
    members.push(member("metadata", Required, metadata()));
    object(Use::Output, members)
}

fn account() -> Value {
    let count = |limit: u32| json!({ "type": "integer", "minimum": 0, "maximum": limit });
    let integer = || json!({ "type": "integer" });
    let plans = [BiolinkPlan::None, BiolinkPlan::Standard, BiolinkPlan::Business];
    object(
        Use::Output,
        vec![
            constant("object", "account"),
            member("id", Required, json!({ "type": "string" })),
            member("plan", Required, json!({ "type": "string", "enum": plans })),
            member("suspended", Required, boolean("Whether the operator has suspended the account.")),
            member(
                "pages",
                Required,
                object(
                    Use::Output,
                    vec![
                        member("used", Required, count(policy::PAGES)),
                        member("limit", Required, integer()),
                    ],
                ),
            ),
            member(
                "calls",
                Required,
                object(
                    Use::Output,
                    vec![
                        member("limit", Required, integer()),
                        member("window_seconds", Required, integer()),
                        member("remaining", Required, count(policy::CALLS_PER_HOUR)),
                        member(
                            "reset_seconds",
                            Required,
                            json!({ "type": "integer", "description": "Until more calls are to be had; 0 if none was made." }),
                        ),
                    ],
                ),
            ),
            member(
                "analytics",
                Required,
                object(Use::Output, vec![member("window_days", Required, integer())]),
            ),
        ],
    )
}

fn problem() -> Value {
    json!({
        "type": "object",
        "description": "RFC 9457 problem details. Switch on `code`; the text may change.",
        "required": ["type", "title", "status", "detail", "code", "request_id"],
        "additionalProperties": true,
        "properties": {
            "type": { "type": "string", "format": "uri-reference" },
            "title": { "type": "string" },
            "status": { "type": "integer" },
            "detail": { "type": "string", "description": "What happened this time, and what to do." },
            "code": { "type": "string", "description": "/problems/{code} explains it." },
            "request_id": { "type": "string" },
            "errors": {
                "type": "array", "description": "422: every fault at once.",
                "items": object(Use::Output, vec![
                    member("pointer", Required, json!({ "type": "string", "description": "JSON Pointer to the value, as a URI fragment." })),
                    member("detail", Required, json!({ "type": "string" })),
                ]),
            },
            "suggestions": { "type": "array", "items": { "type": "string" }, "description": "409: slugs that can be had." },
            "earliest_available": { "type": "string", "format": "date-time", "description": "403 `analytics-window-exceeded`: the earliest start." },
            "window_days": { "type": "integer", "description": "The same: the days that the plan shows before today." },
            "answered_start": { "type": "string", "format": "date-time", "description": "422 `analytics-too-wide`: the start of a period that would do." },
            "answered_end": { "type": "string", "format": "date-time", "description": "The same: its end." },
        },
    })
}
