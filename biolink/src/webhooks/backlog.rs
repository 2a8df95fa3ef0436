//! The limit on deliveries that wait for one endpoint.

use serde::{Deserialize, Serialize};

use super::WebhookKind;

/// Most deliveries that wait for one endpoint.
pub const MAX_PENDING: u64 = 10_000;

/// A number for each kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct KindCounts {
    /// Of [`WebhookKind::PageView`].
    pub page_view: u64,
    /// Of [`WebhookKind::Click`].
    pub click: u64,
    /// Of [`WebhookKind::QrScan`].
    pub qr_scan: u64,
    /// Of [`WebhookKind::PagePublished`].
    pub page_published: u64,
    /// Of [`WebhookKind::QuotaThreshold`].
    pub quota_threshold: u64,
    /// Of [`WebhookKind::QuotaExceeded`].
    pub quota_exceeded: u64,
    /// Of [`WebhookKind::KeyExpiring`].
    pub key_expiring: u64,
    /// Of [`WebhookKind::WebhookFailing`].
    pub webhook_failing: u64,
}

/// The number of deliveries to drop, the oldest of each group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Excess {
    /// Of page views, clicks and scans together.
    pub visits: u64,
    /// Of publications and alerts: only if nothing else is left.
    pub publications: u64,
}

impl KindCounts {
    /// Adds to the number of a kind.
    pub const fn add(&mut self, kind: WebhookKind, number: u64) {
        let count = match kind {
            WebhookKind::PageView => &mut self.page_view,
            WebhookKind::Click => &mut self.click,
            WebhookKind::QrScan => &mut self.qr_scan,
            WebhookKind::PagePublished => &mut self.page_published,
            WebhookKind::QuotaThreshold => &mut self.quota_threshold,
            WebhookKind::QuotaExceeded => &mut self.quota_exceeded,
            WebhookKind::KeyExpiring => &mut self.key_expiring,
            WebhookKind::WebhookFailing => &mut self.webhook_failing,
        };
        *count = count.saturating_add(number);
    }

    /// Returns the sum.
    pub const fn total(&self) -> u64 {
        self.visits().saturating_add(self.page_published).saturating_add(self.alerts())
    }

    /// Returns the number of alerts.
    pub const fn alerts(&self) -> u64 {
        let of_keys =
            self.quota_threshold.saturating_add(self.quota_exceeded).saturating_add(self.key_expiring);
        of_keys.saturating_add(self.webhook_failing)
    }

    /// Returns the number of page views, clicks and scans.
    pub const fn visits(&self) -> u64 {
        self.page_view.saturating_add(self.click).saturating_add(self.qr_scan)
    }
}

impl Excess {
    /// Returns what is to be dropped when so many deliveries wait for an endpoint.
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
        }
        assert_eq!((counts.visits(), counts.alerts(), counts.total()), (6, 26, 36));
        let text = serde_json::to_string(&counts).unwrap();
        assert!(text.starts_with(r#"{"page_view":1,"click":2,"qr_scan":3,"page_published":4,"#), "{text}");
        assert_eq!(json::from_str(&text), Ok(counts));
    }
}
