//! Accounts and slugs: pages are created, renamed and deleted, and visitors read KV.

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet, HashMap},
    rc::Rc,
};

use biolink::{
    page::{IdSource, PageId, Slug},
    pages_api::{
        Account, Call, Claim, ClaimOutcome, Content, DeniedHosts, Loaded, Once, Operation, Owner, PageEdit,
        Reply, SlugMessage, SlugReply, SlugState, Snapshot, Step, StoredReply, Task, Write, suggestions,
    },
};
use serde_json::Value;
use shared::{key::KeyId, time::UnixMillis};

use super::{
    durable::{Fenced, Instance, Object, Shell},
    runtime::{Scope, Sim, json},
};

const ACCOUNTS: u8 = 3;
const CALLS: u64 = 18;
const NAMES: u64 = 4;
/// As the shells have them.
const ACCOUNT_TIMEOUT_MS: u64 = 10_000;
const SLUG_TIMEOUT_MS: u64 = 2_000;

pub(super) const CALM_AT: u64 = 200_000;
/// An alarm may be an hour late, and a task waits for a minute at most.
const END: u64 = CALM_AT + 2 * 3_600_000;

struct SlugShell;

impl Shell for SlugShell {
    type Rows = Option<SlugState>;
    type Memory = Option<SlugState>;

    async fn alarm(_: Rc<Object<Self>>, _: Rc<Instance<Self>>) {}
}

/// As the object of a slug: one synchronous step.
fn step_slug(
    object: &Object<SlugShell>,
    on: &Instance<SlugShell>,
    message: SlugMessage,
) -> Result<SlugReply, Fenced> {
    let mut memory = on.memory.borrow_mut();
    let before = memory.take().unwrap_or_else(|| object.rows(Clone::clone).unwrap_or_default());
    let mut next = before.clone();
    let reply = next.handle(message, object.clock());
    object.sim.note(|| format!("slug {}: {} → {reply:?}", object.name, json(&message)));
    if next != before {
        object.commit(on, |row| *row = Some(next.clone()))?;
    }
    *memory = Some(next);
    Ok(reply)
}

struct AccountShell {
    id: KeyId,
    world: Rc<Shared>,
}

#[derive(Clone, Default)]
struct AccountRows {
    state: Option<Account>,
    contents: BTreeMap<(PageId, u64), Content>,
    replies: HashMap<String, StoredReply>,
}

#[derive(Default)]
struct AccountMemory {
    state: Option<Account>,
    armed: Option<UnixMillis>,
}

/// What all objects reach.
struct Shared {
    sim: Sim,
    slugs: RefCell<BTreeMap<Slug, Rc<Object<SlugShell>>>>,
    kv: RefCell<BTreeMap<Slug, Snapshot>>,
}

impl Shared {
    fn slug(&self, slug: &Slug) -> Rc<Object<SlugShell>> {
        let mut slugs = self.slugs.borrow_mut();
        let new = || Object::new(&self.sim, slug.to_string(), SlugShell, None);
        Rc::clone(slugs.entry(slug.clone()).or_insert_with(new))
    }

    async fn call_slug(&self, slug: &Slug, message: SlugMessage) -> Option<SlugReply> {
        let object = self.slug(slug);
        let send = move || {
            let object = Rc::clone(&object);
            async move {
                object.handle(move |object, on| async move { step_slug(&object, &on, message).ok() }).await
            }
        };
        self.sim.call(SLUG_TIMEOUT_MS, send).await
    }
}

impl Shell for AccountShell {
    type Rows = AccountRows;
    type Memory = AccountMemory;

    async fn alarm(object: Rc<Object<Self>>, on: Rc<Instance<Self>>) {
        on.memory.borrow_mut().armed = None;
        let _ended = deliver(&object, &on).await;
        let _armed = arm(&object, &on);
    }
}

