//! The object of one page's events. Its rows have the events of a day in columns, so that a reader
//! gets only the columns it needs.
//!
//! Events that the account's webhooks want are written to an outbox in the same commit. The alarm
//! sends them, and drops events that are too old.

mod outbox;
mod table;

use std::cell::{Cell, RefCell};

use biolink::analytics::{Completeness, EventCounts};
use biolink::events::{EventKind, Part, Received, Segment};
use biolink::page::PageId;
use biolink::stats::{
    COUNTED_AFTER_MS, MAX_ROWS, Origins, PageReading, ReadReply, ReadRequest, Row, Settings, StatsMessage,
    additions, event_line, kept_from, outbox_texts,
};
use biolink::webhooks::KindSet;
use biolink::webhooks_api::WebhooksMessage;
use shared::json;
use shared::key::{BiolinkPlan, KeyId};
use shared::time::{UnixMillis, UtcDay};
use worker::{
    DurableObject, Env, Request, Response, Result, SqlStorage, State as ObjectState, durable_object,
    wasm_bindgen,
};

use self::outbox::OutboxTable;
use self::table::SegmentTable;
use crate::bindings;
use crate::biolink::webhooks_client;
use crate::gateway::key_store;
use crate::runtime::message::parse;
use crate::runtime::stored::{Rows, Store, Stored, row};
use crate::runtime::{alarm, clock, log};

/// The key of the settings' row. The column is an integer, to which the store converts it.
const KEY: &str = "1";
const DONE: &str = "true";
/// Time from an alarm that failed to the next, in milliseconds.
const RETRY_MS: u64 = 600_000;
/// Time from the first failure of the webhooks to the next message, in milliseconds. It doubles with
/// each failure.
const RESEND_MS: u64 = 1_000;
/// The longest that it becomes, as a power of two.
const MAX_DOUBLINGS: u32 = 6;
/// Days whose views are in memory: around midnight events of two come.
const REMEMBERED_DAYS: usize = 2;
/// Time from the beginning of a UTC day to the alarm, in milliseconds.
const AFTER_MIDNIGHT_MS: u64 = 600_000;

/// The events of one page.
#[durable_object(alarm)]
pub struct Stats {
    object: ObjectState,
    env: Env,
    table: SegmentTable,
    outbox: OutboxTable,
    settings: Stored<Settings>,
    /// Messages that the webhooks did not take, one after another.
    refused: Cell<u32>,
    /// `None` until the first message and after a failure: the store is then read again.
    state: RefCell<Option<State>>,
}

impl Store for Settings {
    const TABLE: &'static str = "settings";

    fn create(sql: &SqlStorage) -> Result<()> {
        SegmentTable(sql.clone()).create()?;
        OutboxTable(sql.clone()).create()?;
        let table =
            "CREATE TABLE IF NOT EXISTS settings (k INTEGER PRIMARY KEY CHECK (k = 1), j TEXT NOT NULL)";
        sql.exec(table, None).map(drop)
    }

    fn load(rows: &Rows<'_>) -> Result<Self> {
        rows.value(KEY)
    }

    fn texts(&self) -> Result<Vec<(&'static str, String)>> {
        Ok(vec![row(KEY, self)?])
    }
}

/// The object's knowledge of its rows of events.
struct State {
    received: Received,
    /// The last row, and its id, if it takes more.
    open: Option<(u64, Row)>,
    /// The views of the last days with clicks.
    origins: Vec<Origins>,
}

impl DurableObject for Stats {
    fn new(object: ObjectState, env: Env) -> Self {
        let storage = object.storage();
        let (table, outbox) = (SegmentTable(storage.sql()), OutboxTable(storage.sql()));
        let settings = Stored::new(storage.sql());
        Self { object, env, table, outbox, settings, refused: Cell::new(0), state: RefCell::new(None) }
    }

