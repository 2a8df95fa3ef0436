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
    at: UnixMillis,
    for_ms: u64,
}

impl CachedDenial {
    /// Caches a denial until a call would pass, or until the meter says that it is worth asking
    /// again.
    pub(super) fn store(&mut self, denial: Denial, recheck_ms: Option<u64>, now: UnixMillis) {
        let for_ms = recheck_ms.unwrap_or(denial.retry_ms).min(denial.retry_ms).min(MAX_MS);
        self.0 = Some(Entry { denial, at: now, for_ms });
    }

    /// Returns the denial while it holds, with the time that is left until a call will pass.
    pub(super) fn get(&mut self, now: UnixMillis) -> Option<Denial> {
        let Entry { denial, at, for_ms } = self.0?;
        let elapsed = now.since(at);
        if elapsed >= for_ms {
            self.clear();
            return None;
        }
        Some(Denial { retry_ms: denial.retry_ms.saturating_sub(elapsed), ..denial })
    }

    pub(super) fn clear(&mut self) {
        self.0 = None;
    }
}
