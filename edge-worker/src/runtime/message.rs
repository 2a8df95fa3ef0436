//! Messages to the objects, and their stored states, as JSON.

use serde::de::DeserializeOwned;
use shared::json;
use worker::{Request, Response, Result};

use crate::runtime::log;

/// Responds to a message with the reply of a step. Logs the event `failed` if the step fails.
///
/// # Errors
/// Returns an error if the request has no such message, or the step fails.
pub(crate) async fn respond<M: DeserializeOwned>(
    mut request: Request,
    failed: log::Event,
    step: impl FnOnce(M) -> Result<String>,
) -> Result<Response> {
    let message = parse(&request.text().await?)?;
    reply(failed, step(message))
}

/// Responds with the reply of a step. Logs the event `failed` if it has failed.
///
/// # Errors
/// Returns the error of the step.
pub(crate) fn reply(failed: log::Event, reply: Result<String>) -> Result<Response> {
    match reply {
        Ok(reply) => Response::ok(reply),
        Err(error) => {
            log::error(failed, None, &[("error", &error)]);
            Err(error)
        }
    }
}

/// Reads a message, or a stored state.
///
/// # Errors
/// Returns an error if the text is not one.
pub(crate) fn parse<T: DeserializeOwned>(text: &str) -> Result<T> {
    json::from_str(text).map_err(|error| error.to_string().into())
}
