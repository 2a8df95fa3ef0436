//! The limit on deliveries that wait for one endpoint.

use std::borrow::Cow;
use std::fmt;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::WebhookKind;

/// Most deliveries that wait for one endpoint.
pub const MAX_PENDING: u64 = 10_000;

/// A number for each kind. In JSON it is an object with the names of the kinds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KindCounts([u64; WebhookKind::ALL.len()]);

/// The number of deliveries to drop, the oldest of each group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Excess {
    /// Of page views, clicks and scans together.
    pub visits: u64,
    /// Of publications and alerts: only if nothing else is left.
    pub publications: u64,
}

impl KindCounts {
    /// Returns the number of a kind.
    pub fn of(&self, kind: WebhookKind) -> u64 {
        self.0.get(kind as usize).copied().unwrap_or_default()
    }

    /// Adds to the number of a kind.
    pub fn add(&mut self, kind: WebhookKind, number: u64) {
        if let Some(count) = self.0.get_mut(kind as usize) {
            *count = count.saturating_add(number);
        }
    }

    /// Returns the sum.
    pub fn total(&self) -> u64 {
        self.0.iter().fold(0, |sum, count| sum.saturating_add(*count))
    }
}

impl Serialize for KindCounts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(WebhookKind::ALL.into_iter().zip(self.0))
    }
}

impl<'de> Deserialize<'de> for KindCounts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(CountsVisitor)
    }
}

struct CountsVisitor;

impl<'de> Visitor<'de> for CountsVisitor {
    type Value = KindCounts;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object with a number for each kind")
    }

    // A kind that is missing counts 0, and an unknown one nothing: another version of the worker may
    // have stored the object.
    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<KindCounts, A::Error> {
        let mut counts = KindCounts::default();
        while let Some((name, number)) = members.next_entry::<Cow<'_, str>, u64>()? {
            if let Ok(kind) = name.parse() {
                counts.add(kind, number);
            }
        }
        Ok(counts)
    }
}

impl Excess {
    /// Returns what is to be dropped when this many deliveries wait for an endpoint.
    pub fn of(visits: u64, publications: u64) -> Self {
        let excess = visits.saturating_add(publications).saturating_sub(MAX_PENDING);
        let dropped = excess.min(visits);
        Self { visits: dropped, publications: excess - dropped }
    }

    /// Returns true if nothing is dropped.
    pub const fn is_none(&self) -> bool {
        self.visits == 0 && self.publications == 0
    }
}

#[cfg(test)]
mod tests {
    use shared::json;

    use super::*;

    fn excess(visits: u64, page_published: u64) -> (u64, u64) {
        let excess = Excess::of(visits, page_published);
        assert_eq!(excess.is_none(), excess == Excess::default());
        (excess.visits, excess.publications)
    }

    #[test]
    fn visits_are_dropped_before_publications() {
        assert_eq!(excess(MAX_PENDING, 0), (0, 0));
        assert_eq!(excess(MAX_PENDING + 1, 0), (1, 0));
        assert_eq!(excess(MAX_PENDING, 7), (7, 0));
        assert_eq!(excess(3, MAX_PENDING), (3, 0));
        assert_eq!(excess(3, MAX_PENDING + 2), (3, 2));
    }

    #[test]
    fn counts_are_kept_by_kind() {
        let mut counts = KindCounts::default();
        for (kind, number) in WebhookKind::ALL.into_iter().zip(1..) {
            counts.add(kind, number);
            assert_eq!(counts.of(kind), number);
        }
        assert_eq!(counts.total(), (1..=WebhookKind::ALL.len() as u64).sum::<u64>());
        let text = serde_json::to_string(&counts).unwrap();
        assert_eq!(json::from_str(&text), Ok(counts));
    }

    /// Counts as an older worker stored them, and as a newer one that knows another kind does.
    #[test]
    fn stored_counts_are_read_by_the_names_of_kinds() {
        let stored = r#"{"page_view":1,"click":2,"qr_scan":3,"page_published":4,"another_kind":5}"#;
        let counts: KindCounts = json::from_str(stored).unwrap();
        assert_eq!((counts.of(WebhookKind::QrScan), counts.of(WebhookKind::PagePublished)), (3, 4));
        assert_eq!((counts.of(WebhookKind::WebhookFailing), counts.total()), (0, 10));
    }
}
