use super::*;
use crate::{
    fetch_url::FetchPolicy,
    pages_api::Decision,
    product_feed::{Feed, FeedProduct, FormatChoice},
    product_sync::{EditOutcome, ProductEdit, SourceWrite},
    webhooks::{EncryptionKeys, Subscription, Trigger, WebhookKind, WebhookSecret},
};

fn write(body: &Value) -> SourceWrite {
    let keys = EncryptionKeys::parse("0123456789abcdef0123456789abcdef").unwrap();
    let drawn = WebhookSecret::generate([7; 24]);
    let policy = FetchPolicy::new(["https://api.example.com"], false);
    SourceWrite::prepare(&body.to_string(), &policy, &drawn, |secret| {
        keys.seal_bytes(secret, "key_ada", &[9; 24])
    })
}

fn products(ids: &[u8]) -> Vec<FeedProduct> {
    let item = |id: &u8| json!({"id": id, "title": format!("p{id}"), "url": "https://shop.example/a"});
    let body = json!({"items": ids.iter().map(item).collect::<Vec<_>>()}).to_string();
    Feed::parse(body.as_bytes(), FormatChoice::Auto, "", None).unwrap().products
}

impl World {
    fn sources(&mut self, page: PageId, call: SourceCall) -> Got {
        self.call(1, Operation::Sources(page, call))
    }

    fn add_source(&mut self, page: PageId) -> SourceId {
        let body = json!({"url": "https://shop.example/feed.xml", "push": {"enabled": true}});
        let created = self.sources(page, SourceCall::Create(write(&body)));
        assert_eq!(created.status, 201, "{}", created.body);
        SourceId::parse(created.body["id"].as_str().unwrap()).unwrap()
    }

    fn sync(&mut self, page: PageId, source: SourceId, ids: &[u8]) -> Got {
        self.seed += 1;
        self.sources(page, SourceCall::Sync(source, products(ids), u64::from(self.seed)))
    }

    /// Returns the titles of the products that visitors see.
    fn shop(&mut self) -> Vec<String> {
        self.deliver(1);
        let Served::Page { document, .. } = self.visit("ada") else { panic!("not live") };
        document.products.items.iter().map(|item| item.title.clone()).collect()
    }
}

#[test]
fn source_is_created_changed_and_deleted() {
    let mut world = World::default();
    let page = page_id(&world.create(1, ada()));
    let body = json!({"url": "https://shop.example/feed.xml", "push": {"enabled": true}, "max_items": 6});
    let tried = Call {
        dry_run: true,
        ..world.call_of(1, Operation::Sources(page, SourceCall::Create(write(&body))))
    };
    assert_eq!(world.run(tried).status, 200);
    assert_eq!(world.sources(page, SourceCall::List).body["data"], json!([]));
    let source = world.add_source(page);
    world.deliver(1);
    assert_eq!(world.sources, [source]);
    let read = world.sources(page, SourceCall::Read(source));
    assert_eq!((&read.body["format"], &read.body["push"]), (&json!("auto"), &json!({"enabled": true})));
    assert_eq!(world.sources(page, SourceCall::List).body["data"], json!([read.body]));

    let patch = json!({"max_items": 6, "filter": {"min_price": "5"}, "sort": "-price"});
    let changed = world.sources(page, SourceCall::Patch(source, write(&patch)));
    assert_eq!((changed.status, &changed.body["sort"]), (200, &json!("-price")));
    assert!(changed.body["push"].get("sealed").is_none(), "the secret is the same");
    let state = &world.accounts[&id(1)].0;
    assert_eq!(state.source(&source).unwrap().version, 2);
    let patch = json!({"push": {"secret": "a secret that Shopify shows".replace(' ', "-")}});
    let changed = world.sources(page, SourceCall::Patch(source, write(&patch)));
    assert!(changed.body["push"]["sealed"].is_string(), "{}", changed.body);
    assert!(!changed.body.to_string().contains("Shopify"));
    world.deliver(1);

    let gone = world.sources(page, SourceCall::Delete { id: source, keep_products: false });
    assert_eq!(gone.status, 204);
    world.deliver(1);
    assert_eq!(world.sources, [source, source, source]);
    assert!(world.accounts[&id(1)].0.source(&source).is_none());
    assert_eq!(world.sources(page, SourceCall::Read(source)).body["code"], "source-unknown");
    assert_eq!(world.sync(page, source, &[1]).body["code"], "source-unknown");
}

