//! The object that keeps the reports of pages. There is one for all pages. Visitors who send a
//! report and administrators who list them wait for it; nothing else does.
//!
//! Why: docs/decisions/pages.md, "No report pushes out an unread one of another page".
//!
//! Why: docs/decisions/pages.md, "One object keeps all reports".

use std::cell::{Cell, OnceCell};

use biolink::pages_api::{
    FIRST_REPORTS, MAX_REPORTS, REPORT_KEEP_MS, REPORT_WINDOW_MS, REPORTS_PER_NETWORK, REPORTS_PER_PAGE,
    REPORTS_PER_SENDER, ReportsMessage,
};
use worker::{
    DurableObject, Env, Request, Response, Result, SqlStorage, SqlStorageValue, State as ObjectState,
    durable_object, wasm_bindgen,
};

use crate::runtime::message::respond;
use crate::runtime::sql::{integer, number, rows, text};
use crate::runtime::{clock, log};

const CREATE: &str = "CREATE TABLE IF NOT EXISTS report
        (number INTEGER PRIMARY KEY, page TEXT NOT NULL, sender INTEGER NOT NULL, at INTEGER NOT NULL, j TEXT NOT NULL,
        more INTEGER NOT NULL DEFAULT 0, is_read INTEGER NOT NULL DEFAULT 0);
    CREATE INDEX IF NOT EXISTS report_page ON report (page, number);
    CREATE INDEX IF NOT EXISTS report_read ON report (number) WHERE is_read = 1";
const COUNT: &str = "SELECT COUNT(*) FROM report";
const COUNT_SENDER: &str = "SELECT COUNT(*) FROM report WHERE page = ? AND sender = ? AND at > ?";
const ADD: &str = "INSERT INTO report (page, sender, at, j, more) VALUES (?, ?, ?, ?, ?) RETURNING number";
/// Deletes the oldest report of a page by a network if there are more than the limit.
const TRIM_NETWORK: &str = "DELETE FROM report WHERE number = (SELECT number FROM report
    WHERE page = ?1 AND sender >> 8 = ?2 ORDER BY number DESC LIMIT 1 OFFSET ?3) RETURNING more";
/// Deletes the oldest report of a page but the first ones, if there are more than the limit.
const TRIM_PAGE: &str = "DELETE FROM report WHERE (SELECT COUNT(*) FROM report WHERE page = ?1) > ?3
    AND number = (SELECT number FROM report WHERE page = ?1 ORDER BY number LIMIT 1 OFFSET ?2) RETURNING more";
const ADD_MORE: &str = "UPDATE report SET more = more + ? WHERE number = ?";
const DROP_READ: &str = "DELETE FROM report
    WHERE number = (SELECT number FROM report WHERE is_read = 1 ORDER BY number LIMIT 1) RETURNING more";
/// A few at a time, because each report adds one.
const EXPIRE: &str =
    "DELETE FROM report WHERE at < ? AND number IN (SELECT number FROM report ORDER BY number LIMIT 8)
    RETURNING more";
const LIST: &str = "SELECT json_set(j, '$.id', number, '$.more', more) FROM report
    WHERE number < ?1 AND (?2 = '' OR page = ?2) ORDER BY number DESC LIMIT ?3";
const MARK_READ: &str = "UPDATE report SET is_read = 1 WHERE is_read = 0 AND number IN
    (SELECT number FROM report WHERE number < ?1 AND (?2 = '' OR page = ?2) ORDER BY number DESC LIMIT ?3)";

/// The reports of all pages.
#[durable_object(fetch)]
pub struct Reports {
    sql: SqlStorage,
    /// The number of reports, once the table exists.
    count: OnceCell<Cell<u64>>,
}

/// A report to keep.
struct NewReport<'a> {
    page: &'a str,
    sender: u16,
    more: u32,
    text: String,
}

impl DurableObject for Reports {
    fn new(object: ObjectState, _env: Env) -> Self {
        Self { sql: object.storage().sql(), count: OnceCell::new() }
    }

    async fn fetch(&self, request: Request) -> Result<Response> {
        respond(request, log::Event("reports step failed"), |message| self.handle(message)).await
    }
}

