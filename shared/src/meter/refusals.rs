//! The log of a key's last refusals, for its holder to read. Nothing is decided by it.

use std::cmp::Reverse;
use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::problem::Code;
use crate::time::UnixMillis;

/// Milliseconds within which refusals for the same reason are one entry.
const MERGE_MS: u64 = 60_000;

/// Calls of a key that were refused for one reason on one route.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefusedCalls {
    /// The problem's code. Text, because another version of the worker may know other codes.
    pub code: String,
    /// The template of the path, such as `/v1/qr/{action}`.
    pub route: String,
    /// The number of calls.
    pub count: u32,
    /// The moment of the last one.
    pub last_at: UnixMillis,
}

impl RefusedCalls {
    /// Returns one refused call.
    pub fn one(code: Code, route: &str, at: UnixMillis) -> Self {
        Self { code: code.as_str().to_owned(), route: route.to_owned(), count: 1, last_at: at }
    }

    /// Returns true if both are about the same reason and the same route.
    pub fn is_alike(&self, other: &Self) -> bool {
        self.code == other.code && self.route == other.route
    }

    /// Adds calls that were refused alike.
    pub fn merge(&mut self, other: &Self) {
        self.count = self.count.saturating_add(other.count);
        self.last_at = self.last_at.max(other.last_at);
    }
}

/// The last refusals of a key: at most [`RefusalLog::MAX_CALLS`] calls. It has no addresses and no
/// bodies.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RefusalLog(VecDeque<RefusedCalls>);

impl RefusalLog {
    /// Maximum number of calls.
    pub const MAX_CALLS: u32 = 1_000;
    /// Maximum number of entries, because the log is one stored row.
    const MAX_ENTRIES: usize = 200;

    /// Adds what one isolate reports, and drops the oldest calls beyond the maximum.
    pub fn add(&mut self, refused: Vec<RefusedCalls>) {
        for calls in refused {
            let is_near = |entry: &&mut RefusedCalls| {
                entry.is_alike(&calls) && calls.last_at.since(entry.last_at) < MERGE_MS
            };
            match self.0.iter_mut().rev().find(is_near) {
                Some(entry) => entry.merge(&calls),
                None => self.0.push_back(calls),
            }
        }
        self.trim();
    }

    /// Keeps the latest calls.
    fn trim(&mut self) {
        let mut room = Self::MAX_CALLS;
        for entry in self.0.iter_mut().rev() {
            entry.count = entry.count.min(room);
            room -= entry.count;
        }
        self.0.retain(|entry| entry.count > 0);
        let spare = self.0.len().saturating_sub(Self::MAX_ENTRIES);
        self.0.drain(..spare);
    }

    /// Returns the calls by reason and route, the latest first.
    pub fn groups(&self) -> Vec<RefusedCalls> {
        let mut groups: Vec<RefusedCalls> = Vec::new();
        for entry in &self.0 {
            match groups.iter_mut().find(|group| group.is_alike(entry)) {
                Some(group) => group.merge(entry),
                None => groups.push(entry.clone()),
            }
        }
        groups.sort_by_key(|group| Reverse(group.last_at));
        groups
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::codes;

    const NOW: UnixMillis = UnixMillis(1_763_712_000_000);

    fn refused(code: Code, count: u32, at: u64) -> RefusedCalls {
        RefusedCalls { count, ..RefusedCalls::one(code, "/v1/qr/{action}", NOW.plus(at)) }
    }

    #[test]
    fn refusals_are_grouped_the_latest_first() {
        let mut log = RefusalLog::default();
        log.add(vec![refused(codes::QUOTA_EXCEEDED, 3, 0), refused(codes::TOOL_UNAVAILABLE, 1, 10)]);
        log.add(vec![refused(codes::QUOTA_EXCEEDED, 2, 90_000)]);
        let groups = log.groups();
        let seen: Vec<_> = groups.iter().map(|group| (group.code.as_str(), group.count)).collect();
        assert_eq!(seen, [("quota-exceeded", 5), ("tool-unavailable", 1)]);
        assert_eq!(groups[0].last_at, NOW.plus(90_000));
    }

    #[test]
    fn log_keeps_the_last_thousand_calls() {
        let mut log = RefusalLog::default();
        log.add(vec![refused(codes::TOOL_UNAVAILABLE, 600, 0)]);
        log.add(vec![refused(codes::QUOTA_EXCEEDED, 500, 100_000)]);
        let counts: Vec<_> = log.groups().iter().map(|group| group.count).collect();
        assert_eq!(counts, [500, 500], "100 of the oldest are dropped");
        log.add(vec![refused(codes::BODY_TOO_LARGE, u32::MAX, 200_000)]);
        let groups = log.groups();
        assert_eq!((groups.len(), groups[0].count), (1, RefusalLog::MAX_CALLS));
    }

    #[test]
    fn log_has_a_bounded_number_of_entries() {
        let mut log = RefusalLog::default();
        for nth in 0..1_000 {
            log.add(vec![refused(codes::TOOL_UNAVAILABLE, 1, nth * MERGE_MS)]);
        }
        assert_eq!(log.0.len(), RefusalLog::MAX_ENTRIES);
        assert_eq!(log.groups()[0].last_at, NOW.plus(999 * MERGE_MS));
    }

    #[test]
    fn log_survives_storage() {
        let mut log = RefusalLog::default();
        log.add(vec![refused(codes::TOOL_UNAVAILABLE, 1, 0)]);
        let text = serde_json::to_string(&log).unwrap();
        assert_eq!(serde_json::from_str::<RefusalLog>(&text).unwrap(), log);
    }
}
