//! The shell of an account's webhooks: logs the events that are new, makes deliveries of them, and sends
//! them by its alarm.

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
};

use biolink::{
    fetch_url::FetchPolicy,
    page::PageId,
    stats::OutboxRow,
    webhooks::{
        ATTEMPT_TIMEOUT_MS, AttemptResult, EncryptionKeys, Endpoint, EndpointChange, EndpointId,
        EndpointInput, EventId, MAX_ATTEMPTS, WebhookKind, WebhookSecret,
    },
    webhooks_api::{
        Delivery, DeliveryNumbers, DeliveryState, EndedAttempt, LoggedEvent, PageProgress, fan_out,
    },
};
use shared::time::UnixMillis;

use super::{
    durable::{Fenced, Instance, Object, Shell},
    runtime::START,
};

/// As the shell has them.
const RETRY_MS: u64 = 60_000;
const TICK_MS: u64 = 250;
const MAX_REQUESTS: usize = 6;

/// The receiver, and the deliveries of which a 2xx was seen and stored.
#[derive(Default)]
pub(super) struct HooksShell {
    seen: RefCell<BTreeSet<u64>>,
}

#[derive(Clone)]
pub(super) struct HooksRows {
    pages: BTreeMap<PageId, PageProgress>,
    /// The visitors of the events of the log, by sequence.
    pub(super) log: Vec<u64>,
    endpoint: Endpoint,
    pub(super) deliveries: BTreeMap<u64, Delivery>,
}

#[derive(Default)]
pub(super) struct HooksMemory {
    in_flight: BTreeSet<u64>,
    is_running: bool,
}

impl HooksRows {
    pub(super) fn new() -> Self {
        let body = r#"{"url":"https://shop.example/hook","events":["page_view"]}"#;
        let policy = FetchPolicy::new(["https://api.example.com"], false);
        let input = EndpointInput::create(body.as_bytes(), &policy, &[]).ok().unwrap();
        let keys = EncryptionKeys::parse("0123456789abcdef0123456789abcdef").unwrap();
        let secret = keys.seal(&WebhookSecret::generate([1; 24]), "key_ada", &[1; 24]);
        let endpoint = Endpoint::new(EndpointId::new([7; 12]), input, secret, UnixMillis(START));
        Self { pages: BTreeMap::new(), log: Vec::new(), endpoint, deliveries: BTreeMap::new() }
    }

    fn waiting(&self) -> impl Iterator<Item = &Delivery> {
        self.deliveries.values().filter(|delivery| delivery.state.code() < 2)
    }

    fn next_due(&self) -> Option<UnixMillis> {
        let due = self.waiting().map(|delivery| delivery.due).min()?;
        Some(self.endpoint.health.next_probe().map_or(due, |probe| due.max(probe)))
    }
}

impl Shell for HooksShell {
    type Rows = HooksRows;
    type Memory = HooksMemory;

    async fn alarm(object: Rc<Object<Self>>, on: Rc<Instance<Self>>) {
        if std::mem::replace(&mut on.memory.borrow_mut().is_running, true) {
            return;
        }
        let ran = run(&object, &on).await;
        on.memory.borrow_mut().is_running = false;
        let next = ran.unwrap_or_else(|Fenced| Some(object.clock().plus(RETRY_MS)));
        if let Some(next) = next {
            let _set = object.set_alarm(&on, next);
        }
    }
}

pub(super) async fn append(
    object: Rc<Object<HooksShell>>,
    on: Rc<Instance<HooksShell>>,
    page: PageId,
    rows: Vec<OutboxRow>,
) -> Option<()> {
    let progress = |page| object.rows(|rows| rows.pages.get(&page).cloned().unwrap_or_default());
    if !progress(page).has_new(&rows) {
        return wake(&object, &on).ok();
    }
    // The account is asked what the page is called.
    object.sim.sleep(object.sim.below(3_000)).await;
    let (mut progress, now) = (progress(page), object.clock());
    let segments = progress.take_new(&rows).into_iter().map(|row| row.segment().unwrap());
    let visitors: Vec<u64> = segments
        .flat_map(|segment| segment.events().map(|event| event.visitor).collect::<Vec<_>>())
        .collect();
    object.sim.note(|| format!("webhooks: log events {visitors:?}"));
    object
        .commit(&on, |rows| {
            rows.pages.insert(page, progress);
            let logged: Vec<_> = visitors
                .into_iter()
                .map(|visitor| {
                    rows.log.push(visitor);
                    let id = EventId::numbered(rows.log.len() as u64, [1; 8]);
                    LoggedEvent { id, page: Some(page), kind: WebhookKind::PageView, bytes: 300 }
                })
                .collect();
            let is_open =
                |delivery: &&Delivery| delivery.state == DeliveryState::Collecting && now < delivery.due;
            let open = rows.deliveries.values().rev().find(is_open).cloned();
            let mut last = rows.deliveries.keys().last().copied().unwrap_or(0);
            let mut numbers = DeliveryNumbers { last: &mut last, draw: || [1; 8] };
            let waiting = rows.waiting().count() as u64;
            for delivery in fan_out(&mut rows.endpoint, &logged, open, waiting, &mut numbers, now) {
                rows.deliveries.insert(delivery.id.number(), delivery);
            }
        })
        .ok()?;
    wake(&object, &on).ok()
}

