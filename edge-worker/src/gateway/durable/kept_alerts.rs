//! The last alerts of a key: rows of its meter object.
//!
//! They are there to be read by people. A failure is logged, and decides nothing.

use shared::json;
use shared::key::KeyId;
use shared::meter::{Alert, Meter};
use worker::{Result, SqlStorage};

use crate::runtime::message::parse;
use crate::runtime::{clock, log, recent};

/// Lists the alerts that the last message has caused.
pub(super) fn keep(storage: &SqlStorage, state: &mut Meter) {
    let raised = state.take_raised_alerts();
    let Some(record) = state.record() else { return };
    for alert in raised {
        if let Err(error) = try_keep(storage, record.id, &alert) {
            log::error(log::Event("alert list write failed"), None, &[("error", &error)]);
        }
    }
}

fn try_keep(storage: &SqlStorage, key: KeyId, alert: &Alert) -> Result<()> {
    recent::add(storage, (alert.id(key), alert.at), json::to_string(alert)?, clock::now())
}

/// Returns the last alerts, the newest first.
pub(super) fn load(storage: &SqlStorage) -> Vec<Alert> {
    try_load(storage).unwrap_or_else(|error| {
        log::error(log::Event("alert list read failed"), None, &[("error", &error)]);
        Vec::new()
    })
}

fn try_load(storage: &SqlStorage) -> Result<Vec<Alert>> {
    recent::list(storage, clock::now())?.iter().map(|(_, text)| parse(text)).collect()
}
