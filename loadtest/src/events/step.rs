//! Requests outside of the load, whose responses set variables.

use hyper::Method;
use serde_json::Value;

use super::EventError;
use crate::clock;
use crate::http::{HttpClient, TlsOptions};
use crate::keys::KeyPools;
use crate::plan::{Variables, substitute};
use crate::scenario::StepSpec;
use crate::target::Target;

/// Sends requests in order. `{{now}}` in them is the time of day in milliseconds.
///
/// # Errors
/// Returns an error if a request is refused or a value to capture is missing.
pub(crate) async fn run_steps(
    steps: &[StepSpec],
    gateway: &HttpClient,
    pools: &KeyPools,
    variables: &mut Variables,
) -> Result<(), EventError> {
    for step in steps {
        // The same time in all steps of a run, so that they can name the same thing.
        variables.entry("now".to_owned()).or_insert_with(|| clock::unix_millis().to_string());
        let method = Method::from_bytes(step.method.as_bytes())
            .map_err(|_invalid| EventError::Method(step.method.clone()))?;
        let path = substitute(&step.path, variables);
        let server = server(step.url.as_deref(), gateway, variables).await?;
        let body = step.body.as_deref().map(|body| substitute(body, variables));
        let body: Option<Value> = body.and_then(|body| serde_json::from_str(&body).ok());
        let response =
            send(&server, method.clone(), &path, body.as_ref(), step.keys.as_deref(), pools).await?;
        for (name, pointer) in &step.capture {
            let value = response.pointer(pointer).and_then(scalar);
            let missing =
                || EventError::Capture { request: format!("{method} {path}"), pointer: pointer.clone() };
            variables.insert(name.clone(), value.ok_or_else(missing)?);
        }
    }
    Ok(())
}

/// Returns the client of another server, or that of the gateway.
pub(super) async fn server(
    url: Option<&str>,
    gateway: &HttpClient,
    variables: &Variables,
) -> Result<HttpClient, EventError> {
    let Some(url) = url.map(|url| substitute(url, variables)) else { return Ok(gateway.clone()) };
    let failed = |reason: String| EventError::Server { url: url.clone(), reason };
    let target = Target::resolve(&url, false).await.map_err(|error| failed(error.to_string()))?;
    let tls = TlsOptions::new(None, false).map_err(|error| failed(error.to_string()))?;
    Ok(HttpClient::new(target, tls))
}

/// Sends a request with the first key of a pool.
pub(super) async fn send(
    client: &HttpClient,
    method: Method,
    path: &str,
    body: Option<&Value>,
    keys: Option<&str>,
    pools: &KeyPools,
) -> Result<Value, EventError> {
    let Some(name) = keys else { return Ok(client.send(method, path, body, &[]).await?) };
    let key = pools.get(name).and_then(|pool| pool.first());
    let key = key.ok_or_else(|| EventError::UnknownKeys(name.to_owned()))?;
    let text = key.value.to_str().unwrap_or_default();
    Ok(client.send(method, path, body, &[("x-api-key", text)]).await?)
}

fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        // An object would become text that no path or body takes.
        _ => None,
    }
}
