//! Suspension, denied hosts, export and erasure.

use super::*;

fn suspend(page: Option<PageId>, reason: Option<&str>) -> Operation {
    Operation::Suspend(page, reason.map(str::to_owned))
}

#[test]
fn suspended_page_is_gone_until_it_is_restored_as_it_was() {
    let mut world = World::default();
    let created = world.create(1, json!({"title": "Ada", "slug": "ada", "status": "published"}));
    let page = page_id(&created);
    world.edit(1, page, PageEdit::Patch(r#"{"slug":"lovelace"}"#.to_owned()));
    world.deliver(1);
    let before = (world.accounts[&id(1)].0.pages.clone(), world.visit("ada"), world.visit("lovelace"));
    let read = world.call(1, Operation::Read(page));

    let suspended = world.call(1, suspend(Some(page), Some("phishing, ticket 7")));
    assert_eq!(suspended.body["suspension"]["reason"], "phishing, ticket 7");
    assert_eq!(suspended.body["suspension"]["at"], world.now().to_rfc3339());
    assert!(world.accounts[&id(1)].0.suspended_pages().contains(&page), "links stop before KV knows");
    world.deliver(1);
    assert_eq!((world.visit("ada"), world.visit("lovelace")), (Served::Gone, Served::Gone));

    world.now += 1_000;
    let again = world.call(1, suspend(Some(page), None));
    assert_eq!(again.body["suspension"], suspended.body["suspension"], "a repetition changes nothing");
    let shown = world.call(1, Operation::Read(page));
    assert_eq!(
        (shown.status, &shown.body["suspended"], &shown.body["status"]),
        (200, &json!(true), &json!("published"))
    );
    assert!(!shown.body.to_string().contains("ticket 7"), "the reason is the operator's");
    assert_ne!(shown.etag, read.etag, "another representation has another tag");
    let listed = world.call(1, Operation::List(ListQuery::read(None).unwrap()));
    assert_eq!(listed.body["data"][0]["suspended"], true);

    world.call(1, Operation::Resume(Some(page)));
    world.deliver(1);
    let after = (world.accounts[&id(1)].0.pages.clone(), world.visit("ada"), world.visit("lovelace"));
    assert_eq!(after, before);
    assert!(!world.accounts[&id(1)].0.suspended_pages().contains(&page));
    let restored = world.call(1, Operation::Read(page));
    assert_eq!((restored.body, restored.etag), (read.body, read.etag));
}

#[test]
fn suspended_page_is_edited_and_not_published_renamed_or_deleted() {
    let mut world = World::default();
    let page = page_id(&world.create(1, ada()));
    world.call(1, suspend(Some(page), None));
    for edit in [
        PageEdit::Publish,
        PageEdit::Patch(r#"{"status":"published"}"#.to_owned()),
        PageEdit::Patch(r#"{"slug":"elsewhere"}"#.to_owned()),
    ] {
        let refused = world.edit(1, page, edit);
        assert_eq!((refused.status, &refused.body["code"]), (403, &json!("page-suspended")));
    }
    assert_eq!(world.call(1, Operation::Delete(page)).body["code"], "page-suspended");
    assert_eq!(world.edit(1, page, PageEdit::Patch(r#"{"title":"Better"}"#.to_owned())).status, 200);
    assert_eq!(
        world.create(1, json!({"title": "x", "status": "published"})).status,
        201,
        "another page is not concerned"
    );
}

#[test]
fn suspended_account_shows_no_page_and_publishes_none() {
    let mut world = World::default();
    let first = page_id(&world.create(1, json!({"title": "Ada", "slug": "ada", "status": "published"})));
    let second = page_id(&world.create(1, json!({"title": "Draft", "slug": "draft"})));
    world.call(1, suspend(Some(second), Some("own")));
    let suspended = world.call(1, suspend(None, Some("spam")));
    assert_eq!(suspended.body["suspension"]["reason"], "spam");
    assert_eq!(suspended.body["pages"][0]["suspension"], Value::Null);
    world.deliver(1);
    assert_eq!((world.visit("ada"), world.visit("draft")), (Served::Gone, Served::Unknown));
    let pages = world.accounts[&id(1)].0.suspended_pages();
    assert!(
        [first, second]
            .iter()
            .all(|page| SuspendedPages::from_text(pages.as_str().to_owned()).contains(page))
    );
    let account = world.call(1, Operation::ReadAccount { plan: BiolinkPlan::Business, analytics_days: 90 });
    assert_eq!(account.body["suspended"], true);
    assert_eq!(world.create(1, json!({"title": "x", "status": "published"})).body["code"], "page-suspended");
    assert_eq!(world.create(1, json!({"title": "x"})).body["suspended"], true);
    world.call(1, Operation::Resume(None));
    world.deliver(1);
    assert!(matches!(world.visit("ada"), Served::Page { .. }));
    assert!(world.accounts[&id(1)].0.suspended_pages().contains(&second), "its own suspension stays");
    let unknown = world.call(1, suspend(Some(PageId::new([9; 12])), None));
    assert_eq!(unknown.body["code"], "page-unknown");
}

#[test]
fn denied_host_is_refused_at_write_and_named_with_other_faults() {
    let mut world = World::default();
    let page = page_id(&world.create(1, ada()));
    world.denied = DeniedHosts::read(br#"{"hosts":["Evil.example","example.com"]}"#).unwrap();
    let body = json!({
        "links": [{"title": "ok", "url": "https://example.org/"}, {"title": "x", "url": "https://WWW.evil.example:8443/a"}],
        "avatar": {"url": "https://evil.example/a.png", "alt": "a"}, "tytle": "x",
        "metadata": {"url": "https://evil.example/"},
    });
    let refused = world.create(2, body);
    let pointers: Vec<_> =
        refused.body["errors"].as_array().unwrap().iter().map(|e| e["pointer"].as_str().unwrap()).collect();
    assert_eq!(pointers, ["#/avatar/url", "#/links/1/url", "#/title", "#/tytle"], "{}", refused.body);
    assert!(refused.body["errors"][1]["detail"].as_str().unwrap().contains("www.evil.example"));
    let link = r#"{"title":"x","url":"https://evil.example/"}"#;
    for edit in [
        PageEdit::AddLink(link.to_owned()),
        PageEdit::Patch(format!(r#"{{"links":[{link}]}}"#)),
        PageEdit::Replace(format!(r#"{{"title":"x","links":[{link}]}}"#)),
    ] {
        assert_eq!(world.edit(1, page, edit).status, 422);
    }
    let kept = world.edit(1, page, PageEdit::Patch(r#"{"title":"Ada L."}"#.to_owned()));
    assert_eq!(kept.status, 200, "what is stored already may stay: {}", kept.body);
}

#[test]
fn erased_account_leaves_nothing_behind() {
    let mut world = World::default();
    let body = |slug: &str| json!({"title": "Secret Ada", "slug": slug, "status": "published", "metadata": {"note": "Secret"}});
    let once = Some(Once::new("order-17", None, "POST", "/pages", b"{}"));
    let first = Call { once, ..world.call_of(1, Operation::Create(body("secret-a").to_string())) };
    let first = page_id(&world.run(first));
    let second = page_id(&world.create(1, body("secret-b")));
    world.edit(1, second, PageEdit::Patch(r#"{"slug":"secret-c"}"#.to_owned()));
    let third = page_id(&world.create(1, body("secret-d")));
    world.call(1, Operation::Delete(third));
    world.deliver(1);
    // Slugs, one of them a former one, and a code for each page.
    assert_eq!((world.snapshots.len(), world.index.len()), (7, 2));

    let confirm = |text: String| Operation::Erase(Some(text));
    for wrong in [Operation::Erase(None), confirm(String::new()), confirm(id(2).to_string())] {
        let refused = world.call(1, wrong);
        assert_eq!((refused.status, &refused.body["code"]), (422, &json!("fields-invalid")));
        assert!(refused.body["detail"].as_str().unwrap().contains(&format!("?confirm={}", id(1))));
    }
    let tried = Call { dry_run: true, ..world.call_of(1, confirm(id(1).to_string())) };
    assert_eq!((world.run(tried).status, world.accounts[&id(1)].0.pages.len()), (204, 2));
    assert_eq!(world.call(1, confirm(id(1).to_string())).status, 204);
    let stored = serde_json::to_string(&world.accounts[&id(1)].0).unwrap();
    assert!(
        world.accounts[&id(1)].0.next_due().is_some(),
        "the tasks are stored, so a crash loses none: {stored}"
    );
    world.deliver(1);
    let (account, contents, replies) = &world.accounts[&id(1)];
    assert!(contents.is_empty() && replies.is_empty());
    assert_eq!((&account.pages, &account.freed, &account.outbox), (&vec![], &vec![], &Outbox::default()));
    assert!(world.snapshots.is_empty() && world.index.is_empty(), "{:?}", world.snapshots);
    for slug in ["secret-a", "secret-b", "secret-c", "secret-d"] {
        assert_eq!((world.visit(slug), world.create(2, body(slug)).status), (Served::Unknown, 409), "{slug}");
    }
    assert_eq!(world.call(1, confirm(id(1).to_string())).status, 204, "once more");
    assert_eq!(world.call(1, Operation::Read(first)).status, 404);
    world.now += 30 * 86_400_000;
    assert_eq!(world.create(2, body("secret-a")).status, 201, "30 days later it is free");
}

#[test]
fn erasure_does_not_undo_a_suspension() {
    let mut world = World::default();
    let page = page_id(&world.create(1, ada()));
    world.call(1, suspend(Some(page), Some("phishing")));
    world.call(1, Operation::Erase(Some(id(1).to_string())));
    let refused = world.create(1, json!({"title": "Ada", "slug": "ada", "status": "published"}));
    assert_eq!(refused.body["code"], "page-suspended");
    assert_eq!(world.call(1, Operation::Inspect(None)).body["suspension"]["reason"], "phishing");
}

#[test]
fn export_has_every_page_and_revision_and_is_charged_once() {
    let mut world = World::default();
    let pages: Vec<_> = (0..3)
        .map(|n| {
            world.now += 10;
            page_id(&world.create(1, json!({"title": format!("Page {n}"), "links": [{"title": "a", "url": "https://example.com/"}]})))
        })
        .collect();
    world.edit(1, pages[1], PageEdit::Patch(r#"{"title":"New","status":"published"}"#.to_owned()));
    let first = world.call(1, Operation::Export);
    assert_eq!(
        (first.status, &first.body["object"], &first.body["pages"]),
        (200, &json!("account"), &json!(3))
    );
    assert_eq!(first.header("content-type"), Some("application/x-ndjson"));
    assert!(first.header("ratelimit").is_some_and(|value| value.contains("r=995")));
    let (mut after, mut seen) = (None, Vec::new());
    loop {
        let (account, contents, _) = &world.accounts[&id(1)];
        let read = |page, number| Ok::<_, ()>(contents.get(&(page, number)).cloned());
        let Some((page, lines)) = account.export(after, "https://p.example", read).unwrap() else { break };
        let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(lines[0], world.call(1, Operation::Read(page)).body);
        for line in &lines[1..] {
            let read = world.call(1, Operation::ReadRevision(page, line["revision"].as_u64().unwrap())).body;
            assert_eq!((&line["document"], &line["metadata"]), (&read["document"], &read["metadata"]));
        }
        let again = world.edit(1, page, PageEdit::Replace(lines[0].to_string()));
        assert_eq!((again.status, &again.body["revision"]), (200, &lines[0]["revision"]), "it reads back");
        seen.push((page, lines.len() - 1));
        after = Some(page);
    }
    assert_eq!(seen, [(pages[0], 1), (pages[1], 2), (pages[2], 1)]);
}

#[test]
fn export_after_an_erasure_has_the_reserved_slugs() {
    let mut world = World::default();
    let page = page_id(&world.create(1, ada()));
    world.edit(1, page, PageEdit::Patch(r#"{"slug":"lovelace"}"#.to_owned()));
    world.call(1, Operation::Erase(Some(id(1).to_string())));
    world.deliver(1);
    let slugs = |world: &mut World| {
        let line = world.call(1, Operation::Export).body;
        let slugs = line["reserved_slugs"].as_array().unwrap().clone();
        slugs.iter().map(|slug| slug["slug"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(slugs(&mut world), ["ada", "lovelace"]);
    world.create(1, ada());
    assert_eq!(slugs(&mut world), ["lovelace"], "it has the other one again");
    world.now += 31 * 86_400_000;
    assert_eq!(slugs(&mut world), [""; 0]);
}
