//! The simulator's own load: how late its timers are.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

/// The interval of the timer that is watched.
const TICK: Duration = Duration::from_millis(10);
/// The lateness that is kept: that of the last 30 seconds.
const KEPT: usize = 3000;
/// The lateness (p99) from which on the simulator is the bottleneck. A runtime's timers have a
/// resolution of 1 ms.
const MAX_LATE_MS: f64 = 5.0;

/// A timer on the runtime of the tools. It is late if the runtime is busy, as responses are then.
#[derive(Clone, Debug, Default)]
pub(super) struct SelfLoad(Arc<Mutex<Lateness>>);

#[derive(Debug, Default)]
struct Lateness {
    micros: Vec<u32>,
    next: usize,
}

impl SelfLoad {
    /// Watches the timer until it is cancelled.
    pub(super) async fn watch(self) {
        let mut due = Instant::now() + TICK;
        loop {
            tokio::time::sleep_until(due).await;
            self.record(due.elapsed());
            due = Instant::now() + TICK;
        }
    }

    fn record(&self, late: Duration) {
        let mut lateness = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let micros = u32::try_from(late.as_micros()).unwrap_or(u32::MAX);
        let next = lateness.next;
        match lateness.micros.get_mut(next) {
            Some(oldest) => *oldest = micros,
            None => lateness.micros.push(micros),
        }
        lateness.next = (next + 1) % KEPT;
    }

    /// Forgets what was recorded.
    pub(super) fn reset(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Lateness::default();
    }

    /// Returns the lateness of the last 30 seconds, and whether the simulator is the bottleneck.
    pub(super) fn status(&self) -> Value {
        let mut micros = self.0.lock().unwrap_or_else(PoisonError::into_inner).micros.clone();
        micros.sort_unstable();
        let at = |percent: usize| {
            let rank = (micros.len() * percent / 100).min(micros.len().saturating_sub(1));
            micros.get(rank).map_or(0.0, |&micros| f64::from(micros) / 1000.0)
        };
        json!({
            "timer_late_p50_ms": at(50),
            "timer_late_p99_ms": at(99),
            "timer_late_max_ms": at(100),
            "bottleneck": at(99) > MAX_LATE_MS,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn late_timers_make_the_simulator_the_bottleneck() {
        let load = SelfLoad::default();
        (0..KEPT).for_each(|_| load.record(Duration::from_millis(1)));
        assert_eq!(load.status()["bottleneck"], false);
        (0..KEPT / 50).for_each(|_| load.record(Duration::from_millis(40)));
        let status = load.status();
        assert_eq!(
            (&status["bottleneck"], &status["timer_late_p99_ms"]),
            (&true.into(), &40.0.into()),
            "{status}"
        );
        // The oldest are replaced.
        (0..KEPT).for_each(|_| load.record(Duration::ZERO));
        assert_eq!(load.status()["timer_late_max_ms"], 0.0);
    }
}
