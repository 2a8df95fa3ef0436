//! The state of a simulated tool: settings and counters.

use std::sync::{Mutex, MutexGuard, PoisonError};

use hyper::StatusCode;
use serde::Serialize;
use shared::tool::Tool;

use super::settings::Settings;
use super::webhook_log::WebhookLog;

/// The settings and counters of a tool, shared by its connections and the control API.
pub(super) struct ToolState {
    pub(super) tool: Tool,
    settings: Mutex<Settings>,
    counters: Mutex<ToolCounters>,
    pub(super) webhooks: WebhookLog,
}

/// The counters of a tool since its start or the last reset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ToolCounters {
    /// Requests received, without `/healthz`.
    pub calls: u64,
    /// Calls that failed because of `error_rate` or a fault.
    pub errors: u64,
    /// Requests for `/healthz`.
    pub probes: u64,
    /// Accepted TCP connections.
    pub connections: u64,
    /// Responses to calls by the first digit of the status, from 1xx.
    pub responses: [u64; 5],
}

impl ToolState {
    pub(super) fn new(tool: Tool) -> Self {
        let (settings, counters) = (Mutex::default(), Mutex::default());
        Self { tool, settings, counters, webhooks: WebhookLog::new() }
    }

    pub(super) fn settings(&self) -> MutexGuard<'_, Settings> {
        self.settings.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn counters(&self) -> MutexGuard<'_, ToolCounters> {
        self.counters.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a call. Returns the number of calls before it.
    pub(super) fn count_call(&self) -> u64 {
        let mut counters = self.counters();
        counters.calls += 1;
        counters.calls - 1
    }

    pub(super) fn count_response(&self, status: StatusCode) {
        let class = usize::from(status.as_u16() / 100).saturating_sub(1);
        self.counters().responses.get_mut(class).into_iter().for_each(|count| *count += 1);
    }

    /// Restores the default settings and sets all counters to zero.
    pub(super) fn reset(&self) {
        *self.settings() = Settings::default();
        *self.counters() = ToolCounters::default();
        self.webhooks.reset();
    }
}
