//! The body of `GET /account/export`. It is sent page by page, so that an account of any size needs
//! no more memory than one page. An export that fails on the way is cut off: without its last line,
//! `{"object":"end"}`, it is not complete.

use shared::{
    key::{KeyId, KeyRecord},
    keys_api::describe,
    pages_api::account_unavailable,
    problem::Problem,
    response::Response,
};
use wasm_bindgen::JsValue;
use worker::{ObjectNamespace, js_sys::Uint8Array, web_sys};

use crate::{
    context::RequestContext, durable_rpc::RpcError, log, origin::new_stream, pages_client, promise,
    respond::ClientResponse,
};

/// A stream to the client.
struct Sink(web_sys::WritableStreamDefaultWriter);

#[derive(Debug, thiserror::Error)]
enum ExportError {
    #[error(transparent)]
    Account(#[from] RpcError),
    #[error("the client is gone")]
    Client,
}

/// Sends `begin`, the record of the key that asked, and the pages of the account.
///
/// # Errors
/// `pages-unavailable` if the runtime gives no stream.
pub(super) fn stream(
    context: &RequestContext<'_>,
    account: KeyId,
    record: &KeyRecord,
    begin: Response,
) -> Result<ClientResponse, Problem> {
    let start = || -> Result<_, JsValue> {
        let stream = new_stream()?;
        let response = web_sys::Response::new_with_opt_readable_stream(Some(&stream.readable()))?;
        Ok((Sink(stream.writable().get_writer()?), response))
    };
    let (sink, response) = start().map_err(|_| account_unavailable())?;
    let mut key = describe(record);
    if let Some(members) = key.as_object_mut() {
        members.insert("object".to_owned(), "key".into());
    }
    let first = format!("{}{key}\n", begin.body);
    let (accounts, base, id) =
        (context.bindings.accounts.clone(), context.public_url().to_owned(), context.request.id);
    context.execution.wait_until(async move {
        if let Err(error) = send(&sink, &accounts, account, first, &base).await {
            log::error("export failed", Some(id), &[("error", &error)]);
            promise::detach(sink.0.abort());
        }
    });
    Ok(ClientResponse::Streamed { response, headers: begin.headers })
}

async fn send(
    sink: &Sink,
    accounts: &ObjectNamespace,
    account: KeyId,
    first: String,
    base: &str,
) -> Result<(), ExportError> {
    let (mut lines, mut after) = (first, None);
    loop {
        sink.write(&lines).await?;
        match pages_client::export(accounts, account, after, base).await? {
            Some((page, next)) => (after, lines) = (Some(page), next),
            None => break,
        }
    }
    sink.write("{\"object\":\"end\"}\n").await?;
    promise::settled(sink.0.close()).await.map_err(|_| ExportError::Client).map(drop)
}

impl Sink {
    /// Writes, and waits until the client takes more.
    async fn write(&self, text: &str) -> Result<(), ExportError> {
        let chunk = Uint8Array::from(text.as_bytes());
        let written = promise::settled(self.0.write_with_chunk(&chunk)).await;
        written.map(drop).map_err(|_| ExportError::Client)
    }
}
