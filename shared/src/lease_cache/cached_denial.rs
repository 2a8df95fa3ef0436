//! The meter's last denial, so that a key over its limit costs the meter nothing.

use crate::quota::Denial;
use crate::time::UnixMillis;

/// Longest time for which a denial is cached, in milliseconds. A key may get a higher limit
/// meanwhile.
const MAX_MS: u64 = 30_000;

/// A cache of one denial.
#[derive(Debug, Default)]
pub(super) struct CachedDenial(Option<Entry>);

#[derive(Clone, Copy, Debug)]
struct Entry {
    denial: Denial,
    /// The units of the call that was denied, in a denial of units.
    units: u32,
    at: UnixMillis,
    for_ms: u64,
}

impl CachedDenial {
    /// Caches a denial of a call of `units` until it would pass, or until the meter says that it is
    /// worth asking again. A denial of calls is of 0 units.
    pub(super) fn store(&mut self, denial: Denial, units: u32, recheck_ms: Option<u64>, now: UnixMillis) {
        let for_ms = recheck_ms.unwrap_or(denial.retry_ms).min(denial.retry_ms).min(MAX_MS);
        self.0 = Some(Entry { denial, units, at: now, for_ms });
    }

    /// Returns the denial while it holds for a call of `units`, with the time that is left until it will
    /// pass. A cheaper call than the one that was denied may pass.
    pub(super) fn get(&mut self, units: u32, now: UnixMillis) -> Option<Denial> {
        let Entry { denial, at, for_ms, .. } = self.0.filter(|entry| units >= entry.units)?;
        let elapsed = now.since(at);
        if elapsed >= for_ms {
            self.clear();
            return None;
        }
        let retry_ms = match denial.retry_ms {
            // Counted down, it would promise a moment at which such a call passes.
            Denial::NEVER => Denial::NEVER,
            retry_ms => retry_ms.saturating_sub(elapsed),
        };
        Some(Denial { retry_ms, ..denial })
    }

    pub(super) fn clear(&mut self) {
        self.0 = None;
    }
}
