//! Requests that the worker with pages serves. The gateway hands them over as they came, and passes on its response.
//!
//! Why: docs/decisions/edge.md, "Two Workers have a file each".

use std::rc::Rc;

use portal::endpoint::Endpoint;
use portal::requirement::Requirement;
use portal::route::{PortalRoute, Route};
use shared::problem::{Problem, codes};
use shared::route::{KeysEndpoint, KeysRoute};
use shared::url::Address;
use wasm_bindgen::JsValue;
use worker::Env;

use crate::bindings::Bindings;
use crate::runtime::client_request::ClientRequest;
use crate::runtime::{calls, log, promise};

/// The end of every name of the console's cookie.
const COOKIE: &str = "utg_console=";
/// The one path of keys whose webhooks are the other worker's.
const ALERTS: &str = KeysEndpoint::ReadAlerts.path();

/// Returns the bindings for a request that the worker with pages serves; `None` if the gateway does.
pub(crate) fn read(
    (request, address): (&ClientRequest, Option<Address<'_>>),
    env: &Env,
) -> Option<Rc<Bindings>> {
    let address = address?;
    // Without bindings the gateway says itself that it is not configured.
    let bindings = Bindings::of_isolate(env).ok()?;
    let is_handed = bindings.is_host_of_pages(&address) || !is_own(request, address.target);
    is_handed.then_some(bindings)
}

/// Returns true if the gateway has the route of a request.
fn is_own(request: &ClientRequest, target: &str) -> bool {
    // Most requests are calls of tools, and their route is read later.
    if target.starts_with("/v1/") && !target.starts_with(ALERTS) && !has_cookie(request) {
        return true;
    }
    match Route::read(&request.method, target) {
        Ok((Route::Keys(KeysRoute::ReadAlerts), _)) => false,
        Ok((Route::Keys(route), _)) => is_administration(route.endpoint()) || !has_cookie(request),
        Ok((Route::Preflight(methods), _)) => methods.iter().next().is_some(),
        Ok((Route::Console(_) | Route::OAuth(_) | Route::Site(_), _)) => false,
        Ok((Route::Portal(PortalRoute::Preview | PortalRoute::Mcp), _)) => false,
        Ok(_) => true,
        Err(_) => false,
    }
}

/// Returns true if a request may be signed by a session of the console.
fn has_cookie(request: &ClientRequest) -> bool {
    request.header("cookie").is_some_and(|cookies| cookies.contains(COOKIE))
}

/// Returns true for what takes the admin secret, and no key.
fn is_administration(endpoint: KeysEndpoint) -> bool {
    Endpoint::Keys(endpoint).requires() == Requirement::AdminSecret
}

/// Hands a request over. Returns the response.
///
/// # Errors
/// `not-configured` if there is no worker with pages, and `internal` if it cannot be reached.
pub(crate) async fn to_pages(bindings: &Bindings, request: &ClientRequest) -> Result<JsValue, Problem> {
    let pages = bindings.pages_worker()?;
    promise::settled(calls::hand_over(pages, &request.raw)).await.map_err(|error| {
        let error = worker::Error::from(error);
        log::error(log::Event("pages worker unreachable"), Some(request.id), &[("error", &error)]);
        Problem::new(
            codes::INTERNAL,
            "this part of the service cannot be reached at the moment; calls are not affected",
        )
    })
}
