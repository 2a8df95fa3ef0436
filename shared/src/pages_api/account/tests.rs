use std::collections::{BTreeMap, HashMap};

use serde_json::Value;

use super::*;
use crate::{
    json,
    key::BiolinkPlan,
    page::LinkId,
    pages_api::{
        PageEdit, SuspendedPages,
        list::ListQuery,
        slug::{SlugMessage, SlugReply, SlugState},
        snapshot::Served,
    },
};

const START: UnixMillis = UnixMillis(1_763_712_000_000);

type Contents = BTreeMap<(PageId, u64), Content>;

/// Accounts with their stores, and the slugs of all: what the shell does, without a network.
#[derive(Default)]
struct World {
    now: u64,
    seed: u8,
    accounts: HashMap<KeyId, (Account, Contents, HashMap<String, StoredReply>)>,
    slugs: HashMap<Slug, SlugState>,
    snapshots: HashMap<Slug, Snapshot>,
    /// The account of each page, as the operator finds it.
    index: HashMap<PageId, KeyId>,
    denied: DeniedHosts,
}

struct Got {
    status: u16,
    body: Value,
    etag: Option<String>,
    headers: Vec<(&'static str, String)>,
}

fn id(n: u8) -> KeyId {
    KeyId::new([n; 12])
}

impl World {
    fn now(&self) -> UnixMillis {
        START.plus(self.now)
    }

    fn call_of(&mut self, account: u8, operation: Operation) -> Call {
        self.seed += 1;
        Call {
            account: id(account),
            request_id: [9; 16],
            at: self.now(),
            seed: [self.seed; 16],
            base: "https://p.example".to_owned(),
            operation,
            dry_run: false,
            if_match: None,
            once: None,
            claim: None,
        }
    }

    fn step(&mut self, call: &Call) -> Step {
        let now = self.now();
        let (account, contents, replies) = self.accounts.entry(call.account).or_default();
        let needs = account.needs(call);
        let get = |at: Option<(PageId, u64)>| at.and_then(|at| contents.get(&at).cloned());
        let loaded = Loaded {
            content: get(needs.content),
            other: get(needs.other),
            reply: needs.reply.and_then(|name| replies.get(&name).cloned()),
        };
        let step = account.step(call, loaded, &self.denied, now);
        if let Step::Reply(_, writes) = &step {
            for write in writes.clone() {
                match write {
                    Write::PutRevision(page, number, content) => {
                        contents.insert((page, number), content);
                    }
                    Write::KeepRevisions(page, kept) => {
                        contents.retain(|(other, number), _| *other != page || kept.contains(number));
                    }
                    Write::PutReply { name, stored, .. } => {
                        replies.insert(name, stored);
                    }
                    Write::Erase => {
                        contents.clear();
                        replies.clear();
                    }
                }
            }
        }
        let stored = serde_json::to_string(account).unwrap();
        let busy = std::mem::take(&mut account.busy);
        *account = json::from_str(&stored).unwrap();
        account.busy = busy;
        step
    }

    fn claim(&mut self, call: &mut Call, slug: Slug, owner: Owner, claim: u64) {
        let now = self.now();
        let message = if call.dry_run {
            SlugMessage::Peek { account: owner.account }
        } else {
            SlugMessage::Claim { owner, claim }
        };
        let outcome = match self.slugs.entry(slug.clone()).or_default().handle(message, now) {
            SlugReply::Granted => ClaimOutcome::Granted,
            _ => ClaimOutcome::Taken(vec![Slug::parse("free-one").unwrap()]),
        };
        call.claim = Some(Claim { slug, outcome });
    }

    fn run(&mut self, mut call: Call) -> Got {
        loop {
            match self.step(&call) {
                Step::Reply(reply, _) => return got(reply),
                Step::Claim { slug, owner, claim } => self.claim(&mut call, slug, owner, claim),
            }
        }
    }

    fn call(&mut self, account: u8, operation: Operation) -> Got {
        let call = self.call_of(account, operation);
        self.run(call)
    }

    fn create(&mut self, account: u8, body: Value) -> Got {
        self.call(account, Operation::Create(body.to_string()))
    }

    fn edit(&mut self, account: u8, page: PageId, edit: PageEdit) -> Got {
        self.call(account, Operation::Edit(page, edit))
    }

