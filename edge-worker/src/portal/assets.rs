//! Static assets: texts that `site` has written when the worker was built.

use portal::asset::Asset;
use portal::rendering;
use shared::problem::{Problem, codes};
use shared::response::Response;
use wasm_bindgen::JsValue;

use crate::context::RequestContext;
use crate::runtime::{calls, log, promise};

/// Timeout of a read, in milliseconds.
const READ_TIMEOUT_MS: u64 = 1_000;

/// A failed read.
#[derive(Debug, thiserror::Error)]
enum ReadError {
    #[error("ASSETS is not bound")]
    Unbound,
    #[error(transparent)]
    Runtime(#[from] worker::Error),
    #[error("the response has status {0}")]
    Status(f64),
    #[error("no response within {ms} ms")]
    TimedOut { ms: u64 },
}

impl From<JsValue> for ReadError {
    fn from(error: JsValue) -> Self {
        Self::Runtime(error.into())
    }
}

/// Returns the response with an asset.
///
/// # Errors
/// `internal` if it cannot be read.
pub(crate) async fn respond(context: &RequestContext<'_>, asset: Asset) -> Result<Response, Problem> {
    Ok(rendering::respond(asset, &text(context, asset).await?, context.public_url()))
}

/// Returns the text of an asset as it was rendered.
///
/// # Errors
/// `internal` if it cannot be read.
pub(crate) async fn text(context: &RequestContext<'_>, asset: Asset) -> Result<String, Problem> {
    read(context, &asset.file()).await.map_err(|error| {
        let fields: [log::Field<'_>; 2] = [("file", &asset.file()), ("error", &error)];
        log::error(log::Event("asset read failed"), Some(context.request.id), &fields);
        Problem::new(codes::INTERNAL, "this document cannot be read at the moment; calls are not affected")
    })
}

/// Returns the text of a file.
async fn read(context: &RequestContext<'_>, name: &str) -> Result<String, ReadError> {
    let assets = context.bindings.assets.as_ref().ok_or(ReadError::Unbound)?;
    let read = promise::settled(calls::read_asset(assets, name));
    let timed_out = ReadError::TimedOut { ms: READ_TIMEOUT_MS };
    let value = promise::timeout(READ_TIMEOUT_MS, read).await.ok_or(timed_out)??;
    value.as_string().ok_or_else(|| ReadError::Status(value.as_f64().unwrap_or_default()))
}
