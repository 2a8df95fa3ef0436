//! Metadata for programs: structured data, previews and its policy.

use super::*;

#[test]
fn structured_data_names_the_person_and_the_products() {
    let mut body = many(1, 2);
    body["products"]["items"][1]["sale_price"] = json!({"amount": "9.50", "currency": "EUR"});
    let data = |body: Value| {
        let elements = check(&shown(&document(body)));
        serde_json::from_str::<Value>(&named(&elements, "script")[0].text).unwrap()
    };
    let graph = data(body);
    assert_eq!(graph["@context"], "https://schema.org");
    let [profile, list] = &graph["@graph"].as_array().unwrap()[..] else { panic!("{graph}") };
    assert_eq!(
        (&profile["@type"], &profile["dateModified"]),
        (&json!("ProfilePage"), &json!("2025-11-21T08:00:00Z"))
    );
    let person = &profile["mainEntity"];
    assert_eq!((&person["@type"], &person["name"]), (&json!("Person"), &json!("Ada Example")));
    assert_eq!(
        (&person["url"], &person["sameAs"][0]),
        (&json!("https://p.example/ada"), &json!("https://github.com/ada"))
    );
    let product = &list["itemListElement"][1];
    assert_eq!(
        (&list["@type"], &product["@type"], product["name"].as_str().unwrap().chars().last()),
        (&json!("ItemList"), &json!("Product"), Some('1'))
    );
    let offer = &product["offers"];
    assert_eq!(
        (&offer["price"], &offer["availability"]),
        (&json!("9.50"), &json!("https://schema.org/InStock"))
    );
    let alone = data(json!({"title": "Acme", "seo": {"type": "organization"}}));
    assert_eq!(
        (&alone["@type"], &alone["mainEntity"]["@type"]),
        (&json!("ProfilePage"), &json!("Organization"))
    );
    assert!(alone["mainEntity"].get("sameAs").is_none());
}

#[test]
fn previews_show_what_the_owner_chose() {
    let meta = |body: Value| {
        let elements = check(&shown(&document(body)));
        let pair = |meta: &&Element| {
            let name = meta.attribute("property").or_else(|| meta.attribute("name"))?.to_owned();
            Some((name, meta.attribute("content")?.to_owned()))
        };
        let canonical = named(&elements, "link")
            .iter()
            .find(|link| link.attribute("rel") == Some("canonical"))
            .unwrap()
            .attribute("href")
            .unwrap()
            .to_owned();
        (named(&elements, "meta").iter().filter_map(pair).collect::<BTreeMap<_, _>>(), canonical)
    };
    let (found, canonical) = meta(many(0, 0));
    assert_eq!(canonical, "https://p.example/ada");
    assert_eq!(
        (found["og:title"].as_str(), found["og:image"].as_str()),
        ("Ada Example", "https://img.example.com/ada.jpg")
    );
    assert_eq!(found["description"], "Mathematician and writer. First programmer.");
    assert_eq!((found["twitter:card"].as_str(), found.get("robots")), ("summary", None));
    let (found, _) = meta(json!({"title": "Ada", "bio": "x", "seo": {"title": "T", "description": "D",
        "image": {"url": "https://img.example.com/wide.jpg"}, "noindex": true}}));
    assert_eq!((found["og:title"].as_str(), found["og:description"].as_str()), ("T", "D"));
    assert_eq!(
        (found["twitter:card"].as_str(), found["robots"].as_str()),
        ("summary_large_image", "noindex")
    );
}

#[test]
fn policy_allows_the_hosts_of_the_images_on_the_page() {
    let policy =
        |document: &PageDocument| shown(document).header("content-security-policy").unwrap().to_owned();
    let images =
        |policy: &str| policy.split("; ").find(|part| part.starts_with("img-src")).unwrap().to_owned();
    assert_eq!(images(&policy(&document(many(1, 1)))), "img-src 'self' data: https://img.example.com");
    assert_eq!(images(&policy(&document(json!({"title": "x"})))), "img-src 'self' data:");
    let host = |n| format!("https://{}{n}.example.com/a.jpg", "long-name".repeat(6));
    let item = |n| json!({"title": "x", "url": "https://example.com", "image": {"url": host(n)}});
    let items: Vec<_> = (0..50).map(item).collect();
    let mut page = document(json!({"title": "x", "products": {"items": items}}));
    let long = policy(&page);
    assert_eq!(
        images(&long),
        "img-src 'self' data: https:",
        "a header of more than 4 KiB is refused by some"
    );
    page.products.enabled = false;
    assert_eq!(images(&policy(&page)), "img-src 'self' data:", "none is shown");
}
