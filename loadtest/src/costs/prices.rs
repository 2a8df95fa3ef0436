//! List prices of the platform, in `loadtest/prices.json`. `tests/bench/costs.mjs` reads them too.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::edge_counters::Operations;

/// The list prices.
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct Prices {
    /// The day on which they were read.
    pub(super) read_on: String,
    /// Dollars for a million operations of each kind.
    dollars_per_million: BTreeMap<String, f64>,
    object_request: ObjectRequest,
}

/// The duration and the memory for which a request to an object is charged.
#[derive(Clone, Debug, Default, Deserialize)]
struct ObjectRequest {
    seconds: f64,
    gb: f64,
}

const PRICES: &str = include_str!("../../prices.json");

/// The kinds of operations, each with its name in reports.
const KINDS: [(&str, &str); 9] = [
    ("worker_requests", "worker requests"),
    ("object_requests", "object requests"),
    ("object_rows_read", "object rows read"),
    ("object_rows_written", "object rows written"),
    ("kv_reads", "KV reads"),
    ("kv_writes", "KV writes"),
    ("kv_deletes", "KV deletes"),
    ("kv_lists", "KV lists"),
    ("queue_operations", "queue operations"),
];

impl Prices {
    pub(super) fn list() -> Self {
        serde_json::from_str(PRICES).unwrap_or_default()
    }

    /// Returns name, count and dollars per million of each kind of operation.
    pub(super) fn of(&self, operations: &Operations) -> [(&'static str, u64, f64); 9] {
        let dollars = |kind: &str| self.dollars_per_million.get(kind).copied().unwrap_or(0.0);
        KINDS.map(|(kind, name)| {
            let count = operations.get(kind).copied().unwrap_or(0);
            let ObjectRequest { seconds, gb } = self.object_request;
            let duration =
                // Objects are charged for the time that they are in memory as well, in
                // gigabyte-seconds.
                if kind == "object_requests" { dollars("object_gb_seconds") * seconds * gb } else { 0.0 };
            (name, count, dollars(kind) + duration)
        })
    }
}
