//! Number formats of prices, alone and of a whole feed.

use super::*;
use crate::product_feed::{NumberFormat, PriceRules};

const SPELLINGS: &str = include_str!("../../../../tests/feeds/number_formats.tsv");

/// Returns a text with the characters of its escapes such as `\u{a0}`.
fn unescaped(text: &str) -> String {
    let mut parts = text.split("\\u{");
    let mut whole = parts.next().unwrap().to_owned();
    for part in parts {
        let (code, rest) = part.split_once('}').unwrap();
        whole.push(char::from_u32(u32::from_str_radix(code, 16).unwrap()).unwrap());
        whole.push_str(rest);
    }
    whole
}

/// Returns the same prices as a feed in XML, as a table and as JSON.
fn feeds(prices: &[&str]) -> [String; 3] {
    let link = |at: usize| format!("https://shop.example/{at}");
    let element = |(at, price): (usize, &&str)| {
        format!(
            "<item><g:id>{at}</g:id><title>a</title><link>{}</link><g:price>{price}</g:price></item>",
            link(at)
        )
    };
    let row = |(at, price): (usize, &&str)| format!("{at}\ta\t{}\t{price}\n", link(at));
    let item = |(at, price): (usize, &&str)| json!({"id": at, "title": "a", "url": link(at), "price": price});
    let prices = || prices.iter().enumerate();
    [
        rss(&prices().map(element).collect::<String>()),
        format!("id\ttitle\tlink\tprice\n{}", prices().map(row).collect::<String>()),
        json!({"items": prices().map(item).collect::<Vec<_>>()}).to_string(),
    ]
}

fn read(text: &str, rules: PriceRules<'_>) -> Feed {
    Feed::parse(text.as_bytes(), FormatChoice::Auto, URL, rules).unwrap()
}

/// Returns the prices of the items in the order of the feed: `?`, `~`, `-` and `$` stand for faults.
fn shown(feed: &Feed) -> Vec<String> {
    let mut shown: Vec<(usize, String)> = feed
        .products
        .iter()
        .map(|product| {
            let price = product.price.as_ref().unwrap();
            (product.external_id.parse().unwrap(), format!("{} {}", price.amount, price.currency))
        })
        .collect();
    for fault in &feed.faults {
        let sign = match fault.error {
            ProductError::AmbiguousPrice { .. } => "?",
            ProductError::OtherNumberFormat { .. } => "~",
            ProductError::Price(_) => "-",
            ProductError::NoCurrency(_) => "$",
            _ => panic!("{fault:?}"),
        };
        shown.push((fault.item - 1, sign.to_owned()));
    }
    shown.sort();
    shown.into_iter().map(|(_, price)| price).collect()
}

/// Oracle: the table of spellings, which was written by hand.
#[test]
fn each_spelling_means_the_amount_of_the_table() {
    let mut rows = SPELLINGS.lines().filter(|line| !line.starts_with('#'));
    let header: Vec<&str> = rows.next().unwrap().split('\t').collect();
    let currencies = &header[3..];
    let mut count = 0;
    for row in rows {
        let cells: Vec<&str> = row.split('\t').collect();
        assert_eq!(cells.len(), header.len(), "{row}");
        let spelling = unescaped(cells[0]);
        for (at, currency) in currencies.iter().enumerate() {
            let settings = [
                (NumberFormat::Dot, cells[1]),
                (NumberFormat::Comma, cells[2]),
                (NumberFormat::Auto, cells[3 + at]),
            ];
            for (numbers, expected) in settings {
                let expected = match expected {
                    "?" | "~" | "-" => expected.to_owned(),
                    amount => format!("{amount} {currency}"),
                };
                let places = [
                    format!("{spelling} {currency}"),
                    format!("{currency}\u{a0}{spelling}"),
                    format!(" {currency}{spelling} "),
                    spelling.clone(),
                ];
                for text in places.iter().flat_map(|place| feeds(&[place])) {
                    let feed = read(&text, PriceRules { currency: Some(currency), numbers });
                    assert_eq!(shown(&feed), [expected.as_str()], "{numbers:?} {text}");
                    count += 1;
                }
            }
        }
    }
    assert!(count >= 40 * 6 * 3 * 4 * 3, "{count}");
}