#[test]
fn every_fault_of_a_source_is_shown_at_once() {
    let mut world = World::default();
    let page = page_id(&world.create(1, ada()));
    let body = json!({"url": "https://10.0.0.1/products.json", "format": "yaml", "max_items": 51, "sort": "x",
        "currency": "euro", "filter": {"tags": [""], "min_price": "9", "max_price": "1", "availability": ["x"]},
        "push": {"enabled": 1, "secret": "short"}, "colour": "red"});
    let refused = world.sources(page, SourceCall::Create(write(&body)));
    let errors = refused.body["errors"].as_array().unwrap_or_else(|| panic!("{}", refused.body));
    let mut pointers: Vec<_> = errors.iter().map(|error| error["pointer"].as_str().unwrap()).collect();
    pointers.sort_unstable();
    pointers.dedup();
    let expected = [
        "#/colour",
        "#/currency",
        "#/filter/availability",
        "#/filter/max_price",
        "#/filter/tags",
        "#/format",
        "#/max_items",
        "#/push/enabled",
        "#/push/secret",
        "#/sort",
        "#/url",
    ];
    assert_eq!((refused.status, pointers), (422, expected.to_vec()));
    let shopify = json!({"url": "https://shop.example/products.json"});
    let refused = world.sources(page, SourceCall::Create(write(&shopify)));
    assert_eq!(refused.body["errors"][0]["pointer"], "#/currency");
    assert_eq!(world.sources(page, SourceCall::Create(write(&json!([])))).status, 400);
}

#[test]
fn page_has_three_sources_at_most_and_takes_them_along() {
    let mut world = World::default();
    let (page, other) = (page_id(&world.create(1, ada())), page_id(&world.create(1, json!({"title": "B"}))));
    let sources = [(); 3].map(|()| world.add_source(page));
    let body = json!({"url": "https://shop.example/feed.xml"});
    let refused = world.sources(page, SourceCall::Create(write(&body)));
    assert_eq!((refused.status, &refused.body["code"]), (403, &json!("source-limit-reached")));
    let stays = world.add_source(other);
    assert_eq!(world.sources(other, SourceCall::Read(sources[0])).status, 404, "it is of another page");
    world.deliver(1);
    world.sources.clear();
    world.call(1, Operation::Delete(page));
    world.deliver(1);
    assert_eq!(world.sources, sources);
    let erase = Operation::Erase(Some(id(1).to_string()));
    assert_eq!(world.call(1, erase).status, 204);
    world.deliver(1);
    assert_eq!(world.sources.last(), Some(&stays));
    assert_eq!(world.accounts[&id(1)].0.sources, []);
}

