//! The object that keeps the reports of pages. There is one for all pages. Visitors who send a
//! report and administrators who list them wait for it; nothing else does.

use std::cell::Cell;

use biolink::pages_api::{
    MAX_REPORTS, REPORT_KEEP_MS, REPORT_WINDOW_MS, REPORTS_PER_PAGE, REPORTS_PER_SENDER, ReportsMessage,
};
use worker::{
    DurableObject, Env, Request, Response, Result, SqlStorage, State as ObjectState, durable_object,
    wasm_bindgen,
};

use crate::runtime::clock;
use crate::runtime::message::respond;
use crate::runtime::sql::{integer, rows, text};

const CREATE: &str = "CREATE TABLE IF NOT EXISTS report
        (number INTEGER PRIMARY KEY, page TEXT NOT NULL, sender INTEGER NOT NULL, at INTEGER NOT NULL, j TEXT NOT NULL);
    CREATE INDEX IF NOT EXISTS report_page ON report (page, number)";
/// Adds a report unless its sender has sent as many as allowed.
const ADD: &str = "INSERT INTO report (page, sender, at, j) SELECT ?1, ?2, ?3, ?4
    WHERE (SELECT COUNT(*) FROM report WHERE page = ?1 AND sender = ?2 AND at > ?5) < ?6 RETURNING j";
const TRIM_PAGE: &str = "DELETE FROM report WHERE page = ?1
    AND number <= (SELECT number FROM report WHERE page = ?1 ORDER BY number DESC LIMIT 1 OFFSET ?2)";
const TRIM_ALL: &str = "DELETE FROM report WHERE number <= (SELECT MAX(number) FROM report) - ?";
/// A few at a time, because each report adds one.
const EXPIRE: &str =
    "DELETE FROM report WHERE at < ? AND number IN (SELECT number FROM report ORDER BY number LIMIT 8)";
const LIST: &str = "SELECT json_set(j, '$.id', number) FROM report
    WHERE number < ?1 AND (?2 = '' OR page = ?2) ORDER BY number DESC LIMIT ?3";

/// The reports of all pages.
#[durable_object(fetch)]
pub struct Reports {
    sql: SqlStorage,
    /// Whether the table exists.
    created: Cell<bool>,
}

impl DurableObject for Reports {
    fn new(object: ObjectState, _env: Env) -> Self {
        Self { sql: object.storage().sql(), created: Cell::new(false) }
    }

    async fn fetch(&self, request: Request) -> Result<Response> {
        respond(request, "reports step failed", |message| self.handle(message)).await
    }
}

impl Reports {
    /// Handles a message. Returns the reply as JSON.
    fn handle(&self, message: ReportsMessage) -> Result<String> {
        if !self.created.get() {
            self.sql.exec(CREATE, None)?;
            self.created.set(true);
        }
        match message {
            ReportsMessage::Add { page, sender, report } => {
                let (page, now) = (page.to_string(), clock::now());
                let row = vec![
                    page.as_str().into(),
                    integer(sender.into())?,
                    integer(now.0)?,
                    report.into(),
                    integer(now.minus(REPORT_WINDOW_MS).0)?,
                    integer(REPORTS_PER_SENDER)?,
                ];
                let added = !rows(&self.sql, ADD, row, text)?.is_empty();
                self.sql.exec(TRIM_PAGE, vec![page.into(), integer(REPORTS_PER_PAGE)?])?;
                self.sql.exec(TRIM_ALL, vec![integer(MAX_REPORTS)?])?;
                self.sql.exec(EXPIRE, vec![integer(now.minus(REPORT_KEEP_MS).0)?])?;
                Ok(added.to_string())
            }
            ReportsMessage::List { page, before, limit } => {
                let page = page.map(|page| page.to_string()).unwrap_or_default();
                let before = integer(before.unwrap_or(MAX_NUMBER))?;
                let found = rows(&self.sql, LIST, vec![before, page.into(), integer(limit)?], text)?;
                Ok(format!("[{}]", found.join(",")))
            }
        }
    }
}

/// Above every number that a report can have, and exact in JavaScript.
const MAX_NUMBER: u64 = (1 << 53) - 1;
