//! Requests to Durable Objects: a JSON message out, a JSON text back.

use shared::json::JsonError;
use shared::lease_cache::STALL_MS;
use worker::ObjectNamespace;
use worker::js_sys::Reflect;

use crate::runtime::{calls, clock, promise};

/// A failed request to a Durable Object.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RpcError {
    /// The runtime failed to deliver the request, or the object threw.
    #[error(transparent)]
    Runtime(#[from] worker::Error),
    #[error("the object responded with status {0}")]
    Status(u16),
    #[error("no response within {ms} ms")]
    TimedOut { ms: u64 },
    #[error("no response within {ms} ms, in which this isolate did not run all the time")]
    Stalled { ms: u64 },
    #[error("the response came after {ms} ms, too late to admit the call")]
    Late { ms: u64 },
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

    /// Returns true if the object may be well: this isolate did not run.
    pub(crate) const fn is_stall(&self) -> bool {
        matches!(self, Self::Stalled { .. })
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
    let reply = promise::settled(calls::ask_object(namespace.as_ref(), name, message)).await;
    let reply = reply.map_err(worker::Error::from)?;
    match (reply.as_string(), reply.as_f64()) {
        (Some(text), _) => Ok(text),
        (None, status) => Err(RpcError::Status(status.map_or(0, promise::status))),
    }
}

/// Returns the output of a call, or [`RpcError::TimedOut`] after `ms` milliseconds, or
/// [`RpcError::Stalled`] if the isolate stalled. The object may have taken the message even so.
pub(crate) async fn timeout<T>(
    ms: u64,
    call: impl Future<Output = Result<T, RpcError>>,
) -> Result<T, RpcError> {
    let started = clock::now();
    if let Some(output) = promise::timeout(ms, call).await {
        return output;
    }
    let elapsed_ms = clock::now().since(started);
    // The timer of an isolate that did not run fires late. The reply may have been there all the
    // time.
    let is_stalled = elapsed_ms > ms.saturating_add(STALL_MS);
    Err(if is_stalled { RpcError::Stalled { ms: elapsed_ms } } else { RpcError::TimedOut { ms } })
}
