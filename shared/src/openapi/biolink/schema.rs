//! The bodies' schemas. Those of requests are what the reader of pages takes, and no more: a test
//! compares the two.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::super::reference;
use crate::{
    key::BiolinkPlan,
    page::{
        MAX_LINKS, MAX_METADATA, MAX_PRODUCTS, MAX_SOCIALS, MAX_TAGS, READ_ONLY, ReportReason, WebUrl,
        document::{
            Availability, Density, Direction, Layout, LinkType, Mode, Platform, Preset, Rel, Shape, Subject,
        },
    },
    pages_api::{DeniedHosts, MAX_REASON, PageStatus},
    policy::{BIOLINK_CALLS_PER_HOUR, BIOLINK_PAGES},
};

/// What a schema is of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Use {
    /// A whole value in a request: what is left out, or null, gets its default.
    Input,
    /// A merge patch.
    Patch,
    /// A response: every member is there.
    Output,
}

/// One member of an object.
struct Member {
    name: &'static str,
    presence: Presence,
    schema: Value,
}

/// Whether a member is there.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Presence {
    /// In every value.
    Required,
    /// In every response. What a request leaves out gets a value.
    Defaulted,
    /// In every response, perhaps as null.
    Nullable,
    /// Left out where there is none.
    Optional,
}

use Presence::{Defaulted, Nullable, Optional, Required};

const fn member(name: &'static str, presence: Presence, schema: Value) -> Member {
    Member { name, presence, schema }
}

/// Returns every schema component by name.
pub(super) fn all() -> Value {
    json!({
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
            "type": "object", "required": ["object"], "additionalProperties": true, "description": "One line. `key` is the key that asked.",
            "properties": { "object": names_of(["account", "key", "page", "revision", "end"]) },
        }),
        "SuspensionInput": object(Use::Input, vec![member("reason", Defaulted, described(text(1, MAX_REASON), "Your note. Owners do not see it."))]),
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
    })
}

/// Returns an object with these members, as `of` has them.
fn object(of: Use, members: Vec<Member>) -> Value {
    let is_required = |member: &&Member| match of {
        Use::Input => member.presence == Required,
        Use::Patch => false,
        Use::Output => member.presence != Optional,
    };
    let required: Vec<_> = members.iter().filter(is_required).map(|member| member.name).collect();
    let properties: Map<_, _> = members
        .into_iter()
        .map(|Member { name, presence, schema }| {
            let is_nullable = match of {
                Use::Input => presence != Required,
                Use::Patch => true,
                Use::Output => presence == Nullable,
            };
            (name.to_owned(), if is_nullable { nullable(schema) } else { schema })
        })
        .collect();
    let mut schema = json!({ "type": "object", "properties": properties });
    if let Some(members) = schema.as_object_mut() {
        if !required.is_empty() {
            members.insert("required".to_owned(), required.into());
        }
        if of != Use::Output {
            members.insert("additionalProperties".to_owned(), false.into());
        }
    }
    schema
}

/// Returns the schema for null too. In OpenAPI 3.0 an enum must name it.
fn nullable(mut schema: Value) -> Value {
    if let Some(members) = schema.as_object_mut() {
        members.insert("nullable".to_owned(), true.into());
        if let Some(names) = members.get_mut("enum").and_then(Value::as_array_mut) {
            names.push(Value::Null);
        }
    }
    schema
}

fn page_input(of: Use) -> Value {
    let mut members = document(of);
    members.extend([
        member("slug", Defaulted, json!({
            "type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9._-]{1,38}[A-Za-z0-9]$",
            "description": "The page's name in its address. Capital letters become small ones.",
        })),
        member("external_id", Defaulted, json!({ "type": "string", "minLength": 1, "maxLength": 128, "description": "Your own name for the page. No other page of the account has it." })),
        member("status", Defaulted, json!({
            "type": "string", "enum": PageStatus::ALL.map(PageStatus::as_str),
            "description": "`published` shows what is written to visitors, `unpublished` takes the page down, `draft` leaves the live page as it is.",
        })),
        member("tags", Defaulted, tags()),
        member("metadata", Defaulted, metadata()),
    ]);
    let mut schema = object(of, members);
    if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
        let ignored = |name: &&str| ((*name).to_owned(), json!({ "description": "Read-only, and ignored." }));
        properties.extend(READ_ONLY.iter().map(ignored));
    }
    schema
}

