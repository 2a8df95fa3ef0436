use serde_json::json;
use shared::json;

use super::*;
use crate::page::{LinkId, WebUrl, document::Link};

const NOW: UnixMillis = UnixMillis(1_800_000_000_000);

fn product(byte: u8) -> Product {
    let url = WebUrl::parse("https://shop.example/").unwrap();
    let external_id = Some(format!("sku-{byte}"));
    let (description, image, price, sale_price) = (None, None, None, None);
    let (id, title) = (ProductId::new([byte; 12]), "Mug".to_owned());
    Product {
        id,
        external_id,
        title,
        description,
        url,
        image,
        price,
        sale_price,
        sale_from: None,
        sale_until: None,
        price_varies: false,
        availability: Default::default(),
        source: None,
    }
}

fn link(byte: u8) -> Link {
    let id = LinkId::new([byte; 12]);
    json::from_str(&format!(r#"{{"id":"{id}","type":"link","title":"A","url":"https://a.example/"}}"#))
        .unwrap()
}

fn document() -> PageDocument {
    let mut document = PageDocument { title: "Ada".to_owned(), ..PageDocument::default() };
    document.links = vec![link(1), link(2)];
    document.products.items = vec![product(1), product(2)];
    document
}

#[test]
fn difference_is_the_smallest_parts() {
    let before = json!({"a": 1, "b": {"c": [1, 2, {"d": 1}], "e/f~g": 1}, "gone": 1});
    let now = json!({"a": 1, "b": {"c": [1, 3, {"d": 2}, 4], "e/f~g": 2}, "new": {"x": 1}});
    let all = changed(&before, &now, usize::MAX);
    assert_eq!(all, ["/b/c/1", "/b/c/2/d", "/b/c/3", "/b/e~1f~0g", "/new", "/gone"]);
    assert_eq!(changed(&before, &now, 1), ["/b", "/new", "/gone"]);
    assert_eq!(changed(&before, &before, usize::MAX), [""; 0]);
    assert_eq!(changed(&json!(1), &json!("1"), usize::MAX), [""]);
}

#[test]
fn publication_names_what_changed() {
    let before = document();
    let mut now = document();
    now.title = "Ada L.".to_owned();
    now.links[1].url = Some("https://b.example/".to_owned());
    now.products.items = vec![Product { title: "Cup".to_owned(), ..product(2) }, product(3)];
    let publication = Publication::new(Trigger::ProductSync, NOW, (4, &now), Some((3, &before)));
    let changes: Vec<_> =
        publication.changes.iter().filter(|place| !place.starts_with("/products")).collect();
    assert_eq!(changes, ["/links/1/url", "/title"]);
    assert!(publication.changes.contains(&"/products/items/0/external_id".to_owned()));
    let ids = |products: &[ProductRef]| products.iter().map(|product| product.id).collect::<Vec<_>>();
    assert_eq!(ids(&publication.added), [product(3).id]);
    assert_eq!(ids(&publication.updated), [product(2).id]);
    assert_eq!(
        publication.removed,
        [ProductRef { id: product(1).id, external_id: Some("sku-1".to_owned()) }]
    );
    assert_eq!((publication.links_count, publication.products_count), (2, 2));
    assert_eq!((publication.revision, publication.previous_revision), (4, Some(3)));
    let text = serde_json::to_string(&publication).unwrap();
    assert_eq!(json::from_str(&text), Ok(publication));
}

#[test]
fn first_publication_has_products_and_no_changes() {
    let publication = Publication::new(Trigger::Api, NOW, (1, &document()), None);
    assert_eq!((publication.changes.len(), publication.previous_revision), (0, None));
    assert_eq!((publication.added.len(), publication.updated.len(), publication.removed.len()), (2, 0, 0));
}

#[test]
fn many_changes_are_named_by_member() {
    let mut now = document();
    now.links = (3..60).map(link).collect();
    let publication = Publication::new(Trigger::Api, NOW, (2, &now), Some((1, &document())));
    assert_eq!(publication.changes, ["/links"]);
    now.links.truncate(MAX_CHANGES);
    let publication = Publication::new(Trigger::Api, NOW, (2, &now), Some((1, &document())));
    assert_eq!(publication.changes.len(), MAX_CHANGES);
    let same = Publication::new(Trigger::Api, NOW, (2, &document()), Some((1, &document())));
    assert_eq!(same.changes, [""; 0]);
}
