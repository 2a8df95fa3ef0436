//! What a simulated tool knows about itself: its settings and its counters.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::Serialize;
use shared::tool::Tool;

use super::settings::Settings;

/// One tool's settings and counters, shared by its connections and the control API.
pub(super) struct State {
    pub(super) tool: Tool,
    settings: Mutex<Settings>,
    calls: AtomicU64,
    errors: AtomicU64,
    probes: AtomicU64,
    connections: AtomicU64,
}

/// What a tool has seen since its process began or since they were last reset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Counters {
    /// Requests that reached the tool, `/healthz` apart.
    pub calls: u64,
    /// Those of them that failed because of `error_rate` or a fault.
    pub errors: u64,
    /// Requests for `/healthz`.
    pub probes: u64,
    /// TCP connections accepted.
    pub connections: u64,
}

impl State {
    pub(super) fn new(tool: Tool) -> Self {
        Self {
            tool,
            settings: Mutex::default(),
            calls: AtomicU64::new(0),
            errors: AtomicU64::new(0),
            probes: AtomicU64::new(0),
            connections: AtomicU64::new(0),
        }
    }

    pub(super) fn settings(&self) -> MutexGuard<'_, Settings> {
        self.settings.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a call and says how many came before it.
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

    pub(super) fn counters(&self) -> Counters {
        Counters {
            calls: self.calls.load(Ordering::Relaxed),
            errors: self.errors.load(Ordering::Relaxed),
            probes: self.probes.load(Ordering::Relaxed),
            connections: self.connections.load(Ordering::Relaxed),
        }
    }

    /// Back to the settings and counters of a new process.
    pub(super) fn reset(&self) {
        *self.settings() = Settings::default();
        for counter in [&self.calls, &self.errors, &self.probes, &self.connections] {
            counter.store(0, Ordering::Relaxed);
        }
    }
}