    async fn fetch(&self, mut request: Request) -> Result<Response> {
        let handled = match parse(&request.text().await?)? {
            StatsMessage::Append { account, page, parts } => self.append(account, page, &parts).await,
            StatsMessage::Subscribe { account, page, kinds } => self.subscribe(account, page, kinds),
            StatsMessage::Read(request) => self.read(&request),
            StatsMessage::Reset => self.reset(),
            StatsMessage::Purge => self.purge(),
            StatsMessage::Export(after) => self.export(after),
        };
        match handled {
            Ok(reply) => Response::ok(reply),
            Err(error) => {
                self.state.replace(None);
                log::error(log::Event("stats step failed"), None, &[("error", &error)]);
                Err(error)
            }
        }
    }

    /// Never returns an error: the platform gives up on an alarm that fails, and events would stay.
    async fn alarm(&self) -> Result<Response> {
        let ran = self.run_alarm().await;
        if ran.is_err() {
            self.state.replace(None);
        }
        alarm::end(
            &self.object,
            ran,
            RETRY_MS,
            [log::Event("stats alarm failed"), log::Event("stats alarm not set")],
        )
        .await
    }
}

impl Stats {
    /// Adds what is new in the parts.
    async fn append(&self, account: KeyId, page: PageId, parts: &[Part]) -> Result<String> {
        let settings = self.settings.read(|settings| Ok(settings.clone()))?;
        // Events of a deleted page may still come from the queue. They must not bring it back.
        if settings.purged {
            return Ok(DONE.to_owned());
        }
        if settings.expires_at.is_none() {
            // Before the first row, so that none is left without an alarm.
            let expires_at = next_expiry(clock::now());
            // There is one alarm. Set for the expiry alone, it would leave the outbox for a day.
            alarm::set(&self.object, if self.outbox.is_empty()? { expires_at } else { clock::now() }).await?;
            let owner = Some((account, page));
            self.settle(|settings| (settings.owner, settings.expires_at) = (owner, Some(expires_at)))?;
        }
        // One step without a wait: a row, the batches that it has, and its outbox are one commit.
        let (is_outbox_new, dropped) = self.with_state(|state| {
            // Read again: another message may have come during the wait.
            let (reset_at, kinds) =
                self.settings.read(|settings| Ok((settings.reset_at, settings.wanted)))?;
            let (rows, errors) = additions(parts, &state.received, reset_at);
            for error in &errors {
                log::error(
                    log::Event("event rows are unreadable"),
                    None,
                    &[("page", &page), ("error", error)],
                );
            }
            let mut wanted = Vec::new();
            for mut row in rows {
                self.attribute(state, &mut row.segment)?;
                wanted.extend(outbox_texts(&row.segment, kinds));
                self.add(state, row)?;
            }
            Ok((!wanted.is_empty(), self.outbox.add(&wanted)?))
        })?;
        if dropped > 0 {
            self.settle(|settings| settings.unsent = settings.unsent.saturating_add(dropped))?;
        }
        // While the webhooks refuse, the alarm is set for the next attempt. Each visit would bring
        // it forward.
        if is_outbox_new && self.refused.get() == 0 {
            alarm::set(&self.object, clock::now()).await?;
        }
        Ok(DONE.to_owned())
    }

    /// Gives the clicks of a new segment their origins, and those of the last row whose views come late.
    /// Views are remembered from the first click of a day on, which reads those before it.
    fn attribute(&self, state: &mut State, segment: &mut Segment) -> Result<()> {
        let day = segment.day();
        let place = match state.origins.iter().position(|origins| origins.day() == day) {
            Some(place) => place,
            // Most days of most pages have no click, and then their views are never read.
            None if segment.count(EventKind::Click) == 0 => return Ok(()),
            None => {
                let mut origins = Origins::new(day);
                self.table.each_segment(day, |stored| origins.learn(&stored))?;
                state.origins.truncate(REMEMBERED_DAYS - 1);
                state.origins.insert(0, origins);
                0
            }
        };
        if let Some(origins) = state.origins.get_mut(place) {
            origins.learn(segment);
            origins.attribute(segment);
            // A view may arrive after its click, because isolates send their batches on their own.
            if let Some((_, open)) = state.open.as_mut().filter(|(_, open)| open.segment.day() == day) {
                origins.attribute(&mut open.segment);
            }
        }
        Ok(())
    }

