//! The health of an endpoint: a circuit breaker, and the failure budget after which it is disabled.

use serde::{Deserialize, Serialize};

use shared::time::UnixMillis;

/// Failures in a row that open the circuit.
const OPEN_AFTER: u32 = 5;
/// The first pause between probes of an endpoint whose circuit is open, in milliseconds. It doubles.
const FIRST_PROBE_MS: u64 = 60_000;
/// The longest pause between probes, in milliseconds.
const LONGEST_PROBE_MS: u64 = 1_800_000;
/// The failure budget: an endpoint that fails for this long is disabled, in milliseconds.
const BUDGET_MS: u64 = 5 * 86_400_000;
/// Failures must be at least this far apart before they disable an endpoint, in milliseconds.
const APART_MS: u64 = 12 * 3_600_000;
/// Percents of the failure budget at which the owner is warned.
const WARNINGS: [u8; 4] = [100, 90, 70, 50];
/// Maximum number of concurrent requests to one endpoint.
pub const MAX_IN_FLIGHT: u32 = 6;

/// The health of an endpoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Health {
    /// Failed attempts since the last success.
    pub consecutive_failures: u32,
    /// The moment of the first of them.
    pub failing_since: Option<UnixMillis>,
    /// The moment of the last failure.
    pub last_failure_at: Option<UnixMillis>,
    /// The moment of the last success.
    pub last_success_at: Option<UnixMillis>,
    /// The reason and the moment at which it was disabled.
    pub disabled: Option<Disabled>,
    /// The next probe, while the circuit is open.
    probe: Option<Probe>,
}

/// The end of an endpoint that its owner did not disable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Disabled {
    /// The reason.
    pub reason: DisabledReason,
    /// The moment.
    pub at: UnixMillis,
}

/// A reason for which an endpoint was disabled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DisabledReason {
    /// It responded with 410.
    Gone,
    /// It failed for five days.
    Failing,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Probe {
    at: UnixMillis,
    pause_ms: u64,
}

/// The consequence of a success.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recovery {
    /// The endpoint was healthy.
    None,
    /// The circuit was open and is closed: deliveries that wait are due now, as far as
    /// [`may_bring_forward`](super::may_bring_forward) says.
    Recovered,
}

impl DisabledReason {
    /// Returns the name in responses.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Gone => "gone",
            Self::Failing => "failing",
        }
    }
}

impl Health {
    /// Records a delivered event, and closes the circuit.
    pub fn record_success(&mut self, now: UnixMillis) -> Recovery {
        let recovery = if self.is_open() { Recovery::Recovered } else { Recovery::None };
        // It stays disabled: an attempt that was in flight must not enable what its owner was told
        // is off.
        *self = Self { last_success_at: Some(now), disabled: self.disabled, ..Self::default() };
        recovery
    }

    /// Records a failed attempt. Returns the reason if it disables the endpoint.
    pub fn record_failure(&mut self, now: UnixMillis) -> Option<DisabledReason> {
        let since = *self.failing_since.get_or_insert(now);
        let last = self.last_failure_at.replace(now).unwrap_or(now);
        self.consecutive_failures = self.consecutive_failures.saturating_add(1);
        self.plan_probe(now);
        // Two failures with days of silence between them say nothing about the time between.
        let is_spent = now.since(since) >= BUDGET_MS && last.since(since) >= APART_MS;
        if is_spent && self.disabled.is_none() {
            self.disabled = Some(Disabled { reason: DisabledReason::Failing, at: now });
            return Some(DisabledReason::Failing);
        }
        None
    }

    /// Records a 410, which disables the endpoint.
    pub fn record_gone(&mut self, now: UnixMillis) {
        self.record_failure(now);
        self.disabled = Some(Disabled { reason: DisabledReason::Gone, at: now });
    }

    /// Forgets failures, because the owner enabled the endpoint again or changed its address.
    pub fn reset(&mut self) {
        *self = Self { last_success_at: self.last_success_at, ..Self::default() };
    }

    /// Returns true if an attempt may begin while `in_flight` others have not ended: any, up to
    /// [`MAX_IN_FLIGHT`]. While the circuit is open, one probe at a time.
    pub fn may_attempt(&self, now: UnixMillis, in_flight: u32) -> bool {
        match self.probe {
            _ if self.disabled.is_some() => false,
            None => in_flight < MAX_IN_FLIGHT,
            Some(probe) => in_flight == 0 && probe.at <= now,
        }
    }

    /// Returns the moment before which no attempt may begin; `None` if the circuit is closed.
    pub fn next_probe(&self) -> Option<UnixMillis> {
        self.probe.map(|probe| probe.at)
    }

    /// Returns true if the circuit is open: deliveries wait until a probe succeeds.
    pub const fn is_open(&self) -> bool {
        self.probe.is_some()
    }

    /// Returns the used part of the failure budget, in percent, from 0 to 100.
    pub fn budget_percent(&self, now: UnixMillis) -> u8 {
        let failing_ms = self.failing_since.map_or(0, |since| now.since(since));
        u8::try_from((failing_ms / (BUDGET_MS / 100)).min(100)).unwrap_or(100)
    }

    /// Returns the highest of 50, 70, 90 and 100 percent that the failure budget has reached.
    pub fn warning(&self, now: UnixMillis) -> Option<u8> {
        let percent = self.budget_percent(now);
        WARNINGS.into_iter().find(|warning| *warning <= percent)
    }

    /// Returns the moment at which the failure budget is used up.
    pub fn disabled_from(&self) -> Option<UnixMillis> {
        self.failing_since.map(|since| since.plus(BUDGET_MS))
    }

    fn plan_probe(&mut self, now: UnixMillis) {
        let pause_ms = match self.probe {
            None if self.consecutive_failures < OPEN_AFTER => return,
            None => FIRST_PROBE_MS,
            // It began before the circuit opened, so it was no probe.
            Some(probe) if now < probe.at => return,
            Some(probe) => (probe.pause_ms * 2).min(LONGEST_PROBE_MS),
        };
        self.probe = Some(Probe { at: now.plus(pause_ms), pause_ms });
    }
}

#[cfg(test)]
mod tests;
