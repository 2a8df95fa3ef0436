//! The shell of a page's store of events: appends, and sends the outbox by its alarm.

use std::rc::Rc;

use biolink::{
    events::{Part, Received},
    page::PageId,
    stats::{MAX_OUTBOX, OUTBOX_ROWS_PER_MESSAGE, OutboxRow, Row, Settings, additions, outbox_texts},
    webhooks::KindSet,
};
use shared::{key::KeyId, time::UnixMillis};

use super::{
    durable::{Fenced, Instance, Object, Shell},
    hooks::{self, HooksShell},
};

/// As the shell has them, in milliseconds.
const RETRY_MS: u64 = 600_000;
const RESEND_MS: u64 = 1_000;
const MAX_DOUBLINGS: u32 = 6;
const HOOKS_TIMEOUT_MS: u64 = 10_000;
const DAY_MS: u64 = 86_400_000;

pub(super) struct StatsShell {
    pub(super) account: KeyId,
    pub(super) page: PageId,
    pub(super) hooks: Rc<Object<HooksShell>>,
}

#[derive(Clone, Default)]
pub(super) struct StatsRows {
    settings: Settings,
    pub(super) segments: Vec<Row>,
    outbox: Vec<OutboxRow>,
    /// The number of the last row of the outbox.
    number: u64,
}

#[derive(Default)]
pub(super) struct StatsMemory {
    received: Option<Received>,
    refused: u32,
}

impl StatsRows {
    pub(super) fn subscribed() -> Self {
        Self { settings: Settings { wanted: KindSet::all(), ..Settings::default() }, ..Self::default() }
    }
}

impl Shell for StatsShell {
    type Rows = StatsRows;
    type Memory = StatsMemory;

    async fn alarm(object: Rc<Object<Self>>, on: Rc<Instance<Self>>) {
        let next = match run_alarm(&object, &on).await {
            Ok(next) => next,
            Err(Fenced) => {
                on.memory.borrow_mut().received = None;
                Some(object.clock().plus(RETRY_MS))
            }
        };
        if let Some(next) = next {
            let _set = object.set_alarm(&on, next);
        }
    }
}

/// Adds what is new in the parts.
pub(super) async fn append(
    object: Rc<Object<StatsShell>>,
    on: Rc<Instance<StatsShell>>,
    parts: Vec<Part>,
) -> Option<()> {
    let stored = store(&object, &on, &parts);
    if stored.is_err() {
        on.memory.borrow_mut().received = None;
    }
    stored.ok()
}

fn store(object: &Object<StatsShell>, on: &Instance<StatsShell>, parts: &[Part]) -> Result<(), Fenced> {
    if object.rows(|rows| rows.settings.expires_at.is_none()) {
        let expires_at = object.clock().plus(DAY_MS);
        let is_empty = object.rows(|rows| rows.outbox.is_empty());
        object.set_alarm(on, if is_empty { expires_at } else { object.clock() })?;
        object.commit(on, |rows| {
            rows.settings.owner = Some((object.shell.account, object.shell.page));
            rows.settings.expires_at = Some(expires_at);
        })?;
    }
    let mut memory = on.memory.borrow_mut();
    let received = memory.received.get_or_insert_with(|| object.rows(load));
    let (added, errors) = additions(parts, received, UnixMillis(0));
    assert!(errors.is_empty());
    added.iter().for_each(|row| received.extend(&row.received));
    let wanted = object.rows(|rows| rows.settings.wanted);
    let texts: Vec<_> = added.iter().flat_map(|row| outbox_texts(&row.segment, wanted)).collect();
    let is_outbox_new = !texts.is_empty();
    object.commit(on, |rows| {
        rows.segments.extend(added);
        for events in texts {
            rows.number += 1;
            rows.outbox.push(OutboxRow { number: rows.number, events });
        }
        assert!(rows.outbox.len() as u64 <= MAX_OUTBOX);
    })?;
    if is_outbox_new && memory.refused == 0 {
        object.set_alarm(on, object.clock())?;
    }
    Ok(())
}

fn load(rows: &StatsRows) -> Received {
    let mut received = Received::default();
    for row in &rows.segments {
        let text = serde_json::to_string(&row.received).unwrap();
        received.extend(&serde_json::from_str(&text).unwrap());
    }
    received
}

async fn run_alarm(
    object: &Object<StatsShell>,
    on: &Instance<StatsShell>,
) -> Result<Option<UnixMillis>, Fenced> {
    let expires_at = object.rows(|rows| rows.settings.expires_at);
    if send(object, on).await? {
        on.memory.borrow_mut().refused = 0;
        return Ok(expires_at);
    }
    let mut memory = on.memory.borrow_mut();
    let wait = RESEND_MS << memory.refused.min(MAX_DOUBLINGS);
    memory.refused += 1;
    Ok(Some(object.clock().plus(wait)))
}

/// Sends the outbox. Returns true if the webhooks took all of it.
async fn send(object: &Object<StatsShell>, on: &Instance<StatsShell>) -> Result<bool, Fenced> {
    loop {
        let most = usize::try_from(OUTBOX_ROWS_PER_MESSAGE).unwrap();
        let rows: Vec<_> = object.rows(|rows| rows.outbox.iter().take(most).cloned().collect());
        let Some(last) = rows.last().map(|row| row.number) else { return Ok(true) };
        let (page, hooks) = (object.shell.page, Rc::clone(&object.shell.hooks));
        object.sim.note(|| {
            format!("{}: sends rows {:?}", object.name, rows.iter().map(|row| row.number).collect::<Vec<_>>())
        });
        let message = move || {
            let (hooks, rows) = (Rc::clone(&hooks), rows.clone());
            async move { hooks.handle(move |object, on| hooks::append(object, on, page, rows)).await }
        };
        if object.sim.call(HOOKS_TIMEOUT_MS, message).await.is_none() {
            return Ok(false);
        }
        object.commit(on, |rows| rows.outbox.retain(|row| row.number > last))?;
    }
}