async fn deliver(object: &Object<AccountShell>, on: &Instance<AccountShell>) -> Result<(), Fenced> {
    for task in with_state(object, on, |state| state.due(object.clock()))? {
        let is_done = perform(object, on, &task).await;
        object.sim.note(|| format!("{}: {} done: {is_done}", object.name, json(&task)));
        with_state(object, on, |state| state.settle(&task, is_done, object.clock()))?;
    }
    Ok(())
}

async fn perform(object: &Object<AccountShell>, on: &Instance<AccountShell>, task: &Task) -> bool {
    match task {
        Task::Slug(slug, message) => object.shell.world.call_slug(slug, *message).await.is_some(),
        Task::Snapshot { account, slug } => {
            let read = |page, number| {
                Ok::<_, Fenced>(object.rows(|rows| rows.contents.get(&(page, number)).cloned()))
            };
            let snapshot = match &on.memory.borrow().state {
                Some(state) => state.snapshot(*account, slug, read).unwrap_or_default(),
                None => return false,
            };
            let mut kv = object.shell.world.kv.borrow_mut();
            match snapshot {
                Some(snapshot) => drop(kv.insert(slug.clone(), snapshot)),
                None => drop(kv.remove(slug)),
            }
            true
        }
        _ => true,
    }
}

fn arm(object: &Object<AccountShell>, on: &Instance<AccountShell>) -> Result<(), Fenced> {
    let mut memory = on.memory.borrow_mut();
    let next = memory.state.as_ref().and_then(Account::next_due);
    let Some(next) = next.filter(|next| memory.armed.is_none_or(|armed| *next < armed)) else {
        return Ok(());
    };
    memory.armed = Some(next);
    object.set_alarm(on, next)
}

fn with_state<T>(
    object: &Object<AccountShell>,
    on: &Instance<AccountShell>,
    change: impl FnOnce(&mut Account) -> T,
) -> Result<T, Fenced> {
    let mut memory = on.memory.borrow_mut();
    let mut state = memory.state.take().unwrap_or_else(|| object.rows(load));
    let outcome = change(&mut state);
    object.commit(on, |rows| rows.state = Some(state.clone()))?;
    memory.state = Some(state);
    Ok(outcome)
}

/// Reads what is stored, as text.
fn load(rows: &AccountRows) -> Account {
    let text = rows.state.as_ref().map(|state| serde_json::to_string(state).unwrap());
    text.map(|text| serde_json::from_str(&text).unwrap()).unwrap_or_default()
}

fn step(object: &Object<AccountShell>, on: &Instance<AccountShell>, call: &Call) -> Result<Step, Fenced> {
    let step = with_state(object, on, |state| {
        let needs = state.needs(call);
        let get =
            |at: Option<(PageId, u64)>| at.and_then(|at| object.rows(|rows| rows.contents.get(&at).cloned()));
        let loaded = Loaded {
            content: get(needs.content),
            other: get(needs.other),
            live: get(needs.live),
            reply: needs.reply.and_then(|name| object.rows(|rows| rows.replies.get(&name).cloned())),
        };
        state.step(call, loaded, &DeniedHosts::default(), object.clock())
    })?;
    if let Step::Reply(_, writes) = &step {
        // Of the same commit: nothing is awaited between.
        let mut rows = object.rows_mut();
        for write in writes {
            match write.clone() {
                Write::PutRevision(page, number, content) => {
                    drop(rows.contents.insert((page, number), content))
                }
                Write::KeepRevisions(page, kept) => {
                    rows.contents.retain(|(other, number), _| *other != page || kept.contains(number));
                }
                Write::PutReply { name, stored, .. } => drop(rows.replies.insert(name, stored)),
                Write::Erase => (rows.contents.clear(), rows.replies.clear()).0,
            }
        }
    }
    arm(object, on)?;
    Ok(step)
}

