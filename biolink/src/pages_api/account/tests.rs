mod administration;
mod calls;
mod claims;
mod domains;
mod images;
mod locale;
mod sources;
mod webhooks;

use std::collections::{BTreeMap, HashMap};

use serde_json::Value;
use shared::{
    headers::Header,
    json,
    key::{BiolinkPlan, SecretId},
};

use super::*;
use crate::{
    domains::{Check, DomainSnapshot, HostName, Proof},
    page::{ImageId, LinkId, SourceId},
    pages_api::{
        PageEdit, SuspendedPages,
        list::ListQuery,
        slug::{SlugReply, SlugState},
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
    /// Who has each host, what its visitors see, and the records that are there.
    hosts: HashMap<HostName, SlugState>,
    sites: HashMap<HostName, DomainSnapshot>,
    records: Vec<String>,
    /// Whether the resolver is down.
    is_dns_down: bool,
    /// The account of each page, as the operator finds it.
    index: HashMap<PageId, KeyId>,
    /// Pages whose events were dropped.
    purged: Vec<PageId>,
    /// Sources whose objects were sent their settings.
    sources: Vec<SourceId>,
    /// Tasks about webhooks that were done.
    webhooks: Vec<Task>,
    denied: DeniedHosts,
    /// Files that were shown, hidden or deleted.
    files: Vec<(ImageId, ImageFate)>,
}

struct Got {
    status: u16,
    body: Value,
    etag: Option<String>,
    headers: Vec<Header>,
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
            locale: None,
            secret: None,
            operation,
            dry_run: false,
            if_match: None,
            once: None,
            claim: None,
            proof: None,
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
            live: get(needs.live),
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

    fn claim(&mut self, call: &mut Call, slug: Slug, message: SlugMessage) {
        let now = self.now();
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
                Step::Admit(admission) => panic!("{admission:?}"),
                Step::Claim { slug, message } => self.claim(&mut call, slug, message),
                Step::Check(check) => call.proof = Some(self.prove(call.account, &check)),
            }
        }
    }

    fn prove(&mut self, account: KeyId, check: &Check) -> Proof {
        let now = self.now();
        let message = check.claim_message(account);
        match (self.is_dns_down, check.proof(&self.records), message) {
            (true, ..) => Proof::Unknown,
            (false, Proof::Proved, Some(message)) => {
                match self.hosts.entry(check.host.clone()).or_default().handle(message, now) {
                    SlugReply::Granted => Proof::Proved,
                    _ => Proof::Taken,
                }
            }
            (false, proof, _) => proof,
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
        self.check_domains(account);
        loop {
            let tasks = self.accounts.entry(id(account)).or_default().0.due(now);
            if tasks.is_empty() {
                break;
            }
            tasks.iter().for_each(|task| self.perform(account, task));
        }
        let next = self.accounts[&id(account)].0.next_due();
        assert!(next.is_none_or(|next| next > now), "nothing stays due");
    }

    fn perform(&mut self, account: u8, task: &Task) {
        let now = self.now();
        let (state, contents, _) = self.accounts.get_mut(&id(account)).unwrap();
        match task {
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
            Task::PurgeEvents(page) => self.purged.push(*page),
            Task::DropImage(image) | Task::MarkImage(image) => {
                state.forget_lost_images(now);
                self.files.push((*image, state.image_fate(image)));
            }
            Task::ConfigureSource { source, .. } => self.sources.push(*source),
            Task::Subscribe { .. }
            | Task::Published { .. }
            | Task::PurgeWebhooks { .. }
            | Task::EraseWebhooks(_) => self.webhooks.push(task.clone()),
            Task::CheckDomain(_) => {}
            Task::ServeDomain { account, host } => {
                self.sites.extend(state.domain_snapshot(*account, host).map(|site| (host.clone(), site)));
            }
            Task::EndDomain { account, host, .. } => {
                if state.domain_snapshot(*account, host).is_none() {
                    self.sites.remove(host);
                }
            }
            Task::Host { account, host, claim } => {
                let cancel = SlugMessage::Cancel { owner: host_owner(*account), claim: *claim };
                self.hosts.entry(host.clone()).or_default().handle(cancel, now);
            }
            Task::Slug(slug, message) => {
                self.slugs.entry(slug.clone()).or_default().handle(*message, now);
            }
        }
        state.settle(task, true, now);
    }

    /// Makes all checks that are due.
    fn check_domains(&mut self, account: u8) {
        let now = self.now();
        for task in self.accounts.entry(id(account)).or_default().0.due(now) {
            let Task::CheckDomain(domain) = task else { continue };
            self.seed += 1;
            let number = u64::from(self.seed) << 32;
            let state = &mut self.accounts.get_mut(&id(account)).unwrap().0;
            let Some(check) = state.check_domain(id(account), &domain, number, now) else { continue };
            let proof = self.prove(id(account), &check);
            let state = &mut self.accounts.get_mut(&id(account)).unwrap().0;
            state.domain_checked(id(account), &check, proof, now);
        }
    }

    fn visit(&self, slug: &str) -> Served {
        let snapshot = self.snapshots.get(&Slug::parse(slug).unwrap()).cloned();
        let text = snapshot.map(|snapshot| snapshot.to_json());
        Served::of(text.and_then(|text| Snapshot::from_json(&text)), self.now())
    }
}

