//! The way of a key's alerts from its meter to the webhooks of its account.
//!
//! The outbox itself is in the meter's state. The meter's alarm delivers what is in there, and no call
//! waits for it. **If the webhooks do not take an alert**, it is delivered again for a day, and then
//! dropped.

use std::cell::Cell;

use shared::key::KeyRecord;
use shared::meter::{Alert, KeyAlerts};
use shared::time::UnixMillis;
use worker::{Env, Result, State as ObjectState};

use crate::bindings;
use crate::runtime::{alarm, clock, durable_rpc, log};

/// Timeout of a message to the webhooks, in milliseconds.
const TIMEOUT_MS: u64 = 5_000;
/// The first pause before a retry, in milliseconds. It doubles.
const FIRST_RETRY_MS: u64 = 1_000;
/// The longest pause between two retries, in milliseconds.
const MAX_RETRY_MS: u64 = 3_600_000;

/// The alarm of the outbox, and its retries.
#[derive(Default)]
pub(super) struct AlertOutbox {
    /// The alert for whose moment the alarm is set.
    armed: Cell<Option<UnixMillis>>,
    failures: Cell<u32>,
}

impl AlertOutbox {
    /// Returns true if the alarm is not set for the next alert.
    pub(super) fn needs_alarm(&self, next: Option<UnixMillis>) -> bool {
        // Each look at the alarm is a read of the storage, and the meter asks after each message.
        next.is_some() && next != self.armed.get()
    }

    /// Sets the alarm for the next alert, unless it is set for an earlier moment.
    pub(super) async fn arm(&self, object: &ObjectState, next: Option<UnixMillis>) -> Result<()> {
        let Some(due) = next.filter(|_| self.needs_alarm(next)) else { return Ok(()) };
        // The pause here, because an alert that failed stays due: the alarm would run without end.
        let at = due.max(clock::now().plus(self.pause_ms()));
        // The one alarm may be set for the record or for the end of the object. It arms again for
        // the rest.
        alarm::ensure(object, at).await?;
        self.armed.set(Some(due));
        Ok(())
    }

    /// Notes that the alarm has run.
    pub(super) fn disarm(&self) {
        self.armed.set(None);
    }

    /// Delivers alerts. Returns those that the webhooks of the account have taken.
    pub(super) async fn deliver(&self, env: &Env, record: &KeyRecord, alerts: Vec<Alert>) -> Vec<Alert> {
        match send(env, record, &alerts).await {
            Ok(()) => {
                self.failures.set(0);
                alerts
            }
            Err(error) => {
                self.failures.set(self.failures.get().saturating_add(1));
                log::error(
                    log::Event("alerts not delivered"),
                    None,
                    &[("key", &record.id), ("error", &error)],
                );
                Vec::new()
            }
        }
    }

    fn pause_ms(&self) -> u64 {
        match self.failures.get() {
            0 => 0,
            failures => (FIRST_RETRY_MS << failures.min(12)).min(MAX_RETRY_MS),
        }
    }
}

async fn send(env: &Env, record: &KeyRecord, alerts: &[Alert]) -> Result<()> {
    let message = KeyAlerts { key: record.id, alerts: alerts.to_vec() }.to_message()?;
    let (webhooks, account) = (bindings::webhooks(env)?, record.account().to_string());
    let reply = durable_rpc::call(&webhooks, &account, &message);
    durable_rpc::timeout(TIMEOUT_MS, reply).await?;
    Ok(())
}
