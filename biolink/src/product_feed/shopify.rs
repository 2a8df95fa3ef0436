//! Shopify: `products.json` of a store, and the bodies of its webhooks.

use serde_json::Value;

use super::{
    FeedFormat, ProductError, ShopEvent,
    feed::Feed,
    feed_error::FeedError,
    json::{each, text, words},
    price::PriceRules,
    product::{Cost, Draft},
};
use crate::page::document::Availability;

/// Reads a list of products. `base` is the URL of the list, and `rules` has the currency of the store.
pub(super) fn read(products: &[Value], base: &str, rules: &PriceRules<'_>) -> Result<Feed, FeedError> {
    // Once for the feed. Otherwise every product would be a separate fault.
    rules.currency.ok_or(FeedError::NoCurrency)?;
    let mut feed = Feed::new(FeedFormat::Shopify);
    for product in products {
        feed.add(draft(product, origin(base)), rules);
    }
    Ok(feed)
}

/// Reads the body of a webhook with this topic; `None` for a topic that is not about a product.
///
/// # Errors
/// Returns an error if the product cannot be shown.
pub fn shopify_event(
    topic: &str,
    body: &Value,
    base: &str,
    currency: &str,
) -> Result<Option<ShopEvent>, ProductError> {
    let id = || text(body, "id").ok_or(ProductError::NoId);
    // A draft or an archived product is pushed as an update, and is not for visitors.
    let is_sold = body.get("status").and_then(Value::as_str).is_none_or(|status| status == "active")
        && body.get("published_at").is_none_or(|moment| !moment.is_null());
    match topic {
        "products/delete" => Ok(Some(ShopEvent::Delete(id()?))),
        "products/create" | "products/update" if !is_sold => Ok(Some(ShopEvent::Delete(id()?))),
        "products/create" | "products/update" => {
            let (product, note) = draft(body, origin(base)).product(&Some(currency).into())?;
            Ok(Some(ShopEvent::Upsert(Box::new(product), note)))
        }
        _ => Ok(None),
    }
}

fn draft(product: &Value, origin: &str) -> Draft {
    let variants = product.get("variants").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    // The cheapest of those that can be bought.
    let in_stock = variants.iter().any(is_available);
    let offered = || variants.iter().filter(|variant| !in_stock || is_available(variant));
    let amount_of = |variant: &Value| text(variant, "price").and_then(|price| amount(&price));
    let shown = offered().min_by_key(|variant| amount_of(variant).unwrap_or(u64::MAX));
    let price_varies = offered().any(|variant| amount_of(variant) != shown.and_then(amount_of));
    let cost = |name: &str| shown.and_then(|variant| text(variant, name)).unwrap_or_default();
    let (price, before) = (cost("price"), cost("compare_at_price"));
    // Shops leave an old `compare_at_price` that is lower. It is no sale.
    let (price, sale_price) = if is_more(&before, &price) {
        (Cost::of_number(before), Cost::of_number(price))
    } else {
        (Cost::of_number(price), Cost::None)
    };
    let mut tags = words(product, "tags");
    tags.extend(["product_type", "vendor"].into_iter().filter_map(|name| text(product, name)));
    Draft {
        id: text(product, "id"),
        group: None,
        title: text(product, "title"),
        description: text(product, "body_html"),
        url: text(product, "handle").map(|handle| format!("{origin}/products/{handle}")),
        image: each(product, "images", "src").into_iter().next(),
        price,
        sale_price,
        sale_dates: None,
        price_varies,
        availability: Some(if in_stock { Availability::InStock } else { Availability::OutOfStock }),
        tags,
    }
}

/// Returns true if a variant can be bought. Webhooks have no `available`, but what it follows from.
fn is_available(variant: &Value) -> bool {
    if let Some(available) = variant.get("available").and_then(Value::as_bool) {
        return available;
    }
    let is_tracked = variant.get("inventory_management").is_some_and(|value| !value.is_null());
    let continues = variant.get("inventory_policy").and_then(Value::as_str) == Some("continue");
    let quantity = variant.get("inventory_quantity").and_then(Value::as_i64);
    !is_tracked || continues || quantity.is_none_or(|quantity| quantity > 0)
}

fn is_more(before: &str, price: &str) -> bool {
    amount(before) > amount(price)
}

/// Returns a price without a currency in thousandths.
fn amount(text: &str) -> Option<u64> {
    super::amount_of(&PriceRules::from(Some("XXX")).of_programs().read(text).ok()?.amount)
}

/// Returns scheme, host and port of a URL.
fn origin(url: &str) -> &str {
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    url.get(..scheme.len().saturating_add(3).saturating_add(end)).unwrap_or_default()
}
