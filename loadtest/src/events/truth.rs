//! Counts of others that must equal the driver's own.

use std::time::Duration;

use hyper::Method;
use serde_json::Value;
use tokio::time::Instant;

use super::EventError;
use super::step::{send, server};
use crate::duration;
use crate::http::HttpClient;
use crate::keys::KeyPools;
use crate::plan::{Variables, substitute};
use crate::scenario::TruthSpec;
use crate::verdict::{Check, Condition, Evidence, Purpose};

/// The pause between two reads of a count.
const INTERVAL: Duration = Duration::from_millis(500);

/// Reads each count until it equals the driver's own, within its time.
///
/// # Errors
/// Returns an error if a count cannot be read.
pub(crate) async fn await_truths(
    truths: &[TruthSpec],
    gateway: &HttpClient,
    pools: &KeyPools,
    variables: &Variables,
    evidence: &Evidence<'_>,
) -> Result<Vec<Check>, EventError> {
    let mut checks = Vec::new();
    for truth in truths {
        let client = server(truth.url.as_deref(), gateway, variables).await?;
        let path = substitute(&truth.path, variables);
        let deadline = Instant::now() + duration::parse(&truth.within).unwrap_or(Duration::from_secs(30));
        let check = loop {
            let response = send(&client, Method::GET, &path, None, truth.keys.as_deref(), pools).await?;
            let found = response.pointer(&truth.pointer).and_then(Value::as_f64);
            let check = compare(truth, found, evidence);
            if check.passed || Instant::now() >= deadline {
                break check;
            }
            tokio::time::sleep(INTERVAL).await;
        };
        checks.push(check);
    }
    Ok(checks)
}

/// Compares a count with a metric, as the condition `metric=count`, or with a bound.
fn compare(truth: &TruthSpec, found: Option<f64>, evidence: &Evidence<'_>) -> Check {
    let check = match (&truth.equals, truth.at_most) {
        (Some(metric), _) => format!("{} equals {metric}", truth.name),
        (None, bound) => format!("{} is at most {}", truth.name, bound.unwrap_or(0.0)),
    };
    let Some(count) = found else {
        return Check { check, passed: false, found: format!("no number at {}", truth.pointer) };
    };
    let Some(metric) = &truth.equals else {
        return Check { check, passed: count <= truth.at_most.unwrap_or(0.0), found: count.to_string() };
    };
    match Condition::parse(Purpose::Expect, &format!("{metric}={count}")) {
        Ok(condition) => {
            let Check { passed, found: own, .. } = condition.evaluate(evidence);
            Check { check, passed, found: format!("{count}, and the driver counted {own}") }
        }
        Err(error) => Check { check, passed: false, found: error.to_string() },
    }
}
