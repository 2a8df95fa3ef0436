//! The object of one page's events. Its rows have the events of a day in columns, so that a reader
//! gets only the columns it needs.

mod table;

use std::cell::RefCell;

use shared::{
    analytics::Delivery,
    events::{Part, Received},
    key::{BiolinkPlan, KeyId},
    page::PageId,
    stats::{
        COUNTED_AFTER_MS, Counts, MAX_ROWS, PageReading, ReadReply, ReadRequest, Row, Settings, StatsMessage,
        additions, event_line, kept_from,
    },
    time::{UnixMillis, UtcDay},
};
use worker::{
    DurableObject, Env, Request, Response, Result, SqlStorage, State as ObjectState, durable_object,
    wasm_bindgen,
};

use self::table::SegmentTable;
use super::{
    message::parse,
    sql::{rows, text},
};
use crate::{bindings, clock, key_store, log};

const CREATE_SETTINGS: &str =
    "CREATE TABLE IF NOT EXISTS settings (k INTEGER PRIMARY KEY CHECK (k = 1), j TEXT NOT NULL)";
const SETTINGS: &str = "SELECT j FROM settings";
const STORE_SETTINGS: &str =
    "INSERT INTO settings (k, j) VALUES (1, ?) ON CONFLICT (k) DO UPDATE SET j = excluded.j";
const DONE: &str = "true";
/// Time from an alarm that failed to the next, in milliseconds.
const RETRY_MS: i64 = 600_000;
/// Time from the beginning of a UTC day to the alarm, in milliseconds.
const AFTER_MIDNIGHT_MS: u64 = 600_000;

/// The events of one page.
#[durable_object(alarm)]
pub struct Stats {
    object: ObjectState,
    env: Env,
    sql: SqlStorage,
    table: SegmentTable,
    /// `None` until the first message and after a failure: the store is then read again.
    state: RefCell<Option<State>>,
}

/// The object's knowledge of its store.
struct State {
    settings: Settings,
    received: Received,
    /// The last row, and its id, if it takes more.
    open: Option<(u64, Row)>,
}

impl DurableObject for Stats {
    fn new(object: ObjectState, env: Env) -> Self {
        let storage = object.storage();
        let (sql, table) = (storage.sql(), SegmentTable(storage.sql()));
        Self { object, env, sql, table, state: RefCell::new(None) }
    }

    async fn fetch(&self, mut request: Request) -> Result<Response> {
        let handled = match parse(&request.text().await?)? {
            StatsMessage::Append { account, page, parts } => self.append(account, page, &parts).await,
            StatsMessage::Read(request) => self.read(&request),
            StatsMessage::Reset => self.reset(),
            StatsMessage::Purge => self.purge(),
            StatsMessage::Export(after) => self.export(after),
        };
        match handled {
            Ok(reply) => Response::ok(reply),
            Err(error) => {
                self.state.replace(None);
                log::error("stats step failed", None, &[("error", &error)]);
                Err(error)
            }
        }
    }

    /// Never returns an error: the platform gives up on an alarm that fails, and events would stay.
    async fn alarm(&self) -> Result<Response> {
        if let Err(error) = self.expire().await {
            self.state.replace(None);
            log::error("stats alarm failed", None, &[("error", &error)]);
            if let Err(error) = self.object.storage().set_alarm(RETRY_MS).await {
                log::error("stats alarm not set", None, &[("error", &error)]);
            }
        }
        Response::empty()
    }
}

impl Stats {
    /// Adds what is new in the parts.
    async fn append(&self, account: KeyId, page: PageId, parts: &[Part]) -> Result<String> {
        let settings = self.with_state(|state| Ok(state.settings.clone()))?;
        if settings.purged {
            return Ok(DONE.to_owned());
        }
        if !settings.armed {
            // Before the first row, so that none is left without an alarm.
            self.object.storage().set_alarm(until_next_day(clock::now())).await?;
            let owner = Some((account, page));
            self.settle(|settings| (settings.owner, settings.armed) = (owner, true))?;
        }
        self.with_state(|state| {
            let (rows, errors) = additions(parts, &state.received, state.settings.reset_at);
            for error in &errors {
                log::error("event rows are unreadable", None, &[("page", &page), ("error", error)]);
            }
            for row in rows {
                self.add(state, row)?;
            }
            Ok(())
        })?;
        Ok(DONE.to_owned())
    }

