//! Alerts that arrive, each once: a table has the ids of those that were logged.

use biolink::page::IdSource;
use biolink::webhooks::{AlertEvent, EventHead};
use shared::key::KeyId;
use shared::meter::Alert;
use shared::time::UnixMillis;
use worker::{Result, SqlStorage};

use super::{DONE, State, Webhooks};
use crate::runtime::sql::{integer, rows, text};
use crate::runtime::{clock, entropy};

const CREATE: &str =
    "CREATE TABLE IF NOT EXISTS alert (id TEXT PRIMARY KEY, at INTEGER NOT NULL) WITHOUT ROWID";
const ADD: &str = "INSERT INTO alert (id, at) VALUES (?, ?) ON CONFLICT (id) DO NOTHING RETURNING id";
const EXPIRE: &str = "DELETE FROM alert WHERE at < ?";
const ERASE: &str = "DELETE FROM alert";

/// The table of alerts that were logged.
pub(super) struct AlertTable(pub(super) SqlStorage);

impl AlertTable {
    /// Makes the table if there is none.
    pub(super) fn create(&self) -> Result<()> {
        self.0.exec(CREATE, None).map(drop)
    }

    /// Adds an alert. Returns false if it is there.
    fn add(&self, id: String, now: UnixMillis) -> Result<bool> {
        Ok(!rows(&self.0, ADD, vec![id.into(), integer(now.0)?], text)?.is_empty())
    }

    /// Removes alerts that were logged before this moment.
    pub(super) fn expire(&self, before: UnixMillis) -> Result<()> {
        self.0.exec(EXPIRE, vec![integer(before.0)?]).map(drop)
    }

    /// Removes all.
    pub(super) fn erase(&self) -> Result<()> {
        self.0.exec(ERASE, None).map(drop)
    }
}

impl Webhooks {
    /// Takes the alerts of a key that have not arrived yet.
    pub(super) async fn alert(&self, key: KeyId, alerts: Vec<Alert>) -> Result<String> {
        let mut ids = IdSource::new(entropy::random()?);
        let may_have_deliveries = self.change(|state| {
            for alert in alerts {
                self.log_alert(state, &AlertEvent::Key { id: key, alert }, &mut ids)?;
            }
            Ok(!state.endpoints.is_empty())
        })?;
        if may_have_deliveries {
            self.wake(clock::now()).await?;
        }
        Ok(DONE.to_owned())
    }

    /// Logs an alert, and makes deliveries of it. What no endpoint wants is forgotten, and so is an alert
    /// that was logged before.
    pub(super) fn log_alert(&self, state: &mut State, alert: &AlertEvent, ids: &mut IdSource) -> Result<()> {
        let (kind, now) = (alert.kind(), clock::now());
        if !state.endpoints.want(kind, None) || !self.alerts.add(alert.id(), now)? {
            return Ok(());
        }
        let render = |head: &EventHead| head.render_alert(alert);
        let logged = self.log(state, ids, (kind, None, 0), alert.at(), render, now)?;
        self.fan_out(state, &[logged], ids, now)
    }
}
