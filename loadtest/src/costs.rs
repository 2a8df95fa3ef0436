//! The costs of a run: paid operations of the platform, and dollars at list prices.

mod prices;

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::edge_counters::{Operations, difference};
use crate::http::HttpClient;
use prices::Prices;

/// The costs of a run behind a local edge.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Costs {
    /// Calls that were sent.
    pub(crate) calls: u64,
    /// The operations of each kind that occurred.
    pub(crate) operations: Vec<OperationCost>,
    /// Dollars for a million calls: the sum of all kinds.
    pub(crate) dollars_per_million_calls: f64,
    /// The day on which the prices were read.
    pub(crate) prices_of: String,
}

/// The costs of a kind of operation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct OperationCost {
    /// The name, such as `KV reads`.
    pub(crate) name: String,
    /// The number of operations.
    pub(crate) count: u64,
    /// Operations for each call.
    pub(crate) per_call: f64,
    /// Dollars for a million calls.
    pub(crate) dollars_per_million_calls: f64,
}

/// Reads the costs after `wait`, in which the edge does what its calls leave to do.
pub(crate) async fn read(
    edge: &HttpClient,
    before: &Operations,
    calls: u64,
    wait: Duration,
) -> Option<Costs> {
    // Meters flush and queues drain after the last response. Read at once, these operations would
    // be missing.
    tokio::time::sleep(wait).await;
    let operations = crate::edge_counters::read(edge).await.ok()?.operations;
    Some(Costs::new(&difference(&operations, before), calls, &Prices::list()))
}

impl Costs {
    fn new(operations: &Operations, calls: u64, prices: &Prices) -> Self {
        // A run in which no call was sent must not divide by zero.
        let each = |count: u64| count as f64 / (calls as f64).max(1.0);
        let kinds = prices.of(operations).into_iter().filter(|(_, count, _)| *count > 0);
        let operations: Vec<OperationCost> = kinds
            .map(|(name, count, dollars)| OperationCost {
                name: name.to_owned(),
                count,
                per_call: each(count),
                dollars_per_million_calls: each(count) * dollars,
            })
            .collect();
        Self {
            calls,
            dollars_per_million_calls: operations.iter().map(|kind| kind.dollars_per_million_calls).sum(),
            operations,
            prices_of: prices.read_on.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_are_operations_at_list_prices() {
        let operations = [
            ("worker_requests", 1000),
            ("object_requests", 100),
            ("object_rows_written", 200),
            ("kv_reads", 10),
        ];
        let operations = operations.map(|(kind, count)| (kind.to_owned(), count)).into();
        let costs = Costs::new(&operations, 1000, &Prices::list());
        let names: Vec<&str> = costs.operations.iter().map(|kind| kind.name.as_str()).collect();
        assert_eq!(names, ["worker requests", "object requests", "object rows written", "KV reads"]);
        let dollars: Vec<f64> = costs
            .operations
            .iter()
            .map(|kind| kind.dollars_per_million_calls * 1e5)
            .map(f64::round)
            .collect();
        // An object request has its duration: 16 ms of 128 MB at $12.50 for a million GB-s.
        assert_eq!(dollars, [30_000.0, 1756.0, 20_000.0, 500.0]);
        assert!((costs.dollars_per_million_calls - 0.522_56).abs() < 1e-9, "{costs:?}");
        assert!((costs.operations[1].per_call - 0.1).abs() < 1e-12);
    }

    #[test]
    fn run_without_calls_has_costs() {
        assert_eq!(Costs::new(&Operations::default(), 0, &Prices::list()).dollars_per_million_calls, 0.0);
    }
}
