//! WooCommerce: the Store API, and the bodies of its webhooks.

use serde_json::Value;

use super::{
    FeedFormat, ProductError, ShopEvent,
    feed::Feed,
    json::{each, sale_dates, text},
    price::{PriceRules, amount_of, of_minor_units},
    product::{Cost, Draft},
};
use crate::page::document::Availability;

/// Reads a list of products of the Store API. Its prices are in minor units.
pub(super) fn read(products: &[Value], rules: &PriceRules<'_>) -> Feed {
    let mut feed = Feed::new(FeedFormat::Woocommerce);
    for product in products {
        feed.add(draft(product), rules);
    }
    feed
}

fn draft(product: &Value) -> Draft {
    let offer = Offer::listed(product);
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
        price: offer.price,
        sale_price: offer.sale_price,
        sale_dates: None,
        price_varies: offer.varies,
        availability: Some(availability),
        tags: tags(product),
    }
}

/// The prices of a product as its shop shows them.
///
/// The sale price of WooCommerce is a setting, which stays before the sale begins and after it has ended.
/// What is to be paid is `price`: with discounts for roles it is lower than both. The shop strikes the
/// regular price out while `on_sale` is true only.
struct Offer {
    price: Cost,
    sale_price: Cost,
    /// Whether variants have other prices, of which this is the lowest.
    varies: bool,
}

impl Offer {
    /// Returns that of a product in the Store API's list.
    fn listed(product: &Value) -> Self {
        let prices = product.get("prices").unwrap_or(&Value::Null);
        let currency = text(prices, "currency_code").unwrap_or_default();
        let digits = prices.get("currency_minor_unit").and_then(Value::as_u64).unwrap_or(2);
        // Without a code the currency is that of the source, or the price has none.
        let cost = |amount: String| {
            let number = of_minor_units(&amount, digits).unwrap_or(amount);
            Cost::of_number(format!("{number} {currency}").trim_end().to_owned())
        };
        let amount = |name: &str| filled(prices, name);
        // A product with variants has a range, and no sale price of its own.
        let range = prices.get("price_range").filter(|range| range.is_object());
        let end = |name: &str| range.and_then(|range| filled(range, name));
        if let (Some(lowest), Some(highest)) = (end("min_amount"), end("max_amount"))
            && lowest != highest
        {
            return Self { price: cost(lowest), sale_price: Cost::None, varies: true };
        }
        let (paid, regular) = (amount("price"), amount("regular_price"));
        let is_on_sale =
            product.get("on_sale").and_then(Value::as_bool).unwrap_or_else(|| amount("sale_price") == paid);
        Self::of(paid, regular, is_on_sale, cost)
    }

    /// Returns that of a product in the body of a webhook.
    fn pushed(product: &Value) -> Self {
        let amount = |name: &str| filled(product, name);
        let (paid, regular, sale) = (amount("price"), amount("regular_price"), amount("sale_price"));
        let has_dates = amount("date_on_sale_from_gmt").or_else(|| amount("date_on_sale_to_gmt")).is_some();
        match product.get("on_sale").and_then(Value::as_bool) {
            // Its dates say when the sale price counts: the shop does not push again when it begins.
            Some(false) if has_dates => {
                let sale_price = sale.map_or(Cost::None, Cost::of_number);
                Self {
                    price: regular.or(paid).map_or(Cost::None, Cost::of_number),
                    sale_price,
                    varies: false,
                }
            }
            Some(is_on_sale) => {
                let offer = Self::of(paid, regular, is_on_sale, Cost::of_number);
                Self { varies: shows_range(product), ..offer }
            }
            None => Self::of(sale.clone().or(paid), regular, sale.is_some(), Cost::of_number),
        }
    }

    fn of(
        paid: Option<String>,
        regular: Option<String>,
        is_on_sale: bool,
        cost: impl Fn(String) -> Cost,
    ) -> Self {
        let cost = |amount: Option<String>| amount.map_or(Cost::None, &cost);
        let amount = |text: &Option<String>| text.as_deref().and_then(amount_of);
        match regular {
            // Plugins raise prices too: then the shop strikes nothing out.
            Some(regular) if is_on_sale && amount(&paid) < amount_of(&regular) => {
                Self { price: cost(Some(regular)), sale_price: cost(paid), varies: false }
            }
            regular => Self { price: cost(paid.or(regular)), sale_price: Cost::None, varies: false },
        }
    }
}

/// Returns true if the shop shows two prices with a dash between them. The body of a webhook has the lower
/// one as `price`, and the other in HTML only.
fn shows_range(product: &Value) -> bool {
    let html = text(product, "price_html").unwrap_or_default();
    text(product, "type").as_deref() == Some("variable")
        && ["&ndash;", "&#8211;", "\u{2013}"].iter().any(|dash| html.contains(dash))
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
            let (product, note) = pushed(body).product(&Some(currency).into())?;
            Ok(Some(ShopEvent::Upsert(Box::new(product), note)))
        }
        _ => Ok(None),
    }
}

fn pushed(product: &Value) -> Draft {
    let offer = Offer::pushed(product);
    let availability = text(product, "stock_status").and_then(|text| super::product::availability(&text));
    let description = filled(product, "short_description").or_else(|| filled(product, "description"));
    Draft {
        id: text(product, "id"),
        group: None,
        title: text(product, "name").map(|name| super::texts::without_tags(&name)),
        description,
        url: text(product, "permalink"),
        image: each(product, "images", "src").into_iter().next(),
        price: offer.price,
        sale_price: offer.sale_price,
        sale_dates: sale_dates(product, "date_on_sale_from_gmt", "date_on_sale_to_gmt"),
        price_varies: offer.varies,
        availability,
        tags: tags(product),
    }
}

/// Returns a text or a number as text, if it is not empty.
fn filled(value: &Value, name: &str) -> Option<String> {
    text(value, name).filter(|text| !text.trim().is_empty())
}

fn tags(product: &Value) -> Vec<String> {
    [each(product, "categories", "name"), each(product, "tags", "name")].concat()
}