#[test]
fn prices_of_a_feed_show_its_number_format_together() {
    for (prices, expected) in [
        (&["1.299 EUR", "12,50 EUR"][..], &["1299 EUR", "12.50 EUR"][..]),
        (&["1.299 EUR", "12.50 EUR"], &["1.299 EUR", "12.50 EUR"]),
        (&["1,299 USD", "12.50 USD"], &["1299 USD", "12.50 USD"]),
        (&["1,299 USD", "1 299,50 USD"], &["1.299 USD", "1299.50 USD"]),
        (&["15.000 COP", "1.250.000 COP"], &["15000 COP", "1250000 COP"]),
        // What has no fraction shows it too.
        (&["1.299 EUR", "199.000 VND"], &["1299 EUR", "199000 VND"]),
        // A point before three digits is what the dinar has, unless another price says otherwise.
        (&["1,299 KWD", "15.500 KWD"], &["1299 KWD", "15.50 KWD"]),
        (&["1.299 KWD", "1.299,500 KWD"], &["1299 KWD", "1299.50 KWD"]),
        // Nothing shows it, or both are there.
        (&["15.000 COP", "199.000 COP", "950 COP"], &["?", "?", "950 COP"]),
        (&["1.299 EUR", "12,50 EUR", "12.50 EUR"], &["?", "12.50 EUR", "12.50 EUR"]),
        (
            &["1.299 EUR", "15.000 COP", "1.299 \u{20ac}", "1.299,00 EUR", "12.99 EUR"],
            &["?", "?", "?", "1299.00 EUR", "12.99 EUR"],
        ),
    ] {
        for text in feeds(prices) {
            assert_eq!(shown(&read(&text, PriceRules::default())), expected, "{text}");
        }
    }
}

#[test]
fn fault_of_a_price_names_the_setting_that_cures_it() {
    let detail = |price: &str, numbers| {
        let feed = read(&feeds(&[price])[0], PriceRules { currency: None, numbers });
        feed.faults[0].error.to_string()
    };
    assert_eq!(
        detail("1.299 EUR", NumberFormat::Auto),
        "its price `1.299 EUR` could mean two amounts, and the other prices do not show which; \
         set `number_format` of the source to `dot` for 1.299 or to `comma` for 1299"
    );
    assert_eq!(
        detail("12,50 EUR", NumberFormat::Dot),
        "its price `12,50 EUR` is not in the number format `dot`; \
         set `number_format` of the source to `comma` or `auto`"
    );
    assert_eq!(
        detail("15.00", NumberFormat::Auto),
        "its price `15.00` has no currency; set `currency` of the source"
    );
    let cured = read(&feeds(&["1.299 EUR"])[0], PriceRules { currency: None, numbers: NumberFormat::Comma });
    assert_eq!(shown(&cured), ["1299 EUR"]);
}

/// Behind twenty items without a title, the price with two meanings has its line too.
#[test]
fn each_kind_of_fault_is_among_the_first() {
    let untitled = "<item><g:id>u</g:id><link>https://shop.example/u</link></item>".repeat(30);
    let [xml, ..] = feeds(&["1.299 EUR", "15"]);
    let xml = xml.replacen("<item>", &format!("{untitled}<item>"), 1);
    let feed = read(&xml, PriceRules::default());
    let kinds: Vec<_> = feed.main_faults(5).into_iter().map(|fault| (fault.item, &fault.error)).collect();
    assert_eq!(feed.faulty, 32);
    assert_eq!(kinds.len(), 5);
    assert!(matches!(kinds[3], (31, ProductError::AmbiguousPrice { .. })), "{kinds:?}");
    assert!(matches!(kinds[4], (32, ProductError::NoCurrency(_))), "{kinds:?}");
}

#[test]
fn numbers_of_programs_have_a_point() {
    let item = |price: serde_json::Value| json!({"id": 0, "title": "a", "url": "https://shop.example/0", "price": price});
    for (price, expected) in [
        (json!(1.299), "1.299 EUR"),
        (json!({"amount": 1299.5, "currency": "EUR"}), "1299.5 EUR"),
        (json!({"amount": "1.299", "currency": "EUR"}), "?"),
    ] {
        let text = json!({"items": [item(price)]}).to_string();
        assert_eq!(shown(&read(&text, PriceRules::from(Some("EUR")))), [expected], "{text}");
    }
    let shopify =
        json!({"products": [{"id": 0, "title": "a", "handle": "a", "variants": [{"price": "1.299"}]}]});
    assert_eq!(shown(&read(&shopify.to_string(), PriceRules::from(Some("EUR")))), ["1.299 EUR"]);
}
