//! The object of one page's events. Its rows have the events of a day in columns, so that a reader
//! gets only the columns it needs.

use std::cell::RefCell;

use shared::{
    analytics::{Delivery, PageCounter, PageQuery, PageReport, SegmentColumns},
    events::{Columns, Dimension, Part, Received, Segment},
    key::{BiolinkPlan, KeyId},
    page::PageId,
    stats::{
        COUNTED_AFTER_MS, Counts, KNOWN_DAYS, MAX_ROWS, PageReading, ReadReply, ReadRequest, Row, Settings,
        StatsMessage, additions, event_line, kept_from,
    },
    time::{UnixMillis, UtcDay},
};
use worker::{
    DurableObject, Env, Request, Response, Result, SqlStorage, SqlStorageValue, State as ObjectState,
    durable_object, wasm_bindgen,
};

use super::{
    message::parse,
    sql::{integer, number, rows, text},
};
use crate::{bindings, clock, key_store, log};

const CREATE_SETTINGS: &str =
    "CREATE TABLE IF NOT EXISTS settings (k INTEGER PRIMARY KEY CHECK (k = 1), j TEXT NOT NULL)";
const SETTINGS: &str = "SELECT j FROM settings";
const STORE_SETTINGS: &str =
    "INSERT INTO settings (k, j) VALUES (1, ?) ON CONFLICT (k) DO UPDATE SET j = excluded.j";
/// The last row of a day.
const LAST: &str =
    "SELECT id, rows, received, coalesced, dropped FROM segment WHERE day = ? ORDER BY id DESC LIMIT 1";
const RECEIVED: &str = "SELECT day, received FROM segment WHERE day >= ? ORDER BY day";
const EXISTS_BEFORE: &str = "SELECT id FROM segment WHERE day < ? LIMIT 1";
const ROWS_OF_DAYS: &str = "SELECT day, SUM(rows) FROM segment GROUP BY day ORDER BY day";
const DELIVERED: &str =
    "SELECT COALESCE(SUM(dropped), 0), COALESCE(MAX(coalesced), 0) FROM segment WHERE day >= ? AND day <= ?";
const COUNTS_BEFORE: &str = "SELECT COALESCE(SUM(views), 0), COALESCE(SUM(clicks), 0), COALESCE(SUM(scans), 0) FROM segment WHERE day < ?";
const EXPIRE: &str = "DELETE FROM segment WHERE day < ?";
const FIRST: &str = "SELECT id FROM segment LIMIT 1";
const ERASE: &str = "DELETE FROM segment";
const NEXT: &str = "SELECT id, day, rows FROM segment WHERE id > ? ORDER BY id LIMIT 1";
/// Columns of a row beside those of [`Columns`].
const PLAIN: &str = "id, day, rows, first_at, last_at, views, clicks, scans, coalesced, dropped, received";
/// After every day.
const LAST_DAY: u64 = u32::MAX as u64;
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
    /// `None` until the first message and after a failure: the store is then read again.
    state: RefCell<Option<State>>,
}

/// What the object knows of its store.
struct State {
    settings: Settings,
    received: Received,
    /// The last row, and its id, if it takes more.
    open: Option<(u64, Row)>,
}

