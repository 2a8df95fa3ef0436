//! Variants of a product, of which the page shows one.

use super::*;

/// Returns a feed with a group of variants: price and availability of each.
fn group(variants: &[(&str, &str)]) -> Feed {
    let variant = |(at, (price, availability)): (usize, &(&str, &str))| {
        format!(
            "<item><g:id>{at}</g:id><title>a</title><link>https://shop.example/{at}</link>\
             <g:item_group_id>G</g:item_group_id><g:price>{price} EUR</g:price>\
             <g:availability>{availability}</g:availability><g:custom_label_0>label {at}</g:custom_label_0></item>"
        )
    };
    parse(&rss(&variants.iter().enumerate().map(variant).collect::<String>())).unwrap()
}

#[test]
fn group_is_in_stock_if_one_variant_is() {
    let (out, stock) = ("out_of_stock", "in_stock");
    for (variants, availability, amount, varies, link) in [
        (&[("20.00", out), ("21.00", stock), ("22.00", stock)][..], Availability::InStock, "21.00", true, 1),
        (&[("21.00", stock), ("20.00", out), ("22.00", stock)], Availability::InStock, "21.00", true, 0),
        (&[("22.00", stock), ("21.00", stock), ("20.00", out)], Availability::InStock, "21.00", true, 0),
        (&[("20.00", out), ("21.00", stock)], Availability::InStock, "21.00", false, 1),
        (
            &[("20.00", out), ("19.00", out), ("21.00", stock), ("21.00", stock)],
            Availability::InStock,
            "21.00",
            false,
            2,
        ),
        (&[("20.00", out), ("19.00", out)], Availability::OutOfStock, "19.00", true, 0),
        (&[("20.00", out), ("25.00", "backorder")], Availability::Backorder, "25.00", false, 1),
        (&[("20.00", "preorder"), ("25.00", stock)], Availability::InStock, "20.00", true, 0),
    ] {
        let feed = group(variants);
        let [product] = feed.products.as_slice() else { panic!("{feed:?}") };
        assert_eq!(
            (product.availability, price(product), product.price_varies, product.url.as_str()),
            (availability, format!("{amount} EUR/"), varies, format!("https://shop.example/{link}").as_str()),
            "{variants:?}"
        );
        assert_eq!(product.external_id, "0", "statistics stay with the first variant");
        assert_eq!(product.tags.len(), variants.len(), "a filter finds it by each variant");
    }
}
