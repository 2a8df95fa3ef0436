//! Feeds as shops write them: with faults that can be read, and in forms that cannot.

use super::*;

#[test]
fn bare_ampersand_does_not_refuse_the_feed() {
    let items = "<item><g:id>1</g:id><title>Mug</title><link>https://shop.example/1</link></item>\n\
        <item><g:id>2</g:id><title>Salt & Pepper</title><link>https://shop.example/2?a=1&b=2</link></item>\n\
        <item><g:id>3</g:id><title>Pot &amp; lid</title><link>https://shop.example/3</link></item>";
    let text = rss(items);
    let line = text.lines().position(|line| line.contains("Salt")).unwrap() + 1;
    let feed = parse(&text).unwrap();
    let titles: Vec<_> = feed.products.iter().map(|product| product.title.as_str()).collect();
    assert_eq!((titles, feed.faulty), (vec!["Mug", "Salt & Pepper", "Pot & lid"], 0));
    assert_eq!(feed.products[1].url.as_str(), "https://shop.example/2?a=1&b=2");
    let error = ProductError::Ampersand { line };
    assert_eq!(feed.main_faults(5), [&FeedFault { item: 2, id: None, error }]);
    // What is broken otherwise stays refused, and entities are never made.
    assert!(matches!(parse(&rss("<item><title>a & b</item>")), Err(FeedError::Xml { .. })));
    let bomb = rss("<item><title>& &bomb;</title></item>");
    assert_eq!(parse(&bomb), Err(FeedError::Entity { name: "bomb".to_owned() }));
}

#[test]
fn image_that_is_left_out_is_named() {
    let item = |id: &str, image: &str| {
        format!(
            "<item><g:id>{id}</g:id><title>a</title><link>https://shop.example/{id}</link><g:image_link>{image}</g:image_link></item>"
        )
    };
    let images =
        ["https://cdn.example/My Image.jpg", "//cdn.example/2.jpg", "http://cdn.example/3.jpg", "/4.jpg"];
    let text: String = images.iter().enumerate().map(|(at, image)| item(&at.to_string(), image)).collect();
    let feed = parse(&rss(&text)).unwrap();
    let shown: Vec<_> =
        feed.products.iter().map(|product| product.image.as_ref().map(|image| image.as_str())).collect();
    assert_eq!(
        shown,
        [
            Some("https://cdn.example/My%20Image.jpg"),
            Some("https://cdn.example/2.jpg"),
            Some("https://cdn.example/3.jpg"),
            None
        ]
    );
    let [note] = feed.main_faults(5)[..] else { panic!("{feed:?}") };
    assert_eq!((note.item, note.id.as_deref(), feed.faulty), (4, Some("3"), 0));
    assert_eq!(
        note.error.to_string(),
        "its image `/4.jpg` is left out: it must be an address such as https://example.com/path, which begins \
         with https:// or http://"
    );
    let link = rss("<item><g:id>1</g:id><title>a</title><link>//shop.example/a b</link></item>");
    assert_eq!(parse(&link).unwrap().products[0].url.as_str(), "https://shop.example/a%20b");
}

#[test]
fn table_of_excel_and_of_meta_is_read() {
    let meta = "\"# Required | A unique content ID for the item, such as its SKU.\",# Required | The title.,# Required\n\
        id,title,link,price\n1,\"Mug, large\",https://shop.example/1,15.00 EUR\n";
    for (text, title) in [
        ("sep=;\nid;title;link;price\n1;Mug, large;https://shop.example/1;15.00 EUR\n", "Mug, large"),
        (
            "\"sep=,\"\r\nid,title,link,price\r\n1,Mug; large,https://shop.example/1,15.00 EUR\r\n",
            "Mug; large",
        ),
        ("SEP=|\nid|title|link|price\n1|Mug; large|https://shop.example/1|15.00 EUR\n", "Mug; large"),
        (meta, "Mug, large"),
    ] {
        let feed = parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!((feed.products[0].title.as_str(), feed.items, feed.faulty), (title, 1, 0), "{text}");
    }
}

/// Oracle: the headers of the shops' exports, from their documentation.
#[test]
fn export_of_a_shop_says_what_to_use() {
    for (header, shop, instead) in [
        (
            "Handle,Title,Body (HTML),Vendor,Product Category,Type,Tags,Published,Option1 Name,Option1 Value,Variant SKU,Variant Grams,Variant Inventory Tracker,Variant Inventory Qty,Variant Price,Variant Compare At Price,Image Src,Image Position,SEO Title,Status",
            "Shopify",
            "products.json",
        ),
        (
            "Title,URL handle,Description,Vendor,Product category,Type,Tags,Published on online store,Status,SKU,Barcode,Option1 name,Option1 value,Price,Compare-at price,Cost per item,Product image URL",
            "Shopify",
            "products.json",
        ),
        (
            "ID,Type,SKU,\"GTIN, UPC, EAN, or ISBN\",Name,Published,\"Is featured?\",\"Visibility in catalog\",\"Short description\",Description,\"In stock?\",Stock,\"Sale price\",\"Regular price\",Categories,Tags,Images,Parent",
            "WooCommerce",
            "wp-json/wc/store",
        ),
        (
            "TITLE,DESCRIPTION,PRICE,CURRENCY_CODE,QUANTITY,TAGS,MATERIALS,IMAGE1,IMAGE2,VARIATION 1 TYPE,SKU",
            "Etsy",
            "`items`",
        ),
        (
            "Item Type,Product ID,Product Name,Product Type,Product Code/SKU,Bin Picking Number,Brand Name,Price,Cost Price,Retail Price,Sale Price,Product URL",
            "BigCommerce",
            "Google Shopping",
        ),
        (
            "Item,ID,Name,Type,SKU,Options,Inventory Tracking,Current Stock,Low Stock,Price,Brand ID,Description",
            "BigCommerce",
            "Google Shopping",
        ),
        (
            "\"Product ID\";Image;Name;Reference;Category;\"Price (tax excl.)\";\"Price (tax incl.)\";Quantity;Status;Position",
            "PrestaShop",
            "Google Merchant",
        ),
        (
            "Product ID;Active (0/1);Name *;Categories (x,y,z...);Price tax excluded;Tax rules ID;Wholesale price;On sale (0/1)",
            "PrestaShop",
            "Google Merchant",
        ),
    ] {
        let error = parse(&format!("{header}\n1,2,3\n")).unwrap_err().to_string();
        assert!(error.contains(&format!("{shop}'s export")) && error.contains(instead), "{header}: {error}");
    }
}