    /// Writes events of these kinds to the outbox from now on.
    fn subscribe(&self, account: KeyId, page: PageId, kinds: KindSet) -> Result<String> {
        self.settle(|settings| {
            if !settings.purged {
                (settings.owner, settings.wanted) = (Some((account, page)), kinds);
            }
        })?;
        Ok(DONE.to_owned())
    }

    /// Sends the outbox to the webhooks. An alarm that finds nothing in it drops what is too old.
    /// Returns the moment of the next alarm.
    async fn run_alarm(&self) -> Result<Option<UnixMillis>> {
        let settings = self.settings.read(|settings| Ok(settings.clone()))?;
        let is_empty = self.outbox.is_empty()?;
        let expires_at = match settings.expires_at {
            // Expiry reads the plan from KV. While the outbox is retried it must not, until it is
            // due.
            Some(expires_at) if !is_empty && clock::now() < expires_at => Some(expires_at),
            _ => self.expire().await?,
        };
        if is_empty || self.send(&settings).await? {
            self.refused.set(0);
            return Ok(expires_at);
        }
        let wait = RESEND_MS << self.refused.get().min(MAX_DOUBLINGS);
        self.refused.set(self.refused.get().saturating_add(1));
        let again = clock::now().plus(wait);
        Ok(Some(expires_at.map_or(again, |expires_at| again.min(expires_at))))
    }

    /// Sends the outbox. Returns true if the webhooks took all of it.
    async fn send(&self, settings: &Settings) -> Result<bool> {
        let Some((account, page)) = settings.owner else { return Ok(true) };
        let webhooks = bindings::webhooks(&self.env)?;
        loop {
            let rows = self.outbox.first()?;
            let Some(last) = rows.last().map(|row| row.number) else { return Ok(true) };
            let dropped = self.settings.read(|settings| Ok(settings.unsent))?;
            let message = WebhooksMessage::Append { account, page, rows, dropped };
            if let Err(error) = webhooks_client::call(&webhooks, account, &message).await {
                log::error(
                    log::Event("events not given to webhooks"),
                    None,
                    &[("page", &page), ("error", &error)],
                );
                return Ok(false);
            }
            // After the reply. If it is lost, the rows come again, and the webhooks know them by
            // their numbers.
            self.outbox.remove(last)?;
            if dropped > 0 {
                // Not to zero: more may have been dropped during the wait.
                self.settle(|settings| settings.unsent = settings.unsent.saturating_sub(dropped))?;
            }
        }
    }

    /// Adds events to the last row of their day, or begins a new one.
    fn add(&self, state: &mut State, row: Row) -> Result<()> {
        let day = row.segment.day();
        // Taken out: if the row cannot be stored, its copy here would be ahead of the store.
        let open = match state.open.take().filter(|(_, open)| open.segment.day() == day) {
            Some(open) => Some(open),
            None => self.table.last(day)?,
        };
        state.received.extend(&row.received);
        let (id, row) = match open.filter(|(_, open)| open.segment.rows() < MAX_ROWS) {
            Some((id, mut open)) => {
                open.append(&row);
                (id, open)
            }
            None => (self.table.next_id()?, row),
        };
        self.table.store(id, &row)?;
        state.open = Some((id, row));
        Ok(())
    }

    /// Returns the counts that a reader asks for, as JSON.
    fn read(&self, request: &ReadRequest) -> Result<String> {
        let gaps = self.with_state(|state| Ok(state.received.gaps()))?;
        let expired = self.settings.read(|settings| Ok(settings.expired))?;
        if let Err(start) = request.query.check_width(&self.table.rows_of_days()?) {
            return Ok(json::to_string(&ReadReply::TooWide(start))?);
        }
        let (dropped, coalesced) = self.table.delivered(request.query.days())?;
        let complete_until = Some(clock::now().minus(COUNTED_AFTER_MS));
        let reading = PageReading {
            report: self.table.count(&request.query)?,
            previous: request.previous.as_ref().map(|query| self.table.count(query)).transpose()?,
            delivery: Completeness { complete_until, gaps: gaps as u64, dropped, coalesced },
            lifetime: self.table.counts_before(None)?.plus(expired),
        };
        Ok(json::to_string(&ReadReply::Counted(reading))?)
    }

