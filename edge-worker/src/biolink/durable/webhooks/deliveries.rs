//! The table of deliveries.

use biolink::webhooks::{EndpointId, Excess, MAX_ATTEMPTS, MAX_NUMBER, WebhookKind};
use biolink::webhooks_api::{Delivery, DeliveryQuery, DeliveryState};
use shared::json;
use shared::time::UnixMillis;
use worker::{Result, SqlStorage, SqlStorageValue};

use crate::runtime::message::parse;
use crate::runtime::sql::{integer, number, rows};

/// The index has only what waits to be sent.
const CREATE: &str = "CREATE TABLE IF NOT EXISTS delivery
        (number INTEGER PRIMARY KEY, endpoint TEXT NOT NULL, state INTEGER NOT NULL, due INTEGER NOT NULL,
        created INTEGER NOT NULL, kind TEXT NOT NULL, tries INTEGER NOT NULL, j TEXT NOT NULL);
    CREATE INDEX IF NOT EXISTS waiting ON delivery (endpoint, due, kind) WHERE state < 2";
const STORE: &str = "INSERT INTO delivery (number, endpoint, state, due, created, kind, tries, j) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (number) DO UPDATE
    SET state = excluded.state, due = excluded.due, tries = excluded.tries, j = excluded.j";
const FIND: &str = "SELECT j, due FROM delivery WHERE number = ? AND endpoint = ?";
const DUE: &str = "SELECT j, due FROM delivery
    WHERE endpoint = ? AND state < 2 AND due <= ? AND (kind = 'test' OR ?) ORDER BY kind <> 'test', due, number LIMIT ?";
const OPEN: &str =
    "SELECT j, due FROM delivery WHERE endpoint = ? AND state = 0 AND due > ? ORDER BY number DESC LIMIT 1";
const NEXT_DUE: &str = "SELECT MIN(due) FROM delivery WHERE endpoint = ? AND state < 2";
const LIST: &str =
    "SELECT j, due FROM delivery WHERE endpoint = ? AND number < ? AND state >= ? AND state <= ?
    AND created >= ? AND (? = '' OR kind = ?)
    AND (? = 0 OR EXISTS (SELECT 1 FROM json_each(delivery.j, '$.events') WHERE value = ?))
    ORDER BY number DESC LIMIT ?";
const FAILED: &str = "SELECT j, due FROM delivery WHERE endpoint = ? AND state > 2 AND created >= ? AND created < ? ORDER BY number LIMIT ?";
const BRING_FORWARD: &str =
    "UPDATE delivery SET due = ? WHERE endpoint = ? AND state = 1 AND due > ? AND tries < ?";
const DELETE: &str = "DELETE FROM delivery WHERE endpoint = ?";
const EXPIRE: &str = "DELETE FROM delivery WHERE created < ?";
const ERASE: &str = "DELETE FROM delivery";

/// Returns the query for the number of deliveries that wait, and of those among them that are kept.
fn waiting() -> String {
    let kept = kept();
    format!("SELECT COUNT(*), COALESCE(SUM({kept}), 0) FROM delivery WHERE endpoint = ? AND state < 2")
}

/// Returns the query for the oldest deliveries that wait: of those that are kept, or of the others.
fn oldest() -> String {
    let kept = kept();
    format!(
        "SELECT j, due FROM delivery WHERE endpoint = ? AND state < 2 AND ({kept}) = ? ORDER BY number LIMIT ?"
    )
}

/// Returns the condition on a delivery that is dropped last: its event is no visit. A batch is one of
/// visits.
fn kept() -> String {
    let kinds = WebhookKind::ALL.into_iter().filter(|kind| !kind.is_visit());
    let names: Vec<_> = kinds.map(|kind| format!("'{}'", kind.as_str())).collect();
    format!("kind IN ({})", names.join(", "))
}

/// The table of deliveries.
pub(super) struct DeliveryTable(pub(super) SqlStorage);

impl DeliveryTable {
    /// Makes the table if there is none.
    pub(super) fn create(&self) -> Result<()> {
        self.0.exec(CREATE, None).map(drop)
    }

    /// Stores a delivery, in place of the one with its number if there is one.
    pub(super) fn store(&self, delivery: &Delivery) -> Result<()> {
        let values = vec![
            integer(delivery.id.number())?,
            delivery.endpoint.to_string().into(),
            integer(delivery.state.code())?,
            integer(delivery.due.0)?,
            integer(delivery.created_at.0)?,
            delivery.kind.as_str().into(),
            integer(delivery.tries.into())?,
            json::to_string(delivery)?.into(),
        ];
        self.0.exec(STORE, values).map(drop)
    }

    /// Returns a delivery of an endpoint.
    pub(super) fn find(&self, endpoint: &EndpointId, number: u64) -> Result<Option<Delivery>> {
        // With the endpoint, or the delivery of another one could be read by its number.
        Ok(self.select(FIND, vec![integer(number)?, endpoint.to_string().into()])?.into_iter().next())
    }

    /// Returns deliveries that are to be sent now, tests first; or only tests.
    pub(super) fn due(
        &self,
        endpoint: &EndpointId,
        only_tests: bool,
        now: UnixMillis,
        limit: usize,
    ) -> Result<Vec<Delivery>> {
        let values = vec![
            endpoint.to_string().into(),
            integer(now.0)?,
            integer((!only_tests).into())?,
            integer(limit as u64)?,
        ];
        self.select(DUE, values)
    }

