//! WooCommerce: the Store API, and the bodies of its webhooks.

use serde_json::Value;

use super::{
    FeedFormat, ProductError, ShopEvent,
    feed::Feed,
    json::{each, sale_dates, text},
    price::minor_units,
    product::{Cost, Draft},
};
use crate::page::document::Availability;

/// Reads a list of products of the Store API. Its prices are in minor units.
pub(super) fn read(products: &[Value]) -> Feed {
    let mut feed = Feed::new(FeedFormat::Woocommerce);
    for product in products {
        feed.add(draft(product), None);
    }
    feed
}

fn draft(product: &Value) -> Draft {
    let prices = product.get("prices").unwrap_or(&Value::Null);
    let currency = text(prices, "currency_code").unwrap_or_default();
    let digits = prices.get("currency_minor_unit").and_then(Value::as_u64).unwrap_or(2);
    let cost_of = |amount: Option<String>| match amount {
        Some(amount) if !amount.trim().is_empty() => match minor_units(&amount, digits, &currency) {
            Some(price) => Cost::of_price(Some(price)),
            None => Cost::Text(amount),
        },
        _ => Cost::None,
    };
    let cost = |name: &str| cost_of(text(prices, name));
    // That of a product with variants.
    let range = prices.get("price_range").filter(|range| range.is_object());
    let lowest = range.and_then(|range| text(range, "min_amount"));
    let price_varies = lowest.is_some() && lowest != range.and_then(|range| text(range, "max_amount"));
    let regular = match cost("regular_price") {
        _ if price_varies => cost_of(lowest),
        Cost::None => cost("price"),
        regular => regular,
    };
    let is = |name: &str| product.get(name).and_then(Value::as_bool);
    let availability = match (is("is_in_stock"), is("is_on_backorder")) {
        (_, Some(true)) => Availability::Backorder,
        (Some(false), _) => Availability::OutOfStock,
        _ => Availability::InStock,
    };
    let description = text(product, "short_description").filter(|text| !text.trim().is_empty());
    Draft {
        id: text(product, "id"),
        group: None,
        title: text(product, "name").map(|name| super::texts::without_tags(&name)),
        description: description.or_else(|| text(product, "description")),
        url: text(product, "permalink"),
        image: each(product, "images", "src").into_iter().next(),
        price: regular,
        sale_price: if price_varies { Cost::None } else { cost("sale_price") },
        sale_dates: None,
        price_varies,
        availability: Some(availability),
        tags: tags(product),
    }
}

/// Reads the body of a webhook with this topic; `None` for a topic that is not about a product. The
/// REST API has prices as decimal numbers without a currency.
///
/// # Errors
/// Returns an error if the product cannot be shown.
pub fn woocommerce_event(
    topic: &str,
    body: &Value,
    currency: &str,
) -> Result<Option<ShopEvent>, ProductError> {
    let id = || text(body, "id").ok_or(ProductError::NoId);
    let is_published = text(body, "status").is_none_or(|status| status == "publish")
        && text(body, "catalog_visibility").is_none_or(|visibility| visibility != "hidden");
    match topic {
        "product.deleted" => Ok(Some(ShopEvent::Delete(id()?))),
        "product.created" | "product.updated" | "product.restored" if !is_published => {
            Ok(Some(ShopEvent::Delete(id()?)))
        }
        "product.created" | "product.updated" | "product.restored" => {
            let product = pushed(body).product(Some(currency))?;
            Ok(Some(ShopEvent::Upsert(Box::new(product))))
        }
        _ => Ok(None),
    }
}

fn pushed(product: &Value) -> Draft {
    let amount = |name: &str| text(product, name).filter(|amount| !amount.trim().is_empty());
    let availability = text(product, "stock_status").and_then(|text| super::product::availability(&text));
    let description = amount("short_description").or_else(|| amount("description"));
    Draft {
        id: text(product, "id"),
        group: None,
        title: text(product, "name").map(|name| super::texts::without_tags(&name)),
        description,
        url: text(product, "permalink"),
        image: each(product, "images", "src").into_iter().next(),
        price: Cost::of_text(amount("regular_price").or_else(|| amount("price")).unwrap_or_default()),
        sale_price: Cost::of_text(amount("sale_price").unwrap_or_default()),
        sale_dates: sale_dates(product, "date_on_sale_from_gmt", "date_on_sale_to_gmt"),
        price_varies: false,
        availability,
        tags: tags(product),
    }
}

fn tags(product: &Value) -> Vec<String> {
    [each(product, "categories", "name"), each(product, "tags", "name")].concat()
}
