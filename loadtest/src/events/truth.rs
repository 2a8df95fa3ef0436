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

/// Reads each count until it equals the driver's own, within its time. A count that cannot be read is a
/// failed check, so that the run keeps its report.
pub(crate) async fn await_truths(
    truths: &[TruthSpec],
    gateway: &HttpClient,
    pools: &KeyPools,
    variables: &Variables,
    evidence: &Evidence<'_>,
) -> Vec<Check> {
    let mut checks = Vec::new();
    for truth in truths {
        let check = await_truth(truth, gateway, pools, variables, evidence).await;
        checks.push(check.unwrap_or_else(|error| Check::new(truth.name.clone(), false, error.to_string())));
    }
    checks
}

async fn await_truth(
    truth: &TruthSpec,
    gateway: &HttpClient,
    pools: &KeyPools,
    variables: &Variables,
    evidence: &Evidence<'_>,
) -> Result<Check, EventError> {
    let client = server(truth.url.as_deref(), gateway, variables).await?;
    let path = substitute(&truth.path, variables);
    let deadline = Instant::now() + duration::parse(&truth.within).unwrap_or(Duration::from_secs(30));
    loop {
        let response = send(&client, Method::GET, &path, None, truth.keys.as_deref(), pools).await?;
        let found = response.pointer(&truth.pointer).and_then(Value::as_f64);
        let check = compare(truth, found, evidence);
        // Counts of others follow: events are written in batches, and meters report at intervals.
        if check.passed || Instant::now() >= deadline {
            return Ok(check);
        }
        tokio::time::sleep(INTERVAL).await;
    }
}

/// Checks that what each count must equal is a metric, and that the time is one.
///
/// # Errors
/// Returns an error that says what was expected.
pub(crate) fn check_truths(
    truths: &[TruthSpec],
    requests: &[String],
    phases: &[String],
) -> Result<(), EventError> {
    for truth in truths {
        let invalid = |reason: String| EventError::Truth { truth: truth.name.clone(), reason };
        if duration::parse(&truth.within).is_none() {
            return Err(invalid(format!("`within = {}`: expected a duration such as 30s", truth.within)));
        }
        match (&truth.equals, truth.at_most) {
            (Some(metric), None) => {
                let condition = Condition::parse(Purpose::Expect, &format!("{metric}=0"));
                // The count is only known after the run. With 0 in its place, a typo in the metric
                // is found before.
                let checked = condition.and_then(|condition| condition.validate(requests, phases));
                checked.map_err(|error| invalid(error.to_string()))?;
            }
            (None, Some(_)) => {}
            _ => return Err(invalid("expected one of `equals` and `at_most`".to_owned())),
        }
    }
    Ok(())
}

/// Compares a count with a metric, as the condition `metric=count`, or with a bound.
fn compare(truth: &TruthSpec, found: Option<f64>, evidence: &Evidence<'_>) -> Check {
    let check = match (&truth.equals, truth.at_most) {
        (Some(metric), _) => format!("{} equals {metric}", truth.name),
        (None, bound) => format!("{} is at most {}", truth.name, bound.unwrap_or(0.0)),
    };
    let Some(count) = found else {
        return Check::new(check, false, format!("no number at {}", truth.pointer));
    };
    let Some(metric) = &truth.equals else {
        return Check::new(check, count <= truth.at_most.unwrap_or(0.0), count.to_string());
    };
    match Condition::parse(Purpose::Expect, &format!("{metric}={count}")) {
        Ok(condition) => {
            let Check { passed, found: own, .. } = condition.evaluate(evidence);
            Check::new(check, passed, format!("{count}, and the driver counted {own}"))
        }
        Err(error) => Check::new(check, false, error.to_string()),
    }
}