/// As the account's object handles a call.
async fn handle(
    object: Rc<Object<AccountShell>>,
    on: Rc<Instance<AccountShell>>,
    mut call: Call,
) -> Option<Reply> {
    loop {
        let (slug, message) = match step(&object, &on, &call).ok()? {
            Step::Reply(reply, _) => return Some(reply),
            Step::Admit(_) => return None,
            Step::Claim { slug, message } => (slug, message),
        };
        let outcome = match object.shell.world.call_slug(&slug, message).await {
            Some(SlugReply::Granted) => ClaimOutcome::Granted,
            Some(SlugReply::Taken) => {
                let _drawn = suggestions(&slug, &mut IdSource::new(call.seed));
                ClaimOutcome::Taken(Vec::new())
            }
            Some(SlugReply::Noted | SlugReply::Owner(_)) | None => ClaimOutcome::Unknown,
        };
        call.claim = Some(Claim { slug, outcome });
    }
}

/// What clients of one account know.
#[derive(Default)]
struct Clients {
    /// The version of each page that a client has seen.
    seen: BTreeMap<PageId, u64>,
    /// Pages that someone tried to delete.
    deleted: BTreeSet<PageId>,
}

pub(super) fn run(sim: &Sim) {
    let world = Rc::new(Shared { sim: sim.clone(), slugs: RefCell::default(), kv: RefCell::default() });
    let accounts: Vec<_> = (1..=ACCOUNTS)
        .map(|number| {
            let shell = AccountShell { id: KeyId::new([number; 12]), world: Rc::clone(&world) };
            Object::new(sim, format!("account {number}"), shell, AccountRows::default())
        })
        .collect();
    let clients: Vec<_> = accounts.iter().map(|_| Rc::new(RefCell::new(Clients::default()))).collect();
    for _ in 0..CALLS {
        let (at, which) = (sim.below(CALM_AT - 80_000), usize::try_from(sim.below(ACCOUNTS.into())).unwrap());
        if !sim.chance(700) {
            continue;
        }
        let (sim, account, known) = (sim.clone(), Rc::clone(&accounts[which]), Rc::clone(&clients[which]));
        sim.clone().spawn(&Scope::default(), async move {
            sim.sleep(at).await;
            client(&sim, &account, &known).await;
        });
    }
    for second in (10..CALM_AT / 1_000).step_by(10) {
        sim.run_until(second * 1_000);
        check_unique(sim, &accounts);
    }
    sim.run_until(END);
    check_unique(sim, &accounts);
    check_end(sim, &world, &accounts, &clients);
}

