//! Calls: retries, dry runs, quotas and lists.

use super::*;

#[test]
fn retry_with_an_idempotency_key_gets_the_stored_reply() {
    let mut world = World::default();
    let once = |body: &str| Some(Once::new("order-17", None, "POST", "/pages", body.as_bytes()));
    let body = ada().to_string();
    let mut first = Call { once: once(&body), ..world.call_of(1, Operation::Create(body.clone())) };
    let Step::Claim { slug, message } = world.step(&first) else { panic!() };
    let second = Call { once: once(&body), ..world.call_of(1, Operation::Create(body.clone())) };
    assert_eq!(world.run(second.clone()).body["code"], "idempotency-conflict", "still running");
    world.claim(&mut first, slug, message);
    let first = world.run(first);
    assert_eq!(first.status, 201);
    let retry = world.run(second.clone());
    assert_eq!((retry.status, &retry.body, &retry.etag), (201, &first.body, &first.etag));
    assert_eq!(retry.header("idempotency-replayed"), Some("true"));
    let other = Call { once: once("{}"), ..world.call_of(1, Operation::Create("{}".to_owned())) };
    assert_eq!(world.run(other).body["code"], "idempotency-key-reused");
    assert_eq!(world.call(1, Operation::List(ListQuery::read(None).unwrap())).body["total"], 1);
    world.now += KEEP_MS;
    assert_eq!(world.run(second).body["code"], "slug-taken", "a day later it is a new request");
}

#[test]
fn dry_run_shows_what_would_be_stored_and_stores_nothing() {
    let mut world = World::default();
    let tried = Call { dry_run: true, ..world.call_of(1, Operation::Create(ada().to_string())) };
    let tried = world.run(tried);
    assert_eq!((tried.status, &tried.body["title"]), (200, &json!("Ada")));
    let created = world.create(1, ada());
    let page = page_id(&created);
    world.deliver(1);
    let before = world.accounts[&id(1)].clone();
    for operation in [
        Operation::Edit(
            page,
            PageEdit::Patch(r#"{"title":"x","slug":"other","status":"published"}"#.to_owned()),
        ),
        Operation::Edit(page, PageEdit::Publish),
        Operation::Delete(page),
    ] {
        let call = Call { dry_run: true, ..world.call_of(1, operation) };
        assert!(world.run(call).status < 300);
    }
    let taken = Call { dry_run: true, ..world.call_of(2, Operation::Create(ada().to_string())) };
    assert_eq!(world.run(taken).status, 409);
    let (after, contents, replies) = &world.accounts[&id(1)];
    assert_eq!(
        (&after.pages, &after.outbox, contents, replies),
        (&before.0.pages, &before.0.outbox, &before.1, &before.2)
    );
    assert_eq!(world.slugs.values().filter(|slug| slug.is_owned()).count(), 2, "slug and code");
}

#[test]
fn thousand_calls_an_hour_pass_and_the_account_is_free_to_read() {
    let mut world = World::default();
    let list = || Operation::List(ListQuery::read(None).unwrap());
    let call = world.call_of(1, list());
    for _ in 0..1_000 {
        assert_eq!(world.run(call.clone()).status, 200);
    }
    let refused = world.run(call.clone());
    assert_eq!((refused.status, &refused.body["code"]), (429, &json!("quota-exceeded")));
    assert_eq!(refused.header("ratelimit"), Some("\"hour\";r=0;t=3604"));
    let account = world.call(1, Operation::ReadAccount { plan: BiolinkPlan::Business, analytics_days: 90 });
    assert_eq!((account.status, &account.body["calls"]["remaining"]), (200, &json!(0)));
    assert_eq!(account.body["pages"], json!({"used": 0, "limit": 25}));
    assert_eq!(world.call(2, list()).status, 200, "another account is not concerned");
}

#[test]
fn call_that_others_handle_is_admitted_with_its_pages_and_the_rest_of_the_hour() {
    let mut world = World::default();
    let page = page_id(&world.create(1, ada()));
    let read = world.call_of(1, Operation::Analytics(Vec::new()));
    let Step::Admit(admission) = world.step(&read) else { panic!() };
    assert_eq!(admission.pages, [page]);
    let response = admission.complete(Ok(Response::no_content())).unwrap_or_else(|_| panic!());
    assert_eq!(response.header("ratelimit"), Some("\"hour\";r=998;t=3604"));
    let problem = admission.complete(Err(page_unknown(&page))).err().unwrap();
    assert_eq!(problem.render(&RequestId([0; 16])).header("ratelimit"), Some("\"hour\";r=998;t=3604"));
    let reset = world.call_of(1, Operation::ResetAnalytics(page));
    assert!(matches!(world.step(&reset), Step::Admit(admission) if admission.pages == [page]));
    assert_eq!(world.run(Call { dry_run: true, ..reset }).status, 204, "nothing is left to others");
    assert_eq!(world.call(2, Operation::ResetAnalytics(page)).body["code"], "page-unknown");
}

#[test]
fn lists_are_filtered_and_paged_newest_first() {
    let mut world = World::default();
    for n in 0..5 {
        world.now += 10;
        let status = if n % 2 == 0 { "published" } else { "draft" };
        let body = json!({"title": format!("Page {n}"), "status": status, "tags": ["t"], "external_id": format!("e{n}")});
        assert_eq!(world.create(1, body).status, 201);
    }
    let mut titles = |query: &str| {
        let got = world.call(1, Operation::List(ListQuery::read(Some(query)).unwrap())).body;
        let titles: Vec<_> = got["data"]
            .as_array()
            .unwrap()
            .iter()
            .map(|page| page["title"].as_str().unwrap().to_owned())
            .collect();
        (titles, got["next_cursor"].as_str().map(str::to_owned))
    };
    let (first, cursor) = titles("limit=2");
    assert_eq!(first, ["Page 4", "Page 3"]);
    let (second, cursor) = titles(&format!("limit=2&cursor={}", cursor.unwrap()));
    assert_eq!(second, ["Page 2", "Page 1"]);
    assert_eq!(titles(&format!("limit=2&cursor={}", cursor.unwrap())), (vec!["Page 0".to_owned()], None));
    assert_eq!(titles("status=draft").0, ["Page 3", "Page 1"]);
    assert_eq!(titles("external_id=e2").0, ["Page 2"]);
    assert_eq!(titles("q=PAGE%204&tag=t").0, ["Page 4"]);
    for query in ["limit=0", "limit=101", "cursor=x", "status=live", "page=2", "q=a&q=b"] {
        assert!(ListQuery::read(Some(query)).is_err(), "{query}");
    }
    let again = world.create(1, json!({"title": "x", "external_id": "e1"}));
    assert_eq!((again.status, &again.body["errors"][0]["pointer"]), (422, &json!("#/external_id")));
}

#[test]
fn account_of_an_earlier_version_is_read() {
    for stored in ["{}", r#"{"pages":[]}"#, r#"{"pages":[],"calls":[],"outbox":[],"later":1}"#] {
        assert_eq!(json::from_str::<Account>(stored).unwrap(), Account::default(), "{stored}");
    }
}
