//! The body of `GET /account/export`. It is sent page by page, so that an account of any size needs
//! no more memory than one page. An export that fails on the way is cut off: without its last line,
//! `{"object":"end"}`, it is not complete.

use biolink::page::PageId;
use biolink::pages_api::account_unavailable;
use shared::key::{KeyId, KeyRecord};
use shared::keys_api::describe;
use shared::problem::Problem;
use shared::response::Response;
use wasm_bindgen::JsValue;
use worker::js_sys::Uint8Array;
use worker::{ObjectNamespace, web_sys};

use crate::biolink::{pages_client, stats_client, webhooks_client};
use crate::context::RequestContext;
use crate::respond::ClientResponse;
use crate::runtime::durable_rpc::RpcError;
use crate::runtime::streamed_response::StreamedResponse;
use crate::runtime::{calls, log, promise, task};

/// The source of the lines.
struct Source {
    accounts: ObjectNamespace,
    stats: ObjectNamespace,
    webhooks: ObjectNamespace,
    account: KeyId,
    base: String,
}

/// A stream to the client.
struct Sink(web_sys::WritableStreamDefaultWriter);

#[derive(Debug, thiserror::Error)]
enum ExportError {
    #[error(transparent)]
    Account(#[from] RpcError),
    #[error("the client is gone")]
    Client,
}

/// Sends `begin`, the record of the key that asked, the pages of the account with their events, and
/// its webhooks.
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
        let stream = calls::identity_stream()?;
        let response = web_sys::Response::new_with_opt_readable_stream(Some(&stream.readable()))?;
        Ok((Sink(stream.writable().get_writer()?), StreamedResponse::new(response)?))
    };
    let (sink, response) = start().map_err(|_| account_unavailable())?;
    let mut key = describe(record);
    if let Some(members) = key.as_object_mut() {
        members.insert("object".to_owned(), "key".into());
    }
    let first = format!("{}{key}\n", begin.body);
    let biolink = context.biolink()?;
    let source = Source {
        accounts: biolink.accounts.clone(),
        stats: biolink.stats.clone(),
        webhooks: biolink.webhooks.clone(),
        account,
        base: context.public_url().to_owned(),
    };
    let id = context.request.id;
    // The runtime would otherwise end the task as soon as this function has returned the response.
    task::in_background(context.execution, async move {
        if let Err(error) = send(&sink, &source, first).await {
            log::error(log::Event("export failed"), Some(id), &[("error", &error)]);
            // Not closed: a client would take the half of an export for the whole.
            promise::detach(sink.0.abort());
        }
    });
    Ok(ClientResponse::Streamed { response, headers: begin.headers })
}

async fn send(sink: &Sink, source: &Source, first: String) -> Result<(), ExportError> {
    sink.write(&first).await?;
    let mut after = None;
    while let Some((page, lines)) =
        pages_client::export(&source.accounts, source.account, after, &source.base).await?
    {
        sink.write(&lines).await?;
        send_events(sink, &source.stats, &page).await?;
        after = Some(page);
    }
    sink.write(&webhooks_client::export(&source.webhooks, source.account).await?).await?;
    sink.write("{\"object\":\"end\"}\n").await?;
    promise::settled(sink.0.close()).await.map_err(|_| ExportError::Client).map(drop)
}

/// Sends the events of a page, row by row of its store.
async fn send_events(sink: &Sink, stats: &ObjectNamespace, page: &PageId) -> Result<(), ExportError> {
    let mut after = 0;
    while let Some((row, lines)) = stats_client::export(stats, page, after).await? {
        sink.write(&lines).await?;
        after = row;
    }
    Ok(())
}

impl Sink {
    /// Writes, and waits until the client takes more.
    async fn write(&self, text: &str) -> Result<(), ExportError> {
        let chunk = Uint8Array::from(text.as_bytes());
        let written = promise::settled(self.0.write_with_chunk(&chunk)).await;
        written.map(drop).map_err(|_| ExportError::Client)
    }
}
