//! Requests to Durable Objects: a JSON message out, a JSON text back.

use shared::json::JsonError;
use worker::{ObjectNamespace, js_sys::Reflect};

use crate::{promise, runtime};

/// A failed request to a Durable Object.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RpcError {
    /// The runtime failed to deliver the request, or the object threw.
    #[error(transparent)]
    Runtime(#[from] worker::Error),
    #[error("the object responded with status {0}")]
    Status(f64),
    #[error("no response within {ms} ms")]
    TimedOut { ms: u64 },
    #[error("the message cannot be written: {0}")]
    Message(#[from] serde_json::Error),
    #[error("the response cannot be read: {0}")]
    Response(#[from] JsonError),
    #[error("the response does not match the request")]
    UnexpectedReply,
}

impl RpcError {
    /// Returns true if the object is overloaded, so that a retry would make it worse.
    pub(crate) fn is_overloaded(&self) -> bool {
        let Self::Runtime(error) = self else { return false };
        Reflect::get(&error.to_js_value(), &"overloaded".into()).is_ok_and(|flag| flag.is_truthy())
    }
}

impl From<RpcError> for worker::Error {
    fn from(error: RpcError) -> Self {
        Self::RustError(error.to_string())
    }
}

/// Sends `message` to the object of this name. Returns the body of its response.
///
/// # Errors
/// If the request fails or the response is not 200.
pub(crate) async fn call(namespace: &ObjectNamespace, name: &str, message: &str) -> Result<String, RpcError> {
    let reply = promise::settled(runtime::ask_object(namespace.as_ref(), name, message)).await;
    let reply = reply.map_err(worker::Error::from)?;
    match (reply.as_string(), reply.as_f64()) {
        (Some(text), _) => Ok(text),
        (None, status) => Err(RpcError::Status(status.unwrap_or_default())),
    }
}

/// Returns the output of a call, or [`RpcError::TimedOut`] after `ms` milliseconds. The object may
/// have taken the message even so.
pub(crate) async fn timeout<T>(
    ms: u64,
    call: impl Future<Output = Result<T, RpcError>>,
) -> Result<T, RpcError> {
    promise::timeout(ms, call).await.unwrap_or(Err(RpcError::TimedOut { ms }))
}