impl DurableObject for Stats {
    fn new(object: ObjectState, env: Env) -> Self {
        let sql = object.storage().sql();
        Self { object, env, sql, state: RefCell::new(None) }
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
            None => self.last(day)?,
        };
        state.received.extend(&row.received);
        let (id, row) = match open.filter(|(_, open)| open.segment.rows() < MAX_ROWS) {
            Some((id, mut open)) => {
                open.append(&row);
                (id, open)
            }
            None => (self.next_id()?, row),
        };
        self.store(id, &row)?;
        state.open = Some((id, row));
        Ok(())
    }

    fn store(&self, id: u64, row: &Row) -> Result<()> {
        let Columns { time, kind, visitor, dimensions } = row.segment.encode();
        let (first, last) = row.segment.span().unwrap_or_default();
        let Counts { views, clicks, scans } = row.counts();
        let rows = row.segment.rows() as u64;
        let plain = [
            id,
            row.segment.day().0,
            rows,
            first.0,
            last.0,
            views,
            clicks,
            scans,
            row.coalesced.into(),
            row.dropped,
        ];
        let mut values = plain.into_iter().map(integer).collect::<Result<Vec<_>>>()?;
        values.push(serde_json::to_string(&row.received)?.into());
        values.extend([time, kind, visitor].into_iter().chain(dimensions).map(SqlStorageValue::Blob));
        self.sql.exec(&store_statement(), values).map(drop)
    }

    /// Returns the last row of a day, and its id, if it takes more.
    fn last(&self, day: UtcDay) -> Result<Option<(u64, Row)>> {
        let found = rows(&self.sql, LAST, vec![integer(day.0)?], |row| match row {
            [id, rows, SqlStorageValue::String(received), coalesced, dropped] => {
                Some((number(id)?, number(rows)?, received.clone(), number(coalesced)?, number(dropped)?))
            }
            _ => None,
        })?;
        let Some((id, rows, received, coalesced, dropped)) = found.into_iter().next() else {
            return Ok(None);
        };
        let rows = usize::try_from(rows).unwrap_or(usize::MAX);
        if rows >= MAX_ROWS {
            return Ok(None);
        }
        let segment = self.segment(id, day, rows)?;
        let received = parse(&received)?;
        Ok(Some((id, Row { segment, received, coalesced: coalesced != 0, dropped })))
    }

    fn segment(&self, id: u64, day: UtcDay, count: usize) -> Result<Segment> {
        let query = format!("SELECT {} FROM segment WHERE id = ?", column_names().join(", "));
        let found = rows(&self.sql, &query, vec![integer(id)?], |row| {
            let mut blobs = row.iter().map(|value| match value {
                SqlStorageValue::Blob(blob) => Some(blob.clone()),
                _ => None,
            });
            let (time, kind, visitor) = (blobs.next()??, blobs.next()??, blobs.next()??);
            let mut dimensions: [Vec<u8>; Dimension::COUNT] = Default::default();
            for place in &mut dimensions {
                *place = blobs.next()??;
            }
            Some(Columns { time, kind, visitor, dimensions })
        })?;
        let columns = found.first().ok_or("the row is gone")?;
        Segment::decode(day, count, columns).map_err(|error| error.to_string().into())
    }

    fn next_id(&self) -> Result<u64> {
        let last = rows(&self.sql, "SELECT COALESCE(MAX(id), 0) FROM segment", Vec::new(), |row| {
            row.first().and_then(number)
        })?;
        Ok(last.first().copied().unwrap_or(0) + 1)
    }

    /// Returns the counts that a reader asks for, as JSON.
    fn read(&self, request: &ReadRequest) -> Result<String> {
        let (gaps, expired) = self.with_state(|state| Ok((state.received.gaps(), state.settings.expired)))?;
        let days = rows(&self.sql, ROWS_OF_DAYS, Vec::new(), |row| match row {
            [day, rows] => Some((UtcDay(number(day)?), number(rows)?)),
            _ => None,
        })?;
        if let Err(start) = request.query.check_width(&days) {
            return Ok(serde_json::to_string(&ReadReply::TooWide(start))?);
        }
        let (first, last) = request.query.days();
        let delivered =
            rows(&self.sql, DELIVERED, vec![integer(first.0)?, integer(last.0)?], |row| match row {
                [dropped, coalesced] => Some((number(dropped)?, number(coalesced)? != 0)),
                _ => None,
            })?;
        let (dropped, coalesced) = delivered.first().copied().unwrap_or_default();
        let complete_until = Some(clock::now().minus(COUNTED_AFTER_MS));
        let reading = PageReading {
            report: self.count(&request.query)?,
            previous: request.previous.as_ref().map(|query| self.count(query)).transpose()?,
            delivery: Delivery { complete_until, gaps: gaps as u64, dropped, coalesced },
            lifetime: self.counts_before(None)?.lifetime(expired),
        };
        Ok(serde_json::to_string(&ReadReply::Counted(reading))?)
    }

    /// Counts events row by row, so that no more than one row is in memory.
    fn count(&self, query: &PageQuery) -> Result<PageReport> {
        let (first, last) = query.days();
        let (from, to) = query.days_without_time();
        let mut counter = PageCounter::new(query.clone());
        for (first, end, with_time) in
            [(first.0, from.0, true), (from.0, to.0, false), (to.0, last.0.saturating_add(1), true)]
        {
            self.count_days(query, (first, end), with_time, &mut counter)?;
        }
        Ok(counter.finish())
    }

    /// Counts the events of days, with the columns that the query needs.
    fn count_days(
        &self,
        query: &PageQuery,
        (first, end): (u64, u64),
        with_time: bool,
        counter: &mut PageCounter,
    ) -> Result<()> {
        if first >= end {
            return Ok(());
        }
        let needed = query.columns();
        let names = ["kind"]
            .into_iter()
            .chain(with_time.then_some("time"))
            .chain(needed.visitor.then_some("visitor"));
        let names: Vec<_> =
            names.chain(needed.dimensions.iter().map(|dimension| dimension.as_str())).collect();
        let select = format!(
            "SELECT day, rows, {} FROM segment WHERE day >= ? AND day < ? ORDER BY day",
            names.join(", ")
        );
        for row in self.sql.exec(&select, vec![integer(first)?, integer(end)?])?.raw() {
            let row = row?;
            let [day, count, blobs @ ..] = row.as_slice() else { return Err("a stored row is empty".into()) };
            let mut blobs = blobs.iter().map(|value| match value {
                SqlStorageValue::Blob(blob) => Some(blob.as_slice()),
                _ => None,
            });
            let mut next = || blobs.next().flatten();
            let (Some(day), Some(count), Some(kind)) = (number(day), number(count), next()) else {
                return Err("a stored row has an unexpected format".into());
            };
            let time = if with_time { next() } else { None };
            let visitor = if needed.visitor { next() } else { None };
            let mut dimensions = [None; Dimension::COUNT];
            for dimension in &needed.dimensions {
                if let Some(place) = dimensions.get_mut(dimension.index()) {
                    *place = next();
                }
            }
            let rows = usize::try_from(count).unwrap_or(usize::MAX);
            let segment = SegmentColumns { day: UtcDay(day), rows, time, kind, visitor, dimensions };
            counter.add(&segment).map_err(|error| error.to_string())?;
        }
        Ok(())
    }

    /// Returns the counted events of the days before a day, or of all.
    fn counts_before(&self, day: Option<UtcDay>) -> Result<Counts> {
        let day = integer(day.map_or(LAST_DAY, |day| day.0))?;
        let counts = rows(&self.sql, COUNTS_BEFORE, vec![day], |row| match row {
            [views, clicks, scans] => {
                Some(Counts { views: number(views)?, clicks: number(clicks)?, scans: number(scans)? })
            }
            _ => None,
        })?;
        Ok(counts.first().copied().unwrap_or_default())
    }

    /// Drops all events so far. Those that are still on their way are dropped when they arrive.
    fn reset(&self) -> Result<String> {
        let mut received = self.with_state(|state| Ok(state.received.clone()))?;
        received.close();
        self.sql.exec(ERASE, None)?;
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
        self.sql.exec(&create_statement(), None)?;
        self.sql.exec(ERASE, None)?;
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
        let counts = self.counts_before(Some(from))?;
        self.sql.exec(EXPIRE, vec![integer(from.0)?])?;
        let is_empty = rows(&self.sql, FIRST, Vec::new(), |row| row.first().and_then(number))?.is_empty();
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
        let found = rows(&self.sql, NEXT, vec![integer(after)?], |row| match row {
            [id, day, rows] => Some((number(id)?, UtcDay(number(day)?), number(rows)?)),
            _ => None,
        })?;
        let (Some((id, day, rows)), Some((_, page))) = (found.first().copied(), settings.owner) else {
            return Ok("null".to_owned());
        };
        let segment = self.segment(id, day, usize::try_from(rows).unwrap_or(usize::MAX))?;
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
        self.sql.exec(&create_statement(), None)?;
        let settings = rows(&self.sql, SETTINGS, Vec::new(), text)?;
        let settings: Settings =
            settings.first().map(|stored| parse(stored)).transpose()?.unwrap_or_default();
        let mut received = self.received()?;
        received.extend(&settings.received);
        Ok(State { settings, received, open: None })
    }

    /// Returns the batches that could come again, which the last days have.
    fn received(&self) -> Result<Received> {
        let from = clock::now().day().0.saturating_sub(KNOWN_DAYS);
        let read = |row: &[SqlStorageValue]| match row {
            [day, SqlStorageValue::String(received)] => Some((number(day)?, received.clone())),
            _ => None,
        };
        let is_older =
            !rows(&self.sql, EXISTS_BEFORE, vec![integer(from)?], |row| row.first().and_then(number))?
                .is_empty();
        let mut known = Received::default();
        let mut first_day = is_older;
        let mut last = None;
        for (day, received) in rows(&self.sql, RECEIVED, vec![integer(from)?], read)? {
            if first_day && last.is_some_and(|last| last != day) {
                // What came before is too old to be known.
                known.close();
                first_day = false;
            }
            last = Some(day);
            known.extend(&parse(&received)?);
        }
        Ok(known)
    }
}

