//! Our own JSON: items in the form in which a page has them.

use serde_json::Value;

use super::{
    FeedFormat, FeedProduct, ProductError,
    feed::Feed,
    json::{sale_dates, text, words},
    number_format::NumberFormat,
    price::{Evidence, PriceRules},
    product::{Cost, Draft, availability},
};

/// A product of a push, with what is left out of it, or why it cannot be shown.
type PushedItem = Result<(FeedProduct, Option<ProductError>), ProductError>;

/// Reads a list of items.
pub(super) fn read(list: &[Value], rules: &PriceRules<'_>) -> Feed {
    let mut feed = Feed::new(FeedFormat::Items);
    for item in list {
        feed.add(draft(item), rules);
    }
    feed
}

/// Reads the products and the names of a push, each with the error of those that cannot be shown.
pub(crate) fn read_push(body: &Value, rules: PriceRules<'_>) -> (Vec<PushedItem>, Vec<String>) {
    let list = |name: &str| body.get(name).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let drafts: Vec<Draft> = list("upsert").iter().map(draft).collect();
    let mut evidence = Evidence::default();
    drafts.iter().for_each(|draft| draft.show_numbers(&mut evidence, &rules));
    // What the push shows by itself is nearer than what the feed showed.
    let rules = match evidence.format() {
        numbers @ (NumberFormat::Dot | NumberFormat::Comma) if rules.numbers == NumberFormat::Auto => {
            PriceRules { numbers, ..rules }
        }
        _ => rules,
    };
    let upserts = drafts.into_iter().map(|draft| draft.product(&rules)).collect();
    let name = |value: &Value| match value {
        Value::String(id) => Some(id.clone()),
        Value::Number(id) => Some(id.to_string()),
        value => text(value, "external_id"),
    };
    (upserts, list("delete").iter().filter_map(name).collect())
}

fn draft(item: &Value) -> Draft {
    let cost = |name: &str| match item.get(name) {
        Some(Value::String(text)) => Cost::of_text(text.clone()),
        Some(Value::Object(price)) => {
            let currency = price.get("currency").and_then(Value::as_str).unwrap_or_default();
            match price.get("amount") {
                Some(Value::Number(number)) => Cost::of_number(format!("{number} {currency}")),
                Some(Value::String(amount)) => Cost::of_text(format!("{amount} {currency}")),
                _ => Cost::of_text(currency),
            }
        }
        // Numbers of JSON have a point, whatever the shop's texts have.
        Some(Value::Number(number)) => Cost::of_number(number.to_string()),
        _ => Cost::None,
    };
    let image = item.get("image").unwrap_or(&Value::Null);
    Draft {
        id: text(item, "external_id").or_else(|| text(item, "id")),
        group: None,
        title: text(item, "title"),
        description: text(item, "description"),
        url: text(item, "url"),
        image: text(image, "url").or_else(|| text(item, "image")),
        price: cost("price"),
        sale_price: cost("sale_price"),
        sale_dates: sale_dates(item, "sale_from", "sale_until"),
        price_varies: item.get("price_varies").and_then(Value::as_bool).unwrap_or_default(),
        availability: text(item, "availability").and_then(|text| availability(&text)),
        tags: words(item, "tags"),
    }
}