/// Returns what visitors see of a page.
fn document(of: Use) -> Vec<Member> {
    // A patch merges into objects, and replaces arrays as a whole.
    let items = if of == Use::Output { Use::Output } else { Use::Input };
    let of_list =
        |input: &'static str, output: &'static str| list(if items == Use::Input { input } else { output });
    vec![
        member("title", Required, text(1, 80)),
        member("bio", Defaulted, described(text(0, 300), "At most 5 lines.")),
        member("avatar", Nullable, image(of, 1)),
        member(
            "locale",
            Defaulted,
            json!({ "type": "string", "maxLength": 35, "pattern": "^[A-Za-z]{2,3}(-[A-Za-z0-9]{1,8})*$", "description": "A language tag (BCP 47)." }),
        ),
        member("dir", Defaulted, described(names::<Direction>(), "`auto` follows from the locale.")),
        member("theme", Defaulted, theme(of)),
        member("socials", Defaulted, limited(of_list("SocialInput", "Social"), MAX_SOCIALS)),
        member("links", Defaulted, limited(of_list("LinkInput", "Link"), MAX_LINKS)),
        member(
            "products",
            Defaulted,
            object(
                of,
                vec![
                    member("enabled", Defaulted, boolean("Whether they are shown.")),
                    member("title", Defaulted, text(0, 80)),
                    member("layout", Defaulted, names::<Layout>()),
                    member("items", Defaulted, limited(of_list("ProductInput", "Product"), MAX_PRODUCTS)),
                ],
            ),
        ),
        member(
            "seo",
            Defaulted,
            object(
                of,
                vec![
                    member("title", Nullable, text(1, 70)),
                    member("description", Nullable, text(1, 200)),
                    member("image", Nullable, image(of, 0)),
                    member(
                        "noindex",
                        Defaulted,
                        boolean("Whether search engines are asked to leave the page out."),
                    ),
                    member("type", Defaulted, names::<Subject>()),
                ],
            ),
        ),
        member("gate", Nullable, gate(of)),
    ]
}

fn link(of: Use) -> Value {
    let mut members = vec![
        id("lnk"),
        member(
            "type",
            Defaulted,
            described(names_of(LinkType::ALL.map(LinkType::as_str)), "`link` if left out."),
        ),
        member(
            "title",
            Defaulted,
            described(
                text(0, 500),
                "At most 120 characters, for `text` 500. Required unless `type` is `divider`.",
            ),
        ),
        member("description", Nullable, text(1, 200)),
        member(
            "url",
            Nullable,
            json!({
                "type": "string", "maxLength": WebUrl::MAX_LEN,
                "description": "An http or https address with a public host name. For `email` an e-mail address, for `phone`, `sms` and `whatsapp` a phone number. None for `heading`, `text`, `divider` and `vcard`.",
            }),
        ),
        member("enabled", Defaulted, boolean("Whether it is shown at all.")),
        member("highlight", Defaulted, boolean("Whether it stands out.")),
        member(
            "direct",
            Defaulted,
            boolean("Whether the page links to the destination itself. Clicks are not counted then."),
        ),
        member("visible_from", Nullable, time()),
        member("visible_until", Nullable, time()),
        member("gate", Nullable, gate(of)),
        member("rel", Defaulted, json!({ "type": "array", "maxItems": 3, "items": names::<Rel>() })),
    ];
    if of == Use::Patch {
        // The path names the link.
        members.retain(|member| member.name != "id");
    }
    let mut schema = object(of, members);
    if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut)
        && of == Use::Patch
    {
        properties.insert("id".to_owned(), json!({ "description": "Ignored: the path names the link." }));
    }
    schema
}

fn product(of: Use) -> Value {
    let price = |about: &str| {
        let amount = json!({ "type": "string", "pattern": r"^(0|[1-9][0-9]{0,8})(\.[0-9]{1,3})?$" });
        let currency = json!({ "type": "string", "pattern": "^[A-Z]{3}$", "description": "ISO 4217" });
        described(
            object(of, vec![member("amount", Required, amount), member("currency", Required, currency)]),
            about,
        )
    };
    object(
        of,
        vec![
            id("prd"),
            member("external_id", Nullable, text(1, 100)),
            member("title", Required, text(1, 120)),
            member("description", Nullable, text(1, 200)),
            member("url", Required, url()),
            member("image", Nullable, image(of, 0)),
            member("price", Nullable, price("The price.")),
            member("sale_price", Nullable, price("A lower price in the same currency, for now.")),
            member("availability", Defaulted, names::<Availability>()),
        ],
    )
}

fn social(of: Use) -> Value {
    let platform = names_of(Platform::ALL.iter().map(|platform| platform.as_str()));
    object(
        of,
        vec![
            member("platform", Required, platform),
            member("url", Required, url()),
            member("label", Nullable, text(1, 60)),
        ],
    )
}