    /// Drops all events so far. Those that are still on their way are dropped when they arrive.
    fn reset(&self) -> Result<String> {
        let mut received = self.with_state(|state| Ok(state.received.clone()))?;
        // Batches of before that are still on their way count as received.
        received.close();
        self.table.erase()?;
        self.settle(|settings| {
            settings.reset_at = clock::now();
            settings.received = received;
            settings.expired = EventCounts::default();
        })?;
        self.state.replace(None);
        Ok(DONE.to_owned())
    }

    /// Drops everything, and takes nothing more.
    fn purge(&self) -> Result<String> {
        self.table.create()?;
        self.table.erase()?;
        self.outbox.create()?;
        self.outbox.erase()?;
        self.settle(|settings| *settings = Settings { purged: true, ..Settings::default() })?;
        self.state.replace(None);
        Ok(DONE.to_owned())
    }

    /// Drops what is older than the window of the account's plan. Returns the moment at which there
    /// is more to drop, if anything is left.
    async fn expire(&self) -> Result<Option<UnixMillis>> {
        let settings = self.settings.read(|settings| Ok(settings.clone()))?;
        let Some((account, _)) = settings.owner else { return Ok(None) };
        let keys = bindings::key_store(&self.env)?;
        let record = key_store::find_quietly(&keys, &account).await?;
        // A record that KV does not show says nothing about the plan: what the longest window keeps
        // stays.
        let plan = record.map_or(BiolinkPlan::Business, |record| record.biolink_plan);
        let from = kept_from(plan, clock::now());
        let counts = self.table.counts_before(Some(from))?;
        let is_empty = self.table.expire(from)?;
        let expires_at = (!is_empty).then(|| next_expiry(clock::now()));
        self.settle(|settings| {
            settings.expired = settings.expired.plus(counts);
            settings.expires_at = expires_at;
        })?;
        self.state.replace(None);
        Ok(expires_at)
    }

    /// Returns the events of the row after this one as lines, and its id; `null` at the end.
    fn export(&self, after: u64) -> Result<String> {
        let settings = self.settings.read(|settings| Ok(settings.clone()))?;
        let (Some((id, day, rows)), Some((_, page))) = (self.table.next(after)?, settings.owner) else {
            return Ok("null".to_owned());
        };
        let segment = self.table.segment(id, day, rows)?;
        let lines: String = segment.events().map(|event| event_line(&page, &event)).collect();
        Ok(json::to_string(&(id, lines))?)
    }

    /// Changes the settings, and stores them.
    fn settle(&self, change: impl FnOnce(&mut Settings)) -> Result<()> {
        self.settings.change(|settings| {
            change(settings);
            Ok(())
        })
    }

    fn with_state<T>(&self, step: impl FnOnce(&mut State) -> Result<T>) -> Result<T> {
        let mut place = self.state.borrow_mut();
        let state = match place.take() {
            Some(state) => state,
            None => self.load()?,
        };
        step(place.insert(state))
    }

    fn load(&self) -> Result<State> {
        let settled = self.settings.read(|settings| Ok(settings.received.clone()))?;
        let mut received = self.table.received(clock::now())?;
        // What a reset closed is in the settings, because its rows are gone.
        received.extend(&settled);
        Ok(State { received, open: None, origins: Vec::new() })
    }
}

/// Returns the moment soon after the next UTC day begins.
fn next_expiry(now: UnixMillis) -> UnixMillis {
    UtcDay(now.day().0 + 1).start().plus(AFTER_MIDNIGHT_MS)
}