#[test]
fn live_page_gets_products_and_a_draft_stays_one() {
    let mut world = World::default();
    let page = page_id(&world.create(1, ada()));
    let source = world.add_source(page);
    let synced = world.sync(page, source, &[1, 2]);
    assert_eq!((synced.status, &synced.body["added"]), (200, &json!(2)));
    world.deliver(1);
    assert_eq!(world.visit("ada"), Served::Unknown, "a draft is not published");
    world.edit(1, page, PageEdit::Publish);
    world.sync(page, source, &[2, 3]);
    assert_eq!(world.shop(), ["p2", "p3"]);

    world.edit(1, page, PageEdit::Patch(r#"{"title":"Secret plans"}"#.to_owned()));
    let synced = world.sync(page, source, &[3, 4]);
    assert_eq!(synced.body, json!({"shown": 2, "added": 1, "updated": 0, "removed": 1}));
    assert_eq!(world.shop(), ["p3", "p4"]);
    let Served::Page { document, .. } = world.visit("ada") else { panic!() };
    assert_eq!(document.title, "Ada", "what was not published is not shown");
    let draft = world.call(1, Operation::Read(page)).body;
    assert_eq!((&draft["title"], &draft["has_unpublished_changes"]), (&json!("Secret plans"), &json!(true)));
    assert_eq!(draft["products"]["items"][1]["title"], "p4");
    world.edit(1, page, PageEdit::Publish);
    assert_eq!(world.shop(), ["p3", "p4"]);
    let revisions = world.accounts[&id(1)].1.len();
    assert_eq!(world.sync(page, source, &[3, 4]).body["added"], 0);
    assert_eq!(world.accounts[&id(1)].1.len(), revisions, "nothing new, no revision");
}

#[test]
fn syncs_in_a_row_keep_one_revision() {
    let mut world = World::default();
    let page = page_id(&world.create(1, json!({"title": "t1", "slug": "ada", "status": "published"})));
    world.edit(1, page, PageEdit::Patch(r#"{"title":"t2","status":"published"}"#.to_owned()));
    let source = world.add_source(page);
    for n in 1..30 {
        world.sync(page, source, &[n]);
    }
    let listed = world.call(1, Operation::Revisions(page));
    let numbers: Vec<_> =
        listed.body["data"].as_array().unwrap().iter().map(|r| r["revision"].as_u64().unwrap()).collect();
    assert_eq!(numbers, [31, 2, 1], "those of the owner stay");
    assert_eq!(world.accounts[&id(1)].1.len(), 3);
}

#[test]
fn products_leave_with_their_source_unless_they_are_kept() {
    let mut world = World::default();
    let page = page_id(&world.create(1, ada()));
    world.edit(1, page, PageEdit::Publish);
    for (keep_products, expected) in [(true, vec!["p1"]), (false, vec!["p1"])] {
        let source = world.add_source(page);
        world.sync(page, source, &[if keep_products { 1 } else { 2 }]);
        world.sources(page, SourceCall::Delete { id: source, keep_products });
        assert_eq!(world.shop(), expected);
    }
    let read = world.call(1, Operation::Read(page)).body;
    assert_eq!(read["products"]["items"][0]["source"], json!(null));
}

#[test]
fn publication_by_a_source_is_announced_as_one() {
    let mut world = World::default();
    let now = world.now();
    let kinds = [WebhookKind::PagePublished].into_iter().collect();
    let subscriptions = [Subscription { kinds, pages: None }].into_iter().collect();
    world.accounts.entry(id(1)).or_default().0.subscribe(id(1), subscriptions, now);
    let page = page_id(&world.create(1, ada()));
    world.edit(1, page, PageEdit::Publish);
    let source = world.add_source(page);
    world.deliver(1);
    world.webhooks.clear();
    world.sync(page, source, &[1]);
    world.edit(1, page, PageEdit::Patch(r#"{"title":"Draft"}"#.to_owned()));
    world.sync(page, source, &[1, 2]);
    world.deliver(1);
    let published: Vec<_> = world
        .webhooks
        .iter()
        .filter_map(|task| match task {
            Task::Published { publication, .. } => {
                Some((publication.trigger, publication.added.len(), publication.changes.clone()))
            }
            _ => None,
        })
        .collect();
    assert_eq!(published.len(), 2, "{published:?}");
    for (trigger, added, changes) in published {
        assert_eq!((trigger, added), (Trigger::ProductSync, 1));
        assert!(changes.iter().all(|change| change.starts_with("/products/items")), "{changes:?}");
    }
}

#[test]
fn edit_of_a_source_has_the_outcome_that_the_account_decides() {
    let mut world = World::default();
    let page = page_id(&world.create(1, ada()));
    let source = world.add_source(page);
    let mut outcome = |source, ids: &[u8]| {
        let edit = ProductEdit { account: id(1), page, source, products: products(ids), number: 1 };
        let call = world.call_of(1, Operation::Sources(page, SourceCall::sync(&edit)));
        match world.step(&call) {
            Step::Reply(reply, _) => SourceCall::outcome(Decision::Reply(reply)),
            other => panic!("{other:?}"),
        }
    };
    assert!(matches!(outcome(source, &[1, 2]), EditOutcome::Applied(_)));
    assert_eq!(outcome(SourceId::new([9; 12]), &[1]), EditOutcome::SourceGone);
}
