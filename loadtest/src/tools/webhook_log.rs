//! The events that a tool has received as a webhook receiver.

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Mutex, PoisonError};

use hdrhistogram::Histogram;
use serde_json::{Value, json};
use shared::time::UnixMillis;

use crate::clock;

/// Maximum recorded lateness of a delivery, in milliseconds: a day. Later ones count as this late.
const MAX_LATE_MS: u64 = 86_400_000;

/// A log of webhook deliveries: each event once, and how late it came.
pub(super) struct WebhookLog {
    /// Hashes of the ids of events.
    hasher: RandomState,
    received: Mutex<Received>,
}

struct Received {
    ids: HashSet<u64>,
    requests: u64,
    duplicates: u64,
    tests: u64,
    /// Milliseconds from an event to its first delivery. `None` would be invalid bounds.
    late_ms: Option<Histogram<u64>>,
}

impl Received {
    fn new() -> Self {
        Self {
            ids: HashSet::new(),
            requests: 0,
            duplicates: 0,
            tests: 0,
            late_ms: Histogram::new_with_bounds(1, MAX_LATE_MS, 3).ok(),
        }
    }
}

impl WebhookLog {
    pub(super) fn new() -> Self {
        Self { hasher: RandomState::new(), received: Mutex::new(Received::new()) }
    }

    /// Records the events of a delivery: an envelope, or a batch of envelopes. Returns false if the
    /// body is neither.
    pub(super) fn record(&self, body: &[u8]) -> bool {
        let Ok(envelope) = serde_json::from_slice::<Value>(body) else { return false };
        let batch = envelope.pointer("/data/events").and_then(Value::as_array);
        let events = batch.map_or_else(|| std::slice::from_ref(&envelope), Vec::as_slice);
        let now = clock::unix_millis();
        let mut received = self.received.lock().unwrap_or_else(PoisonError::into_inner);
        received.requests += 1;
        events.iter().all(|event| self.record_event(event, now, &mut received))
    }

    fn record_event(&self, event: &Value, now: u64, received: &mut Received) -> bool {
        let text = |name| event.get(name).and_then(Value::as_str);
        let at = text("timestamp").and_then(UnixMillis::from_rfc3339);
        let (Some(id), Some(at)) = (text("id"), at) else { return false };
        if event.get("test") == Some(&Value::Bool(true)) {
            received.tests += 1;
        } else if received.ids.insert(self.hasher.hash_one(id)) {
            let late_ms = now.saturating_sub(at.0);
            received.late_ms.iter_mut().for_each(|histogram| histogram.saturating_record(late_ms));
        } else {
            received.duplicates += 1;
        }
        true
    }

    /// Returns the counts. `events` is the number of distinct events.
    pub(super) fn status(&self) -> Value {
        let received = self.received.lock().unwrap_or_else(PoisonError::into_inner);
        let late = |percentile| received.late_ms.as_ref().map(|late| late.value_at_percentile(percentile));
        json!({
            "requests": received.requests,
            "events": received.ids.len(),
            "duplicates": received.duplicates,
            "tests": received.tests,
            "late_ms": { "p50": late(50.0), "p99": late(99.0), "max": late(100.0) },
        })
    }

    pub(super) fn reset(&self) {
        *self.received.lock().unwrap_or_else(PoisonError::into_inner) = Received::new();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn envelope(id: &str, test: bool) -> Value {
        json!({ "id": id, "type": "page_view", "timestamp": UnixMillis(clock::unix_millis() - 5000).to_rfc3339(), "test": test })
    }

    #[test]
    fn events_are_counted_once_alone_and_in_batches() {
        let log = WebhookLog::new();
        let batch =
            json!({ "type": "batch", "data": { "events": [envelope("b", false), envelope("a", false)] } });
        for body in [envelope("a", false), envelope("a", false), envelope("t", true), batch] {
            assert!(log.record(body.to_string().as_bytes()));
        }
        let status = log.status();
        let counts = ["requests", "events", "duplicates", "tests"].map(|name| status[name].as_u64().unwrap());
        assert_eq!(counts, [4, 2, 2, 1], "{status}");
        let max = status["late_ms"]["max"].as_u64().unwrap();
        assert!((5000..60_000).contains(&max), "{status}");
        for body in ["", "{}", r#"{"id": "a", "timestamp": "noon"}"#] {
            assert!(!log.record(body.as_bytes()), "{body}");
        }
        log.reset();
        assert_eq!(log.status()["events"], 0);
    }
}
