//! The shares of the local budget that caches may spend while the meter is out of reach.
//!
//! **Why they never sum to more than the budget.** What is reserved for a cache is the most that it
//! may admit in any 60 seconds, and a share is granted of what is not reserved. A share changes only
//! once the cache has said that it heard of the change before. So of a cache's last two shares, one
//! is granted, and the other one is part of what the cache said that it holds.
//!
//! Why: docs/decisions/limits.md, "All isolates share one local budget of a quarter minute".

use serde::{Deserialize, Serialize};

use super::MeterRequest;
use crate::sorting::sort_by_key;
use crate::time::UnixMillis;

/// Silence after which a share is given to others, in milliseconds: ten minutes, and the time for which
/// a process may decide without storing whom it has heard of.
const KEEP_MS: u64 = 630_000;
/// Silence of all caches after which none is forgotten for a while, in milliseconds: they may be
/// spending their shares, and come back one by one.
const OUTAGE_MS: u64 = 300_000;
/// That while, in milliseconds.
const RETURN_MS: u64 = 60_000;
/// Maximum number of caches that have shares.
const MAX_HOLDERS: usize = 1_024;

/// The shares of all caches.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct BudgetShares {
    /// The shares, that of the cache not heard of for longest first.
    shares: Vec<Share>,
    /// The moment before which none is forgotten.
    kept_until: UnixMillis,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "StoredShare", into = "StoredShare")]
struct Share {
    holder: u64,
    /// The latest request.
    seq: u32,
    /// The moment of that request.
    at: UnixMillis,
    /// The share that the responses name.
    granted: u32,
    /// The first request whose response named it.
    changed: u32,
    /// What the cache said that it holds when the share was changed last.
    held: u32,
}

/// Holder, sequence number, moment, granted, changed, held.
type StoredShare = (u64, u32, UnixMillis, u32, u32, u32);

impl BudgetShares {
    /// Returns true if no cache has had a share.
    pub(super) fn is_empty(&self) -> bool {
        self.shares.is_empty()
    }

    /// Returns the share of the cache that sent the request, of a budget of `budget` calls in any 60
    /// seconds. `None` if the request was overtaken.
    pub(super) fn grant(&mut self, request: &MeterRequest, budget: u32, now: UnixMillis) -> Option<u32> {
        self.forget(now);
        let known = self.shares.iter().position(|share| share.holder == request.holder);
        if known.is_none() && self.shares.len() >= MAX_HOLDERS {
            // None rather than too much: together the shares must never exceed the budget.
            return Some(0);
        }
        let new = Share { holder: request.holder, ..Share::default() };
        let mut share = known.map_or(new, |place| self.shares.remove(place));
        let is_latest = request.seq > share.seq;
        // Until the cache has heard of the last change, it may still spend the share before. A
        // further change would let it hold three.
        if is_latest && request.budget.heard >= share.changed {
            let reserved = self.shares.iter().fold(0, |sum: u32, share| sum.saturating_add(share.reserved()));
            // With a part for the next cache, which would have none until the others are cut.
            let parts = u32::try_from(self.shares.len()).unwrap_or(u32::MAX).saturating_add(2);
            let granted = budget.div_ceil(parts).min(budget.saturating_sub(reserved));
            share.held = request.budget.calls;
            if granted != share.granted {
                (share.granted, share.changed) = (granted, request.seq);
            }
        }
        let is_current = request.seq >= share.seq;
        // A request that was overtaken says nothing newer.
        share.seq = share.seq.max(request.seq);
        share.at = now;
        self.shares.push(share);
        is_current.then_some(share.granted)
    }

    /// Returns the shares alone, in the order of their caches. A process that forgets when it has heard of a
    /// cache last gives its share to others earlier by that much ([`KEEP_MS`]).
    pub(super) fn without_moments(&self) -> Self {
        let without = |share: &Share| Share { seq: 0, at: UnixMillis(0), ..*share };
        let mut shares: Vec<Share> = self.shares.iter().map(without).collect();
        sort_by_key(&mut shares, |share| share.holder);
        Self { shares, kept_until: self.kept_until }
    }

    /// Forgets the caches not heard of for long.
    fn forget(&mut self, now: UnixMillis) {
        if self.shares.last().is_some_and(|latest| now.since(latest.at) > OUTAGE_MS) {
            self.kept_until = now.plus(RETURN_MS);
        }
        if now >= self.kept_until {
            self.shares.retain(|share| now.since(share.at) <= KEEP_MS);
        }
    }
}

impl Share {
    /// Returns the most calls that the cache may admit in any 60 seconds.
    fn reserved(&self) -> u32 {
        self.granted.max(self.held)
    }
}

impl From<StoredShare> for Share {
    fn from((holder, seq, at, granted, changed, held): StoredShare) -> Self {
        Self { holder, seq, at, granted, changed, held }
    }
}

impl From<Share> for StoredShare {
    fn from(Share { holder, seq, at, granted, changed, held }: Share) -> Self {
        (holder, seq, at, granted, changed, held)
    }
}
