//! Prices of WooCommerce as the shop shows them.
//!
//! Oracle: `get_price_html` of WooCommerce. It strikes the regular price out while the product is on sale,
//! shows `price` as what is to be paid, and shows two prices of variants as a range.

use serde_json::Value;

use super::*;
use crate::page::document::is_within;

fn listed(more: Value) -> String {
    let mut product = json!({"id": 1, "name": "a", "permalink": "https://shop.example/a"});
    product.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let feed = parse(&json!([product]).to_string()).unwrap();
    let [product] = feed.products.as_slice() else { panic!("{feed:?}") };
    format!("{}{}", price(product), if product.price_varies { " from" } else { "" })
}

#[test]
fn listed_price_is_that_of_the_shop() {
    let prices = |price: &str, regular: &str, sale: &str| {
        json!({"price": price, "regular_price": regular, "sale_price": sale, "price_range": null,
            "currency_code": "EUR", "currency_minor_unit": 2})
    };
    for (on_sale, prices, expected) in [
        // The sale has not begun, or is over.
        (json!(false), prices("1500", "1500", "1000"), "15.00 EUR/"),
        (json!(true), prices("1000", "1500", "1000"), "15.00 EUR/10.00 EUR"),
        // A discount for the role of the visitor, without and with a sale.
        (json!(false), prices("1200", "1500", "1500"), "12.00 EUR/"),
        (json!(true), prices("900", "1500", "1000"), "15.00 EUR/9.00 EUR"),
        (json!(true), prices("1700", "1500", "1000"), "17.00 EUR/"),
        // Former versions do not say whether a sale runs.
        (json!(null), prices("1000", "1500", "1000"), "15.00 EUR/10.00 EUR"),
        (json!(null), prices("1500", "1500", "1000"), "15.00 EUR/"),
        (json!(false), prices("", "1500", ""), "15.00 EUR/"),
    ] {
        assert_eq!(listed(json!({"on_sale": on_sale, "prices": prices})), expected, "{on_sale} {prices}");
    }
    let range = |min: &str, max: &str| {
        json!({"on_sale": true, "prices": {"price": min, "regular_price": "2000", "sale_price": min,
            "price_range": {"min_amount": min, "max_amount": max}, "currency_code": "EUR", "currency_minor_unit": 2}})
    };
    assert_eq!(listed(range("1000", "1500")), "10.00 EUR/ from");
    assert_eq!(listed(range("1000", "1000")), "20.00 EUR/10.00 EUR");
}

/// A price without the code was shown without a currency, and with any text as a code.
#[test]
fn listed_price_without_a_currency_has_that_of_its_source() {
    let prices = |code: Value| {
        json!([{"id": 1, "name": "a", "permalink": "https://shop.example/a",
            "prices": {"price": "1500", "currency_code": code, "currency_minor_unit": 2}}])
        .to_string()
    };
    let read = |code: Value, currency: Option<&str>| {
        let feed =
            Feed::parse(prices(code).as_bytes(), FormatChoice::Auto, "https://shop.example/a.json", currency);
        feed.unwrap().products.first().map(price)
    };
    assert_eq!(read(json!(null), Some("USD")).as_deref(), Some("15.00 USD/"));
    assert_eq!(read(json!("EUR"), Some("USD")).as_deref(), Some("15.00 EUR/"));
    assert_eq!(read(json!(""), None), None);
    assert_eq!(read(json!("E1R"), Some("USD")), None);
}

#[test]
fn pushed_price_is_that_of_the_shop() {
    let product = |on_sale: Value, price: &str, regular: &str, sale: &str, from: Value, to: Value| {
        json!({"id": 1, "name": "a", "permalink": "https://shop.example/a", "on_sale": on_sale, "price": price,
            "regular_price": regular, "sale_price": sale, "date_on_sale_from_gmt": from, "date_on_sale_to_gmt": to})
    };
    let now = UnixMillis::from_rfc3339("2026-11-28T00:00:00Z").unwrap();
    let shown = |body: &Value| {
        let event = woocommerce_event("product.updated", body, "EUR").unwrap();
        let Some(ShopEvent::Upsert(product, _)) = event else { panic!("{event:?}") };
        let sale =
            product.sale_price.as_ref().filter(|_| is_within(product.sale_from, product.sale_until, now));
        let paid = sale.or(product.price.as_ref()).unwrap().amount.clone();
        let struck = sale.and(product.price.as_ref()).map_or_else(String::new, |price| price.amount.clone());
        format!("{paid}/{struck}{}", if product.price_varies { " from" } else { "" })
    };
    let (null, past, future) = (json!(null), json!("2026-11-01T00:00:00"), json!("2026-12-01T00:00:00"));
    for (body, expected) in [
        (product(json!(true), "10", "15", "10", null.clone(), null.clone()), "10/15"),
        (product(json!(false), "15", "15", "10", null.clone(), null.clone()), "15/"),
        (product(json!(false), "15", "15", "10", future.clone(), null.clone()), "15/"),
        (product(json!(false), "15", "15", "10", null.clone(), past.clone()), "15/"),
        (product(json!(true), "10", "15", "10", past.clone(), future.clone()), "10/15"),
        (product(json!(true), "9", "15", "10", null.clone(), null.clone()), "9/15"),
        (product(json!(false), "12", "15", "", null.clone(), null.clone()), "12/"),
        (product(null.clone(), "10", "15", "10", null.clone(), null.clone()), "10/15"),
    ] {
        assert_eq!(shown(&body), expected, "{body}");
    }
    // It begins by itself: the shop pushes nothing then.
    let body = product(json!(false), "15", "15", "10", future, null.clone());
    let Ok(Some(ShopEvent::Upsert(soon, _))) = woocommerce_event("product.updated", &body, "EUR") else {
        panic!("{body}")
    };
    assert_eq!(soon.amount(UnixMillis::from_rfc3339("2026-12-01T00:00:01Z").unwrap()), Some(10_000));
    let mut variable = product(json!(false), "10", "", "", null.clone(), null);
    variable["type"] = json!("variable");
    variable["price_html"] = json!("<span>10,00\u{a0}&euro;</span> &ndash; <span>15,00\u{a0}&euro;</span>");
    assert_eq!(shown(&variable), "10/ from");
}
