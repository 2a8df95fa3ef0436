//! Requests to an origin.

use wasm_bindgen::{JsCast, JsValue};
use worker::{js_sys, web_sys};

use crate::bindings::Bindings;
use crate::runtime::promise;

/// Sends a request to an origin and returns the response. Uses the binding with the client
/// certificate if there is one.
///
/// # Errors
/// Returns the exception of the runtime if no response arrives.
pub(super) async fn fetch(
    bindings: &Bindings,
    request: &web_sys::Request,
) -> Result<web_sys::Response, JsValue> {
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
