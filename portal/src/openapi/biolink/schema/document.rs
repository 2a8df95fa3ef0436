//! The schemas of what visitors see of a page.

use biolink::page::document::{
    Availability, Density, Direction, Layout, LinkType, Mode, Platform, Preset, Rel, Shape, Subject,
};
use biolink::page::{MAX_LINKS, MAX_PRODUCTS, MAX_SOCIALS, READ_ONLY, WebUrl};
use biolink::pages_api::PageStatus;
use serde_json::{Value, json};

use super::parts::Presence::{Defaulted, Nullable, Optional, Required};
use super::parts::{
    Member, Use, boolean, described, id, limited, list, member, metadata, names, names_of, object, tags,
    text, time, url,
};

pub(super) fn page_input(of: Use) -> Value {
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
pub(super) fn document(of: Use) -> Vec<Member> {
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

pub(super) fn link(of: Use) -> Value {
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

pub(super) fn product(of: Use) -> Value {
    let price = |about: &str| {
        let amount = json!({ "type": "string", "pattern": r"^(0|[1-9][0-9]{0,8})(\.[0-9]{1,3})?$" });
        let currency = json!({ "type": "string", "pattern": "^[A-Z]{3}$", "description": "ISO 4217" });
        described(
            object(of, vec![member("amount", Required, amount), member("currency", Required, currency)]),
            about,
        )
    };
    let mut members = vec![
        id("prd"),
        member("external_id", Nullable, text(1, 100)),
        member("title", Required, text(1, 120)),
        member("description", Nullable, text(1, 200)),
        member("url", Required, url()),
        member("image", Nullable, image(of, 0)),
        member("price", Nullable, price("The price.")),
        member("sale_price", Nullable, price("A lower price in the same currency, for now.")),
        member("availability", Defaulted, names::<Availability>()),
    ];
    if matches!(of, Use::Output) {
        let about = "The product source that it comes from; null if it was made by hand.";
        // Without a pattern: code generators name a type of its own `ProductSource`, which there is.
        members.push(member("source", Nullable, json!({ "type": "string", "description": about })));
    }
    object(of, members)
}

pub(super) fn social(of: Use) -> Value {
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

pub(super) fn theme(of: Use) -> Value {
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

pub(super) fn image(of: Use, min_alt: usize) -> Value {
    let presence = if min_alt > 0 { Required } else { Defaulted };
    object(of, vec![member("url", Required, url()), member("alt", presence, text(min_alt, 150))])
}

pub(super) fn gate(of: Use) -> Value {
    let kind = names_of(["age", "sensitive"]);
    let min = json!({ "type": "integer", "minimum": 13, "maximum": 25, "description": "Years. Required for `age`, and only there." });
    let mut schema = object(of, vec![member("kind", Required, kind), member("min", Optional, min)]);
    // `min` of another gate than `age` is unknown, even as null.
    if let Some(min) = schema.pointer_mut("/properties/min").and_then(Value::as_object_mut) {
        min.remove("nullable");
    }
    described(schema, "A question that visitors confirm first.")
}

pub(super) fn link_order() -> Value {
    let order = json!({
        "type": "array", "maxItems": MAX_LINKS, "uniqueItems": true, "items": { "type": "string", "pattern": "^lnk_[0-9A-Za-z]{17}$" },
        "description": "The id of each link of the page once.",
    });
    object(Use::Input, vec![member("order", Required, order)])
}