/// Calls once, and a second time under the same `Idempotency-Key` if there is no reply.
async fn client(sim: &Sim, account: &Rc<Object<AccountShell>>, known: &Rc<RefCell<Clients>>) {
    let pages: Vec<PageId> = known.borrow().seen.keys().copied().collect();
    let slug = format!("slug{}", sim.below(NAMES));
    let some = |sim: &Sim| pages.get(usize::try_from(sim.below(pages.len() as u64)).unwrap()).copied();
    let operation = match (sim.below(10), some(sim)) {
        (0..=3, _) | (_, None) => {
            Operation::Create(format!(r#"{{"title":"{slug}","slug":"{slug}","status":"published"}}"#))
        }
        (4..=7, Some(page)) => Operation::Edit(page, PageEdit::Patch(format!(r#"{{"slug":"{slug}"}}"#))),
        (_, Some(page)) => {
            known.borrow_mut().deleted.insert(page);
            Operation::Delete(page)
        }
    };
    let key = sim.bytes::<8>().map(|byte| format!("{byte:02x}")).concat();
    for _attempt in 0..2 {
        let call = Call {
            account: account.shell.id,
            request_id: sim.bytes(),
            at: sim.now(),
            seed: sim.bytes(),
            base: "https://p.example".to_owned(),
            operation: operation.clone(),
            dry_run: false,
            if_match: None,
            once: Some(Once::new(&key, "POST", "/pages", b"")),
            claim: None,
        };
        sim.note(|| {
            format!("{}: call {} claim {}", account.name, json(&call.operation), call.claim_number())
        });
        let object = Rc::clone(account);
        let send = move || {
            let (object, call) = (Rc::clone(&object), call.clone());
            async move { object.handle(move |object, on| handle(object, on, call)).await }
        };
        let Some(reply) = sim.call(ACCOUNT_TIMEOUT_MS, send).await else { continue };
        let response = reply.into_response();
        sim.note(|| format!("{}: client gets {}", account.name, response.status));
        let body: Value = serde_json::from_str(&response.body).unwrap_or_default();
        let page = body["id"].as_str().and_then(PageId::parse);
        if let (200..=299, Some(page)) = (response.status, page) {
            let version = response.header("etag").and_then(version_of).unwrap();
            let mut known = known.borrow_mut();
            let seen = known.seen.entry(page).or_default();
            *seen = version.max(*seen);
        }
        return;
    }
}

fn version_of(etag: &str) -> Option<u64> {
    etag.chars().filter(char::is_ascii_digit).collect::<String>().parse().ok()
}

/// The pages that are stored: id, slug and version.
fn pages(account: &Object<AccountShell>) -> Vec<(PageId, Slug, u64)> {
    let stored = account.rows(|rows| serde_json::to_value(&rows.state).unwrap());
    let page = |page: &Value| {
        let text = |name: &str| page[name].as_str().unwrap();
        (
            PageId::parse(text("id")).unwrap(),
            Slug::parse(text("slug")).unwrap(),
            page["version"].as_u64().unwrap(),
        )
    };
    stored["pages"].as_array().map(|pages| pages.iter().map(page).collect()).unwrap_or_default()
}

fn check_unique(sim: &Sim, accounts: &[Rc<Object<AccountShell>>]) {
    let mut owners = BTreeMap::new();
    for account in accounts {
        for (page, slug, _) in pages(account) {
            if let Some((other, holder)) = owners.insert(slug.clone(), (page, account.name.clone())) {
                sim.violate(format!(
                    "{slug} is of page {other} of {holder} and of page {page} of {}",
                    account.name
                ));
            }
        }
    }
}

fn check_end(
    sim: &Sim,
    world: &Shared,
    accounts: &[Rc<Object<AccountShell>>],
    clients: &[Rc<RefCell<Clients>>],
) {
    let mut held = BTreeSet::new();
    for (account, clients) in accounts.iter().zip(clients) {
        let pages = pages(account);
        for (page, slug, _) in &pages {
            let owner = Owner { account: account.shell.id, page: *page };
            let found = world
                .slug(slug)
                .rows(|row| row.clone().unwrap_or_default().handle(SlugMessage::Locate, sim.now()));
            let is_held = world.slug(slug).rows(|row| row.as_ref().is_some_and(SlugState::is_owned));
            if found != SlugReply::Owner(Some(owner)) || !is_held {
                sim.violate(format!("page {page} has {slug}, and the slug says {found:?}"));
            }
            held.insert(slug.clone());
            let read = |page, number| {
                Ok::<_, Fenced>(account.rows(|rows| rows.contents.get(&(page, number)).cloned()))
            };
            let expected = account.rows(load).snapshot(account.shell.id, slug, read).unwrap_or_default();
            if world.kv.borrow().get(slug) != expected.as_ref() {
                sim.violate(format!("visitors of {slug} do not see page {page} as it is"));
            }
        }
        let clients = clients.borrow();
        for (page, seen) in clients.seen.iter().filter(|(page, _)| !clients.deleted.contains(page)) {
            let stored = pages.iter().find(|(id, ..)| id == page).map(|(.., version)| *version);
            if stored.is_none_or(|stored| stored < *seen) {
                sim.violate(format!(
                    "version {seen} of page {page} was acknowledged, and {stored:?} is stored"
                ));
            }
        }
    }
    for (slug, object) in world.slugs.borrow().iter().filter(|(slug, _)| slug.as_str().starts_with("slug")) {
        if object.rows(|row| row.as_ref().is_some_and(SlugState::is_owned)) && !held.contains(slug) {
            sim.violate(format!("{slug} is taken, and no page has it"));
        }
    }
}
