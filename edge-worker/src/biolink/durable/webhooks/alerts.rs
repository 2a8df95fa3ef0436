//! Alerts: they are logged, and become deliveries, each once. Those about endpoints are listed here too, as
//! those of a key are by its meter.

use biolink::page::IdSource;
use biolink::webhooks::{AlertEvent, EventHead, describe_alert};
use shared::json;
use shared::meter::KeyAlerts;
use worker::Result;

use super::{DONE, State, Webhooks};
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
