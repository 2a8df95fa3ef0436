//! Accounts and slugs: pages are created, renamed and deleted, and visitors read KV.

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
};

use biolink::{
    page::{PageId, Slug},
    pages_api::{Operation, Owner, PageEdit, SlugMessage, SlugReply, SlugState},
};
use serde_json::Value;
use shared::key::KeyId;

use super::{
    account::{AccountShell, load},
    client,
    durable::{Fenced, Object},
    places::Places,
    runtime::Sim,
};

const ACCOUNTS: u8 = 3;
const CALLS: u64 = 18;
const NAMES: u64 = 4;

pub(super) const CALM_AT: u64 = 200_000;
/// An alarm may be an hour late, and a task waits for a minute at most.
const END: u64 = CALM_AT + 2 * 3_600_000;

/// What clients of one account know.
#[derive(Default)]
struct Clients {
    /// The version of each page that a client has seen.
    seen: BTreeMap<PageId, u64>,
    /// Pages that someone tried to delete.
    deleted: BTreeSet<PageId>,
}

pub(super) fn run(sim: &Sim) {
    let places = Places::new(sim);
    sim.disturb();
    let accounts: Vec<_> = (1..=ACCOUNTS).map(|number| places.account(KeyId::new([number; 12]))).collect();
    let clients: Vec<_> = accounts.iter().map(|_| Rc::new(RefCell::new(Clients::default()))).collect();
    client::spawn(sim, CALLS, CALM_AT - 80_000, ACCOUNTS, |which| {
        let (sim, account, known) = (sim.clone(), Rc::clone(&accounts[which]), Rc::clone(&clients[which]));
        async move { client(&sim, &account, &known).await }
    });
    for second in (10..CALM_AT / 1_000).step_by(10) {
        sim.run_until(second * 1_000);
        check_unique(sim, &accounts);
    }
    sim.run_until(END);
    check_unique(sim, &accounts);
    check_end(sim, &places, &accounts, &clients);
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
    let Some(response) = client::call(account, &operation, Some("/pages")).await else { return };
    let body: Value = serde_json::from_str(&response.body).unwrap_or_default();
    let page = body["id"].as_str().and_then(PageId::parse);
    if let (200..=299, Some(page)) = (response.status, page) {
        let version = response.header("etag").and_then(version_of).unwrap();
        let mut known = known.borrow_mut();
        let seen = known.seen.entry(page).or_default();
        *seen = version.max(*seen);
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
    places: &Places,
    accounts: &[Rc<Object<AccountShell>>],
    clients: &[Rc<RefCell<Clients>>],
) {
    let mut held = BTreeSet::new();
    for (account, clients) in accounts.iter().zip(clients) {
        let pages = pages(account);
        for (page, slug, _) in &pages {
            let owner = Owner { account: account.shell.id, page: *page };
            let found = places
                .slug(slug)
                .rows(|row| row.clone().unwrap_or_default().handle(SlugMessage::Locate, sim.now()));
            let is_held = places.slug(slug).rows(|row| row.as_ref().is_some_and(SlugState::is_owned));
            if found != SlugReply::Owner(Some(owner)) || !is_held {
                sim.violate(format!("page {page} has {slug}, and the slug says {found:?}"));
            }
            held.insert(slug.clone());
            let read = |page, number| {
                Ok::<_, Fenced>(account.rows(|rows| rows.contents.get(&(page, number)).cloned()))
            };
            let expected = account.rows(load).snapshot(account.shell.id, slug, read).unwrap_or_default();
            if places.kv.borrow().get(slug) != expected.as_ref() {
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
    for (slug, object) in places.slugs.borrow().iter().filter(|(slug, _)| slug.as_str().starts_with("slug")) {
        if object.rows(|row| row.as_ref().is_some_and(SlugState::is_owned)) && !held.contains(slug) {
            sim.violate(format!("{slug} is taken, and no page has it"));
        }
    }
}