    /// Returns the batch of an endpoint that takes more events.
    pub(super) fn open(&self, endpoint: &EndpointId, now: UnixMillis) -> Result<Option<Delivery>> {
        let open = self.select(OPEN, vec![endpoint.to_string().into(), integer(now.0)?])?;
        Ok(open.into_iter().next())
    }

    /// Returns the moment at which a delivery of an endpoint is due.
    pub(super) fn next_due(&self, endpoint: &EndpointId) -> Result<Option<UnixMillis>> {
        let values = vec![endpoint.to_string().into()];
        let due = rows(&self.0, NEXT_DUE, values, |row| row.first().map(number))?;
        Ok(due.into_iter().next().flatten().map(UnixMillis))
    }

    /// Returns the numbers of deliveries of an endpoint that wait to be sent: of visits, and of
    /// publications and alerts.
    pub(super) fn waiting(&self, endpoint: &EndpointId) -> Result<(u64, u64)> {
        let counts = rows(&self.0, &waiting(), vec![endpoint.to_string().into()], |row| match row {
            [all, publications] => Some((number(all)?, number(publications)?)),
            _ => None,
        })?;
        let (all, publications) = counts.first().copied().unwrap_or_default();
        // Apart, because they have bounds of their own: visits must not push a publication out.
        Ok((all.saturating_sub(publications), publications))
    }

    /// Returns the oldest deliveries that are too many.
    pub(super) fn excess(&self, endpoint: &EndpointId, excess: Excess) -> Result<Vec<Delivery>> {
        // In nearly every case, and then no row is read.
        if excess.is_none() {
            return Ok(Vec::new());
        }
        let query = oldest();
        let oldest = |publications: bool, count: u64| {
            let values = vec![endpoint.to_string().into(), integer(publications.into())?, integer(count)?];
            self.select(&query, values)
        };
        let mut found = oldest(false, excess.visits)?;
        found.extend(oldest(true, excess.publications)?);
        Ok(found)
    }

    /// Returns the deliveries that a reader asks for, and one more if there are more.
    pub(super) fn list(&self, endpoint: &EndpointId, query: &DeliveryQuery) -> Result<Vec<Delivery>> {
        let (from, to) = match query.state {
            Some(state) => (state.code(), state.code()),
            None => (0, DeliveryState::Dropped.code()),
        };
        let kind = query.kind.map_or("", WebhookKind::as_str);
        let event = query.event.unwrap_or(0);
        let values = vec![
            endpoint.to_string().into(),
            // A condition that holds for all rows, in place of another statement without it.
            integer(query.before.unwrap_or(MAX_NUMBER))?,
            integer(from)?,
            integer(to)?,
            integer(query.since.unwrap_or_default().0)?,
            kind.into(),
            kind.into(),
            integer(event)?,
            integer(event)?,
            // One more than is shown says whether there is a next page.
            integer(query.limit.saturating_add(1))?,
        ];
        self.select(LIST, values)
    }

    /// Returns deliveries that have failed or were dropped, of this span of time.
    pub(super) fn failed(
        &self,
        endpoint: &EndpointId,
        since: UnixMillis,
        until: UnixMillis,
        limit: u64,
    ) -> Result<Vec<Delivery>> {
        let values = vec![endpoint.to_string().into(), integer(since.0)?, integer(until.0)?, integer(limit)?];
        self.select(FAILED, values)
    }

    /// Has all that waits for an endpoint sent now, except for last attempts.
    pub(super) fn bring_forward(&self, endpoint: &EndpointId, now: UnixMillis) -> Result<()> {
        let values = vec![
            integer(now.0)?,
            endpoint.to_string().into(),
            integer(now.0)?,
            // A last attempt keeps its time, three days after the first, because none follows it.
            integer(u64::from(MAX_ATTEMPTS).saturating_sub(1))?,
        ];
        self.0.exec(BRING_FORWARD, values).map(drop)
    }

    /// Removes the deliveries of an endpoint.
    pub(super) fn delete(&self, endpoint: &EndpointId) -> Result<()> {
        self.0.exec(DELETE, vec![endpoint.to_string().into()]).map(drop)
    }

    /// Removes deliveries from before this moment.
    pub(super) fn expire(&self, before: UnixMillis) -> Result<()> {
        self.0.exec(EXPIRE, vec![integer(before.0)?]).map(drop)
    }

    /// Removes all.
    pub(super) fn erase(&self) -> Result<()> {
        self.0.exec(ERASE, None).map(drop)
    }

    fn select(&self, query: &str, values: Vec<SqlStorageValue>) -> Result<Vec<Delivery>> {
        let found = rows(&self.0, query, values, |row| match row {
            [SqlStorageValue::String(stored), due] => Some((stored.clone(), UnixMillis(number(due)?))),
            _ => None,
        })?;
        // From the column, because `bring_forward` changes it without the JSON.
        found.into_iter().map(|(stored, due)| Ok(Delivery { due, ..parse(&stored)? })).collect()
    }
}
