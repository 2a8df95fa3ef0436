//! Events: isolates buffer and send them, directly or through the queue, stores count them, and the
//! account's webhooks log them.

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
};

use biolink::{
    events::{
        Batch, Buffer, Event, EventKind, Flush, PageDelivery, StoreBreaker, WAIT_MS, deliveries, retry_delay,
    },
    page::PageId,
};
use shared::{key::KeyId, time::UnixMillis};

use super::{
    durable::Object,
    hooks::{self, HooksRows, HooksShell},
    runtime::{Scope, Sim},
    stats::{self, StatsRows, StatsShell},
};

const ACCOUNT: KeyId = KeyId::new([1; 12]);
const PAGES: u8 = 2;
const ISOLATES: u64 = 3;
const EVENTS: u64 = 30;
const RESTARTS: u64 = 4;
/// As the shells have them, in milliseconds.
const STORE_TIMEOUT_MS: u64 = 2_000;
const QUEUE_TIMEOUT_MS: u64 = 15_000;
const RETRIES: u32 = 4;
const RETRY_MS: u64 = 1_000;
/// The queue hands out what it has so often.
const QUEUE_MS: u64 = 5_000;

pub(super) const CALM_AT: u64 = 200_000;
const END: u64 = CALM_AT + 2 * 3_600_000;

/// A world of events.
struct World {
    sim: Sim,
    stores: BTreeMap<PageId, Rc<Object<StatsShell>>>,
    hooks: Rc<Object<HooksShell>>,
    /// Messages of the queue: the moment from which each is handed out, that of its arrival, and its text.
    queue: RefCell<Vec<(u64, UnixMillis, String)>>,
    /// Events that a store or the queue has acknowledged.
    acknowledged: RefCell<BTreeSet<u64>>,
}

/// An isolate: its memory, and the scope of its work.
struct Isolate {
    scope: Scope,
    buffer: RefCell<Buffer>,
    breaker: RefCell<StoreBreaker>,
}

pub(super) fn run(sim: &Sim) {
    sim.disturb();
    let hooks = Object::new(sim, "webhooks".to_owned(), HooksShell::default(), HooksRows::new());
    let stores = (1..=PAGES).map(|number| {
        let page = PageId::new([number; 12]);
        let shell = StatsShell { account: ACCOUNT, page, hooks: Rc::clone(&hooks) };
        (page, Object::new(sim, format!("store {number}"), shell, StatsRows::subscribed()))
    });
    let stores = stores.collect();
    let world = Rc::new(World {
        sim: sim.clone(),
        stores,
        hooks,
        queue: RefCell::default(),
        acknowledged: RefCell::default(),
    });
    let isolates: Vec<_> = (0..ISOLATES).map(|_| RefCell::new(Isolate::new(sim))).collect();
    let isolates = Rc::new(isolates);
    for visitor in 1..=EVENTS {
        // In bursts, so that batches have several.
        let at = sim.below(8) * 15_000 + sim.below(3_000);
        let (isolate, page) = (usize::try_from(sim.below(ISOLATES)).unwrap(), sim.below(PAGES.into()));
        if !sim.chance(700) {
            continue;
        }
        let (world, isolates, page) =
            (Rc::clone(&world), Rc::clone(&isolates), PageId::new([u8::try_from(page).unwrap() + 1; 12]));
        sim.clone().spawn(&Scope::default(), async move {
            world.sim.sleep(at).await;
            let isolate = isolates[isolate].borrow().clone();
            let event = Event { visitor, ..Event::new(world.sim.now(), EventKind::View) };
            let flush = isolate.buffer.borrow_mut().push(ACCOUNT, page, &event);
            world.sim.note(|| format!("visitor {visitor} views page {page}"));
            let task = deliver(Rc::clone(&world), Rc::clone(&isolate), flush);
            world.sim.spawn(&isolate.scope, task);
        });
    }
    for _ in 0..RESTARTS {
        let (at, isolate) = (sim.below(CALM_AT), usize::try_from(sim.below(ISOLATES)).unwrap());
        if !sim.chance(sim.faults().evicted * 5) {
            continue;
        }
        let (sim, isolates) = (sim.clone(), Rc::clone(&isolates));
        sim.clone().spawn(&Scope::default(), async move {
            sim.sleep(at).await;
            sim.note(|| format!("isolate {isolate} is gone"));
            isolates[isolate].borrow().scope.end();
            isolates[isolate].replace(Isolate::new(&sim));
        });
    }
    sim.spawn(&Scope::default(), consume(Rc::clone(&world)));
    sim.run_until(END);
    check(&world);
}

impl Isolate {
    fn new(sim: &Sim) -> Rc<Self> {
        Rc::new(Self {
            scope: Scope::default(),
            buffer: RefCell::new(Buffer::new(sim.bytes())),
            breaker: RefCell::default(),
        })
    }
}