impl Got {
    fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(other, _)| other == name).map(|(_, value)| &**value)
    }
}

fn got(reply: Reply) -> Got {
    let response = reply.into_response();
    Got {
        status: response.status,
        etag: response.header("etag").map(str::to_owned),
        headers: response.headers,
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
    assert_eq!(created.header("location"), Some(&*format!("/pages/{page}")));
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
    assert_eq!(world.purged, [page]);
    world.deliver(1);
    assert_eq!(world.visit("ada"), Served::Gone);
    assert_eq!(world.call(1, Operation::Read(page)).status, 404);
    assert!(world.accounts[&id(1)].1.is_empty(), "no content stays");
    assert_eq!(world.create(2, ada()).status, 409, "the slug is reserved for a month");
    assert_eq!(world.create(1, ada()).status, 201, "for its account it is free");
    world.now += 31 * 86_400_000;
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
fn revision_names_the_secret_that_made_it_while_it_is_kept() {
    let mut world = World::default();
    let page = page_id(&world.create(1, json!({"title": "t1", "status": "published"})));
    let secret = SecretId::new([7; 8]);
    let edit = |world: &mut World, n: u8, secret| {
        let patch = PageEdit::Patch(json!({"title": format!("t{n}")}).to_string());
        let call = world.call_of(1, Operation::Edit(page, patch));
        world.run(Call { secret, ..call })
    };
    let authors = |world: &mut World| {
        let listed = world.call(1, Operation::Revisions(page));
        let author = |r: &Value| (r["revision"].as_u64().unwrap(), r["secret_id"].clone());
        listed.body["data"].as_array().unwrap().iter().map(author).collect::<Vec<_>>()
    };
    edit(&mut world, 2, Some(secret));
    edit(&mut world, 3, None);
    assert_eq!(authors(&mut world), [(3, Value::Null), (2, json!(secret)), (1, Value::Null)]);
    for n in 4..=14 {
        edit(&mut world, n, None);
    }
    assert!(authors(&mut world).iter().all(|(number, author)| *number != 2 && author.is_null()));
    let stored = serde_json::to_string(&world.accounts[&id(1)].0).unwrap();
    assert!(!stored.contains("authors"), "of what is gone nothing is kept: {stored}");
}

#[test]
fn revision_says_who_published_it_last() {
    let mut world = World::default();
    let page = page_id(&world.create(1, json!({"title": "t1"})));
    let secret = SecretId::new([7; 8]);
    let edit = |world: &mut World, members: Value, secret| {
        let call = world.call_of(1, Operation::Edit(page, PageEdit::Patch(members.to_string())));
        assert_eq!(world.run(Call { secret, ..call }).status, 200);
    };
    let publications = |world: &mut World| {
        let listed = world.call(1, Operation::Revisions(page));
        let of = |r: &Value| {
            assert_eq!(r["published_at"].is_null(), r["revision"] == 2, "{r}");
            (r["revision"].as_u64().unwrap(), r["published_secret_id"].clone())
        };
        listed.body["data"].as_array().unwrap().iter().map(of).collect::<Vec<_>>()
    };
    edit(&mut world, json!({"status": "published"}), Some(secret));
    edit(&mut world, json!({"title": "t2"}), Some(secret));
    assert_eq!(publications(&mut world), [(2, Value::Null), (1, json!(secret))]);
    edit(&mut world, json!({"title": "t3", "status": "published"}), None);
    assert_eq!(publications(&mut world), [(3, Value::Null), (2, Value::Null), (1, json!(secret))]);
    edit(&mut world, json!({"status": "unpublished"}), None);
    edit(&mut world, json!({"status": "published"}), Some(secret));
    assert_eq!(publications(&mut world)[0], (3, json!(secret)), "the last of two");
    for n in 4..=14 {
        edit(&mut world, json!({"title": format!("t{n}")}), None);
    }
    let stored: Value =
        serde_json::from_str(&serde_json::to_string(&world.accounts[&id(1)].0).unwrap()).unwrap();
    let kept = |list: &str| stored["pages"][0][list].as_array().unwrap().len();
    assert_eq!(
        (kept("publications"), kept("publishers")),
        (1, 1),
        "of what is gone nothing is kept: {stored}"
    );
}

#[test]
fn change_that_changes_nothing_keeps_version_and_revision() {
    let mut world = World::default();
    let created = world.create(1, ada());
    let page = page_id(&created);
    let again = world.edit(1, page, PageEdit::Replace(created.body.to_string()));
    assert_eq!((again.status, again.body == created.body, again.etag), (200, true, created.etag));
    // What is not there stays away (RFC 7396): a key may be removed again.
    for patch in [r#"{"metadata":{"gone":null}}"#, r#"{"metadata":{"gone":null},"titel":null}"#] {
        let removed = world.edit(1, page, PageEdit::Patch(patch.to_owned()));
        assert_eq!((removed.status, &removed.body), (200, &created.body), "{patch}");
    }
    let misspelt = world.edit(1, page, PageEdit::Patch(r#"{"titel":"Ada"}"#.to_owned()));
    assert_eq!(misspelt.status, 422);
}

#[test]
fn dry_run_shows_each_destination_of_a_link() {
    let mut world = World::default();
    let link = json!({"title": "News", "url": "https://example.com/", "visible_until": "2030-01-01T00:00:00Z",
        "targets": [{"countries": ["DE"], "url": "https://example.de/"}],
        "fallback": {"url": "https://example.com/late"}, "utm": {"source": "ada"}});
    let body = json!({"title": "Ada", "codes": [{"via": "flyer"}],
        "links": [link, {"title": "Plain", "url": "https://example.com/plain"}]});
    let call = Call { dry_run: true, ..world.call_of(1, Operation::Create(body.to_string())) };
    let previews = &world.run(call).body["previews"];
    let shown: Vec<_> = previews
        .as_array()
        .unwrap()
        .iter()
        .map(|preview| (preview["url"].as_str().unwrap(), preview["from"].as_str()))
        .collect();
    let end = Some("2030-01-01T00:00:00Z");
    let expected = [
        ("https://example.de/?utm_source=ada", None),
        ("https://example.com/?utm_source=ada", None),
        ("https://example.com/late?utm_source=ada", end),
    ];
    assert_eq!(shown, expected, "the plain link has one destination");
    let created = world.create(1, body);
    let slug = created.body["slug"].as_str().unwrap();
    let urls = &created.body["urls"]["codes"]["flyer"];
    let code = urls["short"].as_str().and_then(|url| url.strip_prefix("https://p.example/s/")).unwrap();
    assert_eq!(urls["qr"], format!("https://p.example/q/{code}"));
    assert_eq!(urls["image"], format!("https://p.example/{slug}/qr.svg?via=flyer"));
}