fn theme(of: Use) -> Value {
    let color = || json!({ "type": "string", "pattern": "^#([0-9A-Fa-f]{3}|[0-9A-Fa-f]{6})$" });
    let palette = |about: &str| {
        let tokens = ["bg", "fg", "card", "accent"].map(|name| member(name, Optional, color()));
        described(object(of, tokens.into()), about)
    };
    object(
        of,
        vec![
            member("preset", Defaulted, names::<Preset>()),
            member("mode", Defaulted, described(names::<Mode>(), "`auto` follows the visitor's system.")),
            member(
                "light",
                Defaulted,
                palette("Colors in place of the preset's. Text needs a contrast of 4.5."),
            ),
            member("dark", Defaulted, palette("The same in dark mode.")),
            member("shape", Defaulted, names::<Shape>()),
            member("density", Defaulted, names::<Density>()),
        ],
    )
}

fn image(of: Use, min_alt: usize) -> Value {
    let presence = if min_alt > 0 { Required } else { Defaulted };
    object(of, vec![member("url", Required, url()), member("alt", presence, text(min_alt, 150))])
}

fn gate(of: Use) -> Value {
    let kind = names_of(["age", "sensitive"]);
    let min = json!({ "type": "integer", "minimum": 13, "maximum": 25, "description": "Years. Required for `age`, and only there." });
    let mut schema = object(of, vec![member("kind", Required, kind), member("min", Optional, min)]);
    // `min` of another gate than `age` is unknown, even as null.
    if let Some(min) = schema.pointer_mut("/properties/min").and_then(Value::as_object_mut) {
        min.remove("nullable");
    }
    described(schema, "A question that visitors confirm first.")
}

fn link_order() -> Value {
    let order = json!({
        "type": "array", "maxItems": MAX_LINKS, "uniqueItems": true, "items": { "type": "string" },
        "description": "The id of each link of the page once.",
    });
    object(Use::Input, vec![member("order", Required, order)])
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
            json!({
                "type": "object", "required": ["public"], "additionalProperties": { "type": "string" },
                "properties": {
                    "public": { "type": "string", "description": "The page's address." },
                    "qr": { "type": "string", "description": "The image of its QR code." },
                },
            }),
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
                        member("used", Required, count(BIOLINK_PAGES)),
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
                        member("remaining", Required, count(BIOLINK_CALLS_PER_HOUR)),
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
        },
    })
}

fn id(prefix: &str) -> Member {
    let about = "The name of the entry. An edit that repeats it keeps the entry.";
    member(
        "id",
        Defaulted,
        json!({ "type": "string", "pattern": format!("^{prefix}_[0-9A-Za-z]{{17}}$"), "description": about }),
    )
}

fn constant(name: &'static str, value: &str) -> Member {
    member(name, Required, json!({ "type": "string", "enum": [value] }))
}

fn text(min: usize, max: usize) -> Value {
    match min {
        0 => json!({ "type": "string", "maxLength": max }),
        _ => json!({ "type": "string", "minLength": min, "maxLength": max }),
    }
}

fn url() -> Value {
    json!({ "type": "string", "format": "uri", "maxLength": WebUrl::MAX_LEN })
}

fn time() -> Value {
    json!({ "type": "string", "format": "date-time" })
}

fn boolean(about: &str) -> Value {
    json!({ "type": "boolean", "description": about })
}

fn tags() -> Value {
    json!({ "type": "array", "maxItems": MAX_TAGS, "items": text(1, 60) })
}

fn metadata() -> Value {
    json!({ "type": "object", "maxProperties": MAX_METADATA, "additionalProperties": text(0, 500), "description": "Your own notes. Names have 1 to 40 characters." })
}

fn list(items: &str) -> Value {
    json!({ "type": "array", "items": reference("schemas", items) })
}

fn limited(mut list: Value, max: usize) -> Value {
    if let Some(members) = list.as_object_mut() {
        members.insert("maxItems".to_owned(), max.into());
    }
    list
}

fn described(mut schema: Value, about: &str) -> Value {
    if let Some(members) = schema.as_object_mut() {
        members.insert("description".to_owned(), about.into());
    }
    schema
}

fn names_of<'a>(names: impl IntoIterator<Item = &'a str>) -> Value {
    json!({ "type": "string", "enum": names.into_iter().collect::<Vec<_>>() })
}

/// Returns the names of an enum without data, which its `Deserialize` lists when it is given none
/// of them: "unknown variant ``, expected one of `auto`, `ltr`, `rtl`".
fn names<T: DeserializeOwned>() -> Value {
    let error = serde_json::from_value::<T>("".into()).err().map(|error| error.to_string());
    names_of(error.unwrap_or_default().split('`').skip(3).step_by(2))
}
