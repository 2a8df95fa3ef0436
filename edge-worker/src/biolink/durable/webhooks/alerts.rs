//! Alerts: they are logged, and become deliveries, each once. Those about endpoints are listed here too, as
//! those of a key are by its meter.

use biolink::page::IdSource;
use biolink::webhooks::{AlertEvent, EventHead, describe_alert};
use shared::json;
use shared::meter::KeyAlerts;
use shared::time::UnixMillis;
use worker::{Result, SqlStorage};

use super::{DONE, State, Webhooks};
use crate::runtime::sql::{integer, rows, text};
use crate::runtime::{clock, entropy, recent};

impl Webhooks {
    /// Takes the alerts of a key that have not arrived yet.
    pub(super) async fn alert(&self, KeyAlerts { key, alerts }: KeyAlerts) -> Result<String> {
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

    /// Returns the last alerts about endpoints, described, with their moments, as JSON.
    pub(super) fn read_alerts(&self) -> Result<String> {
        Ok(json::to_string(&recent::list(&self.sql, clock::now())?)?)
    }

    /// Lists an alert about an endpoint, whether or not another one wants it, and logs it.
    pub(super) fn raise_alert(
        &self,
        state: &mut State,
        alert: &AlertEvent,
        ids: &mut IdSource,
    ) -> Result<()> {
        recent::add(&self.sql, (alert.id(), alert.at()), describe_alert(alert), clock::now())?;
        self.log_alert(state, alert, ids)
    }

    /// Logs an alert, and makes deliveries of it. What no endpoint wants is forgotten, and so is an alert
    /// that was logged before.
    fn log_alert(&self, state: &mut State, alert: &AlertEvent, ids: &mut IdSource) -> Result<()> {
        let (kind, now) = (alert.kind(), clock::now());
        // In this order: an alert that nobody wants must not be known later, when somebody does.
        if !state.endpoints.want(kind, None) || !self.alerts.add(alert.id(), now)? {
            return Ok(());
        }
        let render = |head: &EventHead| head.render_alert(alert);
        let logged = self.log(state, ids, (kind, None, 0), alert.at(), render, now)?;
        self.fan_out(state, &[logged], ids, now)
    }
}

const CREATE_ALERTS: &str =
    "CREATE TABLE IF NOT EXISTS alert (id TEXT PRIMARY KEY, at INTEGER NOT NULL) WITHOUT ROWID";
const ADD_ALERT: &str = "INSERT INTO alert (id, at) VALUES (?, ?) ON CONFLICT (id) DO NOTHING RETURNING id";
const EXPIRE_ALERTS: &str = "DELETE FROM alert WHERE at < ?";
const ERASE_ALERTS: &str = "DELETE FROM alert";

/// The table of the alerts that were logged, by which a repeated one is known.
pub(super) struct AlertTable(pub(super) SqlStorage);

impl AlertTable {
    /// Makes the table if there is none.
    pub(super) fn create(&self) -> Result<()> {
        self.0.exec(CREATE_ALERTS, None).map(drop)
    }

    /// Adds an alert. Returns false if it is there.
    pub(super) fn add(&self, id: String, now: UnixMillis) -> Result<bool> {
        Ok(!rows(&self.0, ADD_ALERT, vec![id.into(), integer(now.0)?], text)?.is_empty())
    }

    /// Removes alerts that were logged before this moment.
    pub(super) fn expire(&self, before: UnixMillis) -> Result<()> {
        self.0.exec(EXPIRE_ALERTS, vec![integer(before.0)?]).map(drop)
    }

    /// Removes all.
    pub(super) fn erase(&self) -> Result<()> {
        self.0.exec(ERASE_ALERTS, None).map(drop)
    }
}
