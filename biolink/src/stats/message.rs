//! Messages to a page's store, and what it keeps apart from events.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use shared::{
    key::{BiolinkPlan, KeyId},
    time::{UnixMillis, UtcDay},
};

use super::reading::ReadRequest;
use crate::{
    analytics::EventCounts,
    events::{Dimension, Event, Part, Received},
    page::PageId,
    policy,
    webhooks::KindSet,
};

/// A message to a page's store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(clippy::large_enum_variant, reason = "a message lives for one call and is never kept in bulk")]
pub enum StatsMessage {
    /// Batches have events of the page.
    Append {
        /// The page's account.
        account: KeyId,
        /// The page.
        page: PageId,
        /// The events.
        parts: Vec<Part>,
    },
    /// The account's webhooks want events of these kinds from now on.
    Subscribe {
        /// The page's account.
        account: KeyId,
        /// The page.
        page: PageId,
        /// The kinds.
        kinds: KindSet,
    },
    /// A reader asks.
    Read(ReadRequest),
    /// The page's owner wants to begin anew: drop all events so far.
    Reset,
    /// The page was deleted: drop everything, and take nothing more.
    Purge,
    /// The export continues after this row. The reply is the next one with its lines, or `null`.
    Export(u64),
}

/// The data that a store keeps apart from events.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Settings {
    /// The page's account, and the page; `None` before the first event.
    pub owner: Option<(KeyId, PageId)>,
    /// The moment at which old events are dropped; `None` if there is nothing to drop.
    pub expires_at: Option<UnixMillis>,
    /// The kinds that the account's webhooks want.
    pub wanted: KindSet,
    /// Events that were dropped on their way to the webhooks, which do not know it yet.
    pub unsent: u64,
    /// Events before this moment are dropped.
    pub reset_at: UnixMillis,
    /// The batches that were received before it, so that the batches after it show no gap.
    pub received: Received,
    /// Whether the page was deleted.
    pub purged: bool,
    /// Counted events that were dropped because of their age.
    pub expired: EventCounts,
}

/// Returns an event as a line of the export. The visitor's number is not in it, so that
/// visitors cannot be recognized.
pub fn event_line(page: &PageId, event: &Event) -> String {
    let mut line = json!({
        "object": "event",
        "page_id": page,
        "kind": event.kind.as_str(),
        "at": event.at.to_rfc3339(),
    });
    if let Some(members) = line.as_object_mut() {
        for (dimension, value) in
            Dimension::ALL.into_iter().zip(&event.values).filter(|(_, value)| !value.is_empty())
        {
            members.insert(dimension.as_str().to_owned(), Value::from(value.as_ref()));
        }
    }
    format!("{line}\n")
}

/// Days for which a store knows which batches it has received. The queue keeps a message for four.
pub const KNOWN_DAYS: u64 = 5;

/// Returns the first day that a plan keeps: its window ends with today.
pub fn kept_from(plan: BiolinkPlan, now: UnixMillis) -> UtcDay {
    UtcDay(now.day().0.saturating_sub(u64::from(policy::analytics_days(plan))))
}

#[cfg(test)]
mod tests {
    use shared::request_id::RequestId;

    use super::*;
    use crate::analytics::{AnalyticsRequest, Zone};

    const NOW: UnixMillis = UnixMillis(1_795_000_000_000);

    /// What a plan keeps and what it shows are the same days.
    #[test]
    fn first_day_that_is_kept_is_the_first_of_the_window() {
        for plan in [BiolinkPlan::None, BiolinkPlan::Standard, BiolinkPlan::Business] {
            let request = AnalyticsRequest::parse(Some("start=1971-01-01")).unwrap();
            let refused = request.resolve(&Zone::utc(), NOW, policy::analytics_days(plan)).unwrap_err();
            let body: Value = serde_json::from_str(&refused.render(&RequestId([0; 16])).body).unwrap();
            assert_eq!(body["earliest_available"], kept_from(plan, NOW).start().to_rfc3339());
        }
    }
}
