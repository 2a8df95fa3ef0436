//! Requests to an origin, and probes: requests to an origin that need no grant, whose responses carry a proof of the proxy.

use shared::headers;
use shared::origin::{CONNECT_TIMEOUT_MS, Origin};
use shared::proof::Proof;
use shared::request_id::RequestId;
use wasm_bindgen::{JsCast, JsValue};
use worker::{js_sys, web_sys};

use crate::bindings::Bindings;
use crate::runtime::{log, promise};

/// Returns true if our proxy responds at this origin.
pub(super) async fn is_reachable(bindings: &Bindings, id: RequestId, origin: &Origin) -> bool {
    match promise::timeout(CONNECT_TIMEOUT_MS, probe(bindings, id, origin, "/healthz")).await {
        Some(Ok(Some(response))) => {
            discard(&response);
            true
        }
        Some(Ok(None) | Err(_)) | None => false,
    }
}

/// Returns the text of a path that needs no grant. Returns `None` if the response has no valid proof.
///
/// # Errors
/// Returns the exception of the runtime if no response arrives.
pub(super) async fn read(
    bindings: &Bindings,
    id: RequestId,
    origin: &Origin,
    path: &str,
) -> Result<Option<String>, JsValue> {
    let Some(response) = probe(bindings, id, origin, path).await? else { return Ok(None) };
    Ok(promise::settled(response.text()?).await?.as_string())
}

/// Sends a GET. Returns `None` if the response has no valid proof.
async fn probe(
    bindings: &Bindings,
    id: RequestId,
    origin: &Origin,
    path: &str,
) -> Result<Option<web_sys::Response>, JsValue> {
    let init = web_sys::RequestInit::new();
    // A copy would show an origin as reachable that is gone.
    init.set_cache(web_sys::RequestCache::NoStore);
    // A redirect is not from our proxy. Followed, it would be a probe of another host.
    init.set_redirect(web_sys::RequestRedirect::Manual);
    let request = web_sys::Request::new_with_str_and_init(&format!("{}{path}", origin.base), &init)?;
    request.headers().set(headers::REQUEST_ID, &id.to_string())?;
    let response = fetch(bindings, &request).await?;
    let proof = response.headers().get(headers::PROOF)?.unwrap_or_default();
    // A status of 200 alone could be a parked domain or a load balancer without our proxy.
    if Proof::verify_probe(&proof, id, &origin.name, &bindings.grants) {
        return Ok(Some(response));
    }
    discard(&response);
    let fields: [log::Field<'_>; 3] =
        [("origin", &origin.name), ("status", &response.status()), ("error", &"no valid proof")];
    log::error(log::Event("origin probe failed"), Some(id), &fields);
    Ok(None)
}

/// Sends a request to an origin and returns the response. Uses the binding with the client
/// certificate if there is one.
///
/// # Errors
/// Returns the exception of the runtime if no response arrives.
async fn fetch(bindings: &Bindings, request: &web_sys::Request) -> Result<web_sys::Response, JsValue> {
    let sent = match &bindings.origin_cert {
        Some(fetcher) => fetcher.fetch(request)?,
        None => {
            let scope: web_sys::WorkerGlobalScope = js_sys::global().unchecked_into();
            scope.fetch_with_request(request)
        }
    };
    promise::settled(sent).await?.dyn_into()
}

/// Cancels the body of an unread response, so that its connection is free.
pub(super) fn discard(response: &web_sys::Response) {
    if let Some(body) = response.body() {
        promise::detach(body.cancel());
    }
}
