use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::page::{IdSource, MAX_DOCUMENT, Reader, WebUrl};

const SOURCE: SourceId = SourceId::new([3; 12]);
const OTHER: SourceId = SourceId::new([4; 12]);

fn product(id: usize, title: &str) -> FeedProduct {
    FeedProduct {
        external_id: id.to_string(),
        title: title.to_owned(),
        description: None,
        url: WebUrl::parse("https://shop.example/a").unwrap(),
        image: None,
        price: None,
        sale_price: None,
        sale_from: None,
        sale_until: None,
        price_varies: false,
        availability: Default::default(),
        tags: Vec::new(),
    }
}

fn products(ids: &[usize]) -> Vec<FeedProduct> {
    ids.iter().map(|id| product(*id, "a")).collect()
}

/// Returns a page with items that were made by hand.
fn by_hand(names: &[&str]) -> PageDocument {
    let item =
        |name: &&str| json!({"external_id": name, "title": "by hand", "url": "https://shop.example/a"});
    let items: Vec<_> = names.iter().map(item).collect();
    let body = json!({"title": "Ada", "products": {"items": items}});
    Reader::new(None, IdSource::new([7; 16])).page(body.as_object().cloned().unwrap()).unwrap().document
}

fn give(document: &PageDocument, source: SourceId, products: &[FeedProduct]) -> (PageDocument, Applied) {
    merged(document, source, SourceChange::Give(products), &DeniedHosts::default())
}

fn names(document: &PageDocument) -> String {
    let name = |item: &Product| item.external_id.clone().unwrap_or_default();
    document.products.items.iter().map(name).collect::<Vec<_>>().join(" ")
}

#[test]
fn products_stand_together_and_those_made_by_hand_stay() {
    let (page, applied) = give(&by_hand(&["x", "2"]), SOURCE, &products(&[1, 2, 3]));
    assert_eq!(names(&page), "x 2 1 3", "the one made by hand stands for product 2");
    assert_eq!(applied, Applied { shown: 2, added: 2, updated: 0, removed: 0 });
    let (page, _) = give(&page, OTHER, &products(&[1]));
    assert_eq!(names(&page), "x 2 1 3 1");
    let ids = page.products.items.iter().map(|item| item.id).collect::<std::collections::HashSet<_>>();
    assert_eq!(ids.len(), 5, "each has an id of its own");
    let (page, applied) = give(&page, SOURCE, &[product(3, "changed"), product(4, "a")]);
    assert_eq!(names(&page), "x 2 3 4 1");
    assert_eq!(applied, Applied { shown: 2, added: 1, updated: 1, removed: 1 });
    let (kept, _) = merged(&page, SOURCE, SourceChange::Keep, &DeniedHosts::default());
    assert_eq!((names(&kept).as_str(), kept.products.items[2].source), ("x 2 3 4 1", None));
    let (removed, applied) = merged(&page, SOURCE, SourceChange::Remove, &DeniedHosts::default());
    assert_eq!((names(&removed).as_str(), applied.removed), ("x 2 1", 2));
}

#[test]
fn denied_shop_and_what_does_not_fit_are_left_out() {
    let denied = DeniedHosts::read(br#"{"hosts":["shop.example"]}"#).unwrap();
    let (page, applied) = merged(&by_hand(&["x"]), SOURCE, SourceChange::Give(&products(&[1])), &denied);
    assert_eq!((names(&page).as_str(), applied.shown), ("x", 0));
    let long = WebUrl::parse(&format!("https://shop.example/{}", "a".repeat(2_000))).unwrap();
    let many: Vec<_> = (0..60).map(|id| FeedProduct { url: long.clone(), ..product(id, "a") }).collect();
    let (page, applied) = give(&by_hand(&[]), SOURCE, &many);
    assert!((20..40).contains(&applied.shown), "{applied:?}");
    assert!(serde_json::to_string(&page).unwrap().len() <= MAX_DOCUMENT);
}

proptest! {
    /// Whatever a page has and a feed gives: what is not the source's stays, in its order, and what is
    /// given twice changes nothing.
    #[test]
    fn merge_keeps_what_is_not_of_the_source(
        hand in prop::collection::vec(0usize..30, 0..8),
        first in prop::collection::hash_set(0usize..80, 0..60),
        second in prop::collection::hash_set(0usize..80, 0..60),
    ) {
        let hand: Vec<String> = hand.iter().map(ToString::to_string).collect();
        let begin = by_hand(&hand.iter().map(String::as_str).collect::<Vec<_>>());
        let (page, _) = give(&begin, OTHER, &products(&[7, 8]));
        let mut page = page;
        for given in [first, second] {
            let given = products(&given.into_iter().collect::<Vec<_>>());
            let (next, applied) = give(&page, SOURCE, &given);
            let others = |page: &PageDocument| page.products.items.iter().filter(|item| item.source != Some(SOURCE)).cloned().collect::<Vec<_>>();
            prop_assert_eq!(others(&next), others(&page));
            prop_assert!(next.products.items.len() <= MAX_PRODUCTS);
            prop_assert_eq!(next.products.items.len(), others(&next).len() + applied.shown);
            let again = give(&next, SOURCE, &given);
            prop_assert_eq!(&again.0, &next);
            prop_assert_eq!(again.1, Applied { shown: applied.shown, ..Applied::default() });
            page = next;
        }
        let (removed, _) = merged(&page, SOURCE, SourceChange::Remove, &DeniedHosts::default());
        prop_assert_eq!(removed, give(&begin, OTHER, &products(&[7, 8])).0);
    }
}
