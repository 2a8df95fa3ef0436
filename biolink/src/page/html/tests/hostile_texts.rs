//! Texts that try to leave their place.

use super::*;

/// Texts with what ends something in HTML, CSS, JSON or a header.
fn hostile() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        Just("</script>"),
        Just("</style>"),
        Just("</title>"),
        Just("<!--"),
        Just("-->"),
        Just("]]>"),
        Just("<script>"),
        Just("\""),
        Just("'"),
        Just("`"),
        Just("&"),
        Just("&quot;"),
        Just("&#x27;"),
        Just("\\"),
        Just("\\u003c"),
        Just("<img src=x onerror=alert(1)>"),
        Just("javascript:"),
        Just("=\"x\" onload="),
        Just("{{"),
        Just("\u{2028}"),
        Just("<"),
        Just(">"),
        Just("a"),
        Just(" "),
        Just("é"),
        Just("😀"),
        Just("<textarea>"),
        Just("</main>"),
        Just("<a href=//x>"),
    ];
    proptest::collection::vec(part, 1..6)
        .prop_map(|parts| parts.concat())
        .prop_filter("a text that is accepted", |text| !text.trim().is_empty() && text.chars().count() <= 60)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn hostile_text_stays_text(texts in proptest::collection::vec(hostile(), 12)) {
        let [title, bio, alt, social, link, second, direct, shop, product, third, seo, fourth] =
            &texts[..] else { unreachable!() };
        let page = document(json!({
            "title": title, "bio": bio, "avatar": {"url": "https://img.example.com/'\"><b>.jpg", "alt": alt},
            "socials": [{"platform": "github", "url": "https://github.com/?\"'><script>", "label": social}],
            "links": [{"title": link, "url": "https://example.com/?\"'><script>", "description": second},
                {"title": direct, "url": "https://example.com/?</a><script>#'", "direct": true},
                {"type": "heading", "title": link}, {"type": "text", "title": second}],
            "products": {"title": shop, "items": [{"title": product, "url": "https://example.com/'\"><b>",
                "description": third, "price": {"amount": "1", "currency": "EUR"}}]},
            "seo": {"title": seo, "description": fourth},
        }));
        let elements = check(&shown(&page));
        let text = |name: &str| named(&elements, name).iter().map(|element| element.text.clone()).collect::<Vec<_>>();
        prop_assert_eq!(text("h1"), [title.trim()]);
        prop_assert_eq!(text("title"), [seo.trim()]);
        prop_assert_eq!(text("h2"), [link.trim(), shop.trim()]);
        prop_assert_eq!(named(&elements, "img")[0].attribute("alt"), Some(alt.trim()));
        prop_assert_eq!((named(&elements, "img").len(), named(&elements, "a").len()), (2, 5));
        let data: Value = serde_json::from_str(&named(&elements, "script")[0].text).unwrap();
        prop_assert_eq!(&data["@graph"][0]["mainEntity"]["name"], title.trim());
        check(&confirm(&page, Gate::Sensitive, "/ada", None));
    }
}
