//! List prices of the platform, in `loadtest/prices.json`. `tests/bench/costs.mjs` reads them too.

use serde::Deserialize;

use crate::edge_counters::Operations;

/// The list prices.
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct Prices {
    /// The day on which they were read.
    pub(super) read_on: String,
    dollars_per_million: Dollars,
    object_request: ObjectRequest,
}

/// Dollars for a million operations of each kind.
#[derive(Clone, Debug, Default, Deserialize)]
struct Dollars {
    worker_requests: f64,
    object_requests: f64,
    object_gb_seconds: f64,
    object_rows_written: f64,
    kv_reads: f64,
    kv_writes: f64,
    kv_deletes: f64,
    kv_lists: f64,
    queue_operations: f64,
}

/// The duration and the memory for which a request to an object is charged.
#[derive(Clone, Debug, Default, Deserialize)]
struct ObjectRequest {
    seconds: f64,
    gb: f64,
}

const PRICES: &str = include_str!("../../prices.json");

impl Prices {
    pub(super) fn list() -> Self {
        serde_json::from_str(PRICES).unwrap_or_default()
    }

    /// Returns name, count and dollars per million of each kind of operation.
    pub(super) fn of(&self, operations: &Operations) -> [(&'static str, u64, f64); 8] {
        let (dollars, object) = (&self.dollars_per_million, &self.object_request);
        let duration = dollars.object_gb_seconds * object.seconds * object.gb;
        [
            ("worker requests", operations.worker_requests, dollars.worker_requests),
            ("object requests", operations.object_requests, dollars.object_requests + duration),
            ("object rows written", operations.object_rows_written, dollars.object_rows_written),
            ("KV reads", operations.kv_reads, dollars.kv_reads),
            ("KV writes", operations.kv_writes, dollars.kv_writes),
            ("KV deletes", operations.kv_deletes, dollars.kv_deletes),
            ("KV lists", operations.kv_lists, dollars.kv_lists),
            ("queue operations", operations.queue_operations, dollars.queue_operations),
        ]
    }
}
