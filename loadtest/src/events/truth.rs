//! Counts of others that must equal the driver's own.

use std::time::Duration;

use hyper::Method;
use serde_json::Value;
use tokio::time::Instant;

use super::EventError;
use super::step::send;
use crate::driver::TlsOptions;
use crate::duration;
use crate::http::HttpClient;
use crate::keys::KeyPools;
use crate::plan::{Variables, substitute};
use crate::scenario::TruthSpec;
use crate::target::Target;
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
        let client = match &truth.url {
            None => gateway.clone(),
            Some(url) => other_server(&substitute(url, variables)).await?,
        };
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

async fn other_server(url: &str) -> Result<HttpClient, EventError> {
    let failed = |reason: String| EventError::Hook { hook: url.to_owned(), reason };
    let target = Target::resolve(url, false).await.map_err(|error| failed(error.to_string()))?;
    let tls = TlsOptions::new(None, false).map_err(|error| failed(error.to_string()))?;
    Ok(HttpClient::new(target, tls))
}

/// Compares a count with a metric, as the condition `metric=count`.
fn compare(truth: &TruthSpec, found: Option<f64>, evidence: &Evidence<'_>) -> Check {
    let name = format!("{} equals {}", truth.name, truth.equals);
    let Some(found) = found else {
        return Check { check: name, passed: false, found: format!("no number at {}", truth.pointer) };
    };
    match Condition::parse(Purpose::Expect, &format!("{}={found}", truth.equals)) {
        Ok(condition) => {
            let Check { passed, found: own, .. } = condition.evaluate(evidence);
            Check { check: name, passed, found: format!("{found}, and the driver counted {own}") }
        }
        Err(error) => Check { check: name, passed: false, found: error.to_string() },
    }
}
