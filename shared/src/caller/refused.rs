//! Callers who have sent too many wrong admin secrets, so that more attempts cost their meter
//! nothing.

use std::collections::BTreeMap;

use crate::{
    quota::{Decision, Denial, QuotaStatus},
    time::UnixMillis,
};

/// Maximum number of callers whose refusal is cached.
const MAX_CALLERS: usize = 1_024;

/// A cache of the meters' denials, by the caller's name. A denied attempt is not counted, so a cached
/// denial decides as the meter would.
#[derive(Debug, Default)]
pub struct RefusedCallers(BTreeMap<String, Entry>);

#[derive(Clone, Copy, Debug)]
struct Entry {
    denial: Denial,
    quota: QuotaStatus,
    at: UnixMillis,
}

impl RefusedCallers {
    /// Returns an empty cache.
    #[must_use]
    pub const fn new() -> Self {
        Self(BTreeMap::new())
    }

    /// Caches a decision if it is a denial. Drops what is over if the cache is full, and if nothing
    /// is, any other caller.
    pub fn record(&mut self, caller: &str, decision: &Decision, now: UnixMillis) {
        let &Decision::Deny(denial, quota) = decision else { return };
        if self.0.len() >= MAX_CALLERS {
            self.0.retain(|_, entry| entry.holds(now));
        }
        if self.0.len() >= MAX_CALLERS {
            self.0.pop_first();
        }
        self.0.insert(caller.to_owned(), Entry { denial, quota, at: now });
    }

    /// Returns the denial while it holds, with the time that is left of it.
    #[must_use]
    pub fn find(&self, caller: &str, now: UnixMillis) -> Option<Decision> {
        let &Entry { denial, quota, at } = self.0.get(caller).filter(|entry| entry.holds(now))?;
        let retry_ms = denial.retry_ms.saturating_sub(now.since(at));
        Some(Decision::Deny(Denial { retry_ms, ..denial }, quota.after(now.since(at))))
    }
}

impl Entry {
    /// Returns true until an attempt may be taken again. A clock that went back ends it.
    fn holds(&self, now: UnixMillis) -> bool {
        now >= self.at && now.since(self.at) < self.denial.retry_ms
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{caller::attempt, quota::Usage};

    const NOW: UnixMillis = UnixMillis(1_763_712_000_000);

    fn denied() -> Decision {
        let mut usage = Usage::default();
        for _ in 0..10 {
            attempt(&mut usage, false, NOW);
        }
        attempt(&mut usage, false, NOW)
    }

    #[test]
    fn denial_is_cached_until_an_attempt_may_be_taken() {
        let (mut callers, decision) = (RefusedCallers::new(), denied());
        let Decision::Deny(denial, _) = decision else { panic!("{decision:?}") };
        callers.record("a", &decision, NOW);
        assert_eq!(callers.find("b", NOW), None);
        let Some(Decision::Deny(later, _)) = callers.find("a", NOW.plus(1_000)) else { panic!("forgotten") };
        assert_eq!(later.retry_ms, denial.retry_ms - 1_000);
        assert_eq!(callers.find("a", NOW.plus(denial.retry_ms)), None);
        assert_eq!(callers.find("a", NOW.minus(1)), None, "the clock went back");
    }

    #[test]
    fn full_cache_keeps_its_size() {
        let (mut callers, decision) = (RefusedCallers::new(), denied());
        for n in 0..MAX_CALLERS + 10 {
            callers.record(&n.to_string(), &decision, NOW);
        }
        assert_eq!(callers.0.len(), MAX_CALLERS);
        let allowed = attempt(&mut Usage::default(), false, NOW);
        callers.record("allowed", &allowed, NOW);
        assert_eq!(callers.find("allowed", NOW), None);
    }
}