/// Sets the alarm for now, unless it is set for an earlier moment that is to come.
fn wake(object: &Object<HooksShell>, on: &Instance<HooksShell>) -> Result<(), Fenced> {
    match object.alarm() {
        Some(set) if set <= object.clock() => Ok(()),
        _ => object.set_alarm(on, object.clock()),
    }
}

/// Sends until nothing is due. Returns the moment at which something will be.
async fn run(
    object: &Rc<Object<HooksShell>>,
    on: &Rc<Instance<HooksShell>>,
) -> Result<Option<UnixMillis>, Fenced> {
    on.memory.borrow_mut().in_flight.clear();
    loop {
        for delivery in take(object, on)? {
            let (attempted, at) = (Rc::clone(object), Rc::clone(on));
            object.spawn(on, async move { attempt(&attempted, &at, delivery).await });
        }
        if on.memory.borrow().in_flight.is_empty() {
            return Ok(object.rows(HooksRows::next_due));
        }
        object.sim.sleep(TICK_MS).await;
    }
}

/// Returns deliveries that may be sent now.
fn take(object: &Object<HooksShell>, on: &Instance<HooksShell>) -> Result<Vec<Delivery>, Fenced> {
    let now = object.clock();
    let mut due: Vec<_> =
        object.rows(|rows| rows.waiting().filter(|delivery| delivery.due <= now).cloned().collect());
    due.sort_by_key(|delivery: &Delivery| (delivery.due, delivery.id.number()));
    let mut taken = Vec::new();
    for mut delivery in due {
        let in_flight = &mut on.memory.borrow_mut().in_flight;
        let count = u32::try_from(in_flight.len()).unwrap();
        let may_begin = object.rows(|rows| rows.endpoint.health.may_attempt(now, count));
        if in_flight.len() >= MAX_REQUESTS || !may_begin || !in_flight.insert(delivery.id.number()) {
            continue;
        }
        if delivery.state == DeliveryState::Collecting {
            delivery.state = DeliveryState::Pending;
            object.commit(on, |rows| rows.deliveries.insert(delivery.id.number(), delivery.clone()))?;
        }
        taken.push(delivery);
    }
    Ok(taken)
}

/// Makes an attempt, and takes in how it ended.
async fn attempt(object: &Object<HooksShell>, on: &Instance<HooksShell>, delivery: Delivery) {
    let (at, number, sim) = (object.clock(), delivery.id.number(), &object.sim);
    if object.shell.seen.borrow().contains(&number) {
        sim.violate(format!("delivery {number} is sent after a 2xx that was stored"));
    }
    let faults = sim.faults();
    let result = match sim.chance(faults.lost * 3) {
        false => AttemptResult::Response { status: 200, retry_after_ms: None },
        true if sim.chance(500) => AttemptResult::TimedOut,
        true => AttemptResult::Response { status: 500, retry_after_ms: None },
    };
    sim.sleep(if result == AttemptResult::TimedOut { ATTEMPT_TIMEOUT_MS } else { sim.below(3_000) }).await;
    on.memory.borrow_mut().in_flight.remove(&number);
    sim.note(|| format!("webhooks: delivery {number} of events {:?}: {result:?}", delivery.events));
    let (now, drawn) = (object.clock(), u64::from_be_bytes(sim.bytes()));
    let recorded = object.commit(on, |rows| {
        let Some(delivery) = rows.deliveries.get_mut(&number) else { return };
        let ended = EndedAttempt { at, result: Some(result), response: None };
        if delivery.record(&mut rows.endpoint, ended, drawn, now) == EndpointChange::Recovered {
            for delivery in rows.deliveries.values_mut() {
                if delivery.state == DeliveryState::Pending
                    && now < delivery.due
                    && delivery.tries + 1 < MAX_ATTEMPTS
                {
                    delivery.due = now;
                }
            }
        }
    });
    if recorded.is_ok() && result.is_success() {
        object.shell.seen.borrow_mut().insert(number);
    }
}

/// Checks that each event of the log has a delivery, and that none waits for longer than an alarm may be
/// late.
pub(super) fn check(object: &Object<HooksShell>) {
    object.rows(|rows| {
        let events: BTreeSet<_> =
            rows.deliveries.values().flat_map(|delivery| delivery.events.clone()).collect();
        if events != (1..=rows.log.len() as u64).collect() {
            object.sim.violate(format!("of {} events, these have a delivery: {events:?}", rows.log.len()));
        }
        let now = object.clock();
        for delivery in rows.waiting().filter(|delivery| now.since(delivery.due) > 4_000_000) {
            object.sim.violate(format!(
                "delivery {} waits since {}",
                delivery.id.number(),
                delivery.due.to_rfc3339()
            ));
        }
    });
}