impl Reports {
    /// Handles a message. Returns the reply as JSON.
    fn handle(&self, message: ReportsMessage) -> Result<String> {
        let count = self.opened()?;
        match message {
            ReportsMessage::Add { page, sender, more, report } => {
                let page = page.to_string();
                let report = NewReport { page: &page, sender, more, text: report };
                Ok(self.add(report, count)?.to_string())
            }
            ReportsMessage::List { page, before, limit } => {
                let page = page.map(|page| page.to_string()).unwrap_or_default();
                let before = before.unwrap_or(MAX_NUMBER);
                let part = |limit| {
                    Ok::<_, worker::Error>(vec![integer(before)?, page.as_str().into(), integer(limit)?])
                };
                let found = rows(&self.sql, LIST, part(limit)?, text)?;
                // The handler asks for one more than it shows, to know whether there are more.
                // Nobody has read that one.
                self.sql.exec(MARK_READ, part(limit.saturating_sub(1))?)?;
                Ok(format!("[{}]", found.join(",")))
            }
        }
    }

    /// Creates the table, and counts its rows, once.
    fn opened(&self) -> Result<&Cell<u64>> {
        if let Some(count) = self.count.get() {
            return Ok(count);
        }
        self.sql.exec(CREATE, None)?;
        let count = self.first(COUNT, Vec::new())?.unwrap_or(0);
        Ok(self.count.get_or_init(|| Cell::new(count)))
    }

    /// Keeps a report. Returns false if its sender has sent too many.
    fn add(&self, report: NewReport<'_>, count: &Cell<u64>) -> Result<bool> {
        let NewReport { page, sender, more, text } = report;
        let now = clock::now();
        let since = integer(now.minus(REPORT_WINDOW_MS).0)?;
        let sent = self.first(COUNT_SENDER, vec![page.into(), integer(sender.into())?, since])?;
        if sent.unwrap_or(0) >= REPORTS_PER_SENDER {
            return Ok(false);
        }
        let expired = self.delete(EXPIRE, vec![integer(now.minus(REPORT_KEEP_MS).0)?], count)?;
        if count.get() >= MAX_REPORTS
            && expired.is_empty()
            && self.delete(DROP_READ, Vec::new(), count)?.is_empty()
        {
            log::error(log::Event("report not kept"), None, &[("kept", &count.get()), ("read", &0)]);
            // The visitor can do nothing about it. The log tells the operator.
            return Ok(true);
        }
        let row =
            vec![page.into(), integer(sender.into())?, integer(now.0)?, text.into(), integer(more.into())?];
        let Some(added) = self.first(ADD, row)? else { return Ok(true) };
        count.set(count.get() + 1);
        // The network before the page: one network that floods pushes out its own reports first.
        let of_network = vec![page.into(), integer((sender >> 8).into())?, integer(REPORTS_PER_NETWORK)?];
        let mut dropped = self.delete(TRIM_NETWORK, of_network, count)?;
        let of_page = vec![page.into(), integer(FIRST_REPORTS)?, integer(REPORTS_PER_PAGE)?];
        dropped.extend(self.delete(TRIM_PAGE, of_page, count)?);
        if !dropped.is_empty() {
            // What was dropped stays counted, so that an operator sees how many complained.
            let more: u64 = dropped.iter().map(|more| more + 1).sum();
            self.sql.exec(ADD_MORE, vec![integer(more)?, integer(added)?])?;
        }
        Ok(true)
    }

    /// Deletes reports. Returns how many others each of them stood for.
    fn delete(&self, query: &str, values: Vec<SqlStorageValue>, count: &Cell<u64>) -> Result<Vec<u64>> {
        let deleted = rows(&self.sql, query, values, |row| number(row.first()?))?;
        count.set(count.get().saturating_sub(deleted.len() as u64));
        Ok(deleted)
    }

    /// Returns the number in the first row.
    fn first(&self, query: &str, values: Vec<SqlStorageValue>) -> Result<Option<u64>> {
        Ok(rows(&self.sql, query, values, |row| number(row.first()?))?.first().copied())
    }
}

/// Above every number that a report can have, and exact in JavaScript.
const MAX_NUMBER: u64 = (1 << 53) - 1;