/// Returns the names of the columns of events, in the order of [`Columns`].
fn column_names() -> Vec<&'static str> {
    ["time", "kind", "visitor"].into_iter().chain(Dimension::ALL.map(Dimension::as_str)).collect()
}

fn create_statement() -> String {
    let blobs: String = column_names().iter().map(|name| format!(", {name} BLOB NOT NULL")).collect();
    format!(
        "{CREATE_SETTINGS}; CREATE TABLE IF NOT EXISTS segment (id INTEGER PRIMARY KEY, day INTEGER NOT NULL,
        rows INTEGER NOT NULL, first_at INTEGER NOT NULL, last_at INTEGER NOT NULL, views INTEGER NOT NULL,
        clicks INTEGER NOT NULL, scans INTEGER NOT NULL, coalesced INTEGER NOT NULL, dropped INTEGER NOT NULL,
        received TEXT NOT NULL{blobs})"
    )
}

/// Returns the statement that stores a row. An update in place is one written row, as a new one is.
fn store_statement() -> String {
    let names: Vec<&str> = PLAIN.split(", ").chain(column_names()).collect();
    let places = vec!["?"; names.len()].join(", ");
    let update: Vec<String> = names.iter().map(|name| format!("{name} = excluded.{name}")).collect();
    let (names, update) = (names.join(", "), update.join(", "));
    format!("INSERT INTO segment ({names}) VALUES ({places}) ON CONFLICT (id) DO UPDATE SET {update}")
}

/// Returns the milliseconds until soon after the next UTC day begins.
fn until_next_day(now: UnixMillis) -> i64 {
    let next = UtcDay(now.day().0 + 1).start().plus(AFTER_MIDNIGHT_MS);
    i64::try_from(next.since(now)).unwrap_or(i64::MAX)
}