    /// Does all tasks that are due.
    fn deliver(&mut self, account: u8) {
        let now = self.now();
        let tasks = self.accounts.entry(id(account)).or_default().0.due(now);
        for task in tasks {
            let (state, contents, _) = self.accounts.get_mut(&id(account)).unwrap();
            match &task {
                Task::Snapshot { slug, .. } => {
                    let read = |page, number| Ok::<_, ()>(contents.get(&(page, number)).cloned());
                    match state.snapshot(id(account), slug, read).unwrap() {
                        Some(snapshot) => self.snapshots.insert(slug.clone(), snapshot),
                        None => self.snapshots.remove(slug),
                    };
                }
                Task::Index { account, page } => {
                    self.index.remove(page);
                    if state.has(page) {
                        self.index.insert(*page, *account);
                    }
                }
                Task::Slug(slug, message) => {
                    self.slugs.entry(slug.clone()).or_default().handle(*message, now);
                }
            }
            state.settle(&task, true, now);
        }
        let next = self.accounts[&id(account)].0.next_due();
        assert!(next.is_none_or(|next| next > now), "nothing stays due");
    }

    fn visit(&self, slug: &str) -> Served {
        let snapshot = self.snapshots.get(&Slug::parse(slug).unwrap()).cloned();
        let text = snapshot.map(|snapshot| snapshot.to_json());
        Served::of(text.and_then(|text| Snapshot::from_json(&text)), self.now())
    }
}

fn got(reply: Reply) -> Got {
    let response = reply.into_response();
    Got {
        status: response.status,
        etag: response.header("etag").map(str::to_owned),
        headers: response.headers.iter().map(|(name, value)| (*name, value.to_string())).collect(),
        body: serde_json::from_str(&response.body).unwrap_or_default(),
    }
}

fn page_id(got: &Got) -> PageId {
    PageId::parse(got.body["id"].as_str().unwrap_or_else(|| panic!("{}: {}", got.status, got.body))).unwrap()
}

fn ada() -> Value {
    json!({"title": "Ada", "slug": "ada", "links": [
        {"title": "One", "url": "https://example.com/1"}, {"title": "Two", "url": "https://example.com/2"}]})
}

#[test]
fn page_is_created_published_changed_and_deleted() {
    let mut world = World::default();
    let created = world.create(1, ada());
    assert_eq!((created.status, created.etag.as_deref()), (201, Some("\"v1\"")));
    let page = page_id(&created);
    assert!(created.headers.contains(&("location", format!("/pages/{page}"))));
    assert_eq!(created.body["urls"]["public"], "https://p.example/ada");
    world.deliver(1);
    assert_eq!(world.visit("ada"), Served::Unknown, "a draft is not shown");

    let published = world.edit(1, page, PageEdit::Publish);
    assert_eq!((published.status, &published.body["status"]), (200, &json!("published")));
    world.deliver(1);
    assert!(matches!(world.visit("ada"), Served::Page { revision: 1, .. }));

    let changed = world.edit(1, page, PageEdit::Patch(r#"{"title":"Ada L.","links":null}"#.to_owned()));
    assert_eq!(changed.body["has_unpublished_changes"], true);
    assert_eq!((&changed.body["title"], &changed.body["links"]), (&json!("Ada L."), &json!([])));
    world.deliver(1);
    let Served::Page { document, .. } = world.visit("ada") else { panic!() };
    assert_eq!(document.title, "Ada", "what was not published is not shown");

    world.edit(1, page, PageEdit::Publish);
    world.deliver(1);
    assert!(matches!(world.visit("ada"), Served::Page { revision: 2, .. }));
    world.edit(1, page, PageEdit::Unpublish);
    world.deliver(1);
    assert_eq!(world.visit("ada"), Served::Gone);

    assert_eq!(world.call(1, Operation::Delete(page)).status, 204);
    world.deliver(1);
    assert_eq!(world.visit("ada"), Served::Gone);
    assert_eq!(world.call(1, Operation::Read(page)).status, 404);
    assert!(world.accounts[&id(1)].1.is_empty(), "no content stays");
    assert_eq!(world.create(2, ada()).status, 409, "the slug is reserved for a month");
    assert_eq!(world.create(1, ada()).status, 201, "for its account it is free");
    world.now += 31 * 86_400_000;
}

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
fn former_slug_redirects_for_ninety_days() {
    let mut world = World::default();
    let page = page_id(&world.create(1, json!({"title": "Ada", "slug": "ada", "status": "published"})));
    world.edit(1, page, PageEdit::Patch(r#"{"slug":"lovelace"}"#.to_owned()));
    world.deliver(1);
    let new = Slug::parse("lovelace").unwrap();
    assert_eq!(world.visit("ada"), Served::Moved(new.clone()));
    assert!(matches!(world.visit("lovelace"), Served::Page { .. }));
    world.now += 30 * 86_400_000;
    assert_eq!(world.create(2, ada()).status, 409);
    let back = world.edit(1, page, PageEdit::Patch(r#"{"slug":"ada"}"#.to_owned()));
    assert_eq!((back.status, &back.body["former_slugs"][0]["slug"]), (200, &json!("lovelace")));
    world.deliver(1);
    assert!(matches!(world.visit("ada"), Served::Page { .. }));
    assert_eq!(world.visit("lovelace"), Served::Moved(Slug::parse("ada").unwrap()));
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
        let Step::Claim { slug, owner, claim } = world.step(call) else { panic!() };
        world.claim(call, slug, owner, claim);
    }
    let outcomes: Vec<_> = calls.into_iter().map(|call| world.run(call).status).collect();
    assert_eq!(outcomes.iter().filter(|status| **status == 200).count(), 1);
    assert_eq!(outcomes.iter().filter(|status| **status == 412).count(), 49);
    world.deliver(1);
    let owned = world.slugs.values().filter(|slug| matches!(slug, SlugState::Owned { .. })).count();
    assert_eq!(owned, 1, "every claim that led to nothing is taken back");
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
        let Step::Claim { slug, owner, claim } = world.step(call) else { panic!() };
        world.claim(call, slug, owner, claim);
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
    let Step::Claim { slug, owner, claim } = world.step(&call) else { panic!() };
    world.claim(&mut call, slug.clone(), owner, claim);
    world.now += BUSY_MS;
    world.deliver(1);
    assert_eq!(world.slugs[&slug], SlugState::Free);
    let Step::Reply(reply, _) = world.step(&call) else { panic!() };
    assert_eq!(got(reply).status, 503, "a claim that may be taken back gives no page");
}

#[test]
fn links_are_edited_one_by_one_under_the_same_etag() {
    let mut world = World::default();
    let created = world.create(1, ada());
    let page = page_id(&created);
    let added =
        world.edit(1, page, PageEdit::AddLink(r#"{"title":"3","url":"https://example.com/3"}"#.to_owned()));
    assert_eq!(
        (added.status, added.etag.as_deref(), &added.body["revision"]),
        (200, Some("\"v2\""), &json!(2))
    );
    let ids: Vec<_> = added.body["links"].as_array().unwrap().iter().map(|link| link["id"].clone()).collect();
    let first = LinkId::parse(ids[0].as_str().unwrap()).unwrap();
    let order = json!({"order": [ids[2], ids[0], ids[1]]}).to_string();
    let ordered = world.edit(1, page, PageEdit::OrderLinks(order));
    assert_eq!((&ordered.body["links"][0]["title"], &ordered.body["links"][1]["id"]), (&json!("3"), &ids[0]));
    let patched = world.edit(1, page, PageEdit::PatchLink(first, r#"{"enabled":false}"#.to_owned()));
    assert_eq!(patched.body["links"][1]["enabled"], false);
    assert_eq!(patched.body["links"][1]["title"], "One");
    let deleted = world.edit(1, page, PageEdit::DeleteLink(first));
    assert_eq!(deleted.body["links"].as_array().map(Vec::len), Some(2));
    assert_eq!(world.edit(1, page, PageEdit::DeleteLink(first)).body["code"], "link-unknown");
    for body in [r#"{"order":[]}"#.to_owned(), json!({"order": [ids[0], ids[1], ids[2]]}).to_string()] {
        assert_eq!(world.edit(1, page, PageEdit::OrderLinks(body)).status, 422);
    }
    let late = Call {
        if_match: created.etag,
        ..world.call_of(1, Operation::Edit(page, PageEdit::AddLink("{}".to_owned())))
    };
    let refused = world.run(late);
    assert_eq!((refused.status, refused.etag.as_deref()), (412, Some("\"v5\"")));
}

#[test]
fn last_ten_revisions_and_the_live_one_are_kept_and_restored() {
    let mut world = World::default();
    let page = page_id(&world.create(1, json!({"title": "t1", "status": "published"})));
    for n in 2..=15 {
        world.edit(1, page, PageEdit::Patch(json!({"title": format!("t{n}")}).to_string()));
    }
    let listed = world.call(1, Operation::Revisions(page));
    let numbers: Vec<_> =
        listed.body["data"].as_array().unwrap().iter().map(|r| r["revision"].as_u64().unwrap()).collect();
    assert_eq!(numbers, [15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 1]);
    assert_eq!(world.accounts[&id(1)].1.len(), 11, "nothing else is stored");
    let restored = world.edit(1, page, PageEdit::Restore(7));
    assert_eq!((&restored.body["title"], &restored.body["revision"]), (&json!("t7"), &json!(16)));
    assert_eq!(world.edit(1, page, PageEdit::Restore(5)).body["code"], "revision-unknown");
    let read = world.call(1, Operation::ReadRevision(page, 1));
    assert_eq!((read.status, &read.body["document"]["title"]), (200, &json!("t1")));
}

#[test]
fn change_that_changes_nothing_keeps_version_and_revision() {
    let mut world = World::default();
    let created = world.create(1, ada());
    let page = page_id(&created);
    let again = world.edit(1, page, PageEdit::Replace(created.body.to_string()));
    assert_eq!((again.status, again.body == created.body, again.etag), (200, true, created.etag));
    let misspelt = world.edit(1, page, PageEdit::Patch(r#"{"titel":null}"#.to_owned()));
    assert_eq!(misspelt.status, 422);
}

#[test]
fn retry_with_an_idempotency_key_gets_the_stored_reply() {
    let mut world = World::default();
    let once = |body: &str| Some(Once::new("order-17", "POST", "/pages", body.as_bytes()));
    let body = ada().to_string();
    let mut first = Call { once: once(&body), ..world.call_of(1, Operation::Create(body.clone())) };
    let Step::Claim { slug, owner, claim } = world.step(&first) else { panic!() };
    let second = Call { once: once(&body), ..world.call_of(1, Operation::Create(body.clone())) };
    assert_eq!(world.run(second.clone()).body["code"], "idempotency-conflict", "still running");
    world.claim(&mut first, slug, owner, claim);
    let first = world.run(first);
    assert_eq!(first.status, 201);
    let retry = world.run(second.clone());
    assert_eq!((retry.status, &retry.body, &retry.etag), (201, &first.body, &first.etag));
    assert!(retry.headers.contains(&("idempotency-replayed", "true".to_owned())));
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
    assert_eq!(world.slugs.values().filter(|slug| **slug != SlugState::Free).count(), 1);
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
    assert!(
        refused.headers.contains(&("ratelimit", "\"hour\";r=0;t=3604".to_owned())),
        "{:?}",
        refused.headers
    );
    let account = world.call(1, Operation::ReadAccount { plan: BiolinkPlan::Business, analytics_days: 90 });
    assert_eq!((account.status, &account.body["calls"]["remaining"]), (200, &json!(0)));
    assert_eq!(account.body["pages"], json!({"used": 0, "limit": 25}));
    assert_eq!(world.call(2, list()).status, 200, "another account is not concerned");
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
    let once = Some(Once::new("order-17", "POST", "/pages", b"{}"));
    let first = Call { once, ..world.call_of(1, Operation::Create(body("secret-a").to_string())) };
    let first = page_id(&world.run(first));
    let second = page_id(&world.create(1, body("secret-b")));
    world.edit(1, second, PageEdit::Patch(r#"{"slug":"secret-c"}"#.to_owned()));
    let third = page_id(&world.create(1, body("secret-d")));
    world.call(1, Operation::Delete(third));
    world.deliver(1);
    assert_eq!((world.snapshots.len(), world.index.len()), (4, 2));

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
    assert!(first.headers.contains(&("content-type", "application/x-ndjson".to_owned())));
    assert!(first.headers.iter().any(|(name, value)| *name == "ratelimit" && value.contains("r=995")));
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
