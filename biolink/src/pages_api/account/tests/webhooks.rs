use super::*;
use crate::webhooks::{KindSet, Publication, Subscription, Trigger, WebhookKind};

/// An account whose webhooks want these kinds of all pages.
fn subscribed(kinds: &[WebhookKind]) -> World {
    let mut world = World::default();
    let now = world.now();
    let kinds = kinds.iter().copied().collect();
    let subscriptions = [Subscription { kinds, pages: None }].into_iter().collect();
    world.accounts.entry(id(1)).or_default().0.subscribe(id(1), subscriptions, now);
    world
}

/// Returns the publications that were announced since the last call.
fn publications(world: &mut World) -> Vec<Publication> {
    world.deliver(1);
    let told = std::mem::take(&mut world.webhooks);
    told.into_iter()
        .filter_map(|task| match task {
            Task::Published { publication, .. } => Some(*publication),
            _ => None,
        })
        .collect()
}

fn draft() -> Value {
    json!({"title": "Ada", "slug": "ada", "links": [{"title": "One", "url": "https://example.com/1"}]})
}

#[test]
fn publication_is_announced_once_with_what_changed() {
    let mut world = subscribed(&[WebhookKind::PagePublished]);
    let page = page_id(&world.create(1, draft()));
    assert_eq!(publications(&mut world), [], "a draft is not published");
    world.edit(1, page, PageEdit::Publish);
    world.edit(1, page, PageEdit::Publish);
    let first = publications(&mut world);
    assert_eq!(
        first.iter().map(|first| (first.revision, first.previous_revision)).collect::<Vec<_>>(),
        [(1, None)]
    );
    assert_eq!((first[0].trigger, first[0].links_count), (Trigger::Api, 1));
    world.edit(1, page, PageEdit::Patch(r#"{"title":"Ada L."}"#.to_owned()));
    world.edit(1, page, PageEdit::Patch(r#"{"bio":"Engines"}"#.to_owned()));
    assert_eq!(publications(&mut world), [], "a change is not live yet");
    world.edit(1, page, PageEdit::Publish);
    let second = publications(&mut world);
    assert_eq!((second[0].revision, second[0].previous_revision), (3, Some(1)));
    assert_eq!(second[0].changes, ["/bio", "/title"], "since the revision that was live");
}

#[test]
fn page_that_is_published_again_after_a_pause_is_announced() {
    let mut world = subscribed(&[WebhookKind::PagePublished]);
    let page = page_id(&world.create(1, draft()));
    world.edit(1, page, PageEdit::Publish);
    world.edit(1, page, PageEdit::Unpublish);
    world.edit(1, page, PageEdit::Publish);
    let announced: Vec<_> = publications(&mut world).iter().map(|one| one.previous_revision).collect();
    assert_eq!(announced, [None, None]);
}

#[test]
fn nothing_is_announced_that_no_webhook_wants() {
    let mut world = subscribed(&[WebhookKind::Click]);
    let page = page_id(&world.create(1, draft()));
    world.edit(1, page, PageEdit::Publish);
    assert_eq!(publications(&mut world), []);
    let wanted = world.accounts[&id(1)].0.wanted(&page);
    assert_eq!(wanted, KindSet::EMPTY.with(WebhookKind::Click));
    let mut world = World::default();
    let page = page_id(&world.create(1, draft()));
    world.edit(1, page, PageEdit::Publish);
    world.call(1, Operation::Delete(page));
    world.deliver(1);
    assert_eq!(world.webhooks, [], "an account without webhooks has no tasks for them");
}

#[test]
fn stores_of_pages_get_to_know_what_is_wanted() {
    let mut world = subscribed(&[WebhookKind::Click]);
    let page = page_id(&world.create(1, draft()));
    world.deliver(1);
    assert_eq!(world.webhooks, [Task::Subscribe { account: id(1), page }]);
    world.call(1, Operation::Delete(page));
    world.deliver(1);
    assert_eq!(world.webhooks.last(), Some(&Task::PurgeWebhooks { account: id(1), page }));
    let erase = Operation::Erase(Some(id(1).to_string()));
    world.call(1, erase);
    world.deliver(1);
    assert_eq!(world.webhooks.last(), Some(&Task::EraseWebhooks(id(1))));
}

#[test]
fn reports_and_webhooks_call_parts_by_their_names() {
    let mut world = World::default();
    let body = json!({"title": "Ada", "slug": "ada", "external_id": "crm-42",
        "links": [{"title": "One", "url": "https://example.com/1"}],
        "products": {"items": [{"title": "Mug", "url": "https://shop.example/mug"}]}});
    let page = page_id(&world.create(1, body));
    let (account, contents, _) = &world.accounts[&id(1)];
    let content = |page, number| Ok::<_, ()>(contents.get(&(page, number)).cloned());
    let labels = account.labels(content).unwrap();
    let links: Vec<_> = labels.links.iter().map(|link| (&*link.title, link.url.as_deref())).collect();
    let expected = [("One", Some("https://example.com/1")), ("Mug", Some("https://shop.example/mug"))];
    assert_eq!((links.as_slice(), &*labels.pages[0].slug), (expected.as_slice(), "ada"));
    let card = account.card(&page, "https://p.example", content).unwrap().unwrap();
    assert_eq!((card.title.as_deref(), card.external_id.as_deref()), (Some("Ada"), Some("crm-42")));
    let lost = account.card(&page, "https://p.example", |_, _| Ok::<_, ()>(None));
    assert_eq!(lost.unwrap(), Some(crate::webhooks::Card::unknown(page)), "its content is lost");
    let unknown = account.card(&PageId::new([9; 12]), "https://p.example", content);
    assert_eq!(unknown, Ok(None));
}
