//! Static assets: texts that were rendered when the worker was built, and the files of the console.

use portal::asset::Asset;
use portal::route::ConsoleFile;
use portal::{console, rendering};
use shared::problem::{Problem, codes};
use shared::response::Response;
use wasm_bindgen::{JsCast, JsValue};
use worker::js_sys::Promise;

use crate::context::RequestContext;
use crate::respond::ClientResponse;
use crate::runtime::calls::FetchBinding;
use crate::runtime::streamed_response::StreamedResponse;
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
    Status(u16),
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
    text_of_file(context, &asset.file()).await
}

/// Returns the response with a file of the console. A response with a part of the app has its bytes as they are: a font is no text.
///
/// # Errors
/// `route-unknown` if there is no such file, and `internal` if it cannot be read.
pub(crate) async fn console(
    context: &RequestContext<'_>,
    file: ConsoleFile<'_>,
) -> Result<ClientResponse, Problem> {
    let ConsoleFile::Part { name, media_type } = file else {
        let html = text_of_file(context, console::PAGE).await?;
        return Ok(console::page(html).into());
    };
    let path = format!("console/{name}");
    let response = match read(context, &path, calls::open_asset).await {
        Ok(response) => response,
        Err(ReadError::Status(404)) => return Err(console::unknown_file()),
        Err(error) => return Err(unreadable(context, &path, &error)),
    };
    let opened = StreamedResponse::new(response.unchecked_into());
    let response = opened.map_err(|error| unreadable(context, &path, &error.into()))?;
    Ok(ClientResponse::Streamed { response, headers: console::part_headers(name, media_type) })
}

async fn text_of_file(context: &RequestContext<'_>, name: &str) -> Result<String, Problem> {
    let read = read(context, name, calls::read_asset).await;
    let text = read.map(|text| text.as_string().unwrap_or_default());
    text.map_err(|error| unreadable(context, name, &error))
}

fn unreadable(context: &RequestContext<'_>, name: &str, error: &ReadError) -> Problem {
    let fields: [log::Field<'_>; 2] = [("file", &name), ("error", error)];
    log::error(log::Event("asset read failed"), Some(context.request.id), &fields);
    Problem::new(codes::INTERNAL, "this document cannot be read at the moment; calls are not affected")
}

/// Returns what a read of a file resolves to, unless that is the status of a failure.
async fn read(
    context: &RequestContext<'_>,
    name: &str,
    call: fn(&FetchBinding, &str) -> Promise,
) -> Result<JsValue, ReadError> {
    let assets = context.bindings.assets.as_ref().ok_or(ReadError::Unbound)?;
    let read = promise::settled(call(assets, name));
    let timed_out = ReadError::TimedOut { ms: READ_TIMEOUT_MS };
    let value = promise::timeout(READ_TIMEOUT_MS, read).await.ok_or(timed_out)??;
    value.as_f64().map_or(Ok(value), |status| Err(ReadError::Status(promise::status(status))))
}
