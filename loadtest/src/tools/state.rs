//! The state of a simulated tool: settings and counters.

use std::sync::atomic::{AtomicU64, Ordering};
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
    calls: AtomicU64,
    errors: AtomicU64,
    probes: AtomicU64,
    connections: AtomicU64,
    /// Responses by the first digit of the status, from 1xx.
    responses: [AtomicU64; 5],
    pub(super) webhooks: WebhookLog,
}

/// The counters of a tool since its start or the last reset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
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
        Self {
            tool,
            settings: Mutex::default(),
            calls: AtomicU64::new(0),
            errors: AtomicU64::new(0),
            probes: AtomicU64::new(0),
            connections: AtomicU64::new(0),
            responses: Default::default(),
            webhooks: WebhookLog::new(),
        }
    }

    pub(super) fn settings(&self) -> MutexGuard<'_, Settings> {
        self.settings.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a call. Returns the number of calls before it.
    pub(super) fn count_call(&self) -> u64 {
        self.calls.fetch_add(1, Ordering::Relaxed)
    }

    pub(super) fn count_error(&self) {
        self.errors.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn count_probe(&self) {
        self.probes.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn count_connection(&self) {
        self.connections.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a response to a call.
    pub(super) fn count_response(&self, status: StatusCode) {
        let class = usize::from(status.as_u16() / 100).saturating_sub(1);
        if let Some(counter) = self.responses.get(class) {
            counter.fetch_add(1, Ordering::Relaxed);
        }
    }

    pub(super) fn counters(&self) -> ToolCounters {
        ToolCounters {
            calls: self.calls.load(Ordering::Relaxed),
            errors: self.errors.load(Ordering::Relaxed),
            probes: self.probes.load(Ordering::Relaxed),
            connections: self.connections.load(Ordering::Relaxed),
            responses: self.responses.each_ref().map(|counter| counter.load(Ordering::Relaxed)),
        }
    }

    /// Restores the initial settings and counters.
    pub(super) fn reset(&self) {
        *self.settings() = Settings::default();
        self.webhooks.reset();
        let counters = [&self.calls, &self.errors, &self.probes, &self.connections];
        for counter in counters.into_iter().chain(&self.responses) {
            counter.store(0, Ordering::Relaxed);
        }
    }
}
