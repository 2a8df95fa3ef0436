use serde_json::json;
use shared::time::UnixMillis;

use super::*;
use crate::{
    page::document::Availability,
    product_feed::{FeedFault, FeedProduct, ProductError, ShopEvent, woocommerce_event},
};

mod prices;
mod shops;
mod variants;
mod woocommerce;

const URL: &str = "https://shop.example/feed";

fn parse(text: &str) -> Result<Feed, FeedError> {
    Feed::parse(text.as_bytes(), FormatChoice::Auto, URL, Some("EUR"))
}

fn price(product: &FeedProduct) -> String {
    let text = |price: &crate::page::document::Price| format!("{} {}", price.amount, price.currency);
    let sale = product.sale_price.as_ref().map(text).unwrap_or_default();
    format!("{}/{sale}", product.price.as_ref().map(text).unwrap_or_default())
}

/// Returns an RSS feed of Merchant Center with these items.
fn rss(items: &str) -> String {
    format!(
        r#"<?xml version="1.0" encoding="UTF-8"?>
        <rss xmlns:g="http://base.google.com/ns/1.0" version="2.0"><channel>
        <title>Shop</title><link>https://shop.example</link><description>All</description>
        {items}
        </channel></rss>"#
    )
}

#[test]
fn merchant_rss_is_read() {
    let feed = parse(&rss(r#"<item>
          <g:id>sku-1</g:id><title>Not this</title><g:title>Mug &amp; saucer</g:title>
          <g:description><![CDATA[<b>Hand</b> made]]></g:description>
          <g:link>https://shop.example/mug?a=1&amp;b=2</g:link>
          <g:image_link>https://cdn.example/mug.jpg</g:image_link>
          <g:shipping><g:country>DE</g:country><g:price>4.95 EUR</g:price></g:shipping>
          <g:price>15.00 EUR</g:price><g:sale_price>12.00 EUR</g:sale_price>
          <g:availability>out of stock</g:availability>
          <g:product_type>Home &gt; Mugs</g:product_type>
        </item>
        <item><g:id>sku-2</g:id><title>T&#233;apot</title><link>https://shop.example/pot</link></item>"#))
    .unwrap();
    assert_eq!((feed.format, feed.items, feed.faulty), (FeedFormat::MerchantXml, 2, 0));
    let [mug, pot] = feed.products.as_slice() else { panic!("{feed:?}") };
    assert_eq!(mug.external_id, "sku-1");
    assert_eq!(mug.title, "Not this", "the first title of an item counts");
    assert_eq!(mug.description.as_deref(), Some("Hand made"));
    assert_eq!(mug.url.as_str(), "https://shop.example/mug?a=1&b=2");
    assert_eq!(mug.image.as_ref().unwrap().as_str(), "https://cdn.example/mug.jpg");
    assert_eq!(price(mug), "15.00 EUR/12.00 EUR", "and not that of shipping");
    assert_eq!(mug.availability, Availability::OutOfStock);
    assert_eq!(mug.tags, ["home", "mugs"]);
    assert_eq!((pot.title.as_str(), price(pot).as_str()), ("T\u{e9}apot", "/"));
    assert_eq!(pot.availability, Availability::InStock);
}

#[test]
fn merchant_atom_with_another_prefix_is_read() {
    let feed = parse(
        r#"<feed xmlns="http://www.w3.org/2005/Atom" xmlns:google="http://base.google.com/ns/1.0">
        <title>Shop</title><link rel="self" href="https://shop.example/atom"/>
        <entry><id>tag:shop.example,1</id><google:id>7</google:id><title>Lamp</title>
          <link rel="self" href="https://shop.example/atom/7"/><link href="https://shop.example/lamp"/>
          <g:price>1.00 EUR</g:price><google:price>49.5 USD</google:price><summary>Warm</summary></entry></feed>"#,
    )
    .unwrap();
    let [lamp] = feed.products.as_slice() else { panic!("{feed:?}") };
    assert_eq!((lamp.external_id.as_str(), lamp.url.as_str()), ("7", "https://shop.example/lamp"));
    assert_eq!((price(lamp).as_str(), lamp.description.as_deref()), ("49.5 USD/", Some("Warm")));
}

#[test]
fn merchant_table_is_read() {
    let tsv = "id\ttitle\tlink\tprice\tsale price\tavailability\timage link\tcustom_label_0\n\
        1\tMug, large\thttps://shop.example/mug\t15,50 EUR\t\tpreorder\thttps://cdn.example/m.jpg\tGifts\n\
        \n2\t\"Pot\tgreen\"\thttps://shop.example/pot\t20\t25\tin_stock\t\t\n";
    let feed = parse(tsv).unwrap();
    let [mug, pot] = feed.products.as_slice() else { panic!("{feed:?}") };
    assert_eq!((mug.title.as_str(), price(mug).as_str()), ("Mug, large", "15.50 EUR/"));
    assert_eq!((mug.availability, mug.tags.as_slice()), (Availability::Preorder, &["gifts".to_owned()][..]));
    assert_eq!(
        (pot.title.as_str(), price(pot).as_str()),
        ("Pot green", "20 EUR/"),
        "a higher sale price is none"
    );
    for csv in [
        "ID,Title,Link\r\n1,\"a \"\"b\"\"\",https://shop.example/a",
        "id;title;link\n1;a \"b\";https://shop.example/a\n",
    ] {
        assert_eq!(parse(csv).unwrap().products[0].title, "a \"b\"", "{csv}");
    }
    assert_eq!(parse("id,title\n1,a"), Err(FeedError::Column { name: "link" }));
}

#[test]
fn shopify_products_are_read() {
    let body = json!({"products": [
        {"id": 632_910_392_u64, "title": "IPod", "handle": "ipod", "body_html": "<p>It's <b>small</b></p>",
         "vendor": "Apple", "product_type": "Music", "tags": ["Sale", "audio"],
         "images": [{"src": "https://cdn.shopify.com/ipod.png"}],
         "variants": [{"price": "249.00", "compare_at_price": null, "available": false},
                      {"price": "199.00", "compare_at_price": "299.00", "available": true}]},
        {"id": 2, "title": "Case", "handle": "case", "variants": [{"price": "10.00", "available": false}]},
        {"id": 3, "title": "No handle", "variants": []}
    ]});
    let feed = parse(&body.to_string()).unwrap();
    assert_eq!((feed.format, feed.items, feed.faulty), (FeedFormat::Shopify, 3, 1));
    assert_eq!(feed.faults[0], FeedFault { item: 3, id: Some("3".to_owned()), error: ProductError::NoUrl });
    let [ipod, case] = feed.products.as_slice() else { panic!("{feed:?}") };
    assert_eq!(
        (ipod.external_id.as_str(), ipod.url.as_str()),
        ("632910392", "https://shop.example/products/ipod")
    );
    assert_eq!(
        (price(ipod).as_str(), ipod.description.as_deref()),
        ("299.00 EUR/199.00 EUR", Some("It's small"))
    );
    assert_eq!(ipod.tags, ["apple", "audio", "music", "sale"]);
    assert_eq!((price(case).as_str(), case.availability), ("10.00 EUR/", Availability::OutOfStock));
    let without = Feed::parse(body.to_string().as_bytes(), FormatChoice::Auto, URL, None);
    assert_eq!(without, Err(FeedError::NoCurrency));
}

#[test]
fn woocommerce_products_are_read() {
    let body = json!([
        {"id": 34, "name": "WordPress &amp; Pennant", "permalink": "https://shop.example/product/pennant/",
         "short_description": "<p>A pennant</p>", "is_in_stock": true, "is_on_backorder": false,
         "prices": {"price": "1105", "regular_price": "1205", "sale_price": "1105", "currency_code": "GBP", "currency_minor_unit": 2},
         "images": [{"src": "https://shop.example/pennant.jpg", "alt": ""}],
         "categories": [{"name": "Decor"}], "tags": [{"name": "Flag"}]},
        {"id": 35, "name": "Kimono", "permalink": "https://shop.example/product/kimono/", "is_in_stock": false,
         "prices": {"price": "9800", "regular_price": "9800", "sale_price": "9800", "currency_code": "JPY", "currency_minor_unit": 0}}
    ]);
    let feed = parse(&body.to_string()).unwrap();
    let [pennant, kimono] = feed.products.as_slice() else { panic!("{feed:?}") };
    assert_eq!(
        (pennant.title.as_str(), price(pennant).as_str()),
        ("WordPress & Pennant", "12.05 GBP/11.05 GBP")
    );
    assert_eq!(pennant.tags, ["decor", "flag"]);
    assert_eq!((price(kimono).as_str(), kimono.availability), ("9800 JPY/", Availability::OutOfStock));
}

#[test]
fn own_items_are_read() {
    let items = json!([{"external_id": "a", "title": "A", "url": "https://shop.example/a",
        "image": {"url": "https://cdn.example/a.jpg", "alt": ""}, "price": {"amount": "15.00", "currency": "EUR"},
        "sale_price": {"amount": "9.99", "currency": "EUR"}, "availability": "backorder", "tags": ["New"]}]);
    for body in [items.clone(), json!({"items": items}), json!({"products": {"items": items}})] {
        let feed = parse(&body.to_string()).unwrap();
        assert_eq!(feed.format, FeedFormat::Items);
        let [product] = feed.products.as_slice() else { panic!("{feed:?}") };
        assert_eq!(
            (price(product).as_str(), product.availability),
            ("15.00 EUR/9.99 EUR", Availability::Backorder)
        );
    }
}

#[test]
fn faulty_item_leaves_the_others() {
    let feed = parse(&rss(
        "<item><title>a</title><link>https://shop.example/a</link></item>
         <item><g:id>2</g:id><link>https://shop.example/a</link></item>
         <item><g:id>3</g:id><title>a</title></item>
         <item><g:id>4</g:id><title>a</title><link>javascript:alert(1)</link></item>
         <item><g:id>5</g:id><title>a</title><link>https://shop.example/a</link><g:price>a lot</g:price></item>
         <item><g:id>6</g:id><title>a</title><link>https://shop.example/a</link></item>
         <item><g:id>6</g:id><title>b</title><link>https://shop.example/b</link></item>
         <item><g:id>7</g:id><title>a</title><link>https://shop.example/a</link><g:item_group_id>g</g:item_group_id></item>
         <item><g:id>8</g:id><title>b</title><link>https://shop.example/b</link><g:item_group_id>g</g:item_group_id></item>",
    ))
    .unwrap();
    let errors: Vec<_> = feed.faults.iter().map(|fault| fault.error.clone()).collect();
    assert_eq!(
        errors,
        [
            ProductError::NoId,
            ProductError::NoTitle,
            ProductError::NoUrl,
            ProductError::Url(crate::page::UrlError::Scheme),
            ProductError::Price("a lot".to_owned()),
            ProductError::Duplicate,
        ]
    );
    let ids: Vec<_> = feed.products.iter().map(|product| product.external_id.as_str()).collect();
    assert_eq!((ids, feed.items, feed.faulty), (vec!["6", "7"], 9, 6), "a group shows one of its variants");
}

#[test]
fn id_of_invisible_characters_is_none() {
    let feed =
        parse(&rss("<item><g:id>\u{202e}</g:id><title>a</title><link>https://shop.example/a</link></item>"))
            .unwrap();
    assert_eq!(feed.faults.iter().map(|fault| &fault.error).collect::<Vec<_>>(), [&ProductError::NoId]);
}

#[test]
fn sale_price_has_its_dates() {
    let rss = rss("<item><g:id>1</g:id><title>a</title><link>https://shop.example/a</link>
        <g:price>15.00 EUR</g:price><g:sale_price>12.00 EUR</g:sale_price>
        <g:sale_price_effective_date>2020-03-01T13:00-0800/2020-03-11T15:30-0800</g:sale_price_effective_date></item>");
    let table = "id,title,link,price,sale price,sale price effective date\n\
        1,a,https://shop.example/a,15 EUR,12 EUR,2020-03-01T21:00Z/2020-03-11T23:30Z";
    let items = json!([{"external_id": "1", "title": "a", "url": "https://shop.example/a", "price": "15 EUR",
        "sale_price": "12 EUR", "sale_from": "2020-03-01T21:00:00Z", "sale_until": "2020-03-11T23:30:00Z"}]);
    for text in [rss, table.to_owned(), items.to_string()] {
        let feed = parse(&text).unwrap();
        let [product] = feed.products.as_slice() else { panic!("{feed:?}") };
        let until = UnixMillis::from_rfc3339("2020-03-11T23:30:00Z").unwrap();
        let amounts = [until.minus(1), until].map(|now| product.amount(now));
        assert_eq!(amounts, [Some(12_000), Some(15_000)], "{text}");
    }
    let faulty = items.to_string().replace("2020-03-11T", "soon");
    assert!(matches!(parse(&faulty).unwrap().faults[0].error, ProductError::SaleDates(_)));
    let pushed = json!({"id": 1, "name": "a", "permalink": "https://shop.example/a", "regular_price": "15",
        "sale_price": "12", "date_on_sale_from_gmt": null, "date_on_sale_to_gmt": "2020-03-11T23:59:59"});
    let event = woocommerce_event("product.updated", &pushed, "EUR").unwrap();
    let Some(ShopEvent::Upsert(product, _)) = event else { panic!("{event:?}") };
    assert_eq!(product.sale_until, UnixMillis::from_rfc3339("2020-03-11T23:59:59Z"));
}

#[test]
fn lowest_price_of_variants_is_shown() {
    let variant = |id: usize, price: &str| {
        format!(
            "<item><g:id>{id}</g:id><title>a</title><link>https://shop.example/{id}</link>
            <g:item_group_id>g</g:item_group_id><g:price>{price} EUR</g:price></item>"
        )
    };
    let merchant = rss(&[variant(1, "12.00"), variant(2, "10.00"), variant(3, "15.00")].concat());
    let shopify = json!({"products": [{"id": 1, "title": "a", "handle": "a", "variants": [
        {"price": "8.00", "available": false}, {"price": "12.00", "available": true}, {"price": "10.00", "available": true}]}]});
    let woo = json!([{"id": 1, "name": "a", "permalink": "https://shop.example/a", "prices": {
        "price": "1000", "regular_price": "1000", "sale_price": "1000", "currency_code": "EUR", "currency_minor_unit": 2,
        "price_range": {"min_amount": "1000", "max_amount": "1500"}}}]);
    for text in [merchant, shopify.to_string(), woo.to_string()] {
        let feed = parse(&text).unwrap();
        let [product] = feed.products.as_slice() else { panic!("{feed:?}") };
        assert_eq!((price(product).as_str(), product.price_varies), ("10.00 EUR/", true), "{text}");
    }
    let same = parse(&rss(&[variant(1, "12.00"), variant(2, "12")].concat())).unwrap();
    assert!(!same.products[0].price_varies);
}

/// Shops encode their texts for HTML, and feeds those once more.
#[test]
fn references_of_html_are_decoded_in_every_format() {
    let item = |title: &str| {
        format!(
            "<item><g:id>1</g:id><g:title>{title}</g:title><g:link>https://shop.example/a</g:link></item>"
        )
    };
    let woo = json!([{"id": 1, "name": "Women&#8217;s <b>T&#8211;Shirt</b>", "permalink": "https://shop.example/a",
        "prices": {}, "categories": [{"name": "Caf&eacute;"}]}]);
    let shopify = json!({"products": [{"id": 1, "title": "Women&rsquo;s T&#x2013;Shirt", "handle": "a", "variants": []}]});
    for text in [
        rss(&item("Women&#8217;s T&ndash;Shirt")),
        rss(&item("Women&amp;#8217;s T&amp;ndash;Shirt")),
        rss(&item("<![CDATA[Women&#8217;s T&ndash;Shirt]]>")),
        rss(&item("<![CDATA[Women&amp;#8217;s T&amp;ndash;Shirt]]>")),
        "id,title,link\n1,Women&#8217;s T&#8211;Shirt,https://shop.example/a".to_owned(),
        "id,title,link\n1,Women&amp;#8217;s T&amp;ndash;Shirt,https://shop.example/a".to_owned(),
        woo.to_string(),
        shopify.to_string(),
    ] {
        let feed = parse(&text).unwrap();
        assert_eq!(feed.products[0].title, "Women\u{2019}s T\u{2013}Shirt", "{text}");
    }
    assert_eq!(parse(&woo.to_string()).unwrap().products[0].tags, ["caf\u{e9}"]);
}

/// A bomb of entities (billion laughs), external entities, and other ways to make a feed grow.
#[test]
fn xml_that_could_grow_is_refused() {
    let bomb = r#"<!DOCTYPE rss [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">]><rss><channel><item><title>&b;</title></item></channel></rss>"#;
    assert_eq!(parse(bomb), Err(FeedError::DocumentType));
    let external = r#"<!DOCTYPE rss SYSTEM "file:///etc/passwd"><rss/>"#;
    assert_eq!(parse(external), Err(FeedError::DocumentType));
    let entity = rss("<item><title>&bomb;</title></item>");
    assert_eq!(parse(&entity), Err(FeedError::Entity { name: "bomb".to_owned() }));
    let deep = rss(&format!("{}{}", "<a>".repeat(100), "</a>".repeat(100)));
    assert_eq!(parse(&deep), Err(FeedError::TooDeep { max: 32 }));
    let deep = format!("{}{}", "[".repeat(500), "]".repeat(500));
    assert!(matches!(parse(&deep), Err(FeedError::Json { .. })));
}

/// Half of a feed is not a feed of half the products: the others would leave the page.
#[test]
fn xml_that_is_cut_off_anywhere_is_refused() {
    let item = |id| {
        format!(
            "<item><g:id>{id}</g:id><title>Mug</title><link>https://shop.example.com/{id}</link></item>\n"
        )
    };
    let whole = rss(&(0..4).map(item).collect::<String>());
    let end = whole.rfind("</rss>").unwrap();
    assert_eq!(parse(&whole).unwrap().products.len(), 4);
    for at in 0..end {
        assert!(parse(&whole[..at]).is_err(), "cut off after {}", &whole[..at]);
    }
}

#[test]
fn response_that_is_no_feed_is_refused() {
    assert!(matches!(parse(&rss("<item><title>a</item>")), Err(FeedError::Xml { .. })));
    for text in ["", "  ", "hello", "<svg/>", "{\"a\":1}", "\"text\"", "<?xml version=\"1.0\"?>"] {
        assert_eq!(parse(text), Err(FeedError::Unknown), "{text}");
    }
    let page = "<!DOCTYPE html><html><body>Not found</body></html>";
    assert_eq!(parse(page), Err(FeedError::WebPage));
    let only =
        |format, text: &str| Feed::parse(text.as_bytes(), FormatChoice::Only(format), URL, Some("EUR"));
    assert_eq!(only(FeedFormat::Shopify, page), Err(FeedError::NotShopify));
    let other = FeedError::OtherFormat { found: FeedFormat::Items, expected: FeedFormat::Shopify };
    assert_eq!(only(FeedFormat::Shopify, "[{}]"), Err(other));
    assert_eq!(only(FeedFormat::Woocommerce, "[]").unwrap().products, []);
    assert_eq!(Feed::parse(b"\xff\xfe<", FormatChoice::Auto, URL, None), Err(FeedError::Encoding));
}
