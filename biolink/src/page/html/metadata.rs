//! What search engines and link previews read: Open Graph, structured data, and the address under
//! which the page is listed.

use maud::{Markup, PreEscaped, html};
use serde_json::{Map, Value, json};

use super::PageView;
use crate::page::{
    PageDocument,
    document::{Availability, Image, Product, Subject},
};

/// Returns the elements for the head.
pub(super) fn of(view: &PageView<'_>) -> Markup {
    let document = view.document;
    let address = view.address();
    let description = description(document);
    // A wide preview is for an image that was made for one.
    let card = if document.seo.image.is_some() { "summary_large_image" } else { "summary" };
    html! {
        @if let Some(description) = &description { meta name="description" content=(description); }
        link rel="canonical" href=(address);
        meta property="og:type" content="profile";
        meta property="og:url" content=(address);
        meta property="og:title" content=(document.seo.title.as_ref().unwrap_or(&document.title));
        @if let Some(description) = &description { meta property="og:description" content=(description); }
        @if let Some(image) = preview_image(document) {
            meta property="og:image" content=(image.url.absolute(view.base));
            @if !image.alt.is_empty() { meta property="og:image:alt" content=(image.alt); }
        }
        meta name="twitter:card" content=(card);
    }
}

/// Returns the description in one line.
fn description(document: &PageDocument) -> Option<String> {
    let bio = (!document.bio.is_empty()).then_some(&document.bio);
    document.seo.description.as_ref().or(bio).map(|text| text.replace('\n', " "))
}

fn preview_image(document: &PageDocument) -> Option<&Image> {
    document.seo.image.as_ref().or(document.avatar.as_ref()).filter(|image| image.url.is_allowed())
}

/// Returns structured data (schema.org), which cannot end its element: `<` is escaped. It stands beside the
/// products, because a compressor then finds their texts again.
// 2.9 KB: inlined, it makes `render` 9.6 KB, which V8 optimizes first in a new isolate.
#[inline(never)]
pub(super) fn json_ld(view: &PageView<'_>) -> Markup {
    let mut profile = json!({
        "@type": "ProfilePage",
        "dateModified": view.published_at.to_rfc3339(),
        "mainEntity": subject(view),
    });
    let products = products(view);
    let data = if products.is_empty() {
        add(&mut profile, "@context", Some("https://schema.org".into()));
        profile
    } else {
        let list = json!({"@type": "ItemList", "itemListElement": products});
        json!({"@context": "https://schema.org", "@graph": [profile, list]})
    };
    // `</script>` in a title would end the element, and what follows would be markup.
    let data = data.to_string().replace('<', "\\u003c");
    html! { script type="application/ld+json" { (PreEscaped(data)) } }
}

fn subject(view: &PageView<'_>) -> Value {
    let document = view.document;
    let kind = match document.seo.kind {
        Subject::Person => "Person",
        Subject::Organization => "Organization",
    };
    let mut subject = json!({"@type": kind, "name": document.title, "url": view.address()});
    add(&mut subject, "description", description(document).map(Value::from));
    add(&mut subject, "image", preview_image(document).map(|image| image.url.absolute(view.base).into()));
    let profiles: Vec<_> =
        document.socials.iter().map(|social| &social.url).filter(|url| url.is_allowed()).collect();
    add(&mut subject, "sameAs", (!profiles.is_empty()).then(|| json!(profiles)));
    subject
}

/// Returns the products in their order, which says what positions would.
fn products(view: &PageView<'_>) -> Vec<Value> {
    let products = &view.document.products;
    let shown = products.items.iter().filter(|item| products.enabled && item.url.is_allowed());
    shown.map(|item| product(item, view)).collect()
}

fn product(item: &Product, view: &PageView<'_>) -> Value {
    let mut product = json!({"@type": "Product", "name": item.title, "url": item.url});
    let image = item.image.as_ref().filter(|image| image.url.is_allowed());
    add(&mut product, "image", image.map(|image| image.url.absolute(view.base).into()));
    let availability = match item.availability {
        Availability::InStock => "InStock",
        Availability::OutOfStock => "OutOfStock",
        Availability::Preorder => "PreOrder",
        Availability::Backorder => "BackOrder",
    };
    let sale = item.sale(view.now);
    let price = sale.or(item.price.as_ref());
    let offer = price.map(|price| {
        let (kind, amount) =
            if item.price_varies { ("AggregateOffer", "lowPrice") } else { ("Offer", "price") };
        let mut offer = json!({
            "@type": kind,
            amount: price.amount,
            "priceCurrency": price.currency,
            "availability": format!("https://schema.org/{availability}"),
        });
        let until = sale.and(item.sale_until).map(|until| until.to_rfc3339().into());
        add(&mut offer, "priceValidUntil", until);
        offer
    });
    add(&mut product, "offers", offer);
    product
}

fn add(value: &mut Value, name: &str, member: Option<Value>) {
    if let (Some(members), Some(member)) = (value.as_object_mut(), member) {
        let _replaced: Option<Value> = Map::insert(members, name.to_owned(), member);
    }
}
