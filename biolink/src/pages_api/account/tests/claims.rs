//! What calls compete for: slugs, versions and places.

use super::*;

#[test]
fn slug_that_another_account_has_is_409_with_suggestions() {
    let mut world = World::default();
    world.create(1, ada());
    let refused = world.create(2, ada());
    assert_eq!((refused.status, &refused.body["code"]), (409, &json!("slug-taken")));
    assert_eq!(refused.body["suggestions"], json!(["free-one"]));
    assert_eq!(world.call(2, Operation::List(ListQuery::read(None).unwrap())).body["total"], 0);
    let drawn = world.create(2, json!({"title": "Bob"}));
    assert_eq!((drawn.status, drawn.body["slug"].as_str().map(str::len)), (201, Some(7)));
}

#[test]
fn code_leads_to_its_page_whatever_the_slug() {
    let mut world = World::default();
    let page = page_id(&world.create(1, json!({"title": "Ada", "slug": "ada", "status": "published"})));
    world.deliver(1);
    let Served::Page { code: Some(code), .. } = world.visit("ada") else { panic!() };
    assert!(
        matches!(world.visit(code.as_str()), Served::Moved { to, .. } if to == Slug::parse("ada").unwrap())
    );
    assert_eq!(world.snapshots[&code].lifetime(), None);
    assert!(world.accounts[&id(1)].0.knows(&code));
    world.edit(1, page, PageEdit::Patch(r#"{"slug":"lovelace"}"#.to_owned()));
    world.deliver(1);
    world.now += 1_000 * 86_400_000;
    assert!(
        matches!(world.visit(code.as_str()), Served::Moved { to, .. } if to == Slug::parse("lovelace").unwrap())
    );
    world.call(1, Operation::Delete(page));
    world.deliver(1);
    assert_eq!(world.visit(code.as_str()), Served::Gone);
    world.now += 1_000 * 86_400_000;
    assert_eq!(world.create(2, json!({"title": "Bob", "slug": code})).status, 409, "never freed");
}

#[test]
fn former_slug_redirects_for_ninety_days() {
    let mut world = World::default();
    let page = page_id(&world.create(1, json!({"title": "Ada", "slug": "ada", "status": "published"})));
    world.edit(1, page, PageEdit::Patch(r#"{"slug":"lovelace"}"#.to_owned()));
    world.deliver(1);
    let new = Slug::parse("lovelace").unwrap();
    assert!(matches!(world.visit("ada"), Served::Moved { to, .. } if to == new.clone()));
    assert!(matches!(world.visit("lovelace"), Served::Page { .. }));
    world.now += 30 * 86_400_000;
    assert_eq!(world.create(2, ada()).status, 409);
    let back = world.edit(1, page, PageEdit::Patch(r#"{"slug":"ada"}"#.to_owned()));
    assert_eq!((back.status, &back.body["former_slugs"][0]["slug"]), (200, &json!("lovelace")));
    world.deliver(1);
    assert!(matches!(world.visit("ada"), Served::Page { .. }));
    assert!(matches!(world.visit("lovelace"), Served::Moved { to, .. } if to == Slug::parse("ada").unwrap()));
    world.now += 90 * 86_400_000;
    assert_eq!(world.visit("lovelace"), Served::Unknown);
    assert_eq!(world.create(2, json!({"title": "Bob", "slug": "lovelace"})).status, 201);
    assert_eq!(world.create(3, ada()).status, 409, "the page has its first slug again, for good");
}

#[test]
fn one_of_fifty_edits_with_one_etag_wins() {
    let mut world = World::default();
    let created = world.create(1, ada());
    let page = page_id(&created);
    let mut calls: Vec<_> = (0..50)
        .map(|n| {
            let body = json!({"title": format!("Ada {n}"), "slug": format!("ada-{n}")}).to_string();
            let call = world.call_of(1, Operation::Edit(page, PageEdit::Replace(body)));
            Call { if_match: created.etag.clone(), ..call }
        })
        .collect();
    // All have their claim before the first is decided.
    for call in &mut calls {
        let Step::Claim { slug, message } = world.step(call) else { panic!() };
        world.claim(call, slug, message);
    }
    let outcomes: Vec<_> = calls.into_iter().map(|call| world.run(call).status).collect();
    assert_eq!(outcomes.iter().filter(|status| **status == 200).count(), 1);
    assert_eq!(outcomes.iter().filter(|status| **status == 412).count(), 49);
    world.deliver(1);
    let owned = world.slugs.values().filter(|slug| slug.is_owned()).count();
    assert_eq!(owned, 2, "slug and code; every claim that led to nothing is taken back");
}

#[test]
fn one_of_forty_creations_gets_the_last_place() {
    let mut world = World::default();
    for _ in 0..24 {
        assert_eq!(world.create(1, json!({"title": "x"})).status, 201);
    }
    let body = json!({"title": "y"}).to_string();
    let mut calls: Vec<_> = (0..40).map(|_| world.call_of(1, Operation::Create(body.clone()))).collect();
    for call in &mut calls {
        let Step::Claim { slug, message } = world.step(call) else { panic!() };
        world.claim(call, slug, message);
    }
    let outcomes: Vec<_> = calls.into_iter().map(|call| world.run(call)).collect();
    assert_eq!(outcomes.iter().filter(|got| got.status == 201).count(), 1);
    let refused = outcomes.iter().filter(|got| got.body["code"] == "page-limit-reached").count();
    assert_eq!(refused, 39);
}

#[test]
fn claim_of_a_call_that_was_given_up_is_taken_back() {
    let mut world = World::default();
    let mut call = world.call_of(1, Operation::Create(ada().to_string()));
    let Step::Claim { slug, message } = world.step(&call) else { panic!() };
    world.claim(&mut call, slug.clone(), message);
    world.now += BUSY_MS;
    world.deliver(1);
    assert!(!world.slugs[&slug].is_owned());
    let Step::Reply(reply, _) = world.step(&call) else { panic!() };
    assert_eq!(got(reply).status, 503, "a claim that may be taken back gives no page");
}

#[test]
fn account_holds_at_most_fifty_slugs() {
    let mut world = World::default();
    let page = page_id(&world.create(1, ada()));
    let rename = |world: &mut World, n: u32| {
        world.now += 1_000;
        world.edit(1, page, PageEdit::Patch(format!(r#"{{"slug":"ada-{n}"}}"#)))
    };
    for n in 0..49 {
        assert_eq!(rename(&mut world, n).status, 200, "{n}");
    }
    let refused = rename(&mut world, 50);
    let created = world.create(1, json!({"title": "Bob"}));
    assert_eq!((created.status, &created.body["errors"][0]["pointer"]), (422, &json!("#/slug")));
    assert_eq!((refused.status, &refused.body["errors"][0]["pointer"]), (422, &json!("#/slug")));
    world.deliver(1);
    let wanted = Slug::parse("ada-50").unwrap();
    assert!(!world.slugs.contains_key(&wanted), "it was not even claimed");
    assert_eq!(rename(&mut world, 7).status, 200, "it has this one");
    world.now += 90 * 86_400_000 - 50_000;
    assert_eq!(rename(&mut world, 50).status, 200, "the first one has ended");
}

/// Slugs of deleted pages are held for 30 days, their codes are not counted.
#[test]
fn slugs_of_deleted_pages_are_held() {
    let mut world = World::default();
    for n in 0..50 {
        let created = world.create(1, json!({"title": "Ada", "slug": format!("ada-{n}")}));
        assert_eq!(created.status, 201, "{n}");
        world.call(1, Operation::Delete(page_id(&created)));
        world.deliver(1);
        world.now += 1_000;
    }
    assert_eq!(world.create(1, json!({"title": "Ada", "slug": "ada-50"})).status, 422);
    assert_eq!(world.create(1, json!({"title": "Ada", "slug": "ada-7"})).status, 201);
    world.now += 30 * 86_400_000 - 50_000;
    assert_eq!(world.create(1, json!({"title": "Ada", "slug": "ada-50"})).status, 201);
}

#[test]
fn slug_that_passes_for_the_services_own_is_refused() {
    let mut world = World::default();
    for slug in [
        "sign-in",
        "Sign_In",
        "signin",
        "login",
        "log-in",
        "authorize",
        "oauth",
        "session",
        "reset-password",
        "verify",
        "google1a2b3c4d5e6f7a8b.html",
        "BingSiteAuth.xml",
        "yandex_1a2b3c4d5e6f7a8b.html",
        "pinterest-1a2b3.html",
        "apple-app-site-association",
        "security.txt",
        "ads.txt",
        "assetlinks.json",
    ] {
        let refused = world.create(1, json!({"title": "Ada", "slug": slug}));
        assert_eq!(refused.status, 422, "{slug}: {}", refused.body);
        assert!(refused.body.to_string().contains("reserved for the service"), "{slug}: {}", refused.body);
    }
    for slug in ["ada", "sign-ins", "ada.login", "node.js", "google"] {
        assert_eq!(world.create(1, json!({"title": "Ada", "slug": slug})).status, 201, "{slug}");
    }
}

/// The page is as an earlier version has stored it.
#[test]
fn page_keeps_a_slug_that_came_to_be_reserved() {
    let mut world = World::default();
    let page = PageId::parse(world.create(1, ada()).body["id"].as_str().unwrap()).unwrap();
    let account = &mut world.accounts.get_mut(&id(1)).unwrap().0;
    let stored = json::to_string(account).unwrap().replace("\"ada\"", "\"sign-in\"");
    *account = json::from_str(&stored).unwrap();
    for body in [r#"{"title":"Ada","slug":"sign-in","status":"published"}"#, r#"{"title":"Ada L."}"#] {
        let replaced = world.edit(1, page, PageEdit::Replace(body.to_owned()));
        assert_eq!((replaced.status, &replaced.body["slug"]), (200, &json!("sign-in")), "{}", replaced.body);
    }
    world.deliver(1);
    assert!(matches!(world.visit("sign-in"), Served::Page { .. }));
    let renamed = world.edit(1, page, PageEdit::Patch(r#"{"slug":"verify"}"#.to_owned()));
    assert_eq!(renamed.status, 422, "{}", renamed.body);
}
