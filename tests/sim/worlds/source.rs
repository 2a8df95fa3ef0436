//! The shell of a product source's object: fetches by its alarm, takes pushes, and gives products to the
//! account.

use std::{
    cell::{Cell, RefCell},
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
};

use biolink::{
    pages_api::{AccountMessage, Call, Operation, SourceCall},
    product_feed::{Feed, FeedProduct, FormatChoice},
    product_sync::{Catalog, EditOutcome, FetchError, Fetched, SourceMessage, SyncState},
};
use serde_json::json;

use super::{
    durable::{Fenced, Instance, Object, Shell},
    places::Places,
};

/// The time after which an alarm that failed runs again, in milliseconds.
const RETRY_MS: u64 = 60_000;

/// A change of the shop, as a push tells of it: product and version, or its end.
pub(super) type Change = (u64, Option<u64>);

/// The shop: its products with their versions, and what the object has taken of it, in order.
#[derive(Default)]
pub(super) struct Shop {
    pub(super) products: RefCell<BTreeMap<u64, u64>>,
    /// What the page must show, as the newest push or fetch has it.
    pub(super) newest: RefCell<BTreeMap<u64, u64>>,
    /// Pushes since the fetch that runs began.
    since: RefCell<Vec<Change>>,
    pub(super) fetches: Cell<u64>,
}

pub(super) struct SourceShell {
    pub(super) places: Rc<Places>,
    pub(super) shop: Shop,
}

#[derive(Clone, Default)]
pub(super) struct SourceRows {
    parts: Parts,
    pushes: BTreeSet<u64>,
}

#[derive(Clone, Default)]
pub(super) struct Parts {
    state: SyncState,
    catalog: Catalog,
}

impl SourceShell {
    pub(super) fn new(places: Rc<Places>) -> Self {
        Self { places, shop: Shop::default() }
    }
}

impl Shop {
    fn push(&self, (product, version): Change) {
        let mut newest = self.newest.borrow_mut();
        match version {
            Some(version) => drop(newest.insert(product, version)),
            None => drop(newest.remove(&product)),
        }
        self.since.borrow_mut().push((product, version));
    }

    fn finish(&self, fetched: BTreeMap<u64, u64>) {
        *self.newest.borrow_mut() = fetched;
        self.since.take().into_iter().for_each(|change| self.push(change));
        self.since.take();
        self.fetches.set(self.fetches.get() + 1);
    }
}

impl Shell for SourceShell {
    type Rows = SourceRows;
    type Memory = Option<Parts>;

    async fn alarm(object: Rc<Object<Self>>, on: Rc<Instance<Self>>) {
        if run(&object, &on).await.is_err() {
            on.memory.take();
            let _retried = object.set_alarm(&on, object.clock().plus(RETRY_MS));
        }
    }
}

pub(super) async fn handle(
    object: Rc<Object<SourceShell>>,
    on: Rc<Instance<SourceShell>>,
    message: SourceMessage,
) -> Option<()> {
    object.sim.note(|| format!("source: {message:?}").chars().take(90).collect());
    match message {
        SourceMessage::Configure { account, source } => {
            change(&object, &on, |parts| parts.state.configure(account, source, object.clock())).ok()?;
            arm(&object, &on).ok()
        }
        SourceMessage::Delete => erase(&object, &on).ok(),
        SourceMessage::Refresh => {
            change(&object, &on, |parts| parts.state.refresh(object.clock())).ok()?.ok()?;
            arm(&object, &on).ok()
        }
        SourceMessage::Status | SourceMessage::Runs | SourceMessage::Push(_) => Some(()),
    }
}

/// Takes a push that was verified.
pub(super) async fn push(
    object: Rc<Object<SourceShell>>,
    on: Rc<Instance<SourceShell>>,
    name: u64,
    pushed: Change,
) -> Option<()> {
    if with(&object, &on, |parts| parts.state.source().is_none()) {
        return None;
    }
    if object.rows(|rows| rows.pushes.contains(&name)) {
        return Some(());
    }
    let (product, version) = pushed;
    let upserts =
        version.map(|version| feed(&BTreeMap::from([(product, version)])).products).unwrap_or_default();
    let deletes: Vec<_> = if version.is_none() { vec![product.to_string()] } else { Vec::new() };
    change(&object, &on, |Parts { state, catalog }| {
        state.push(catalog, upserts, &deletes, &[], object.clock())
    })
    .ok()?;
    object.rows_mut().pushes.insert(name);
    object.shell.shop.push(pushed);
    object.sim.note(|| format!("source: takes push {name} of product {product}: {version:?}"));
    arm(&object, &on).ok()?;
    give(&object, &on).await.ok()?;
    arm(&object, &on).ok()
}

