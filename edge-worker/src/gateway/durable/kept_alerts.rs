//! The last alerts of a key: rows of its meter object.
//!
//! They are there to be read by people. A failure is logged, and decides nothing.

use shared::meter::{Alert, Meter};
use worker::SqlStorage;

use crate::runtime::{clock, log, recent};

/// Lists the alerts that the last message has caused.
pub(super) fn keep(storage: &SqlStorage, state: &mut Meter) {
    let raised = state.take_raised_alerts();
    let Some(record) = state.record() else { return };
    for alert in raised {
        if let Err(error) = recent::add(storage, (alert.id(record.id), alert.at), &alert, clock::now()) {
            log::error("alert list write failed", None, &[("error", &error)]);
        }
    }
}

/// Returns the last alerts, the newest first.
pub(super) fn load(storage: &SqlStorage) -> Vec<Alert> {
    recent::list(storage, clock::now()).unwrap_or_else(|error| {
        log::error("alert list read failed", None, &[("error", &error)]);
        Vec::new()
    })
}