    /// Adds events to the last row of their day, or begins a new one.
    fn add(&self, state: &mut State, row: Row) -> Result<()> {
        let day = row.segment.day();
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
        let (gaps, expired) = self.with_state(|state| Ok((state.received.gaps(), state.settings.expired)))?;
        if let Err(start) = request.query.check_width(&self.table.rows_of_days()?) {
            return Ok(serde_json::to_string(&ReadReply::TooWide(start))?);
        }
        let (dropped, coalesced) = self.table.delivered(request.query.days())?;
        let complete_until = Some(clock::now().minus(COUNTED_AFTER_MS));
        let reading = PageReading {
            report: self.table.count(&request.query)?,
            previous: request.previous.as_ref().map(|query| self.table.count(query)).transpose()?,
            delivery: Delivery { complete_until, gaps: gaps as u64, dropped, coalesced },
            lifetime: self.table.counts_before(None)?.lifetime(expired),
        };
        Ok(serde_json::to_string(&ReadReply::Counted(reading))?)
    }

    /// Drops all events so far. Those that are still on their way are dropped when they arrive.
    fn reset(&self) -> Result<String> {
        let mut received = self.with_state(|state| Ok(state.received.clone()))?;
        received.close();
        self.table.erase()?;
        self.settle(|settings| {
            settings.reset_at = clock::now();
            settings.received = received;
            settings.expired = Counts::default();
        })?;
        self.state.replace(None);
        Ok(DONE.to_owned())
    }

    /// Drops everything, and takes nothing more.
    fn purge(&self) -> Result<String> {
        self.table.create()?;
        self.table.erase()?;
        self.settle(|settings| *settings = Settings { purged: true, ..Settings::default() })?;
        self.state.replace(None);
        Ok(DONE.to_owned())
    }

    /// Drops what is older than the window of the account's plan, and sets the alarm for tomorrow if
    /// anything is left.
    async fn expire(&self) -> Result<()> {
        let settings = self.with_state(|state| Ok(state.settings.clone()))?;
        let Some((account, _)) = settings.owner else { return Ok(()) };
        let keys = bindings::key_store(&self.env)?;
        let record = key_store::find_quietly(&keys, &account).await?;
        // A record that KV does not show says nothing about the plan: what the longest window keeps
        // stays.
        let plan = record.map_or(BiolinkPlan::Business, |record| record.biolink_plan);
        let from = kept_from(plan, clock::now());
        let counts = self.table.counts_before(Some(from))?;
        let is_empty = self.table.expire(from)?;
        if is_empty || counts != Counts::default() {
            self.settle(|settings| {
                settings.expired = settings.expired.plus(counts);
                settings.armed = !is_empty;
            })?;
        }
        self.state.replace(None);
        match is_empty {
            true => Ok(()),
            false => self.object.storage().set_alarm(until_next_day(clock::now())).await,
        }
    }

    /// Returns the events of the row after this one as lines, and its id; `null` at the end.
    fn export(&self, after: u64) -> Result<String> {
        let settings = self.with_state(|state| Ok(state.settings.clone()))?;
        let (Some((id, day, rows)), Some((_, page))) = (self.table.next(after)?, settings.owner) else {
            return Ok("null".to_owned());
        };
        let segment = self.table.segment(id, day, rows)?;
        let lines: String = segment.events().map(|event| event_line(&page, &event)).collect();
        Ok(serde_json::to_string(&(id, lines))?)
    }

    /// Changes the settings, and stores them.
    fn settle(&self, change: impl FnOnce(&mut Settings)) -> Result<()> {
        self.with_state(|state| {
            change(&mut state.settings);
            let settings = serde_json::to_string(&state.settings)?;
            self.sql.exec(STORE_SETTINGS, vec![settings.into()]).map(drop)
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
        self.table.create()?;
        self.sql.exec(CREATE_SETTINGS, None)?;
        let settings = rows(&self.sql, SETTINGS, Vec::new(), text)?;
        let settings: Settings =
            settings.first().map(|stored| parse(stored)).transpose()?.unwrap_or_default();
        let mut received = self.table.received(clock::now())?;
        received.extend(&settings.received);
        Ok(State { settings, received, open: None })
    }
}

/// Returns the milliseconds until soon after the next UTC day begins.
fn until_next_day(now: UnixMillis) -> i64 {
    let next = UtcDay(now.day().0 + 1).start().plus(AFTER_MIDNIGHT_MS);
    i64::try_from(next.since(now)).unwrap_or(i64::MAX)
}