/// As the isolate sends what is due, and again what was not taken.
async fn deliver(world: Rc<World>, isolate: Rc<Isolate>, flush: Flush) {
    let mut batches = match flush {
        Flush::Now => isolate.buffer.borrow_mut().take(),
        Flush::Later(number) => {
            world.sim.sleep(WAIT_MS).await;
            isolate.buffer.borrow_mut().take_due(number)
        }
    };
    for retry in 0..=RETRIES {
        let mut refused = Vec::new();
        for batch in batches {
            if let Some(left) = store(&world, &isolate, batch).await {
                refused.extend(enqueue(&world, left).await);
            }
        }
        if refused.is_empty() {
            return;
        }
        isolate.buffer.borrow_mut().restore(refused);
        if retry == RETRIES {
            return;
        }
        world.sim.sleep(RETRY_MS << retry).await;
        batches = isolate.buffer.borrow_mut().take();
    }
}

async fn store(world: &World, isolate: &Isolate, batch: Batch) -> Option<Batch> {
    let now = world.sim.now();
    if !isolate.breaker.borrow().is_direct(&batch, now) {
        return Some(batch);
    }
    let mut taken = Vec::new();
    for delivery in deliveries(vec![batch.clone()]) {
        if append(world, &delivery, STORE_TIMEOUT_MS).await {
            taken.push(delivery.page);
        }
    }
    let left = batch.without(&taken);
    if left.is_some() {
        isolate.breaker.borrow_mut().record_failure(world.sim.now());
    }
    left
}

async fn append(world: &World, delivery: &PageDelivery, timeout: u64) -> bool {
    let (object, parts) = (Rc::clone(&world.stores[&delivery.page]), delivery.parts.clone());
    let numbers: Vec<_> = parts.iter().map(|part| part.number).collect();
    let send = move || {
        let (object, parts) = (Rc::clone(&object), parts.clone());
        async move { object.handle(move |object, on| stats::append(object, on, parts)).await }
    };
    let is_taken = world.sim.call(timeout, send).await.is_some();
    world.sim.note(|| format!("batches {numbers:?} for page {}: taken {is_taken}", delivery.page));
    if is_taken {
        let segments = delivery.parts.iter().map(|part| part.rows.segment().unwrap());
        let visitors =
            segments.flat_map(|segment| segment.events().map(|event| event.visitor).collect::<Vec<_>>());
        world.acknowledged.borrow_mut().extend(visitors);
    }
    is_taken
}

/// Gives a batch to the queue. One that says no may have it even so.
async fn enqueue(world: &World, batch: Batch) -> Option<Batch> {
    world.sim.sleep(world.sim.below(50)).await;
    let lost = world.sim.faults().lost;
    let (is_taken, is_known) = (!world.sim.chance(lost), !world.sim.chance(lost));
    if is_taken {
        let due = world.sim.elapsed() + world.sim.below(QUEUE_MS);
        world.queue.borrow_mut().push((due, world.sim.now(), batch.to_json()));
        if is_known {
            world.acknowledged.borrow_mut().extend(visitors(&batch));
            return None;
        }
    }
    Some(batch)
}

/// Hands out messages in any order, and again what was not taken, or at random.
async fn consume(world: Rc<World>) {
    while world.sim.elapsed() < END {
        world.sim.sleep(QUEUE_MS).await;
        let now = world.sim.elapsed();
        let mut due: Vec<_> = world.queue.borrow_mut().extract_if(.., |(at, ..)| *at <= now).collect();
        if world.sim.chance(world.sim.faults().late) {
            due.reverse();
        }
        let batches: Vec<_> = due.iter().map(|(.., text)| Batch::from_json(text).unwrap()).collect();
        let mut failed = vec![false; due.len()];
        for delivery in deliveries(batches) {
            if !append(&world, &delivery, QUEUE_TIMEOUT_MS).await {
                delivery.batches.iter().for_each(|place| failed[*place] = true);
            }
        }
        for ((_, sent, text), failed) in due.into_iter().zip(failed) {
            let again =
                if failed { u64::from(retry_delay(world.sim.now().since(sent))) * 1_000 } else { 20_000 };
            if failed || world.sim.chance(world.sim.faults().doubled) {
                world.queue.borrow_mut().push((world.sim.elapsed() + again, sent, text));
            }
        }
    }
}

fn visitors(batch: &Batch) -> Vec<u64> {
    let segments = batch.pages.iter().map(|rows| rows.segment().unwrap());
    segments.flat_map(|segment| segment.events().map(|event| event.visitor).collect::<Vec<_>>()).collect()
}

fn check(world: &World) {
    let rows = |store: &Object<StatsShell>| {
        let segments = store.rows(|rows| rows.segments.clone());
        segments
            .iter()
            .flat_map(|row| row.segment.events().map(|event| event.visitor).collect::<Vec<_>>())
            .collect()
    };
    let counted: Vec<u64> = world.stores.values().flat_map(|store| -> Vec<u64> { rows(store) }).collect();
    let once: BTreeSet<_> = counted.iter().copied().collect();
    if once.len() < counted.len() {
        world.sim.violate(format!("events are counted twice: {counted:?}"));
    }
    let lost: Vec<_> = world.acknowledged.borrow().difference(&once).copied().collect();
    if !lost.is_empty() {
        world.sim.violate(format!("events were acknowledged and are not counted: {lost:?}"));
    }
    hooks::check(&world.hooks);
    let mut logged = world.hooks.rows(|rows| rows.log.clone());
    logged.sort_unstable();
    if logged != once.iter().copied().collect::<Vec<_>>() {
        world.sim.violate(format!("the stores have the events {once:?}, and the webhooks {logged:?}"));
    }
}
