//! Calls of keys that no quota counts: reads and changes of the key's own state, and bio-link calls.

use super::KeyId;
use crate::policy::{KEY_CHANGES_PER_MINUTE, KEY_READS_PER_MINUTE};
use crate::problem::{Problem, codes};
use crate::sorted_map::SortedMap;
use crate::time::UnixMillis;

/// Maximum number of keys that are counted. Beyond them no other key is refused until the next minute.
const MAX_KEYS: usize = 4_096;

/// A call that no quota counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FreeCall {
    /// It asks the key's meter.
    Read,
    /// It changes the key's record, which is stored in KV.
    Change,
    /// An agent of the key exchanges a code or refresh token, or ends its connection.
    Exchange,
}

/// A count of each key's free calls within a minute, as one isolate sees them. It refuses a loop of
/// them before an object is asked.
///
/// Why: docs/decisions/keys.md, "An isolate bounds what a key may do for free".
#[derive(Debug, Default)]
pub struct FreeCallGuard {
    minute: u64,
    counts: SortedMap<KeyId, Counts>,
}

#[derive(Debug, Default)]
struct Counts {
    reads: u32,
    changes: u32,
    exchanges: u32,
}

impl FreeCallGuard {
    /// Returns a guard that has counted nothing.
    pub const fn new() -> Self {
        Self { minute: 0, counts: SortedMap::new() }
    }

    /// Counts a call of a verified key, or of an agent that has a grant of it.
    ///
    /// # Errors
    /// Returns `too-many-requests` if the key has made too many of its kind in this minute.
    pub fn record(&mut self, key: &KeyId, call: FreeCall, now: UnixMillis) -> Result<(), Problem> {
        let minute = now.seconds() / 60;
        if self.minute != minute {
            self.minute = minute;
            self.counts.clear();
        }
        if self.counts.len() >= MAX_KEYS && !self.counts.contains_key(key) {
            return Ok(());
        }
        let counts = self.counts.get_or_default(*key);
        let (count, limit) = match call {
            FreeCall::Read => (&mut counts.reads, KEY_READS_PER_MINUTE),
            FreeCall::Change => (&mut counts.changes, KEY_CHANGES_PER_MINUTE),
            // Apart, so that no agent keeps the holder from ending its connection.
            FreeCall::Exchange => (&mut counts.exchanges, KEY_CHANGES_PER_MINUTE),
        };
        if *count >= limit {
            let detail =
                format!("this key has made {limit} such calls within a minute; wait for the next one");
            let retry_after = 60 - now.seconds() % 60;
            return Err(Problem::new(codes::TOO_MANY_REQUESTS, detail).retry_after(retry_after));
        }
        *count += 1;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: UnixMillis = UnixMillis(1_763_712_000_000 + 20_000);

    fn key(n: u32) -> KeyId {
        let [a, b, c, d] = n.to_be_bytes();
        KeyId::new([a, b, c, d, 0, 0, 0, 0, 0, 0, 0, 0])
    }

    #[test]
    fn key_waits_for_the_next_minute_after_its_changes() {
        let mut guard = FreeCallGuard::new();
        let mut change = |n, now| guard.record(&key(n), FreeCall::Change, now);
        assert!((0..KEY_CHANGES_PER_MINUTE).all(|_| change(1, NOW).is_ok()));
        let refused = change(1, NOW).unwrap_err().render(&crate::request_id::RequestId([0; 16]));
        assert_eq!((refused.status, refused.header("retry-after")), (429, Some("40")));
        assert!(change(2, NOW).is_ok() && change(1, NOW.plus(40_000)).is_ok());
    }

    #[test]
    fn each_kind_has_a_limit_of_its_own() {
        let mut guard = FreeCallGuard::new();
        for call in [FreeCall::Exchange, FreeCall::Change] {
            assert!(
                (0..KEY_CHANGES_PER_MINUTE).all(|_| guard.record(&key(1), call, NOW).is_ok()),
                "{call:?}"
            );
            assert!(guard.record(&key(1), call, NOW).is_err(), "{call:?}");
        }
        assert!((0..KEY_READS_PER_MINUTE).all(|_| guard.record(&key(1), FreeCall::Read, NOW).is_ok()));
        assert!(guard.record(&key(1), FreeCall::Read, NOW).is_err());
    }

    #[test]
    fn full_guard_keeps_its_size() {
        let mut guard = FreeCallGuard::new();
        let keys = u32::try_from(MAX_KEYS).unwrap() + 10;
        assert!((0..keys).all(|n| guard.record(&key(n), FreeCall::Read, NOW).is_ok()));
        assert_eq!(guard.counts.len(), MAX_KEYS);
    }
}