async fn run(object: &Object<SourceShell>, on: &Instance<SourceShell>) -> Result<(), Fenced> {
    let shop = &object.shell.shop;
    if let Some(attempt) = change(object, on, |parts| parts.state.begin(object.clock()))? {
        shop.since.take();
        let seen = shop.products.borrow().clone();
        object.sim.note(|| format!("source: fetches {seen:?}"));
        object.sim.sleep(object.sim.below(60_000)).await;
        let is_failing = object.sim.chance(object.sim.faults().lost);
        let outcome = match is_failing {
            true => Err(FetchError::TimedOut { ms: 15_000 }),
            false => Ok(Fetched::Feed { feed: feed(&seen), status: 200, etag: None, last_modified: None }),
        };
        change(object, on, |Parts { state, catalog }| {
            state.finish(&attempt, outcome, catalog, object.clock());
        })?;
        object.sim.note(|| format!("source: fetched, failing: {is_failing}"));
        if !is_failing {
            shop.finish(seen);
        }
    }
    give(object, on).await?;
    arm(object, on)
}

async fn give(object: &Object<SourceShell>, on: &Instance<SourceShell>) -> Result<(), Fenced> {
    let due = change(object, on, |Parts { state, catalog }| state.edit(catalog, object.clock()))?;
    let Some(edit) = due else { return Ok(()) };
    object.sim.note(|| format!("source: sends edit {} of {:?}", edit.number, titles(&edit.products)));
    let call = Call {
        account: edit.account,
        request_id: object.sim.bytes(),
        at: object.clock(),
        seed: object.sim.bytes(),
        base: String::new(),
        locale: None,
        operation: Operation::Sources(edit.page, SourceCall::sync(&edit)),
        dry_run: false,
        secret: None,
        if_match: None,
        once: None,
        claim: None,
        proof: None,
    };
    let text = serde_json::to_string(&AccountMessage::Call(call)).unwrap();
    let Ok(AccountMessage::Call(call)) = serde_json::from_str(&text) else { return Ok(()) };
    let outcome = match object.shell.places.call_account(call).await {
        Some(decision) => SourceCall::outcome(decision),
        None => EditOutcome::Failed("the account did not respond".to_owned()),
    };
    object.sim.note(|| format!("source: edit {} is {outcome:?}", edit.number));
    if outcome == EditOutcome::SourceGone {
        return erase(object, on);
    }
    change(object, on, |parts| parts.state.settle(&edit, outcome, object.clock()))
}

fn titles(products: &[FeedProduct]) -> Vec<&str> {
    products.iter().map(|product| product.title.as_str()).collect()
}

/// Returns the shop's feed: each product's title has its version.
fn feed(products: &BTreeMap<u64, u64>) -> Feed {
    let item = |(product, version): (&u64, &u64)| json!({"id": product.to_string(), "title": format!("{product} v{version}"), "url": "https://shop.example/a", "price": "1.00 EUR"});
    let body = json!({"items": products.iter().map(item).collect::<Vec<_>>()}).to_string();
    Feed::parse(body.as_bytes(), FormatChoice::Auto, "https://shop.example/", None).unwrap()
}

fn arm(object: &Object<SourceShell>, on: &Instance<SourceShell>) -> Result<(), Fenced> {
    match with(object, on, |parts| parts.state.next_due()) {
        Some(next) => object.set_alarm(on, next),
        None => Ok(()),
    }
}

fn erase(object: &Object<SourceShell>, on: &Instance<SourceShell>) -> Result<(), Fenced> {
    on.memory.take();
    object.commit(on, |rows| *rows = SourceRows::default())
}

fn with<T>(
    object: &Object<SourceShell>,
    on: &Instance<SourceShell>,
    step: impl FnOnce(&mut Parts) -> T,
) -> T {
    step(on.memory.borrow_mut().get_or_insert_with(|| object.rows(|rows| rows.parts.clone())))
}

/// Changes the parts, and stores those that have changed.
fn change<T>(
    object: &Object<SourceShell>,
    on: &Instance<SourceShell>,
    change: impl FnOnce(&mut Parts) -> T,
) -> Result<T, Fenced> {
    with(object, on, |parts| {
        let before = parts.clone();
        let outcome = change(parts);
        if before.state != parts.state || before.catalog != parts.catalog {
            object.commit(on, |rows| rows.parts = parts.clone())?;
        }
        Ok(outcome)
    })
}
